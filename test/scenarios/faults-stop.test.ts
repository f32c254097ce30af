/**
 * Reported faults, "stop": B36, B37, B39; B02, B13 and B32 again at this door; W7 and W10 of liveness 5, what a stop does with jobs.
 * *Not found* for a whole stop is `stop.nothing_running`. B38 was not handed in.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { mockAgent } from '../../src/adapters/mock-agent.ts';
import type { AgentFactory } from '../../src/model/agent.ts';
import type { JobRecordEvent, OffstageEvent } from '../../src/model/events.ts';
import { isTerminal } from '../../src/model/records.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { KEYS } from '../../src/persistence/row-keys.ts';
import { echo, gate, stubborn } from '../support/executors.ts';
import { FULL, type SessionLab, sessionLab } from '../support/sessions.ts';
import {
  closesOf,
  failingReads,
  nothingRunning,
  orphan,
  STALL_MS,
  statesOf,
  stopAll,
  storedRow,
  taskLab,
} from '../support/stopping.ts';

const GRACE_MS = 30_000;

const children = new Set<ChildProcess>();
afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
  children.clear();
});

/** Its body is a process of its own; the first calls of `close`, as many as `refusals`, fail and end nothing. */
function processAgent(refusals: number): { readonly factory: AgentFactory; readonly pids: readonly number[] } {
  const mock = mockAgent({ attests: FULL });
  const pids: number[] = [];
  let left = refusals;
  const factory: AgentFactory = async (context) => {
    const { execution } = context;
    const env = { ...process.env, OFFSTAGE_EXECUTION: execution.executionId };
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore', env });
    children.add(child);
    await once(child, 'spawn');
    const pid = child.pid as number;
    pids.push(pid);
    await execution.launched({ pid, startTime: null, bootId: null });
    const hasExited = once(child, 'exit');
    const close = async (): Promise<void> => {
      left -= 1;
      if (left >= 0) throw new Error('it does not let go');
      child.kill('SIGKILL');
      await hasExited;
    };
    return Object.assign(await mock.factory(context), { close });
  };
  return { factory, pids };
}

const statusesOf = (lab: SessionLab, jobIds: readonly string[]) =>
  Promise.all(jobIds.map(async (jobId) => (await lab.offstage.get(jobId)).status));

const isLiving = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe('B36: a session that is marked failed while its process lives', () => {
  it('is found and stopped: the process goes, the session stays failed, and nothing is told of it; the second stop finds nothing', async () => {
    const { factory, pids } = processAgent(1);
    await using lab = await sessionLab({ agents: { default: factory }, stallFailMs: STALL_MS });
    const { taskId } = await lab.create('s');
    await lab.offstage.sessions.prompt('s', { content: 'begin' });
    await lab.clock.advance(STALL_MS);
    const pid = pids[0] as number;
    expect([(await lab.offstage.sessions.get('s')).state, isLiving(pid)]).toEqual(['failed', true]);
    const since = lab.engine.events.length;
    const result = await lab.offstage.tasks.stop(taskId);
    expect(result.recovered).toMatchObject([{ sessionId: 's' }]);
    expect((await result.settled).recovered).toEqual(result.recovered);
    await lab.settled();
    expect([isLiving(pid), await lab.offstage.processes()]).toEqual([false, []]);
    expect((await lab.offstage.sessions.get('s')).state).toBe('failed');
    await expect(lab.offstage.tasks.stop(taskId)).rejects.toMatchObject(nothingRunning);
    await lab.settled();
    expect(lab.engine.events.slice(since)).toEqual([]);
  });
});

describe('B37: a stop is for all the work of the task, and only of that task', () => {
  async function scene() {
    const executor = gate();
    const slow = stubborn();
    const lab = await taskLab({ executors: { gate: executor, slow }, workers: 8 });
    const s2 = await orphan(lab, 's2', 't');
    const s1 = await lab.running('s1', 't');
    const s3 = await lab.running('s3', 't');
    await lab.offstage.tasks.create({ taskId: 'u' });
    await lab.create('other', 'u');
    const { jobId: otherJob } = await lab.offstage.spawn({ kind: 'gate', sessionId: 'other' });
    const jobs = ['gate', 'gate', 'slow'].map((kind) => lab.offstage.spawn({ kind, sessionId: 's3' }));
    const jobIds = (await Promise.all(jobs)).map(({ jobId }) => jobId);
    const other = (await executor.started(otherJob)).context;
    await lab.settled();
    return { lab, s1, s2, s3, jobIds, otherJob, other };
  }

  it('teardown for all three, a cancellation of S1 and S3 each, none of S2; all its jobs are over by the grace, and U is untouched', async () => {
    const { lab, s1, s2, s3, jobIds, otherJob, other } = await scene();
    await using _lab = lab;
    const since = lab.engine.events.length;
    const before = await lab.offstage.tasks.get('u');
    const { stopped, recovered, settled } = await lab.offstage.tasks.stop('t');
    const agents = stopped.flatMap(({ jobId, executionId }) => (jobId === undefined ? [executionId] : []));
    expect(agents).toEqual([s1.executionId, s3.executionId]);
    expect(stopped.flatMap(({ jobId }) => jobId ?? []).sort()).toEqual([...jobIds].sort());
    expect(recovered).toEqual([{ sessionId: 's2', executionId: s2.executionId }]);
    await lab.clock.advance(GRACE_MS);
    expect([s1, s2.s, s3].map(({ agent }) => agent.isClosed)).toEqual([true, true, true]);
    const told = ['s1', 's2', 's3'].map((sessionId) => statesOf(lab, sessionId, since));
    expect(told).toEqual([['cancelled'], [], ['cancelled']]);
    const statuses = await statusesOf(lab, jobIds);
    expect(statuses).toEqual(['cancelled', 'cancelled', 'cancelled']);
    expect((await settled).detached).toMatchObject([{ sessionId: 's3', jobId: jobIds[2] }]);
    expect([other.signal.aborted, (await lab.offstage.get(otherJob)).status]).toEqual([false, 'running']);
    expect(await lab.offstage.tasks.get('u')).toEqual(before);
  });

  it("with S1's teardown forced to throw S2 and S3 are still torn down, and it is a success; only if all fail is it a failure", async () => {
    const { lab, s1, s2, s3 } = await scene();
    await using _lab = lab;
    closesOf(s1.agent, ['throws', 'throws']);
    const { failed } = await lab.offstage.tasks.stop('t');
    expect(failed).toMatchObject([{ sessionId: 's1', executionId: s1.executionId, error: { code: 'agent.failed' } }]);
    await lab.settled();
    expect([s2.s.agent.isClosed, s3.agent.isClosed, s1.agent.isClosed]).toEqual([true, true, false]);
    // The stubborn job outlives its grace meanwhile; after that nothing but S1 is left, and it fails again.
    closesOf(
      s1.agent,
      Array.from({ length: 50 }, () => 'throws'),
    );
    await lab.clock.advance(GRACE_MS);
    await expect(lab.offstage.tasks.stop('t')).rejects.toMatchObject({
      code: 'stop.failed',
      details: { failed: [{ sessionId: 's1', executionId: s1.executionId }] },
    });
  });
});

describe('B39: a live execution without a readable row', () => {
  it.each<[string, (lab: SessionLab, reads: ReturnType<typeof failingReads>) => unknown, string]>([
    ['cannot be read', (_lab, reads) => reads.fail(KEYS.session('s')), 'store.failed'],
    [
      'is damaged',
      ({ engine }) => engine.store.batch([{ type: 'put', key: KEYS.session('s'), value: '{"sess' }], { sync: true }),
      'store.corrupt',
    ],
    [
      'is gone',
      ({ engine }) => engine.store.batch([{ type: 'del', key: KEYS.session('s') }], { sync: true }),
      'session.not_found',
    ],
  ])('whose row %s is torn down by its execution id; the error is told, and no row invented', async (_what, spoil, code) => {
    const inner = memoryStore();
    const reads = failingReads(inner);
    await using lab = await taskLab({ store: reads.store });
    const { s, executionId } = await orphan(lab, 's', 't');
    await spoil(lab, reads);
    const row = await inner.get(KEYS.session('s'));
    const since = lab.engine.events.length;
    const { recovered, loadErrors, settled } = await lab.offstage.tasks.stop('t');
    expect([recovered, loadErrors]).toMatchObject([[{ sessionId: 's', executionId }], [{ sessionId: 's', error: { code } }]]);
    expect(lab.engine.log.filter(({ event }) => event === 'stop.unreadable')).toHaveLength(1);
    expect((await settled).recovered).toEqual(recovered);
    await lab.settled();
    expect([s.agent.isClosed, await inner.get(KEYS.session('s'))]).toEqual([true, row]);
    expect(lab.engine.events.slice(since).filter(({ type }) => type === 'session.state_changed')).toEqual([]);
  });

  it('a mistyped id is still an error, and nothing changes', async () => {
    await using lab = await taskLab();
    const { s } = await orphan(lab, 's', 't');
    const row = await storedRow(lab, 's');
    const since = lab.engine.events.length;
    await expect(lab.offstage.tasks.stop('no-such-task')).rejects.toMatchObject({ code: 'task.not_found' });
    await expect(lab.offstage.sessions.stop('S')).rejects.toMatchObject({ code: 'session.not_found' });
    await lab.settled();
    expect([s.agent.isClosed, await storedRow(lab, 's'), lab.engine.events.slice(since)]).toEqual([false, row, []]);
  });
});

describe('again at this door', () => {
  const isEnd = (event: OffstageEvent): event is JobRecordEvent => event.type === 'job.status' && isTerminal(event.status);

  it('B02: in the tick in which the end of a job is told, a stop of its task finds nothing, 200 times', async () => {
    await using lab = await sessionLab({ executors: { echo } });
    const { offstage } = lab;
    const checks: Promise<void>[] = [];
    const check = async ({ jobId, taskId, status }: JobRecordEvent): Promise<void> => {
      const [record, running, stop] = await Promise.all([
        offstage.get(jobId),
        offstage.list({ status: 'running', limit: 1_000 }),
        offstage.tasks.stop(taskId).catch(({ code, details }) => ({ code, detached: details.detached })),
      ]);
      expect(record.status).toBe(status);
      expect(running.map((one) => one.jobId)).not.toContain(jobId);
      expect(stop).toEqual({ ...nothingRunning, detached: [] });
    };
    offstage.onEvent((event) => {
      if (isEnd(event)) checks.push(check(event));
    });
    const sessions = await Promise.all(
      Array.from({ length: 200 }, (_, index) => offstage.sessions.create({ sessionId: `s${index}` })),
    );
    const jobs = await Promise.all(sessions.map(({ sessionId }) => offstage.spawn({ kind: 'echo', sessionId })));
    await offstage.waitMany(jobs.map(({ jobId }) => jobId));
    await lab.settled();
    expect(checks).toHaveLength(200);
    await Promise.all(checks);
    expect(lab.engine.log.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('B13: stop of session s ends its jobs; the job of s1 runs on and completes, its signal never fired', async () => {
    const executor = gate();
    await using lab = await sessionLab({ executors: { gate: executor }, workers: 4 });
    const { offstage } = lab;
    const { taskId } = await lab.create('s');
    await lab.create('s1', taskId);
    for (const [jobId, sessionId] of [
      ['job-1', 's'],
      ['job-10', 's'],
      ['job-2', 's1'],
    ] as const)
      await offstage.spawn({ kind: 'gate', jobId, sessionId });
    const { context } = await executor.started('job-2');
    await lab.settled();
    await offstage.cancel('job-1');
    expect((await offstage.wait('job-1')).status).toBe('cancelled');
    const before = await offstage.get('job-2');
    const { stopped } = await offstage.sessions.stop('s');
    expect(stopped.map(({ jobId }) => jobId)).toEqual(['job-10']);
    expect(await offstage.wait('job-10')).toMatchObject({ status: 'cancelled', reasonCode: 'cancel.stop' });
    expect([context.signal.aborted, await offstage.get('job-2')]).toEqual([false, before]);
    await executor.release('job-2', 'fine');
    expect(await offstage.wait('job-2')).toMatchObject({ status: 'completed', resultText: 'fine' });
    expect(context.signal.aborted).toBe(false);
  });

  it('B32: background work outlives a follow-up and an interrupt; after stop(session) it ends cancelled', async () => {
    const executor = gate();
    await using lab = await sessionLab({ executors: { gate: executor } });
    const s = await lab.running();
    await s.done();
    const { jobId } = await lab.offstage.spawn({ kind: 'gate', sessionId: 's' });
    await executor.started(jobId);
    expect(await s.attempt()).toBe('accepted');
    await lab.offstage.sessions.interrupt('s');
    await lab.settled();
    expect((await lab.offstage.get(jobId)).status).toBe('running');
    await lab.offstage.sessions.stop('s');
    expect(await lab.offstage.wait(jobId)).toMatchObject({ status: 'cancelled', reasonCode: 'cancel.stop' });
    await lab.settled();
    expect(await s.view()).toMatchObject({ state: 'cancelled', foregroundActivity: null, activeSubagentCount: 0 });
  });
});

describe('jobs as workloads of what is stopped', () => {
  it.each([
    ['hosts', 'host'],
    ['dispatched', 'caller'],
  ])('W7: stopping a session cancels the jobs that it %s, and leaves those of others alone', async (_what, sessionId) => {
    const executor = gate();
    await using lab = await sessionLab({ executors: { gate: executor }, workers: 8 });
    const { taskId } = await lab.create('caller');
    for (const id of ['host', 'third']) await lab.create(id, taskId);
    const { offstage } = lab;
    await offstage.spawn({ kind: 'gate', jobId: 'both', sessionId: 'host', callerSessionId: 'caller' });
    await offstage.spawn({ kind: 'gate', jobId: 'own', sessionId });
    await offstage.spawn({ kind: 'gate', jobId: 'other', sessionId: 'third' });
    await executor.started('other');
    await lab.settled();
    const { stopped, settled } = await offstage.sessions.stop(sessionId);
    expect(stopped).toMatchObject([
      { sessionId: 'host', jobId: 'both' },
      { sessionId, jobId: 'own' },
    ]);
    await settled;
    await lab.settled();
    expect(await statusesOf(lab, ['both', 'own', 'other'])).toEqual(['cancelled', 'cancelled', 'running']);
    expect(await offstage.tasks.get(taskId)).toMatchObject({ foregroundActivity: 'background', activeSubagentCount: 1 });
  });

  it('W10: while a cancelled session still has jobs ending, its state event carries the true tier and count', async () => {
    const slow = stubborn();
    await using lab = await taskLab({ executors: { slow }, workers: 1 });
    const s = await lab.running('s', 't');
    await s.reg('subagent of the agent');
    const [ending] = await Promise.all([1, 2].map(() => lab.offstage.spawn({ kind: 'slow', sessionId: 's' })));
    const jobId = ending?.jobId as string;
    await slow.started(jobId);
    await lab.settled();
    expect(await s.view()).toMatchObject({ foregroundActivity: 'generating', activeSubagentCount: 2 });
    const since = lab.engine.events.length;
    await lab.offstage.sessions.stop('s');
    await lab.settled();
    // Without what its agent had, and without the job that had only waited.
    const now = { foregroundActivity: 'background', activeSubagentCount: 1 };
    const told = lab.engine.events.slice(since).filter(({ type }) => type === 'session.state_changed');
    expect(told).toMatchObject([{ newState: 'cancelled', ...now }]);
    expect(await s.view()).toMatchObject({ state: 'cancelled', ...now });
    await slow.release(jobId);
    await lab.settled();
    expect(lab.publications('s', since)).toEqual([
      ['background', 1],
      [null, 0],
    ]);
    expect(await stopAll(lab).catch(({ code }) => code)).toBe(nothingRunning.code);
  });
});
