/**
 * The page for everybody (WCAG 2.2 AA), where a rule checker does not look: contrast of what is drawn, both themes, motion, zoom, small
 * screens, and what is told to those who listen.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { controlledExecutor } from '../../src/testing/index.ts';
import { ask, generate, vouchingAgent } from './agents.ts';
import { contrastOf } from './contrast.ts';
import { type FullScene, fullScene, show } from './full-scene.ts';
import { openDashboard, type PageOptions, PHONE } from './open-page.ts';
import { iconOf, overflowOf, rowIn, rowOf, styleOf } from './page-parts.ts';

let scene: FullScene;

beforeAll(async () => {
  scene = await fullScene();
});
afterAll(() => scene[Symbol.asyncDispose]());

describe('what is drawn can be told from its ground', () => {
  it.each(['light', 'dark'] as const)('3:1 for the icon of every state, %s', async (colorScheme) => {
    const page = await scene.dashboard.page({ colorScheme });
    await page.getByRole('button', { name: 'Help' }).click();
    const icons = page.getByRole('dialog').locator('.legend .state');
    await icons.nth(9).waitFor();
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
    await expect.poll(() => status.count()).toBe(1);
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
    await expect.poll(() => iconOf(rowOf(page, 'session', 's1')).getAttribute('aria-label')).toBe('Agent is generating');
  });
});
