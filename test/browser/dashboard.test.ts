/** The page with a real engine behind it: first view, live change, cancel, both running kinds, and hostile text. */
import { describe, expect, it } from 'vitest';
import { controlledExecutor } from '../../src/testing/index.ts';
import { openDashboard, PHONE } from './open-page.ts';
import { attestingAgent, colourOf, detailOf, rowOf, startBackgroundWork } from './page-parts.ts';

const VIOLET = 'rgb(116, 55, 220)';
const YELLOW = 'rgb(154, 107, 0)';

describe('the first view', () => {
  it('shows what is there already: task, session and job, and how many run', async () => {
    const work = controlledExecutor();
    await using dashboard = await openDashboard({ executors: { work } });
    const { offstage } = dashboard;
    await offstage.tasks.create({ taskId: 't1', title: 'Find the fault' });
    await offstage.sessions.create({ sessionId: 's1', taskId: 't1' });
    const { jobId } = await offstage.spawn({ kind: 'work', sessionId: 's1', subject: 'read the logs' });
    await work.started(jobId);
    const page = await dashboard.page();
    await rowOf(page, 'task', 't1').getByText('Find the fault').waitFor();
    await rowOf(page, 'session', 's1').waitFor();
    await rowOf(page, 'job', jobId).getByText('read the logs').waitFor();
    await rowOf(page, 'job', jobId).getByText('Running').waitFor();
    await page.locator('[data-testid="running-count"][data-count="1"]').waitFor();
  });

  it('shows the same in a second tab, and after a reload in the middle', async () => {
    const mock = attestingAgent();
    await using dashboard = await openDashboard({ agents: { default: mock.factory } });
    await startBackgroundWork(dashboard.offstage, mock);
    const first = await dashboard.page({ hash: '/session/s1' });
    const second = await first.context().newPage();
    await second.goto(dashboard.server.url);
    for (const page of [first, second]) await rowOf(page, 'session', 's1').getByLabel('Background work is running').waitFor();
    await first.reload();
    await rowOf(first, 'session', 's1').getByLabel('Background work is running').waitFor();
    await first.getByPlaceholder('Message the agent').waitFor();
  });
});

describe('what happens', () => {
  it('is shown as it happens: a job appears, runs and ends, without a reload', async () => {
    const work = controlledExecutor();
    await using dashboard = await openDashboard({ executors: { work }, workers: 1 });
    const { offstage } = dashboard;
    const page = await dashboard.page();
    await page.getByText('Nothing here yet').waitFor();
    const first = await offstage.spawn({ kind: 'work', subject: 'first' });
    await rowOf(page, 'job', first.jobId).locator('[data-state="background-running"]').waitFor();
    const second = await offstage.spawn({ kind: 'work', subject: 'second' });
    await rowOf(page, 'job', second.jobId).locator('[data-state="queued"]').waitFor();
    await work.release(first.jobId, 'done');
    await rowOf(page, 'job', first.jobId).locator('[data-state="completed"]').waitFor();
    await rowOf(page, 'job', second.jobId).locator('[data-state="background-running"]').waitFor();
    await work.fail(second.jobId, new Error('no'));
    await rowOf(page, 'job', second.jobId).locator('[data-state="errored"]').waitFor();
    await page.getByRole('status').getByText('1 job failed').waitFor({ state: 'attached' });
  });

  it('a cancel says "Cancelling…" until the body has settled, and only then "Cancelled"', async () => {
    const work = controlledExecutor({ stubborn: true });
    await using dashboard = await openDashboard({ executors: { work } });
    const { jobId } = await dashboard.offstage.spawn({ kind: 'work', subject: 'does not listen' });
    await work.started(jobId);
    const page = await dashboard.page({ hash: `/job/${jobId}` });
    const detail = detailOf(page);
    await detail.getByRole('button', { name: 'Cancel this job' }).click();
    await detail.getByTestId('sentence').getByText('Cancelling…').waitFor();
    await rowOf(page, 'job', jobId).getByText('Cancelling…').waitFor();
    expect(await rowOf(page, 'job', jobId).getAttribute('data-state')).toBe('cancelling');
    expect((await dashboard.offstage.get(jobId)).status).toBe('running');
    await work.release(jobId);
    await detail.getByTestId('sentence').getByText('Cancelled').waitFor();
    await rowOf(page, 'job', jobId).locator('[data-state="cancelled"]').waitFor();
  });

  it('says "may still be running" when the record is over and the body is not', async () => {
    const work = controlledExecutor({ stubborn: true });
    await using dashboard = await openDashboard({ executors: { work }, cancelGraceMs: 1 });
    const { jobId } = await dashboard.offstage.spawn({ kind: 'work', subject: 'stuck' });
    await work.started(jobId);
    await dashboard.offstage.cancel(jobId);
    const page = await dashboard.page({ hash: `/job/${jobId}` });
    await rowOf(page, 'job', jobId).getByText('may still be running').waitFor();
    await page.getByTestId('sentence').getByText('may still be running').waitFor();
    await work.release(jobId);
    await page.getByTestId('sentence').getByText('may still be running').waitFor({ state: 'detached' });
  });
});

describe('the two ways of running', () => {
  it('have one shape, a colour and a label of their own: generating before background', async () => {
    const mock = attestingAgent();
    await using dashboard = await openDashboard({ agents: { default: mock.factory } });
    await startBackgroundWork(dashboard.offstage, mock);
    const page = await dashboard.page();
    const row = rowOf(page, 'session', 's1');
    await row.getByRole('img', { name: 'Background work is running', exact: true }).waitFor();
    expect(await colourOf(row.locator('.state').first())).toBe(VIOLET);
    await page.getByTestId('task-state-background-running').waitFor();
    await dashboard.offstage.sessions.prompt('s1', { content: 'go on' });
    await row.getByRole('img', { name: 'Agent is generating', exact: true }).waitFor();
    expect(await colourOf(row.locator('.state').first())).toBe(YELLOW);
    await page.getByTestId('task-state-generating').waitFor();
  });

  it.each([
    ['a desktop', {}],
    ['a phone', PHONE],
  ])('tell the composer whether it sends or queues, on %s', async (_, device) => {
    const mock = attestingAgent();
    await using dashboard = await openDashboard({ agents: { default: mock.factory } });
    await startBackgroundWork(dashboard.offstage, mock);
    const page = await dashboard.page({ hash: '/session/s1', ...device });
    const outcome = page.getByTestId('outcome');
    await page.getByPlaceholder('Message the agent').fill('and what else?');
    await page.getByRole('button', { name: 'Send' }).click();
    await outcome.getByText('Sent').waitFor();
    await page.getByPlaceholder('Queue a message').fill('later');
    await page.getByRole('button', { name: 'Queue', exact: true }).click();
    await outcome.getByText('Queued, number 1 in line').waitFor();
    await page.getByTestId('tickets').getByText('From a person').waitFor();
  });
});

describe('text', () => {
  it('is text in every field: nothing of it becomes markup', async () => {
    const evil = '<img src=x onerror="document.title=\'pwned\'"><b>bold</b>';
    await using dashboard = await openDashboard({
      executors: {
        evil: async (_job, context) => {
          context.progress({ message: evil });
          context.output(evil);
          context.partial(evil);
          throw new Error(evil);
        },
      },
    });
    const { offstage } = dashboard;
    await offstage.tasks.create({ taskId: evil, title: evil });
    await offstage.sessions.create({ sessionId: evil, taskId: evil });
    const { jobId } = await offstage.spawn({ kind: 'evil', sessionId: evil, subject: evil, description: evil, input: { evil } });
    await offstage.wait(jobId);
    const page = await dashboard.page({ hash: `/job/${jobId}` });
    const detail = detailOf(page);
    await detail.getByTestId('output').getByText(evil).waitFor();
    await detail.getByTestId('card').getByText(evil, { exact: true }).waitFor();
    for (const kind of ['session', 'task']) {
      await page.goto(`${dashboard.server.url}#/${kind}/${encodeURIComponent(evil)}`);
      await detail.getByRole('heading', { level: 2 }).getByText(evil).waitFor();
    }
    expect(await page.locator('#app img, #app b').count()).toBe(0);
    expect(await page.title()).not.toContain('pwned');
  });
});
