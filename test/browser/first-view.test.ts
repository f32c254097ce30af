/** The first view, and what a reload or a link finds. */
import { describe, expect, it } from 'vitest';
import { controlledExecutor } from '../../src/testing/index.ts';
import { openDashboard } from './open-page.ts';
import { badgeSays, chipOf, detailOf, rowIn, rowOf } from './page-parts.ts';

describe('the first view', () => {
  it('shows task, session and job in each other, and how many run', async () => {
    const work = controlledExecutor();
    await using dashboard = await openDashboard({ executors: { work } });
    const { offstage } = dashboard;
    await offstage.tasks.create({ taskId: 't1', title: 'Find the fault' });
    await offstage.sessions.create({ sessionId: 's1', taskId: 't1' });
    const { jobId } = await offstage.spawn({ kind: 'work', sessionId: 's1', subject: 'read the logs' });
    await offstage.spawn({ kind: 'work', sessionId: 's1', parentJobId: jobId, jobId: 'child', subject: 'read the first' });
    const page = await dashboard.page();
    await badgeSays(page, 2);
    const levels = [
      ['task', 't1', '1', 'Find the fault'],
      ['session', 's1', '2', 's1'],
      ['job', jobId, '3', 'read the logs'],
      ['job', 'child', '4', 'read the first'],
    ] as const;
    for (const [kind, id, level, title] of levels) {
      const row = rowOf(page, kind, id);
      await row.getByText(title, { exact: true }).waitFor();
      await expect.poll(() => row.getAttribute('aria-level')).toBe(level);
    }
  });

  it('a link to a job that has gone, or never was, says so; to one that is there shows it, scrolled to', async () => {
    await using dashboard = await openDashboard({ executors: { quick: () => 'done' } });
    for (let n = 0; n < 60; n += 1) await dashboard.offstage.spawn({ kind: 'quick', jobId: `job-${n}`, subject: `subject ${n}` });
    const page = await dashboard.page({ hash: '/job/nowhere' });
    await detailOf(page).getByText('nowhere').waitFor();
    await page.evaluate(`location.hash = '/task/nowhere'`);
    await detailOf(page).getByText('This task is not here.').waitFor();
    await page.goto(`${dashboard.server.url}#/job/job-0`);
    await detailOf(page).getByRole('heading', { name: 'subject 0' }).waitFor();
    await expect.poll(() => rowOf(page, 'job', 'job-0').getAttribute('aria-selected')).toBe('true');
    await rowOf(page, 'job', 'job-0').waitFor();
    await page.goto(`${dashboard.server.url}#/nonsense/%E0%A4%A?show=nothing,,&q=`);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  });
});

describe('the address', () => {
  it('keeps selection, search and filters over a reload; back goes to the selection before', async () => {
    const work = controlledExecutor();
    await using dashboard = await openDashboard({ executors: { work, quick: () => 'done' } });
    const { offstage } = dashboard;
    const build = await offstage.spawn({ kind: 'work', subject: 'build it' });
    const test = await offstage.spawn({ kind: 'work', subject: 'test it' });
    const over = await offstage.spawn({ kind: 'quick', subject: 'build before' });
    await offstage.wait(over.jobId);
    const page = await dashboard.page();
    await rowOf(page, 'job', over.jobId).click();
    await rowOf(page, 'job', build.jobId).click();
    await page.getByPlaceholder('Search').fill('build');
    await chipOf(page, 'running').click();
    const check = async (): Promise<void> => {
      await detailOf(page).getByRole('heading', { name: 'build it' }).waitFor();
      await rowIn(page, 'job', build.jobId, 'background-running').waitFor();
      await rowOf(page, 'job', over.jobId).waitFor({ state: 'detached' });
      await expect.poll(() => rowOf(page, 'job', test.jobId).count()).toBe(0);
      await expect.poll(() => page.getByPlaceholder('Search').inputValue()).toBe('build');
      await expect.poll(() => chipOf(page, 'running').getAttribute('aria-pressed')).toBe('true');
    };
    await check();
    expect(new URL(page.url()).hash).toBe(`#/job/${build.jobId}?show=running&q=build`);
    await page.reload();
    await check();
    await page.goBack();
    await detailOf(page).getByRole('heading', { name: 'build before' }).waitFor();
    await page.goForward();
    await detailOf(page).getByRole('heading', { name: 'build it' }).waitFor();
    await page.getByRole('button', { name: 'Show everything' }).click();
    await rowOf(page, 'job', test.jobId).waitFor();
  });
});
