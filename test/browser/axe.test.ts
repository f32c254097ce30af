/** What axe-core finds in every view of the page (WCAG 2.2 AA and its best practices): nothing. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { violationsOf } from './axe.ts';
import { type FullScene, fullScene, show } from './full-scene.ts';
import { openPage, type PageOptions, PHONE } from './open-page.ts';
import { connectionIs, detailOf, sentenceOf } from './page-parts.ts';
import { servedEngine } from './served.ts';

let scene: FullScene;

beforeAll(async () => {
  scene = await fullScene();
});
afterAll(() => scene[Symbol.asyncDispose]());

const LOOKS: readonly (readonly [string, PageOptions])[] = [
  ['light', { colorScheme: 'light' }],
  ['dark', { colorScheme: 'dark' }],
  ['on a phone, light', { ...PHONE, colorScheme: 'light' }],
  ['on a phone, dark', { ...PHONE, colorScheme: 'dark' }],
];

describe('axe finds nothing', () => {
  it.each(LOOKS)('in the list and in each detail, %s', async (_, look) => {
    const page = await scene.dashboard.page(look);
    // What differs by theme and by size differs alike: the fourth look needs no more than the main views.
    const isFourth = look.hasTouch === true && look.colorScheme === 'dark';
    const views = Object.entries(scene.views).filter(
      ([name]) => !isFourth || /^(?:list|a running job|a session that asks|a task)$/.test(name),
    );
    for (const [name, hash] of views) {
      await show(page, hash);
      expect(await violationsOf(page), name).toEqual([]);
    }
  });

  it.each(LOOKS)('in dialogs, with a toast, and with the chart open, %s', async (_, look) => {
    const page = await scene.dashboard.page(look);
    for (const name of ['Task', 'Job']) {
      await page.getByRole('button', { name, exact: true }).click();
      await page.getByRole('dialog').waitFor();
      expect(await violationsOf(page), name).toEqual([]);
      await page.keyboard.press('Escape');
    }
    await show(page, '/task/t4');
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByText('Work is still in progress').waitFor();
    expect(await violationsOf(page), 'delete').toEqual([]);
    await page.keyboard.press('Escape');
    await show(page, '/job/runs');
    await page.locator('.chart-picture').first().waitFor();
    await detailOf(page).getByRole('button', { name: 'Copy id' }).click();
    await page.getByTestId('toast').waitFor();
    expect(await violationsOf(page), 'chart and toast').toEqual([]);
  });

  it('in the page that is paused or may only look, and in the help', async () => {
    const page = await scene.dashboard.page({ scope: 'observe', hash: '/session/asks' });
    await page.getByTestId('pending').waitFor();
    expect(await violationsOf(page), 'observe').toEqual([]);
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByTestId('banner').waitFor();
    expect(await violationsOf(page), 'paused').toEqual([]);
    await page.getByRole('button', { name: 'Help' }).click();
    await page.getByRole('dialog').waitFor();
    expect(await violationsOf(page), 'help').toEqual([]);
  });

  it.each(['light', 'dark'] as const)('in the page that asks for a token, %s', async (colorScheme) => {
    await using opened = await openPage(scene.dashboard.server.url, { colorScheme });
    opened.ignore(/401/);
    await opened.page.getByLabel('Token').waitFor();
    expect(await violationsOf(opened.page)).toEqual([]);
  });

  it.each(['light', 'dark'] as const)('in the page that is disconnected, %s', async (colorScheme) => {
    await using served = await servedEngine();
    await served.client.spawn({ kind: 'listens', jobId: 'works' });
    await using opened = await openPage(`${served.link}#/job/works`, { colorScheme });
    await sentenceOf(opened.page).waitFor();
    opened.ignore(/WebSocket|ERR_/);
    await served.end('SIGKILL');
    await connectionIs(opened.page, 'lost');
    await opened.page.getByTestId('banner').waitFor();
    expect(await violationsOf(opened.page)).toEqual([]);
  });
});
