/** What needs a person comes first, and can be answered from here: precedence (seed 002), questions, and their answers. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { ask, generate, launch, vouchingAgent, workBehind } from './agents.ts';
import { openDashboard } from './open-page.ts';
import { chipOf, rowIn, rowOf, titlesOf } from './page-parts.ts';
import { type Wire, type WireFrame, wireOf } from './wire.ts';

const taskTitles = async (page: Page): Promise<readonly string[]> =>
  (await titlesOf(page)).filter((title) => title.startsWith('task '));

describe('precedence', () => {
  it('a question goes before the work of a session, generating before background, and that before nothing', async () => {
    const mock = vouchingAgent();
    await using dashboard = await openDashboard({ agents: { default: mock.factory } });
    const prompt = await workBehind(dashboard, mock);
    const page = await dashboard.page();
    await rowIn(page, 'session', 's1', 'background-running').waitFor();
    const taken = mock.nextPrompt();
    await dashboard.offstage.sessions.prompt('s1', { content: 'go on' });
    await rowIn(page, 'session', 's1', 'generating').waitFor();
    const turn = await taken;
    ask(turn, 'clarification', ['yes', 'no'], { requestId: 'r1' });
    await rowIn(page, 'session', 's1', 'clarification').getByLabel('An answer is needed').waitFor();
    await dashboard.offstage.sessions.answer('s1', 'r1', 'yes');
    ask(turn, 'permission', undefined, { requestId: 'r2' });
    await rowIn(page, 'session', 's1', 'permission').getByLabel('Permission is needed').waitFor();
    await rowIn(page, 'task', 't1', 'permission').waitFor();
    await dashboard.offstage.sessions.answer('s1', 'r2', 'deny');
    await rowIn(page, 'session', 's1', 'generating').waitFor();
    turn.end();
    await rowIn(page, 'session', 's1', 'background-running').waitFor();
    prompt.agent.emit({ type: 'workload.snapshot', generation: 0, workloads: [] });
    await rowIn(page, 'session', 's1', 'idle').waitFor();
  });

  it('a task shows the most of its sessions, and the list is in that order', async () => {
    const mock = vouchingAgent();
    await using dashboard = await openDashboard({
      agents: { default: mock.factory },
      executors: { fine: () => 'done', wrong: () => Promise.reject(new Error('no')) },
      notices: false,
      workers: 1,
    });
    const { offstage } = dashboard;
    const at = (name: string) => ({ sessionId: `s-${name}`, taskId: `t-${name}`, title: `task ${name}` });
    // The oldest is the most urgent: were it by time, it would come last.
    ask(await generate(dashboard, mock, at('permission')), 'permission');
    ask(await generate(dashboard, mock, at('clarification')), 'clarification', ['yes']);
    await generate(dashboard, mock, at('generating'));
    await offstage.sessions.create({ sessionId: 's-second', taskId: 't-generating' });
    await workBehind(dashboard, mock, at('background'));
    await offstage.tasks.create({ taskId: 't-idle', title: 'task idle' });
    for (const kind of ['wrong', 'fine'] as const) {
      const { sessionId, taskId, title } = at(kind);
      await offstage.tasks.create({ taskId, title });
      await offstage.sessions.create({ sessionId, taskId });
      await offstage.wait((await offstage.spawn({ kind, sessionId })).jobId);
    }
    await offstage.tasks.setState('t-fine', 'done');
    const page = await dashboard.page();
    await rowIn(page, 'task', 't-generating', 'generating').waitFor();
    await rowIn(page, 'task', 't-background', 'background-running').waitFor();
    await rowIn(page, 'task', 't-wrong', 'errored').waitFor();
    expect(await taskTitles(page)).toEqual(
      ['permission', 'clarification', 'generating', 'background', 'wrong', 'idle', 'fine'].map((name) => `task ${name}`),
    );
    await chipOf(page, 'needs-you').getByText('2').waitFor();
    await chipOf(page, 'generating').getByText('1').waitFor();
    await chipOf(page, 'background').getByText('1').waitFor();
  });

  it.each([
    ['starting', 'generating'],
    ['failed', 'errored'],
    ['cancelled', 'cancelled'],
    ['completed', 'completed'],
  ])('a pending flag that has stayed behind on a session that is %s says nothing', async (state, shown) => {
    const mock = vouchingAgent();
    await using dashboard = await openDashboard({ agents: { default: mock.factory } });
    ask(await generate(dashboard, mock), 'permission');
    const stale = (frame: WireFrame): WireFrame => {
      const sessions = frame.sessions as readonly Record<string, unknown>[] | undefined;
      if (sessions === undefined) return frame;
      const activity = { foreground_activity: state === 'starting' ? 'generating' : null };
      return { ...frame, sessions: sessions.map((session) => ({ ...session, state, ...activity })) };
    };
    const page = await dashboard.page({ prepare: async (page) => (await wireOf(page)).change(stale) });
    await rowIn(page, 'session', 's1', shown).waitFor();
    await expect.poll(() => rowOf(page, 'session', 's1').getByText('Needs permission').count()).toBe(0);
    await chipOf(page, 'needs-you').getByText('0').waitFor();
  });

  it('activity that is not known reads as generating while work is in flight, never as done', async () => {
    const mock = vouchingAgent();
    await using dashboard = await openDashboard({ agents: { default: mock.factory } });
    await generate(dashboard, mock);
    const unknown = (frame: WireFrame): WireFrame =>
      JSON.parse(JSON.stringify(frame, (name, value) => (name === 'foreground_activity' ? undefined : value))) as WireFrame;
    const page = await dashboard.page({ prepare: async (page) => (await wireOf(page)).change(unknown) });
    await rowIn(page, 'session', 's1', 'generating').waitFor();
  });
});

describe('a question', () => {
  it('is answered from the page, and the answer is what the agent offered', async () => {
    const mock = vouchingAgent();
    await using dashboard = await openDashboard({ agents: { default: mock.factory } });
    const prompt = await generate(dashboard, mock);
    const page = await dashboard.page({ hash: '/session/s1' });
    const choices = [
      { optionId: 'once', name: 'Allow once' },
      { optionId: 'never', name: 'Never' },
    ];
    ask(prompt, 'permission', choices, { title: 'Delete the branch release-1.3?' });
    await page.getByTestId('pending').getByText('Delete the branch release-1.3?').waitFor();
    await page.getByTestId('pending').getByRole('button', { name: 'Never' }).click();
    await page.getByTestId('toast').getByText('Answered.').waitFor();
    await page.getByTestId('pending').waitFor({ state: 'detached' });
    expect(prompt.agent.answers).toEqual([{ requestId: 'r1', choice: 'never' }]);
    await rowIn(page, 'session', 's1', 'generating').waitFor();
  });

  it('in words is answered in words', async () => {
    const mock = vouchingAgent();
    await using dashboard = await openDashboard({ agents: { default: mock.factory } });
    const prompt = await generate(dashboard, mock);
    ask(prompt, 'clarification', []);
    const page = await dashboard.page({ hash: '/session/s1' });
    await page.getByLabel('Your answer').fill('the second one');
    await page.getByRole('button', { name: 'Answer' }).click();
    await page.getByTestId('pending').waitFor({ state: 'detached' });
    expect(prompt.agent.answers).toEqual([{ requestId: 'r1', choice: 'the second one' }]);
  });

  it('that somebody else has answered meanwhile says so, and goes', async () => {
    const mock = vouchingAgent();
    await using dashboard = await openDashboard({ agents: { default: mock.factory } });
    const prompt = await generate(dashboard, mock);
    ask(prompt, 'permission');
    let wire: Wire | null = null;
    const page = await dashboard.page({
      hash: '/session/s1',
      prepare: async (page) => {
        wire = await wireOf(page);
      },
    });
    await page.getByTestId('pending').waitFor();
    // The page does not hear of it.
    (wire as Wire | null)?.change((frame) => (frame.type === 'error' ? frame : null));
    await dashboard.offstage.sessions.answer('s1', 'r1', 'deny');
    await page.getByTestId('pending').getByRole('button', { name: 'Allow' }).click();
    await page.locator('.toast.is-error').waitFor();
    expect(prompt.agent.answers).toEqual([{ requestId: 'r1', choice: 'deny' }]);
  });
});

describe('a session that waits in line', () => {
  it('names what waits, and a prompt can be taken back before it is sent', async () => {
    const mock = vouchingAgent();
    await using dashboard = await openDashboard({ agents: { default: mock.factory } });
    const prompt = await generate(dashboard, mock);
    launch(prompt);
    await dashboard.offstage.sessions.prompt('s1', { content: 'later', whenBusy: 'queue' });
    const page = await dashboard.page({ hash: '/session/s1' });
    await rowOf(page, 'session', 's1').getByText('1 prompt waiting').waitFor();
    await page.getByTestId('tickets').getByRole('button', { name: 'Take it back' }).click();
    await page.getByTestId('toast').getByText('The prompt is taken back.').waitFor();
    await page.getByTestId('tickets').waitFor({ state: 'detached' });
    expect((await dashboard.offstage.sessions.get('s1')).queuedPrompts).toBe(0);
  });
});
