/** Ten thousand rows: few of them drawn, far steps by keys, search and filters with their counts, and how smoothly it scrolls. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Dashboard, openDashboard } from './open-page.ts';
import { badgeSays, chipOf, focused, listOf } from './page-parts.ts';
import { type Wire, wireOf } from './wire.ts';

const JOBS = 10_000;
/** Of each: so many fail, and so many are still there. */
const FAILED = 25;
const RUNNING = 4;
const QUEUED = 6;
const COMPLETED = JOBS - FAILED - RUNNING - QUEUED;
/** The task and the session that hold them. */
const HOLDERS = 2;

let dashboard: Dashboard;

const countIs = (page: Page, count: number): Promise<void> =>
  page.locator(`[role="treegrid"][aria-rowcount="${count}"]`).waitFor();

beforeAll(async () => {
  dashboard = await openDashboard({
    executors: {
      quick: () => null,
      broken: () => Promise.reject(new Error('no')),
      waits: (_job, { signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    },
    workers: RUNNING,
    notices: false,
    shutdownGraceMs: 1_000,
    log: () => {},
  });
  const { offstage } = dashboard;
  const many = (kind: string, count: number) =>
    Promise.all(
      Array.from({ length: count }, (_, n) => offstage.spawn({ kind, jobId: `${kind}-${n}`, subject: `${kind} number ${n}` })),
    );
  await many('quick', COMPLETED);
  const failed = await many('broken', FAILED);
  await offstage.waitMany(failed.map(({ jobId }) => jobId));
  await many('waits', RUNNING + QUEUED);
});

afterAll(() => dashboard[Symbol.asyncDispose]());

describe('ten thousand rows', () => {
  it('the first of them are there before all pages are loaded; that older ones are on their way is said until they are', async () => {
    let wire: Wire | null = null;
    const page = await dashboard.page({
      prepare: async (page) => {
        wire = await wireOf(page);
        wire.hold('list_jobs');
      },
    });
    const { held, release } = wire as unknown as Wire;
    await held;
    await page.locator('.row[data-kind="job"]').first().waitFor();
    await page.getByText('Loading older jobs…').waitFor();
    const some = Number(await listOf(page).getAttribute('aria-rowcount'));
    expect(some).toBeGreaterThan(40);
    expect(some).toBeLessThan(JOBS);
    release();
    await countIs(page, JOBS + HOLDERS);
    await page.getByText('Loading older jobs…').waitFor({ state: 'detached' });
  });

  it('are there as a number, and a few dozen of them in the page', async () => {
    const page = await dashboard.page();
    await countIs(page, JOBS + HOLDERS);
    const drawn = await page.locator('.row').count();
    expect(drawn).toBeGreaterThan(15);
    expect(drawn).toBeLessThan(45);
    await badgeSays(page, RUNNING);
  });

  it('Home and End go from one end to the other, and the row with the focus stays mounted when it is scrolled away', async () => {
    const page = await dashboard.page();
    await countIs(page, JOBS + HOLDERS);
    await page.locator('.row').first().focus();
    await page.keyboard.press('End');
    await page.locator('.row[data-id="quick-0"]:focus').waitFor();
    await expect.poll(() => page.locator('.row:focus').getAttribute('aria-rowindex')).toBe(String(JOBS + HOLDERS));
    await page.keyboard.press('PageUp');
    const index = Number(await page.locator('.row:focus').getAttribute('aria-rowindex'));
    expect(index).toBeLessThan(JOBS - 5);
    await page.keyboard.press('End');
    await listOf(page).evaluate((list) => {
      list.scrollTop = 0;
    });
    await page.locator('.row[aria-rowindex="1"]').waitFor();
    await expect.poll(() => focused(page)).toBe('job:quick-0');
    await page.keyboard.press('Home');
    await page.locator('.row[aria-rowindex="1"]:focus').waitFor();
    await expect.poll(() => page.locator('.row').count()).toBeLessThan(45);
  });

  it('search and chips find the right ones among all, and count them', async () => {
    const page = await dashboard.page();
    await countIs(page, JOBS + HOLDERS);
    const counts = { running: RUNNING, queued: QUEUED, errored: FAILED, completed: COMPLETED, cancelled: 0 };
    for (const [filter, count] of Object.entries(counts)) {
      await chipOf(page, filter).locator('.chip-count').getByText(count.toLocaleString('en'), { exact: true }).waitFor();
    }
    await page.getByPlaceholder('Search').fill('number 123');
    // 123, 1123 and so on to 9123, and 1230 to 1239.
    await countIs(page, 20 + HOLDERS);
    await page.getByPlaceholder('Search').fill('number 12 broken');
    await countIs(page, 1 + HOLDERS);
    await page.getByPlaceholder('Search').fill('');
    await chipOf(page, 'errored').click();
    await countIs(page, FAILED + HOLDERS);
    await chipOf(page, 'queued').click();
    await countIs(page, FAILED + QUEUED + HOLDERS);
    await page.getByText(`${FAILED + QUEUED} jobs shown`).waitFor();
    await page.getByRole('button', { name: `Cancel ${QUEUED} jobs` }).waitFor();
    await page.getByPlaceholder('Search').fill('waits-9');
    await countIs(page, 1 + HOLDERS);
    await page.getByPlaceholder('Search').fill('nothing is called so');
    await countIs(page, 0);
    await page.getByRole('button', { name: 'Show everything' }).click();
    await countIs(page, JOBS + HOLDERS);
  });

  it('scroll in frames that are short enough', async ({ annotate }) => {
    const page = await dashboard.page();
    await countIs(page, JOBS + HOLDERS);
    const frames = await page.evaluate<number[]>(`new Promise((resolve) => {
      const list = document.querySelector('.list');
      const frames = [];
      let last = performance.now();
      const step = (now) => {
        frames.push(now - last);
        last = now;
        list.scrollTop += 700;
        if (frames.length <= 120) requestAnimationFrame(step);
        else resolve(frames.slice(1).sort((a, b) => a - b));
      };
      requestAnimationFrame(step);
    })`);
    const at = (share: number): number => frames[Math.floor(frames.length * share)] as number;
    const figures = `median ${at(0.5).toFixed(1)} ms, p95 ${at(0.95).toFixed(1)} ms, longest ${at(0.999).toFixed(1)} ms`;
    await annotate(`scroll frames with ${JOBS} rows: ${figures}`);
    console.log(`scroll frames with ${JOBS} rows: ${figures}`);
    const first = Math.floor((await listOf(page).evaluate((list) => list.scrollTop)) / 32) + 2;
    await page.locator(`.row[aria-rowindex="${first}"]`).waitFor();
    // Each step has drawn what came into view; how long that may take depends on the machine, so only the sense of it is checked here.
    expect(await listOf(page).evaluate((list) => list.scrollTop)).toBeGreaterThan(60_000);
    expect(at(0.5)).toBeLessThan(250);
  });

  it('stay usable while many of them change: a filter, a cancel of all it shows, and the counts agree', async () => {
    const page = await dashboard.page({ hash: '/?show=queued' });
    await countIs(page, QUEUED + HOLDERS);
    await page.getByRole('button', { name: `Cancel ${QUEUED} jobs` }).click();
    await page
      .getByRole('dialog')
      .getByRole('button', { name: `Cancel ${QUEUED} jobs` })
      .click();
    await page.getByTestId('toast').getByText(`${QUEUED} jobs told to end.`).waitFor();
    await chipOf(page, 'cancelled').getByText(String(QUEUED), { exact: true }).waitFor();
    await chipOf(page, 'queued').getByText('0', { exact: true }).waitFor();
    await badgeSays(page, RUNNING);
    expect((await dashboard.offstage.list({ status: ['cancelled'] })).length).toBe(QUEUED);
  });
});
