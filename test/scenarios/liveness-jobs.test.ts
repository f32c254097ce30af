/** Jobs as workloads of their sessions: W1–W10 of liveness 5. W7, what a stop does with them, is in `faults-stop.test.ts`. */
import { describe, expect, it } from 'vitest';
import { mockAgent } from '../../src/adapters/mock-agent.ts';
import { agentExecutor } from '../../src/executors/agent.ts';
import { commandExecutor } from '../../src/executors/command.ts';
import { threadExecutor } from '../../src/executors/thread.ts';
import type { OffstageEvent } from '../../src/model/events.ts';
import type { WorkloadKind } from '../../src/model/executor.ts';
import type { SpawnOptions } from '../../src/model/requests.ts';
import { type ControlledExecutor, controlledExecutor } from '../../src/testing/controlled-executor.ts';
import { pausePoints } from '../../src/testing/pause-at.ts';
import { virtualClock } from '../../src/testing/virtual-clock.ts';
import { gate, stubborn } from '../support/executors.ts';
import { type SessionLab, type SessionLabOptions, sessionLab } from '../support/sessions.ts';

interface JobsLab extends SessionLab {
  readonly held: ControlledExecutor;
  /** Spawns a job that ends when it is released; resolves when what follows has settled. */
  spawn(options?: Partial<SpawnOptions>): Promise<string>;
  release(jobId: string): Promise<void>;
}

async function jobsLab(options: SessionLabOptions = {}): Promise<JobsLab> {
  const held = gate();
  const lab = await sessionLab({ workers: 8, ...options, executors: { held, ...options.executors } });
  return {
    ...lab,
    held,
    async spawn(more = {}) {
      const { jobId } = await lab.offstage.spawn({ kind: 'held', sessionId: 's', ...more } as SpawnOptions);
      await lab.settled();
      return jobId;
    },
    async release(jobId) {
      await held.release(jobId);
      await lab.settled();
    },
  };
}

/** What is told of jobs and of activity, in order. */
const story = (events: readonly OffstageEvent[]): readonly string[] =>
  events.flatMap((event) => {
    if (event.type === 'job.created' || event.type === 'job.status') return [`job ${event.status}`];
    if (event.type === 'session.activity_changed') return [`session ${event.foregroundActivity} ${event.activeSubagentCount}`];
    if (event.type === 'task.updated') return [`task ${event.foregroundActivity} ${event.activeSubagentCount}`];
    return [];
  });

describe('W1: from its acceptance to its end', () => {
  it('a job is work of its session, counted once it runs; the tier follows the event that causes it', async () => {
    await using lab = await jobsLab();
    await lab.create();
    const before = lab.engine.events.length;
    const jobId = await lab.spawn();
    await lab.release(jobId);
    expect(story(lab.engine.events.slice(before))).toEqual([
      'job pending',
      'job queued',
      'session background 0',
      'task background 0',
      'job running',
      'session background 1',
      'task background 1',
      'job completed',
      'session null 0',
      'task null 0',
    ]);
  });

  it('a queued job makes the session background, and is not counted', async () => {
    await using lab = await jobsLab({ workers: 1 });
    const elsewhere = await lab.create('elsewhere');
    const session = await lab.create();
    const first = await lab.spawn({ sessionId: 'elsewhere' });
    const queued = await lab.spawn();
    expect(await session.view()).toMatchObject({ foregroundActivity: 'background', activeSubagentCount: 0 });
    expect(await lab.offstage.workloads.list('s')).toMatchObject([
      { workloadId: queued, source: 'engine', phase: 'queued', executionId: null, hosted: false, uncertain: false, quiet: false },
    ]);
    await lab.release(first);
    expect(await elsewhere.tier()).toBeNull();
    expect(await session.view()).toMatchObject({ foregroundActivity: 'background', activeSubagentCount: 1 });
    expect(await lab.offstage.workloads.list('s')).toMatchObject([{ workloadId: queued, phase: 'live' }]);
  });

  it.each([
    ['completes', (lab: JobsLab, jobId: string) => lab.release(jobId)],
    ['throws', (lab: JobsLab, jobId: string) => lab.held.fail(jobId, new Error('no'))],
    ['is cancelled', (lab: JobsLab, jobId: string) => lab.offstage.cancel(jobId)],
  ] as const)('a job that %s is retired in the commit of its end, before that is shown', async (_, end) => {
    const { points, pauseAt } = pausePoints();
    await using lab = await jobsLab({ points });
    const session = await lab.create();
    const jobId = await lab.spawn();
    // Nobody is told of activity, so what is read is not what was told.
    const paused = pauseAt('publish');
    const shownAtEnd: Promise<unknown>[] = [];
    lab.offstage.onEvent((event) => {
      if (event.type !== 'job.status' || event.completedAt === null) return;
      shownAtEnd.push(session.view(), lab.offstage.workloads.list('s'));
    });
    await end(lab, jobId);
    await lab.settled();
    expect(lab.publications('s').at(-1)).toEqual(['background', 1]);
    expect(await Promise.all(shownAtEnd)).toEqual([
      expect.objectContaining({ foregroundActivity: null, activeSubagentCount: 0 }),
      [],
    ]);
    paused.release();
    expect(lab.publications('s').at(-1)).toEqual([null, 0]);
  });

  it('a job that is cancelled before it starts leaves nothing', async () => {
    await using lab = await jobsLab({ workers: 1 });
    const session = await lab.create();
    const first = await lab.spawn();
    const queued = await lab.spawn();
    await lab.offstage.cancel(queued);
    expect(await session.works()).toEqual([first]);
    await lab.release(first);
    expect([await session.tier(), lab.publications('s')]).toEqual([
      null,
      [
        ['background', 0],
        ['background', 1],
        [null, 0],
      ],
    ]);
  });
});

describe('W2: a job is owned by itself', () => {
  it('the agent that asked for it may go, and be followed by another: nothing of the job is retired', async () => {
    await using lab = await jobsLab();
    const session = await lab.running();
    const jobId = await lab.spawn({ toolCallId: 'call' });
    lab.mock.crash();
    await lab.settled();
    expect(await session.view()).toMatchObject({ interrupted: true, foregroundActivity: 'background', activeSubagentCount: 1 });
    await session.ask();
    await lab.settled();
    lab.mock.exit();
    await lab.settled();
    expect([await session.works(), await session.count()]).toEqual([[jobId], 1]);
    await lab.release(jobId);
    expect(await session.view()).toMatchObject({ foregroundActivity: null, activeSubagentCount: 0 });
    expect((await lab.offstage.get(jobId)).status).toBe('completed');
  });
});

describe('W3: what providers tell touches no job', () => {
  it('completions with and without an id, snapshots, dismissals and further starts leave it alone', async () => {
    await using lab = await jobsLab();
    const session = await lab.running();
    const jobId = await lab.spawn();
    const { executionId } = session;
    await session.bgc({ workloadId: jobId });
    await session.bgc();
    await session.bgc({ kind: 'subagent' });
    await session.tell({ type: 'workload.snapshot', generation: 0, workloads: [] });
    const completing = { sessionId: 's', executionId, workloadId: jobId };
    expect(await lab.offstage.workloads.complete(completing)).toEqual({ changed: false });
    expect(await lab.offstage.workloads.snapshot({ sessionId: 's', executionId, workloads: [] })).toEqual({ changed: false });
    await expect(lab.offstage.workloads.dismiss('s', jobId)).rejects.toMatchObject({ code: 'workload.not_found' });
    expect([await session.works(), await session.count()]).toEqual([[jobId], 1]);
    expect((await session.view()).uncertainCount).toBe(0);
  });

  it('a launch whose tool call became a job registers nothing, whichever is told first', async () => {
    await using lab = await jobsLab();
    const session = await lab.running();
    const work = { kind: 'subagent', isDetached: true } as const;
    await session.call('call', { work });
    expect(await session.works()).toEqual(['call']);
    const jobId = await lab.spawn({ toolCallId: 'call' });
    expect([await session.works(), await session.count()]).toEqual([[jobId], 1]);
    await session.call('call', { work });
    await session.reg('told later', 'subagent', 'call');
    await session.update('call', { status: 'completed', work, hasOutput: true });
    expect([await session.works(), await session.count()]).toEqual([[jobId], 1]);
    const toldByHost = {
      sessionId: 's',
      executionId: session.executionId,
      kind: 'subagent',
      workloadId: 'w',
      toolCallId: 'call',
    } as const;
    expect(await lab.offstage.workloads.register(toldByHost)).toEqual({ changed: false });
    expect((await lab.offstage.workloads.list('s'))[0]).toMatchObject({ source: 'engine', toolCallId: 'call' });
    await lab.release(jobId);
    // The call stays what it was, also when its job is over.
    await session.reg('told late', 'subagent', 'call');
    expect([await session.works(), await session.count()]).toEqual([[], 0]);
  });

  it('another call, and the same id of a later execution, are other work', async () => {
    await using lab = await jobsLab();
    const session = await lab.running();
    const jobId = await lab.spawn({ toolCallId: 'call' });
    await session.reg('w', 'subagent', 'other call');
    expect(await session.count()).toBe(2);
    lab.mock.crash();
    await lab.settled();
    await session.ask();
    await lab.settled();
    await lab.clock.advance(1);
    await session.reg('v', 'subagent', 'call');
    expect(await session.works()).toEqual([jobId, 'v']);
  });

  it('a tool call of one session is no evidence on another', async () => {
    await using lab = await jobsLab();
    const session = await lab.running();
    const other = await lab.running('other', session.taskId);
    await lab.spawn({ toolCallId: 'call' });
    await other.reg('w', 'subagent', 'call');
    expect(await other.works()).toEqual(['w']);
  });
});

describe('W4: a job frees no foreground', () => {
  it('while the turn is open the session stays generating, and takes no prompt', async () => {
    await using lab = await jobsLab({ script: {} });
    const session = await lab.running();
    const jobId = await lab.spawn();
    expect([await session.tier(), await session.count(), await session.attempt()]).toEqual(['generating', 1, 'prompt.busy']);
    await session.idle();
    expect([await session.tier(), await session.attempt()]).toEqual(['generating', 'prompt.busy']);
    await session.done();
    expect(await session.tier()).toBe('background');
    expect(await session.attempt()).toBe('accepted');
    await lab.release(jobId);
    expect(await session.view()).toMatchObject({ foregroundActivity: 'generating', activeSubagentCount: 0 });
  });

  it('beside an attested yield it is work like any other', async () => {
    await using lab = await jobsLab();
    const session = await lab.running();
    await lab.spawn();
    await session.idle();
    expect([await session.tier(), await session.attempt()]).toEqual(['background', 'accepted']);
  });
});

describe('W5: its kind', () => {
  it('is what its executor declares; only subagents are counted, foreground jobs as well', async () => {
    const of = (workload: WorkloadKind) => controlledExecutor({ capabilities: { workload } });
    await using lab = await jobsLab({
      executors: { agentLike: of('subagent'), shellLike: of('shell'), watching: of('monitor') },
    });
    const session = await lab.create();
    for (const kind of ['held', 'agentLike', 'shellLike', 'watching']) await lab.spawn({ kind });
    await lab.spawn({ kind: 'agentLike', wait: true });
    expect((await lab.offstage.workloads.list('s')).map(({ kind }) => kind)).toEqual([
      'subagent',
      'subagent',
      'shell',
      'monitor',
      'subagent',
    ]);
    expect(await session.view()).toMatchObject({ foregroundActivity: 'background', activeSubagentCount: 3 });
  });

  it('is shell for commands and threads, and subagent for agents', () => {
    const clock = virtualClock();
    const kinds = [commandExecutor({ clock }), threadExecutor(), agentExecutor({ agents: {}, clock })];
    expect(kinds.map(({ capabilities }) => capabilities?.workload)).toEqual(['shell', 'shell', 'subagent']);
  });
});

describe('W8: a body that outlives its record', () => {
  it('leaves no workload', async () => {
    await using lab = await jobsLab({ executors: { stubborn: stubborn() } });
    const session = await lab.create();
    const jobId = await lab.spawn({ kind: 'stubborn' });
    await lab.offstage.cancel(jobId);
    await lab.settled();
    expect(await session.view()).toMatchObject({ foregroundActivity: 'background', activeSubagentCount: 1 });
    await lab.clock.advance(30_000);
    expect(await lab.offstage.get(jobId)).toMatchObject({ status: 'cancelled', detached: true, bodyLive: true });
    expect(await session.view()).toMatchObject({ foregroundActivity: null, activeSubagentCount: 0 });
    expect([await session.works(), lab.publications('s').at(-1)]).toEqual([[], [null, 0]]);
  });
});

describe('W9: jobs that are agents', () => {
  it('five run on one session, each with an agent of its own, and none takes its foreground', async () => {
    const clock = virtualClock();
    const jobs = mockAgent();
    await using lab = await jobsLab({ clock, executors: { agent: agentExecutor({ agents: { default: jobs.factory }, clock }) } });
    const session = await lab.create();
    const ids: string[] = [];
    for (let number = 1; number <= 5; number++) ids.push(await lab.spawn({ kind: 'agent', input: { prompt: `part ${number}` } }));
    expect(jobs.starts.map(({ jobId }) => jobId)).toEqual(ids);
    expect(new Set(jobs.starts.map(({ execution }) => execution.executionId)).size).toBe(5);
    expect(await session.view()).toMatchObject({
      state: 'created',
      foregroundActivity: 'background',
      activeSubagentCount: 5,
      turn: null,
    });
    expect(await session.attempt()).toBe('accepted');
    expect(await session.view()).toMatchObject({ foregroundActivity: 'generating', activeSubagentCount: 5 });
    await session.done();
    for (const prompt of jobs.prompts) {
      prompt.agent.emit({ type: 'output', generation: prompt.generation, text: `did ${prompt.content}` });
      prompt.end();
    }
    await lab.settled();
    expect(await session.view()).toMatchObject({ state: 'waiting_for_input', foregroundActivity: null, activeSubagentCount: 0 });
    expect((await lab.offstage.get(ids[4] as string)).resultText).toBe('did part 5');
    expect([jobs.closed, lab.mock.closed]).toEqual([5, 0]);
  });
});
