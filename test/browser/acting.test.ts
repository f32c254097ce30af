/** What a person does: starts work, cancels many, stops, archives and deletes. */
import { describe, expect, it } from 'vitest';
import { controlledExecutor } from '../../src/testing/index.ts';
import { vouchingAgent, workBehind } from './agents.ts';
import { openDashboard } from './open-page.ts';
import { rowIn, rowOf } from './page-parts.ts';

describe('starting', () => {
  it('a command: the form starts it, and its output and its end are shown', async () => {
    await using dashboard = await openDashboard();
    const page = await dashboard.page();
    await page.getByRole('button', { name: 'Job', exact: true }).click();
    const form = page.getByRole('dialog', { name: 'New job' });
    await form.getByLabel('Command', { exact: false }).fill('echo one; echo two');
    await form.getByRole('button', { name: 'Start the job' }).click();
    await form.waitFor({ state: 'detached' });
    await page.getByTestId('output').getByText('two').waitFor();
    await page.getByTestId('sentence').getByText('Completed').waitFor();
    await page.getByTestId('durations').getByText('ran').waitFor();
  });

  it('any kind, with its input as JSON; a mistake is told and changes nothing', async () => {
    const work = controlledExecutor();
    await using dashboard = await openDashboard({ executors: { work } });
    const page = await dashboard.page();
    await page.getByRole('button', { name: 'Job', exact: true }).click();
    const form = page.getByRole('dialog', { name: 'New job' });
    await form.getByRole('button', { name: 'Other kind' }).click();
    await form.getByLabel('Kind').fill('wrong');
    await form.getByLabel('Input (JSON)').fill('{"n": ');
    expect(await form.getByRole('button', { name: 'Start the job' }).isDisabled()).toBe(true);
    await form.getByLabel('Input (JSON)').fill('{"n": 1}');
    await form.getByRole('button', { name: 'Start the job' }).click();
    await page.getByTestId('toast').getByText('wrong').waitFor();
    await form.getByLabel('Kind').fill('work');
    await form.getByRole('button', { name: 'Start the job' }).click();
    await form.waitFor({ state: 'detached' });
    const [job] = await dashboard.offstage.list();
    expect(job).toMatchObject({ kind: 'work', input: { n: 1 } });
  });

  it('a task with a session, whose agent takes a message', async () => {
    const mock = vouchingAgent();
    await using dashboard = await openDashboard({ agents: { default: mock.factory } });
    const page = await dashboard.page();
    await page.getByRole('button', { name: 'Task', exact: true }).click();
    await page.getByLabel('Title').fill('Find the fault');
    await page.getByRole('button', { name: 'Create the task' }).click();
    await page.getByPlaceholder('Message the agent').fill('look at it');
    await page.keyboard.press('Enter');
    expect((await mock.nextPrompt()).content).toBe('look at it');
    const { tasks, sessions } = await dashboard.offstage.snapshot();
    expect(tasks.map(({ title, sessions }) => [title, sessions])).toEqual([
      ['Find the fault', sessions.map(({ sessionId }) => sessionId)],
    ]);
    mock.emit({ type: 'output', generation: 1, text: 'I look at it.' });
    await page.getByTestId('said').getByText('I look at it.').waitFor();
  });
});

describe('cancelling and stopping', () => {
  it('all that the filter shows, after asking, and nothing else', async () => {
    const work = controlledExecutor();
    await using dashboard = await openDashboard({ executors: { work }, workers: 1 });
    const { offstage } = dashboard;
    const first = await offstage.spawn({ kind: 'work', subject: 'first' });
    await work.started(first.jobId);
    await Promise.all(['a', 'b', 'c'].map((subject) => offstage.spawn({ kind: 'work', subject })));
    const page = await dashboard.page({ hash: '/?show=queued' });
    await page.getByRole('button', { name: 'Cancel 3 jobs' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel 3 jobs' }).click();
    await page.getByTestId('toast').getByText('3 jobs told to end').waitFor();
    expect((await offstage.list({ status: 'cancelled' })).length).toBe(3);
    expect((await offstage.get(first.jobId)).status).toBe('running');
  });

  it('everything in a task, named by what it is, at once', async () => {
    const mock = vouchingAgent();
    await using dashboard = await openDashboard({ agents: { default: mock.factory } });
    await workBehind(dashboard, mock);
    const { jobId } = await dashboard.offstage.spawn({
      kind: 'command',
      sessionId: 's1',
      input: { command: 'sleep', args: ['600'] },
    });
    const page = await dashboard.page({ hash: '/task/t1' });
    await rowIn(page, 'job', jobId, 'background-running').waitFor();
    await page.getByRole('button', { name: 'Stop everything in this task (1 agent, 1 shell)' }).click();
    await rowIn(page, 'job', jobId, 'cancelled').waitFor();
    await rowIn(page, 'session', 's1', 'cancelled').waitFor();
    await page.getByRole('button', { name: 'Stop everything' }).waitFor({ state: 'detached' });
  });
});

describe('deleting and archiving', () => {
  it('warns of live work, and does it only when that is confirmed', async () => {
    const mock = vouchingAgent();
    await using dashboard = await openDashboard({ agents: { default: mock.factory } });
    await workBehind(dashboard, mock);
    const page = await dashboard.page({ hash: '/task/t1' });
    await page.getByRole('button', { name: 'Archive' }).click();
    const question = page.getByRole('dialog');
    await question.getByText('Work is still in progress').waitFor();
    await question.getByRole('button', { name: 'Cancel' }).click();
    await question.waitFor({ state: 'detached' });
    expect((await dashboard.offstage.tasks.get('t1')).state).toBe('open');
    await page.getByRole('button', { name: 'Delete' }).click();
    await question.getByText('Work is still in progress').waitFor();
    await question.getByRole('button', { name: 'Stop and delete' }).click();
    await rowOf(page, 'task', 't1').waitFor({ state: 'detached' });
    await expect(dashboard.offstage.tasks.get('t1')).rejects.toMatchObject({ code: 'task.not_found' });
  });

  it('of a session it names the jobs that have not ended; they are stopped first', async () => {
    const work = controlledExecutor();
    await using dashboard = await openDashboard({ executors: { work } });
    const { offstage } = dashboard;
    await offstage.tasks.create({ taskId: 't1', title: 'Find the fault' });
    await offstage.sessions.create({ sessionId: 's1', taskId: 't1' });
    const { jobId } = await offstage.spawn({ kind: 'work', sessionId: 's1' });
    await work.started(jobId);
    const page = await dashboard.page({ hash: '/session/s1' });
    await rowIn(page, 'job', jobId, 'background-running').waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByText('Work is still in progress').getByText('1 job has not ended').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Stop and delete' }).click();
    await rowOf(page, 'session', 's1').waitFor({ state: 'detached' });
    await rowOf(page, 'job', jobId).waitFor({ state: 'detached' });
    expect(work.live.size).toBe(0);
  });

  it('of what is idle it asks without a warning before it deletes, and archives at once', async () => {
    await using dashboard = await openDashboard();
    await dashboard.offstage.tasks.create({ taskId: 't1', title: 'Nothing to do' });
    const page = await dashboard.page({ hash: '/task/t1' });
    await page.getByRole('button', { name: 'Archive' }).click();
    await page.getByTestId('toast').getByText('The task is archived').waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    const question = page.getByRole('dialog', { name: 'Delete this task?' });
    await question.waitFor();
    await expect.poll(() => question.getByText('Work is still in progress').count()).toBe(0);
    await question.getByRole('button', { name: 'Delete this task' }).click();
    await rowOf(page, 'task', 't1').waitFor({ state: 'detached' });
  });

  it('archives without a question where the engine was told so', async () => {
    const mock = vouchingAgent();
    await using dashboard = await openDashboard({ agents: { default: mock.factory }, confirmArchive: false });
    await workBehind(dashboard, mock);
    const page = await dashboard.page({ hash: '/task/t1' });
    await page.getByRole('button', { name: 'Archive' }).click();
    await page.getByTestId('toast').getByText('The task is archived').waitFor();
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
  });
});
