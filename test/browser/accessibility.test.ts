/**
 * The page for everybody (WCAG 2.2 AA): what axe finds in every view, contrast of what is drawn, both themes, motion, zoom, small screens,
 * and what is told to those who listen.
 */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { controlledExecutor } from '../../src/testing/index.ts';
import { ask, generate, vouchingAgent } from './agents.ts';
import { violationsOf } from './axe.ts';
import { contrastOf } from './contrast.ts';
import { type FullScene, fullScene } from './full-scene.ts';
import { openDashboard, openPage, type PageOptions, PHONE } from './open-page.ts';
import { connectionIs, detailOf, iconOf, overflowOf, rowIn, rowOf, sentenceOf, styleOf } from './page-parts.ts';
import { servedEngine } from './served.ts';

let scene: FullScene;

beforeAll(async () => {
  scene = await fullScene();
});
afterAll(() => scene[Symbol.asyncDispose]());

/** Goes there within the page, and waits for what is to be seen. */
async function show(page: Page, hash: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
  const wanted = hash.startsWith('/?') || hash === '/' ? '.row' : hash.endsWith('nowhere') ? '.nothing' : '.thing .facts';
  await page.locator(wanted).first().waitFor();
  // What is read later is there as well.
  if (hash.startsWith('/job/') && !hash.endsWith('nowhere')) await page.locator('.card').waitFor();
}

const LOOKS: readonly (readonly [string, PageOptions])[] = [
  ['light', { colorScheme: 'light' }],
  ['dark', { colorScheme: 'dark' }],
  ['on a phone, light', { ...PHONE, colorScheme: 'light' }],
  ['on a phone, dark', { ...PHONE, colorScheme: 'dark' }],
];

describe('axe finds nothing', () => {
  it.each(LOOKS)('in the list and in each detail, %s', async (_, look) => {
    const page = await scene.dashboard.page(look);
    for (const [name, hash] of Object.entries(scene.views)) {
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

describe('what is drawn can be told from its ground', () => {
  it.each(['light', 'dark'] as const)('3:1 for the icon of every state, %s', async (colorScheme) => {
    const page = await scene.dashboard.page({ colorScheme });
    await page.getByRole('button', { name: 'Help' }).click();
    const icons = page.getByRole('dialog').locator('.legend .state');
    expect(await icons.count()).toBeGreaterThanOrEqual(10);
    for (const icon of await icons.all()) {
      const { color } = await styleOf(icon, 'color');
      const state = await icon.getAttribute('data-state');
      const { backgroundColor } = await styleOf(page.getByRole('dialog'), 'backgroundColor');
      expect([state, contrastOf(color, backgroundColor) >= 3]).toEqual([state, true]);
    }
  });

  it('each state has a shape of its own', async () => {
    const page = await scene.dashboard.page();
    await page.getByRole('button', { name: 'Help' }).click();
    const icons = page.getByRole('dialog').locator('.legend .state svg');
    await icons.first().waitFor();
    const shapes = await icons.evaluateAll((found) => found.map(({ innerHTML }) => innerHTML));
    expect(new Set(shapes).size).toBe(shapes.length);
  });
});

describe('the theme', () => {
  it('follows the system, and what was chosen here outlives a reload', async () => {
    const page = await scene.dashboard.page({ colorScheme: 'dark' });
    const ground = async (): Promise<string> => (await styleOf(page.locator('body'), 'backgroundColor')).backgroundColor;
    const dark = await ground();
    await page.emulateMedia({ colorScheme: 'light' });
    const light = await ground();
    expect(light).not.toBe(dark);
    await page.getByRole('button', { name: 'Light or dark' }).click();
    expect(await ground()).toBe(dark);
    await page.reload();
    await page.locator('.row').first().waitFor();
    expect(await ground()).toBe(dark);
  });
});

describe('motion', () => {
  it('there is none where it is not wanted', async () => {
    const page = await scene.dashboard.page({ reducedMotion: 'reduce', hash: '/session/works' });
    await page.locator('.row .ring').first().waitFor();
    const moving = await page.evaluate<number>('document.getAnimations().length');
    expect(moving).toBe(0);
    await page.emulateMedia({ reducedMotion: 'no-preference' });
    await expect.poll(() => page.evaluate<number>('document.getAnimations().length')).toBeGreaterThan(0);
  });
});

describe('little room', () => {
  it.each([
    ['320 px wide', { viewport: { width: 320, height: 640 } }],
    ['at 200 %', { viewport: { width: 640, height: 400 }, deviceScaleFactor: 2 }],
    // As a window of 1280 by 800 is for who enlarges everything to 400 %.
    ['at 400 %', { viewport: { width: 320, height: 200 }, deviceScaleFactor: 4 }],
    ['on a phone', PHONE],
  ])('nothing has to be scrolled sideways, %s', async (_, room) => {
    const page = await scene.dashboard.page(room as PageOptions);
    for (const [name, hash] of Object.entries(scene.views)) {
      await show(page, hash);
      expect([name, await overflowOf(page)]).toEqual([name, 0]);
    }
    await show(page, '/');
    await page.getByRole('button', { name: 'Job', exact: true }).click();
    await page.getByRole('dialog').waitFor();
    expect(await overflowOf(page)).toBe(0);
  });

  it('what can be touched is 24 px or more each way', async () => {
    // So high that nothing is cut at the edge of the list.
    const page = await scene.dashboard.page({ ...PHONE, viewport: { width: 393, height: 1_600 } });
    for (const hash of ['/', '/session/asks', '/job/runs', '/task/t4']) {
      await show(page, hash);
      const small = await page
        .locator('button:visible, select:visible, input:visible, textarea:visible, .row:visible')
        .evaluateAll((found) => {
          const { document } = globalThis as unknown as { document: { elementFromPoint(x: number, y: number): unknown } };
          return found.flatMap((element) => {
            const { x, y, width, height } = element.getBoundingClientRect();
            const at = (by: number): unknown => document.elementFromPoint(x + width / 2 + by, y + height / 2 + by);
            const isScrolledAway = at(0) !== element;
            const isLarge = width >= 24 && height >= 24;
            return isLarge || isScrolledAway || [-11, 11].every((by) => at(by) === element)
              ? []
              : [`${element.className} ${element.textContent} ${width} x ${height}`];
          });
        });
      expect([hash, small]).toEqual([hash, []]);
    }
  });
});

describe('one region tells what is new, politely', () => {
  it('of many ends at once it tells in one sentence; of what was there before, and of starts, nothing', async () => {
    const work = controlledExecutor();
    await using dashboard = await openDashboard({ executors: { work }, workers: 10 });
    const ids = ['a', 'b', 'c', 'd'];
    for (const jobId of ids) await dashboard.offstage.spawn({ kind: 'work', jobId });
    await work.release('d');
    await dashboard.offstage.wait('d');
    const page = await dashboard.page();
    await rowIn(page, 'job', 'd', 'completed').waitFor();
    const status = page.getByRole('status');
    expect(await status.count()).toBe(1);
    expect([await status.getAttribute('aria-live'), await status.textContent()]).toEqual(['polite', '']);
    await page.evaluate(`globalThis.told = [];
      new MutationObserver(() => told.push(document.querySelector('[role=status]').textContent))
        .observe(document.querySelector('[role=status]'), { subtree: true, childList: true, characterData: true })`);
    await work.fail('a', new Error('no'));
    for (const jobId of ['b', 'c']) await work.release(jobId);
    await status.getByText('2 jobs finished.').waitFor({ state: 'attached' });
    expect(await page.evaluate('told')).toEqual(['1 job failed. 2 jobs finished.']);
  });

  it('it tells who needs somebody, and what came of what was done here', async () => {
    const mock = vouchingAgent();
    await using dashboard = await openDashboard({ agents: { default: mock.factory } });
    const prompt = await generate(dashboard, mock);
    const page = await dashboard.page({ hash: '/session/s1' });
    await rowOf(page, 'session', 's1').waitFor();
    ask(prompt, 'permission');
    const status = page.getByRole('status');
    await status.getByText('Permission is needed in session s1.').waitFor({ state: 'attached' });
    await page.getByTestId('pending').getByRole('button', { name: 'Allow' }).click();
    await status.getByText('Answered.').waitFor({ state: 'attached' });
    expect(await iconOf(rowOf(page, 'session', 's1')).getAttribute('aria-label')).toBe('Agent is generating');
  });
});
