/**
 * A server that goes and comes back, and a badge that says what the list says (B61).
 *
 * What is shown while nobody knows is what was last known, and says so; nobody is claimed to have stopped.
 */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { openDashboard, openPage } from './open-page.ts';
import { badgeSays, connectionIs, detailOf, rowIn, rowOf, styleOf } from './page-parts.ts';
import { type Served, servedEngine } from './served.ts';

/** What a browser says of a server that is not there. */
const GONE = /WebSocket connection|ERR_(?:CONNECTION_(?:REFUSED|RESET)|INTERNET_DISCONNECTED)/;

/** Badge, rows and the engine's own list tell the same. */
async function agreesWithList(page: Page, { client }: Served): Promise<void> {
  const running = await client.listJobs({ status: ['running'] });
  await badgeSays(page, running.length);
  const jobs = await client.listJobs({ limit: 1_000 });
  for (const { jobId, status, cancelRequestedAt } of jobs) {
    const going = cancelRequestedAt === null ? 'background-running' : 'cancelling';
    await rowIn(page, 'job', jobId, status === 'running' ? going : status).waitFor();
  }
  await expect.poll(() => page.locator('.row[data-kind="job"]').count()).toBe(jobs.length);
}

describe('B61: the badge is the size of list(running)', () => {
  it('after success, error, cancel of a queued one, a forced cancel, and a shutdown with a restart', async () => {
    await using served = await servedEngine();
    await using page = await openPage(served.link);
    await connectionIs(page.page, 'open');
    const { client } = served;
    const held = [];
    for (const n of [1, 2, 3]) held.push(await client.spawn({ kind: n === 3 ? 'deaf' : 'listens', jobId: `held${n}` }));
    await badgeSays(page.page, 3);
    await client.spawn({ kind: 'quick', jobId: 'waits' });
    await rowIn(page.page, 'job', 'waits', 'queued').waitFor();
    await client.cancelJob('waits');
    await agreesWithList(page.page, served);
    await client.cancelJob('held1');
    await rowIn(page.page, 'job', 'held1', 'cancelled').waitFor();
    for (const kind of ['quick', 'broken']) await client.awaitJobs([(await client.spawn({ kind })).jobId]);
    await agreesWithList(page.page, served);
    await client.cancelJob('held3');
    await rowIn(page.page, 'job', 'held3', 'cancelled').getByText('may still be running').waitFor();
    await agreesWithList(page.page, served);
    await badgeSays(page.page, 1);
    page.ignore(GONE);
    await served.end('SIGTERM');
    await connectionIs(page.page, 'lost');
    await served.start();
    await connectionIs(page.page, 'open');
    await agreesWithList(page.page, served);
    await badgeSays(page.page, 0);
  });
});

describe('a server that was killed', () => {
  it('leaves the last state with the time it was true, marked as old, and no word that anything has stopped', async () => {
    await using served = await servedEngine();
    const { client } = served;
    await client.spawn({ kind: 'listens', jobId: 'works', subject: 'goes on' });
    await client.spawn({ kind: 'quick', jobId: 'over' });
    await client.awaitJobs(['over']);
    await using opened = await openPage(`${served.link}#/job/works`, { reducedMotion: 'no-preference' });
    const { page } = opened;
    await rowIn(page, 'job', 'works', 'background-running').waitFor();
    await detailOf(page).getByRole('button', { name: 'Cancel this job' }).waitFor();
    opened.ignore(GONE);
    await served.end('SIGKILL');
    await connectionIs(page, 'lost');
    await page
      .getByTestId('banner')
      .getByText(/^Disconnected, showing the state of \d\d:\d\d:\d\d$/)
      .waitFor();
    await page.locator('.app.is-stale').waitFor();
    await rowIn(page, 'job', 'works', 'background-running').getByText('Running').waitFor();
    await badgeSays(page, 1);
    expect(await page.getByText(/stopped|has ended|Lost when/i).count()).toBe(0);
    // It does not spin, and its time does not go on: nobody knows.
    expect(await styleOf(rowOf(page, 'job', 'works').locator('.ring'), 'animationName')).toEqual({ animationName: 'none' });
    // Nothing can be asked for now.
    for (const name of ['Cancel this job', 'Job', 'Task'])
      expect([name, await page.getByRole('button', { name, exact: true }).isDisabled()]).toEqual([name, true]);

    await served.start();
    await connectionIs(page, 'open');
    await page.getByTestId('banner').waitFor({ state: 'detached' });
    await page.locator('.app.is-stale').waitFor({ state: 'detached' });
    await rowIn(page, 'job', 'works', 'errored').waitFor();
    await detailOf(page).getByTestId('sentence').getByText('Lost when the engine died').waitFor();
    await agreesWithList(page, served);
  });

  it('before all of the page was loaded: the rest comes with the next connection', async () => {
    await using served = await servedEngine();
    await served.client.spawn({ kind: 'listens', jobId: 'works' });
    await using opened = await openPage(`${served.url}healthz`);
    const { page } = opened;
    opened.ignore(GONE);
    let isCut = true;
    await page.route(/assets\/later/, (route) => (isCut ? route.abort('connectionrefused') : route.continue()));
    await page.goto(served.link);
    await rowIn(page, 'job', 'works', 'background-running').waitFor();
    await served.end('SIGKILL');
    await connectionIs(page, 'lost');
    isCut = false;
    await served.start();
    await connectionIs(page, 'open');
    // Which the first view has not.
    await page.getByRole('status').waitFor({ state: 'attached' });
    await connectionIs(page, 'open');
    await served.end('SIGKILL');
    await page.getByTestId('banner').getByText('Disconnected, showing the state of').waitFor();
  });

  it('is found again by a page that comes with the same cookie, without another link', async () => {
    await using served = await servedEngine();
    await using opened = await openPage(served.link);
    await connectionIs(opened.page, 'open');
    opened.ignore(GONE);
    await served.end('SIGKILL');
    await connectionIs(opened.page, 'lost');
    await served.start();
    const second = await opened.page.context().newPage();
    await second.goto(served.url);
    await connectionIs(second, 'open');
  });
});

describe('a connection that is cut', () => {
  it('while the time of running work stands still, and goes on when it is back', async () => {
    await using dashboard = await openDashboard({
      executors: { waits: () => new Promise(() => {}) },
      shutdownGraceMs: 1,
      log: () => {},
    });
    const { jobId } = await dashboard.offstage.spawn({ kind: 'waits' });
    const page = await dashboard.page({ hash: `/job/${jobId}`, prepare: (page) => page.clock.install() });
    await rowIn(page, 'job', jobId, 'background-running').waitFor();
    // Nothing is heard for longer than a heartbeat may take, by the page's clock.
    await page.context().setOffline(true);
    await page.clock.fastForward(26_000);
    await connectionIs(page, 'lost');
    const time = rowOf(page, 'job', jobId).locator('.row-time');
    const shown = await time.textContent();
    await page.clock.fastForward(120_000);
    expect(await time.textContent()).toBe(shown);
    dashboard.ignore(GONE);
    await page.context().setOffline(false);
    await connectionIs(page, 'open');
    await time.getByText(/^2m/).waitFor();
  });
});

describe('paused', () => {
  it('the page stands still and says since when; resumed, it shows what has happened meanwhile', async () => {
    await using dashboard = await openDashboard({ executors: { quick: () => 'done' } });
    const page = await dashboard.page();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page
      .getByTestId('banner')
      .getByText(/^Paused, showing the state of \d\d:\d\d:\d\d$/)
      .waitFor();
    const { jobId } = await dashboard.offstage.spawn({ kind: 'quick' });
    await dashboard.offstage.wait(jobId);
    // Announced all the same, so it has arrived.
    await page.getByRole('status').getByText('1 job finished').waitFor({ state: 'attached' });
    await expect.poll(() => rowOf(page, 'job', jobId).count()).toBe(0);
    await page.getByTestId('banner').getByRole('button', { name: 'Resume' }).click();
    await rowIn(page, 'job', jobId, 'completed').waitFor();
  });
});
