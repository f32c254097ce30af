/** The list does not move under the pointer or the focus (DSH9); what is new above waits, and says so. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { controlledExecutor } from '../../src/testing/index.ts';
import { type Dashboard, openDashboard } from './open-page.ts';
import { rowIn, rowOf, titlesOf } from './page-parts.ts';

const HOLDERS = ['default', 'default'];

async function threeJobs({ offstage }: Dashboard): Promise<void> {
  for (const jobId of ['a', 'b', 'c']) await offstage.spawn({ kind: 'work', jobId, subject: `job ${jobId}` });
}

const listed = async (page: Page): Promise<readonly string[]> => (await titlesOf(page)).slice(HOLDERS.length);

const open = async (work: ReturnType<typeof controlledExecutor>): Promise<Dashboard> =>
  openDashboard({ executors: { work }, workers: 8, notices: false });

describe('the order', () => {
  it('is the newest first, then what has ended behind what runs, while nobody points at it', async () => {
    const work = controlledExecutor();
    await using dashboard = await open(work);
    await threeJobs(dashboard);
    const page = await dashboard.page();
    await rowIn(page, 'job', 'a', 'background-running').waitFor();
    expect(await listed(page)).toEqual(['job c', 'job b', 'job a']);
    await work.release('c');
    await rowIn(page, 'job', 'c', 'completed').waitFor();
    expect(await listed(page)).toEqual(['job b', 'job a', 'job c']);
  });

  it.each(['pointer', 'focus'])(
    'stays while the %s is on a row; the row changes in its place, and moves afterwards',
    async (by) => {
      const work = controlledExecutor();
      await using dashboard = await open(work);
      await threeJobs(dashboard);
      const page = await dashboard.page();
      await rowIn(page, 'job', 'a', 'background-running').waitFor();
      if (by === 'pointer') await rowOf(page, 'job', 'b').hover();
      else await rowOf(page, 'job', 'b').focus();
      const before = await rowOf(page, 'job', 'b').boundingBox();
      await work.release('c');
      await rowIn(page, 'job', 'c', 'completed').waitFor();
      await work.fail('b', new Error('no'));
      await rowIn(page, 'job', 'b', 'errored').waitFor();
      await dashboard.offstage.spawn({ kind: 'work', jobId: 'd', subject: 'job d' });
      // What is new comes behind, where it moves nothing.
      await rowIn(page, 'job', 'd', 'background-running').waitFor();
      expect(await listed(page)).toEqual(['job c', 'job b', 'job a', 'job d']);
      expect(await rowOf(page, 'job', 'b').boundingBox()).toEqual(before);
      if (by === 'pointer') await page.mouse.move(900, 500);
      else await page.getByPlaceholder('Search').focus();
      await page.locator('.row[data-id="d"][aria-rowindex="3"]').waitFor();
      expect(await listed(page)).toEqual(['job d', 'job a', 'job b', 'job c']);
    },
  );

  it('lets what is new above the row with the focus wait, and says how much', async () => {
    const work = controlledExecutor();
    await using dashboard = await open(work);
    const { offstage } = dashboard;
    await offstage.tasks.create({ taskId: 't1', title: 'Two sessions' });
    for (const sessionId of ['lower', 'upper']) {
      await offstage.sessions.create({ sessionId, taskId: 't1' });
      await offstage.spawn({ kind: 'work', jobId: `in ${sessionId}`, subject: `in ${sessionId}`, sessionId });
    }
    const page = await dashboard.page();
    await rowIn(page, 'job', 'in lower', 'background-running').focus();
    const place = await rowOf(page, 'job', 'in lower').boundingBox();
    for (const jobId of ['d', 'e']) await offstage.spawn({ kind: 'work', jobId, subject: `job ${jobId}`, sessionId: 'upper' });
    const waiting = page.getByText('2 new rows above', { exact: true });
    await waiting.waitFor();
    expect(await rowOf(page, 'job', 'in lower').boundingBox()).toEqual(place);
    await expect.poll(() => rowOf(page, 'job', 'd').count()).toBe(0);
    await page.getByPlaceholder('Search').focus();
    await rowOf(page, 'job', 'd').waitFor();
    await waiting.waitFor({ state: 'detached' });
    expect(await listed(page)).toEqual(['job e', 'job d', 'in upper', 'lower', 'in lower']);
  });

  it('does not move what is clicked: the row under the pointer when the button went down is the one that opens', async () => {
    const work = controlledExecutor();
    await using dashboard = await open(work);
    await threeJobs(dashboard);
    const page = await dashboard.page();
    await rowOf(page, 'job', 'b').hover();
    await page.mouse.down();
    await work.release('b');
    await rowIn(page, 'job', 'b', 'completed').waitFor();
    await page.mouse.up();
    await page.getByRole('heading', { name: 'job b' }).waitFor();
  });
});
