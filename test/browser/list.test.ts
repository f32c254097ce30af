/** The list: order, hold, keys, filters in the address, very many rows; and the page when the connection goes. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { serve } from '../../src/doors/server/index.ts';
import { controlledExecutor } from '../../src/testing/index.ts';
import { openDashboard } from './open-page.ts';
import { rowIn, rowOf } from './page-parts.ts';

const titles = (page: Page): Promise<readonly string[]> => page.locator('.row[data-kind="job"] .row-title').allInnerTexts();

describe('the order', () => {
  it('puts what works before what waits before what is over, and keeps it under the pointer', async () => {
    const work = controlledExecutor();
    await using dashboard = await openDashboard({ executors: { work }, workers: 1 });
    const { offstage } = dashboard;
    const spawn = (subject: string) => offstage.spawn({ kind: 'work', subject });
    const failed = await spawn('failed');
    await work.fail(failed.jobId, new Error('no'));
    await offstage.wait(failed.jobId);
    const running = await spawn('running');
    await work.started(running.jobId);
    await spawn('queued');
    const page = await dashboard.page();
    await rowOf(page, 'job', failed.jobId).waitFor();
    expect(await titles(page)).toEqual(['running', 'queued', 'failed']);

    await rowOf(page, 'job', failed.jobId).hover();
    const top = (await rowOf(page, 'job', failed.jobId).boundingBox())?.y;
    await work.release(running.jobId);
    await rowIn(page, 'job', running.jobId, 'completed').waitFor();
    // It comes behind what is shown, and only later to where it belongs.
    await spawn('new');
    await page.locator('.row-title', { hasText: 'new' }).waitFor();
    expect(await titles(page)).toEqual(['running', 'queued', 'failed', 'new']);
    expect((await rowOf(page, 'job', failed.jobId).boundingBox())?.y).toBe(top);

    await page.mouse.move(900, 600);
    await page.locator('.row-title').nth(2).getByText('queued').waitFor();
    expect(await titles(page)).toEqual(['queued', 'new', 'failed', 'running']);
  });

  it('lets rows wait that would come above the one that is pointed at', async () => {
    const work = controlledExecutor();
    await using dashboard = await openDashboard({ executors: { work } });
    const { offstage } = dashboard;
    await offstage.tasks.create({ taskId: 'below', title: 'Below' });
    await offstage.tasks.create({ taskId: 'above', title: 'Above' });
    await offstage.sessions.create({ sessionId: 's1', taskId: 'above' });
    await offstage.sessions.create({ sessionId: 's2', taskId: 'below' });
    const page = await dashboard.page();
    const pointedAt = rowOf(page, 'task', 'below');
    await pointedAt.hover();
    const top = (await pointedAt.boundingBox())?.y;
    const { jobId } = await offstage.spawn({ kind: 'work', sessionId: 's1', subject: 'new' });
    await page.getByText('1 new row above').waitFor();
    expect((await pointedAt.boundingBox())?.y).toBe(top);
    expect(await rowOf(page, 'job', jobId).count()).toBe(0);
    await page.mouse.move(900, 600);
    await rowOf(page, 'job', jobId).waitFor();
  });
});

describe('the keyboard alone', () => {
  it('moves, opens, marks, cancels, searches and helps', async () => {
    const work = controlledExecutor();
    await using dashboard = await openDashboard({ executors: { work } });
    const { offstage } = dashboard;
    const first = await offstage.spawn({ kind: 'work', subject: 'first' });
    const second = await offstage.spawn({ kind: 'work', subject: 'second' });
    const page = await dashboard.page();
    await rowOf(page, 'job', second.jobId).waitFor();
    await page.getByRole('button', { name: /^Completed/ }).focus();
    await page.keyboard.press('Tab');
    expect(await focused(page)).toBe('task:default');
    await page.keyboard.press('j');
    await page.keyboard.press('ArrowDown');
    expect(await focused(page)).toBe(`job:${second.jobId}`);
    await page.keyboard.press('End');
    expect(await focused(page)).toBe(`job:${first.jobId}`);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'first' }).waitFor();
    expect(page.url()).toContain(`#/job/${first.jobId}`);
    await page.keyboard.press('c');
    await rowIn(page, 'job', first.jobId, 'cancelled').waitFor();
    expect(await focused(page)).toBe(`job:${first.jobId}`);
    await page.keyboard.press('k');
    await page.keyboard.press('x');
    await page.getByText('1 job marked').waitFor();
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowLeft');
    await rowOf(page, 'session', 'default').waitFor({ state: 'detached' });
    await page.keyboard.press('ArrowRight');
    await rowOf(page, 'session', 'default').waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Help' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('/');
    await page.keyboard.type('first');
    await rowOf(page, 'job', second.jobId).waitFor({ state: 'detached' });
    expect(page.url()).toContain('q=first');
  });
});

describe('the address', () => {
  it('holds filters and selection, and going back goes back', async () => {
    const work = controlledExecutor();
    await using dashboard = await openDashboard({ executors: { work } });
    const { jobId } = await dashboard.offstage.spawn({ kind: 'work', subject: 'one' });
    const page = await dashboard.page({ hash: '/?show=errored' });
    await page.locator('.list').waitFor();
    expect(await page.locator('.row').count()).toBe(0);
    await page.getByRole('button', { name: /^Running/ }).click();
    await rowOf(page, 'job', jobId).click();
    expect(page.url()).toContain(`#/job/${jobId}?show=errored,running`);
    await page.getByRole('heading', { name: 'one' }).waitFor();
    await page.goBack();
    await page.getByText('Select something').waitFor();
  });
});

describe('very many rows', () => {
  it('are all there, with few in the document', async () => {
    const done = { done: async () => null };
    await using dashboard = await openDashboard({ executors: done, workers: 64 });
    const ids: string[] = [];
    for (let batch = 0; batch < 10; batch += 1) {
      const jobs = await Promise.all(
        Array.from({ length: 1_000 }, (_, index) =>
          dashboard.offstage.spawn({ kind: 'done', subject: `job ${batch * 1_000 + index}` }),
        ),
      );
      ids.push(...jobs.map(({ jobId }) => jobId));
    }
    await dashboard.offstage.waitMany(ids, { timeoutMs: null });
    const page = await dashboard.page();
    await page.locator('[role="treegrid"][aria-rowcount="10002"]').waitFor();
    expect(await page.locator('.row').count()).toBeLessThan(45);
    await page.locator('.row').first().focus();
    await page.keyboard.press('End');
    await rowOf(page, 'job', ids[0] as string).waitFor();
    expect(await focused(page)).toBe(`job:${ids[0]}`);
    expect(await page.locator('.row').count()).toBeLessThan(45);
    // The active row stays, however far the list is scrolled.
    await page.locator('.list').evaluate((list) => {
      list.scrollTop = 0;
    });
    await rowOf(page, 'task', 'default').waitFor();
    expect(await focused(page)).toBe(`job:${ids[0]}`);
  });
});

describe('the connection', () => {
  it('says when it is gone and since when, claims nothing meanwhile, and catches up', async () => {
    const work = controlledExecutor();
    await using dashboard = await openDashboard({ executors: { work } });
    const { offstage, server } = dashboard;
    dashboard.ignore(/WebSocket|ERR_|Failed to load/);
    const { jobId } = await offstage.spawn({ kind: 'work', subject: 'goes on' });
    const page = await dashboard.page();
    await rowIn(page, 'job', jobId, 'background-running').waitFor();
    const { port } = server;
    await server.close();
    await page.getByText(/Disconnected, showing the state of \d\d:\d\d:\d\d/).waitFor();
    await rowIn(page, 'job', jobId, 'background-running').waitFor();
    await work.release(jobId);
    await offstage.wait(jobId);
    const again = await serve(offstage, { port });
    await rowIn(page, 'job', jobId, 'completed').waitFor();
    await page.getByText('Disconnected').waitFor({ state: 'detached' });
    await page.locator('[data-testid="running-count"][data-count="0"]').waitFor();
    await again.close();
  });

  it('paused, nothing moves; resumed, it is as it is', async () => {
    const work = controlledExecutor();
    await using dashboard = await openDashboard({ executors: { work } });
    const { jobId } = await dashboard.offstage.spawn({ kind: 'work', subject: 'one' });
    const page = await dashboard.page();
    const other = await dashboard.page();
    await rowIn(page, 'job', jobId, 'background-running').waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText(/Paused, showing the state of/).waitFor();
    await work.release(jobId);
    await rowIn(other, 'job', jobId, 'completed').waitFor();
    expect(await rowOf(page, 'job', jobId).getAttribute('data-state')).toBe('background-running');
    await page.getByTestId('banner').getByRole('button', { name: 'Resume' }).click();
    await rowIn(page, 'job', jobId, 'completed').waitFor();
  });
});

/** The key of the row that has the focus. */
const focused = (page: Page): Promise<string | null> => page.locator('.row:focus').getAttribute('data-key');
