/** What jobs do, as it happens: the surface rows (D11) of the seed's scenarios, cancel, detached work, and times that stand still. */
import { describe, expect, it } from 'vitest';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { controlledExecutor, virtualClock } from '../../src/testing/index.ts';
import { openDashboard } from './open-page.ts';
import { badgeSays, chipOf, detailOf, iconOf, rowIn, rowOf, sentenceOf, styleOf } from './page-parts.ts';

describe('a live change without a reload', () => {
  it('scenario A: a job that somebody waits for flashes once, and its card appears in its end state', async () => {
    const work = controlledExecutor();
    await using dashboard = await openDashboard({ executors: { work } });
    const page = await dashboard.page();
    await page.getByText('Nothing here yet').waitFor();
    const answer = dashboard.offstage.run({ kind: 'work', jobId: 'a', subject: 'probe X' });
    await rowIn(page, 'job', 'a', 'background-running').waitFor();
    await work.release('a', 'X is fine');
    await answer;
    await rowIn(page, 'job', 'a', 'completed').click();
    const card = page.getByTestId('card');
    await card.getByText('done', { exact: true }).waitFor();
    await card.getByText('X is fine').waitFor();
    await detailOf(page).getByText('yes: a foreground job').waitFor();
  });

  it('scenario B: a row that runs, the total in the bar, and a card with a badge of its own', async () => {
    const work = controlledExecutor();
    await using dashboard = await openDashboard({ executors: { work } });
    const page = await dashboard.page();
    const { jobId } = await dashboard.offstage.spawn({ kind: 'work', subject: 'a long one' });
    await rowIn(page, 'job', jobId, 'background-running').getByText('Running').waitFor();
    await badgeSays(page, 1);
    await expect.poll(() => page.title()).toBe('(1) Offstage');
    await rowOf(page, 'job', jobId).click();
    const card = page.getByTestId('card');
    await card.getByText('running', { exact: true }).waitFor();
    await work.release(jobId, 'at last');
    await card.getByText('done', { exact: true }).waitFor();
    await badgeSays(page, 0);
    await expect.poll(() => page.title()).toBe('Offstage');
  });

  it('scenario C: five rows of a plan, four run, one is queued with a clock; they flip one by one', async () => {
    const work = controlledExecutor();
    await using dashboard = await openDashboard({ executors: { work }, workers: 4 });
    const page = await dashboard.page();
    const ids = ['p1', 'p2', 'p3', 'p4', 'p5'];
    for (const jobId of ids)
      await dashboard.offstage.spawn({ kind: 'work', jobId, subject: `research ${jobId}`, parentMessageId: 'm1' });
    for (const jobId of ids.slice(0, 4)) await rowIn(page, 'job', jobId, 'background-running').waitFor();
    const queued = rowIn(page, 'job', 'p5', 'queued');
    await queued.getByRole('img', { name: 'Waiting for its turn', exact: true }).waitFor();
    await queued.getByText('Queued').waitFor();
    // A round face with two hands.
    expect(await iconOf(queued).locator('path').getAttribute('d')).toContain('M8 4.6V8l2.3 1.6');
    await badgeSays(page, 4);
    await chipOf(page, 'queued').getByText('1').waitFor();
    const shown = async (): Promise<readonly (string | null)[]> =>
      Promise.all(ids.map((jobId) => rowOf(page, 'job', jobId).getAttribute('data-state')));
    await work.release('p3', 'ok');
    await rowIn(page, 'job', 'p5', 'background-running').waitFor();
    await rowIn(page, 'job', 'p3', 'completed').waitFor();
    const runs = 'background-running';
    expect(await shown()).toEqual([runs, runs, 'completed', runs, runs]);
    await work.fail('p1', new Error('no'));
    await rowIn(page, 'job', 'p1', 'errored').waitFor();
    expect(await shown()).toEqual(['errored', runs, 'completed', runs, runs]);
    for (const jobId of ['p2', 'p4', 'p5']) await work.release(jobId, 'ok');
    for (const jobId of ['p2', 'p4', 'p5']) await rowIn(page, 'job', jobId, 'completed').waitFor();
    await badgeSays(page, 0);
    await rowOf(page, 'job', 'p2').click();
    await detailOf(page).getByRole('list', { name: 'Same plan' }).getByRole('listitem').nth(3).waitFor();
    await expect.poll(() => detailOf(page).getByRole('list', { name: 'Same plan' }).getByRole('listitem').count()).toBe(4);
  });

  it('scenario D: Stop asks for the cancel; "Cancelling…" and dim until the body has settled, and only then "Cancelled"', async () => {
    const work = controlledExecutor({ stubborn: true });
    await using dashboard = await openDashboard({ executors: { work } });
    const { jobId } = await dashboard.offstage.spawn({ kind: 'work', subject: 'does not listen' });
    await work.started(jobId);
    const page = await dashboard.page({ hash: `/job/${jobId}`, reducedMotion: 'no-preference' });
    await detailOf(page).getByRole('button', { name: 'Cancel this job' }).click();
    await sentenceOf(page).getByText('Cancelling…').waitFor();
    const row = rowIn(page, 'job', jobId, 'cancelling');
    await row.getByText('Cancelling…').waitFor();
    const ring = iconOf(row).locator('.ring');
    expect(await styleOf(ring, 'opacity', 'animationName')).toEqual({ opacity: '0.7', animationName: 'turn' });
    expect(await detailOf(page).getByRole('button', { name: 'Cancelling…' }).isDisabled()).toBe(true);
    await badgeSays(page, 1);
    expect((await dashboard.offstage.get(jobId)).status).toBe('running');
    await work.release(jobId, 'all the same');
    await rowIn(page, 'job', jobId, 'cancelled').waitFor();
    await sentenceOf(page).getByText('Cancelled').waitFor();
    await badgeSays(page, 0);
  });
});

describe('work whose record is over', () => {
  it('"may still be running" until its body has been seen to end', async () => {
    const work = controlledExecutor({ stubborn: true });
    const clock = virtualClock();
    await using dashboard = await openDashboard({ executors: { work }, store: memoryStore(), clock, log: () => {} });
    const { jobId } = await dashboard.offstage.spawn({ kind: 'work', subject: 'stuck' });
    await work.started(jobId);
    const page = await dashboard.page({ hash: `/job/${jobId}` });
    await dashboard.offstage.cancel(jobId);
    await rowIn(page, 'job', jobId, 'cancelling').waitFor();
    await clock.advance(30_000);
    await rowIn(page, 'job', jobId, 'cancelled').getByText('may still be running').waitFor();
    await sentenceOf(page).getByText('may still be running').waitFor();
    await badgeSays(page, 0);
    await work.release(jobId);
    await sentenceOf(page).getByText('may still be running').waitFor({ state: 'detached' });
    await page.reload();
    await sentenceOf(page).getByText('Cancelled by force after 30 s').waitFor();
    await expect.poll(() => page.getByText('may still be running').count()).toBe(0);
  });
});

describe('times', () => {
  it('go on while the work does, by the clock of the engine, and stand still at its end', async () => {
    const work = controlledExecutor();
    // Two hours ahead of this machine's.
    const clock = virtualClock(Date.now() + 7_200_000);
    await using dashboard = await openDashboard({ executors: { work }, store: memoryStore(), clock });
    const { jobId } = await dashboard.offstage.spawn({ kind: 'work', subject: 'timed' });
    await work.started(jobId);
    await clock.advance(95_000);
    await work.release(jobId, 'done');
    const ended = await dashboard.offstage.wait(jobId);
    expect((ended.completedAt as number) - (ended.startedAt as number)).toBe(95_000);
    const page = await dashboard.page({ hash: `/job/${jobId}` });
    const time = rowOf(page, 'job', jobId).locator('.row-time');
    await time.getByText('1m 35s', { exact: true }).waitFor();
    await sentenceOf(page).getByText('Completed in 1 min 35 s').waitFor();
    // The page's own clock goes on for an hour.
    await page.clock.install();
    await page.clock.fastForward(3_600_000);
    await time.getByText('1m 35s', { exact: true }).waitFor();
    await sentenceOf(page).getByText('Completed in 1 min 35 s').waitFor();
    const timeline = detailOf(page).locator('[data-section="timeline"]');
    await timeline.getByText('1 min 35 s').first().waitFor();
  });

  it('of a running job grow each second, and silence is told', async () => {
    const work = controlledExecutor();
    await using dashboard = await openDashboard({ executors: { work } });
    const { jobId } = await dashboard.offstage.spawn({ kind: 'work', subject: 'silent' });
    await work.started(jobId);
    const page = await dashboard.page({ hash: `/job/${jobId}`, prepare: (page) => page.clock.install() });
    const time = rowOf(page, 'job', jobId).locator('.row-time');
    await page.clock.fastForward(30_000);
    await time.getByText(/^3\ds$/).waitFor();
    await page.clock.fastForward(180_000);
    await sentenceOf(page)
      .getByText(/Running for 3 min 3\d s, last heard 3 min ago/)
      .waitFor();
    await rowOf(page, 'job', jobId).getByText('last heard 3 min ago').waitFor();
  });
});

describe('what a job reports', () => {
  it('progress, output and the text so far are shown as they come, and each piece of output once', async () => {
    const work = controlledExecutor();
    await using dashboard = await openDashboard({ executors: { work } });
    const { jobId } = await dashboard.offstage.spawn({ kind: 'work', subject: 'tells' });
    const { context } = await work.started(jobId);
    context.output('before\n');
    const page = await dashboard.page({ hash: `/job/${jobId}` });
    const output = page.getByTestId('output');
    await output.getByText('before').waitFor();
    for (let line = 1; line <= 50; line += 1) context.output(`line ${line}\n`);
    // The colours of terminals are left out.
    context.output('\u001b[31mred\u001b[0m\n');
    await output.getByText('red').waitFor();
    const printed = ['before', ...Array.from({ length: 50 }, (_, index) => `line ${index + 1}`), 'red', ''].join('\n');
    expect(await output.textContent()).toBe(printed);
    context.progress({ done: 3, total: 4, message: 'three of four' });
    await detailOf(page).getByText('75 %').waitFor();
    await detailOf(page).getByText('three of four').waitFor();
    context.partial('so far so good');
    context.progress({ done: 4, total: 4 });
    await detailOf(page).getByLabel('Text so far').getByText('so far so good').waitFor();
    await work.release(jobId, { answer: 42 });
    await detailOf(page).getByLabel('Result value').getByText('"answer": 42').waitFor();
    expect(await output.textContent()).toBe(printed);
  });

  it('a failure names its code and its message', async () => {
    const work = controlledExecutor();
    await using dashboard = await openDashboard({ executors: { work } });
    const { jobId } = await dashboard.offstage.spawn({ kind: 'work', subject: 'fails' });
    await work.fail(jobId, new RangeError('out of range'));
    const page = await dashboard.page({ hash: `/job/${jobId}` });
    const { error } = await dashboard.offstage.wait(jobId);
    const section = detailOf(page).locator('[data-section="error"]');
    await section.getByText(String(error?.code), { exact: true }).waitFor();
    await section.getByText('out of range').waitFor();
  });
});
