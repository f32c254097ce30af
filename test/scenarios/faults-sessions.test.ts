/** Reported faults of sessions, B30–B33: launches that fail, work that outlives its turn, prompts that come in between. */
import { describe, expect, it } from 'vitest';
import { acpAgent } from '../../src/acp-agent.ts';
import { mockAgent } from '../../src/adapters/mock-agent.ts';
import type { AgentFactory } from '../../src/model/agent.ts';
import { gate } from '../support/executors.ts';
import { type LabSession, sessionLab } from '../support/sessions.ts';

describe('B30: a failed launch releases the claim', () => {
  const refuse = (): never => {
    throw new Error('it does not start');
  };
  const broken: Readonly<Record<string, AgentFactory>> = {
    'a factory that throws': refuse,
    'a factory that rejects': async () => refuse(),
    'a factory that returns no agent': () => ({}) as never,
    'a binary that is missing': acpAgent({ command: '/nowhere/at/all/agent', protocol: 'v2' }),
    'a program that ends at once': acpAgent({ command: process.execPath, args: ['-e', 'process.exit(3)'], protocol: 'v2' }),
  };

  it.each(Object.entries(broken))(
    '%s: the error is surfaced, the activity absent, and an echo in its place answers',
    async (_, factory) => {
      const echo = mockAgent({ onPrompt: (prompt) => prompt.end() });
      let current: AgentFactory = factory;
      await using lab = await sessionLab({ agents: { default: (context) => current(context) } });
      const session = await lab.create();
      const failing = session.ask('hello?');
      await expect(failing).rejects.toMatchObject({ code: 'agent.start_failed', retryable: true });
      await lab.settled();
      expect(await session.view()).toMatchObject({ state: 'created', foregroundActivity: null, turn: null, queuedPrompts: 0 });
      current = echo.factory;
      await expect(session.ask('hello')).resolves.toMatchObject({ accepted: true });
      await lab.settled();
      expect(echo.prompts.map(({ content }) => content)).toEqual(['hello']);
      expect(await session.view()).toMatchObject({ state: 'waiting_for_input', foregroundActivity: null });
    },
  );

  it('20 alternations of a missing binary and an echo: every prompt gets its answer, activity is never stuck', async () => {
    const echo = mockAgent({ onPrompt: (prompt) => prompt.end() });
    const missing = broken['a binary that is missing'] as AgentFactory;
    let current: AgentFactory = missing;
    await using lab = await sessionLab({ agents: { default: (context) => current(context) } });
    const session = await lab.create();
    const outcomes: string[] = [];
    for (let round = 0; round < 20; round++) {
      current = round % 2 === 0 ? missing : echo.factory;
      outcomes.push(await session.attempt());
      expect(await session.view()).toMatchObject({ foregroundActivity: null, turn: null });
      if (round % 2 === 1) echo.exit();
      await lab.settled();
    }
    expect(outcomes).toEqual(Array.from({ length: 10 }, () => ['agent.start_failed', 'accepted']).flat());
    expect(echo.prompts).toHaveLength(10);
    const tiers = lab.publications('s').map(([tier]) => tier);
    expect(tiers).toEqual(Array.from({ length: 20 }, () => ['generating', null]).flat());
  });

  it('the same for one that waits as a ticket: it is told that it failed, and the next one is served', async () => {
    await using lab = await sessionLab({ script: { hangStart: true } });
    const session = await lab.create();
    const hanging = session.ask('hanging').catch(({ code }) => code);
    await lab.settled();
    const first = await session.ask('first', { whenBusy: 'queue' });
    const second = await session.ask('second', { whenBusy: 'queue' });
    lab.mock.script.hangStart = false;
    let failures = 1;
    lab.mock.script.failStart = () => (failures-- > 0 ? new Error('no') : undefined);
    await lab.offstage.sessions.interrupt('s');
    expect(await hanging).toBe('prompt.interrupted');
    await lab.settled();
    const settled = lab.engine.events.flatMap((event) =>
      event.type === 'session.ticket' && event.status !== 'queued' ? [[event.ticketId, event.status, event.error?.code]] : [],
    );
    const idOf = (answer: typeof first) => ('ticketId' in answer ? answer.ticketId : null);
    expect(settled).toEqual([
      [idOf(first), 'failed', 'agent.start_failed'],
      [idOf(second), 'accepted', undefined],
    ]);
    expect(session.prompts.map(({ content }) => content)).toEqual(['second']);
  });
});

describe('B31: two independent signals; ended stays ended', () => {
  const story = async (session: LabSession) => {
    await session.reg('one', 'subagent', 'tool of one');
    await session.reg('two', 'subagent', 'tool of two');
    await session.reg('shell', 'shell', 'tool of shell');
    await session.done();
  };

  it('of an attested adapter: background/2, then background/1, late words change nothing, then absent/0', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    expect(lab.publications('s')).toEqual([['generating', 0]]);
    await story(session);
    expect(lab.publications('s').slice(-2)).toEqual([
      ['generating', 2],
      ['background', 2],
    ]);
    await session.bgc({ workloadId: 'one' });
    expect(lab.publications('s').at(-1)).toEqual(['background', 1]);
    const since = lab.engine.events.length;
    // Late progress, a late launch, a late card, and the same completion again.
    await session.update('tool of one', { status: 'running', hasOutput: true });
    await session.reg('one', 'subagent', 'tool of one');
    await session.update('tool of one', { status: 'completed', hasOutput: true });
    await session.bgc({ workloadId: 'one' });
    await session.bgc({ toolCallId: 'tool of one' });
    expect(lab.engine.events.slice(since)).toEqual([]);
    expect(await session.works()).toEqual(['two', 'shell']);
    await session.bgc({ workloadId: 'two' });
    await session.bgc({ workloadId: 'shell' });
    expect(lab.publications('s', since)).toEqual([
      ['background', 0],
      [null, 0],
    ]);
    // Done stays done, whatever is still said of it.
    await session.update('tool of shell', { status: 'running', hasOutput: true });
    await session.reg('shell', 'shell', 'tool of shell');
    expect(await session.view()).toMatchObject({ foregroundActivity: null, activeSubagentCount: 0, turn: null });
  });

  it('of one that vouches for nothing: generating/0 until its turn is over, and then nothing', async () => {
    await using lab = await sessionLab({ script: {}, announces: null });
    const session = await lab.running();
    await story(session);
    expect(lab.publications('s')).toEqual([
      ['generating', 0],
      [null, 0],
    ]);
  });

  it('a task with one generating and one background session: generating, and the sum of counts', async () => {
    await using lab = await sessionLab();
    const { taskId } = await lab.offstage.tasks.create({ taskId: 'task' });
    const background = await lab.running('background', taskId);
    await story(background);
    const generating = await lab.running('generating', taskId);
    await generating.reg('three');
    const task = { foregroundActivity: 'generating', activeSubagentCount: 3 };
    expect(await lab.offstage.tasks.get(taskId)).toMatchObject(task);
    expect(lab.taskUpdates(taskId).at(-1)).toEqual(['generating', 3]);
  });
});

describe('B32: only an explicit stop ends background work', () => {
  it('a follow-up and an interrupt leave the job alone; it completes with its own result', async () => {
    const executor = gate();
    await using lab = await sessionLab({ executors: { gate: executor } });
    const session = await lab.running();
    await session.done();
    await lab.offstage.spawn({ kind: 'gate', sessionId: 's', jobId: 'background', wait: false });
    const foreground = await lab.offstage.spawn({ kind: 'gate', sessionId: 's', jobId: 'foreground', wait: true });
    await executor.started('background');
    await executor.started(foreground.jobId);
    await lab.settled();
    expect(await session.view()).toMatchObject({ foregroundActivity: 'background', activeSubagentCount: 2 });
    const since = lab.engine.events.length;
    expect(await session.attempt()).toBe('accepted');
    await session.done();
    expect(lab.publications('s', since)).toEqual([
      ['generating', 2],
      ['background', 2],
    ]);
    expect((await lab.offstage.get('background')).status).toBe('running');

    expect(await session.attempt()).toBe('accepted');
    expect(await lab.offstage.sessions.interrupt('s')).toEqual({ changed: true });
    await lab.settled();
    expect(session.prompt.isOpen).toBe(false);
    // The turn waited for this one, and for no other.
    expect(await lab.offstage.get('foreground')).toMatchObject({ status: 'cancelled', reasonCode: 'cancel.caller_gone' });
    expect(await lab.offstage.get('background')).toMatchObject({ status: 'running', cancelRequestedAt: null });
    expect(await session.view()).toMatchObject({ foregroundActivity: 'background', activeSubagentCount: 1 });
    await executor.release('background', 'its own result');
    expect(await lab.offstage.wait('background')).toMatchObject({ status: 'completed', resultText: 'its own result' });
    await lab.settled();
    expect(await session.view()).toMatchObject({ foregroundActivity: null, activeSubagentCount: 0 });
  });
});

describe('B33: busy is said, or a ticket is served', () => {
  it('a second prompt in a generating session is busy, in a form that machines read', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    await expect(session.ask('second')).rejects.toMatchObject({ code: 'prompt.busy', retryable: true });
    expect(session.prompts).toHaveLength(1);
  });

  it('with `queue` it is a ticket that everybody sees, served exactly once when the session is idle', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    const answer = await session.ask('second', { whenBusy: 'queue', promptId: 'p' });
    expect(await session.view()).toMatchObject({ queuedPrompts: 1 });
    // Asked again under its id it is the same one.
    expect(await session.ask('second', { whenBusy: 'queue', promptId: 'p' })).toEqual(answer);
    await session.done();
    expect(session.prompts.map(({ content }) => content)).toEqual(['begin', 'second']);
    expect(await session.view()).toMatchObject({ queuedPrompts: 0 });
    await session.done();
    await session.idle();
    expect(session.prompts).toHaveLength(2);
    const statuses = lab.engine.events.flatMap((event) => (event.type === 'session.ticket' ? [event.status] : []));
    expect(statuses).toEqual(['queued', 'accepted']);
  });

  it('of 50 prompts in one tick on an idle session one is accepted, 49 are answered, and the agent is called once', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    await session.done();
    const outcomes = await Promise.all(Array.from({ length: 50 }, (_, index) => session.attempt({ promptId: `p${index}` })));
    expect(outcomes.filter((outcome) => outcome === 'accepted')).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === 'prompt.busy')).toHaveLength(49);
    expect(session.prompts).toHaveLength(2);
  });

  it('the same with `queue`: one is accepted, 49 wait, and all are served once, in their order', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    await session.done();
    const answers = await Promise.all(Array.from({ length: 50 }, (_, index) => session.ask(index, { whenBusy: 'queue' })));
    expect(answers.filter((answer) => 'accepted' in answer)).toHaveLength(1);
    expect(answers.flatMap((answer) => ('position' in answer ? [answer.position] : []))).toEqual(
      Array.from({ length: 49 }, (_, index) => index + 1),
    );
    for (let round = 0; round < 50; round++) await session.done();
    expect(session.prompts.map(({ content }) => content)).toEqual(['begin', ...Array.from({ length: 50 }, (_, index) => index)]);
  });
});
