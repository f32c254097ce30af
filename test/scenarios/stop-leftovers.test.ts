/**
 * Stop, and processes that an earlier engine left and its successor could neither end nor prove to be gone (seed 004; liveness 9, 11, 13):
 * each stop looks again. Absent is only what is gone, or proven not ours.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/actors/clock.ts';
import type { ProcessReaper, ReapVerdict } from '../../src/engine/recovery.ts';
import { reapProcess } from '../../src/executors/process-reaper.ts';
import { bootId, processStartTime } from '../../src/executors/process-tree.ts';
import { offstageError } from '../../src/model/errors.ts';
import type { ProcessRecord } from '../../src/model/records.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { KEYS } from '../../src/persistence/row-keys.ts';
import type { Store } from '../../src/persistence/store.ts';
import { controlledExecutor } from '../../src/testing/controlled-executor.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { endLeftBehind, groupMembers, isLiving, killIfThere, newExecutionId, tokenHolders } from '../executors/processes.ts';
import { held } from '../support/bare-agent.ts';
import { agentProcess, leave, session, storeWith } from '../support/left-behind.ts';
import { told } from '../support/real-host.ts';
import { type SessionLab, type SessionLabOptions, sessionLab } from '../support/sessions.ts';
import { nothingRunning, stopLines, storedRow } from '../support/stopping.ts';
import { testEngine } from '../support/test-engine.ts';

/** Groups whose members carry no token. */
const groups: number[] = [];
afterEach(async () => {
  await endLeftBehind();
  for (const pgid of groups.splice(0)) for (const pid of await groupMembers(pgid)) killIfThere(pid);
});

const UNVERIFIED: ReapVerdict = { verdict: 'unverified', detail: 'May still be at work: process 12 (node).' };

interface Reaping {
  readonly reap: ProcessReaper;
  /** Executions judged since the start. */
  readonly judged: string[];
  /** By force. */
  readonly forced: string[];
  /** What is found from now on; by execution where it differs. */
  now(found: () => Promise<ReapVerdict> | ReapVerdict, others?: Readonly<Record<string, ReapVerdict['verdict']>>): void;
}

/** At the start nothing can be verified. */
function reaping(): Reaping {
  let look: (record: ProcessRecord) => Promise<ReapVerdict> | ReapVerdict = () => UNVERIFIED;
  const judged: string[] = [];
  const forced: string[] = [];
  return {
    judged,
    forced,
    async reap(record, options) {
      const { executionId } = record;
      if (options !== undefined) judged.push(executionId);
      if (options?.isForced === true) forced.push(executionId);
      return look(record);
    },
    now(found, others = {}) {
      look = ({ executionId }) => {
        const verdict = others[executionId];
        return verdict === undefined ? found() : { verdict, detail: `Found ${verdict}.` };
      };
    },
  };
}

type Lab = SessionLab & Reaping & { readonly store: Store };

/** A session `s` of the task `t` that waits for input, and `old`, whose agent's process the start could not judge. */
async function leftoverLab(options: SessionLabOptions = {}, left: Parameters<typeof storeWith>[0] = {}): Promise<Lab> {
  const store = await storeWith({
    sessions: [session('s', 'waiting_for_input'), ...(left.sessions ?? [])],
    processes: [agentProcess('e', 's'), ...(left.processes ?? [])],
  });
  const reaper = reaping();
  const lab = await sessionLab({ ...options, store, reap: reaper.reap });
  return Object.assign(lab, reaper, { store });
}

const codeAndDetails = (answer: Promise<unknown>): Promise<unknown> =>
  answer.then(
    () => 'done',
    (error: unknown) => error,
  );

const unknownOf = (detail: string) => ({
  code: 'execution.unknown',
  message: expect.stringContaining(detail),
});

describe('what an earlier engine left', () => {
  it('and can be ended now is recovered; its record stays as it is, and a second stop finds nothing', async () => {
    await using lab = await leftoverLab();
    const [row, since] = [await storedRow(lab, 's'), lab.engine.events.length];
    lab.now(() => ({ verdict: 'killed', detail: 'Ended process 12 (node).' }));
    const { settled, ...report } = await lab.offstage.tasks.stop('t');
    expect(told(report)).toEqual({ recovered: ['s'] });
    expect(report.recovered).toEqual([{ sessionId: 's', executionId: 'e' }]);
    expect(await settled).toEqual(report);
    expect(await lab.offstage.processes()).toEqual([]);
    expect([await storedRow(lab, 's'), lab.engine.events.length]).toEqual([row, since]);
    expect(stopLines(lab)).toMatchObject([{ sessionId: 's', executionId: 'e', source: 'registry', outcome: 'recovered' }]);
    await expect(lab.offstage.tasks.stop('t')).rejects.toMatchObject(nothingRunning);
    expect(lab.judged).toEqual(['e']);
  });

  it('and still cannot be judged has failed, with its cause, each time; its process record stays', async () => {
    await using lab = await leftoverLab();
    const [row, since] = [await storedRow(lab, 's'), lab.engine.events.length];
    const records = await lab.offstage.processes();
    for (const stop of [() => lab.offstage.tasks.stop('t'), () => lab.offstage.sessions.stop('s')]) {
      await expect(stop()).rejects.toMatchObject({
        code: 'stop.failed',
        message: expect.stringContaining(UNVERIFIED.detail),
        details: { failed: [{ sessionId: 's', executionId: 'e', error: unknownOf(UNVERIFIED.detail) }] },
      });
    }
    expect(lab.judged).toEqual(['e', 'e']);
    expect(await lab.offstage.processes()).toEqual(records);
    expect([await storedRow(lab, 's'), lab.engine.events.length]).toEqual([row, since]);
    expect(stopLines(lab)).toMatchObject(Array.from({ length: 2 }, () => ({ executionId: 'e', outcome: 'failed' })));
  });

  it.each(['gone', 'not_ours'] as const)(
    'and is %s now is absent: its process record goes, and nothing was running',
    async (verdict) => {
      await using lab = await leftoverLab();
      const since = lab.engine.events.length;
      lab.now(() => ({ verdict, detail: 'nothing is left' }));
      await expect(lab.offstage.tasks.stop('t')).rejects.toMatchObject(nothingRunning);
      expect(await lab.offstage.processes()).toEqual([]);
      expect(lab.engine.events.length).toBe(since);
      await expect(lab.offstage.tasks.stop('t')).rejects.toMatchObject(nothingRunning);
      expect(lab.judged).toEqual(['e']);
    },
  );

  it('and nobody can look at, is unknown with that cause', async () => {
    await using lab = await leftoverLab();
    lab.now(() => Promise.reject(new Error('no permission')));
    await expect(lab.offstage.tasks.stop('t')).rejects.toMatchObject({
      code: 'stop.failed',
      details: { failed: [{ sessionId: 's', executionId: 'e', error: unknownOf('no permission') }] },
    });
    expect(await lab.offstage.processes()).toHaveLength(1);
  });

  it('keeps nothing else waiting: what lives is told to end before it is judged', async () => {
    await using lab = await leftoverLab();
    const verdict = held<ReapVerdict>();
    lab.now(() => verdict.promise);
    const live = await lab.running('live', 't');
    const stopping = lab.offstage.tasks.stop('t');
    await lab.settled();
    expect([live.agent.isClosed, (await live.view()).state]).toEqual([true, 'cancelled']);
    verdict.resolve(UNVERIFIED);
    const { settled, ...report } = await stopping;
    // Something was stopped: what has failed is in the report, and rejects nothing.
    expect(told(report)).toEqual({ stopped: ['live'], failed: ['s'] });
    expect(told(await settled)).toEqual({ stopped: ['live'], failed: ['s'] });
  });

  it('is told of where it is, and others that are idle as absent', async () => {
    await using lab = await leftoverLab(
      {},
      {
        sessions: [session('idle', 'waiting_for_input'), session('ended', 'cancelled'), session('none', 'created')],
        processes: [agentProcess('e2', 'ended'), agentProcess('e3', 'none')],
      },
    );
    lab.now(() => UNVERIFIED, { e: 'killed', e2: 'killed' });
    const { absent, recovered, failed } = await lab.offstage.tasks.stop('t');
    expect(recovered.map(({ sessionId }) => sessionId).toSorted()).toEqual(['ended', 's']);
    expect(failed).toMatchObject([{ sessionId: 'none', executionId: 'e3' }]);
    expect(absent).toEqual([{ sessionId: 'idle' }]);
  });

  it('and whose session cannot be read is ended all the same', async () => {
    await using lab = await leftoverLab({}, { sessions: [session('torn', 'idle')], processes: [agentProcess('e2', 'torn')] });
    await lab.store.batch([{ type: 'put', key: KEYS.session('torn'), value: '{' }], { sync: true });
    lab.now(() => ({ verdict: 'killed', detail: 'Ended.' }));
    const report = await lab.offstage.tasks.stop('t');
    expect(report.recovered.map(({ sessionId }) => sessionId).toSorted()).toEqual(['s', 'torn']);
    expect(report.loadErrors).toMatchObject([{ sessionId: 'torn' }]);
  });

  it('is looked at only by the stop of its own task or session', async () => {
    await using lab = await leftoverLab(
      {},
      {
        sessions: [session('beside', 'idle'), session('foreign', 'idle', { taskId: 'u' })],
        processes: [agentProcess('e2', 'beside'), agentProcess('e3', 'foreign')],
      },
    );
    lab.now(() => ({ verdict: 'killed', detail: 'Ended.' }));
    expect((await lab.offstage.sessions.stop('beside')).recovered).toEqual([{ sessionId: 'beside', executionId: 'e2' }]);
    expect(lab.judged).toEqual(['e2']);
    expect((await lab.offstage.tasks.stop('t')).recovered).toEqual([{ sessionId: 's', executionId: 'e' }]);
    expect(lab.judged).toEqual(['e2', 'e']);
    expect(await lab.offstage.processes()).toMatchObject([{ executionId: 'e3' }]);
  });

  it('by force gets no grace either', async () => {
    await using lab = await leftoverLab();
    await codeAndDetails(lab.offstage.tasks.stop('t'));
    expect(lab.forced).toEqual([]);
    await codeAndDetails(lab.offstage.tasks.stop('t', { force: true }));
    expect(lab.forced).toEqual(['e']);
  });

  it('is not what this engine has launched itself, however its record looks', async () => {
    const { reap, judged, now } = reaping();
    const launch = controlledExecutor({ stubborn: true, capabilities: { strictStart: true, killable: true } });
    await using engine = await testEngine({ executors: { launch }, reap, cancelGraceMs: 1_000 });
    const { offstage, clock } = engine;
    now(() => ({ verdict: 'killed', detail: 'Ended.' }));
    const job = await offstage.spawn({ kind: 'launch' });
    await (await launch.started(job.jobId)).context.execution.launched({ pid: 4711, startTime: '99', bootId: 'boot' });
    const { settled } = await offstage.tasks.stop(job.taskId);
    await clock.advance(1_000);
    expect(told(await settled)).toEqual({ detached: [job.jobId] });
    await expect(offstage.tasks.stop(job.taskId)).rejects.toMatchObject({
      code: 'stop.nothing_running',
      details: { detached: [{ jobId: job.jobId }] },
    });
    expect(judged).toEqual([]);
    expect(await offstage.processes()).toMatchObject([{ pid: 4711 }]);
    await launch.release(job.jobId);
  });
});

describe('what a job of an earlier engine left', () => {
  /** A job of `caller` that ran in `host`; its process was not seen to end. Both sessions are of one task. */
  async function jobLeft(others: readonly ProcessRecord[] = []) {
    const store = controlledStore(memoryStore());
    const launch = controlledExecutor({ capabilities: { strictStart: true, killable: true } });
    const dead = await testEngine({ executors: { launch }, store });
    for (const sessionId of ['host', 'caller']) {
      await dead.offstage.tasks.create({ taskId: 't' }).catch(() => {});
      await dead.offstage.sessions.create({ sessionId, taskId: 't' });
    }
    await dead.offstage.spawn({ kind: 'launch', jobId: 'j', sessionId: 'host', callerSessionId: 'caller' });
    const { context } = await launch.started('j');
    await context.execution.launched({ pid: 4711, startTime: '99', bootId: 'boot' });
    const { executionId } = context.execution;
    const found = await store.crash();
    if (others.length > 0) await leave(found, { processes: others });
    const reaper = reaping();
    const engine = await testEngine({ executors: { launch }, store: found, clock: dead.clock, reap: reaper.reap });
    return { ...reaper, engine, offstage: engine.offstage, executionId, found };
  }

  it.each([
    ['its task', (offstage) => offstage.tasks.stop('t')],
    ['the session that hosts it', (offstage) => offstage.sessions.stop('host')],
    ['the session that asked for it', (offstage) => offstage.sessions.stop('caller')],
  ] as readonly (readonly [
    string,
    (offstage: Awaited<ReturnType<typeof jobLeft>>['offstage']) => ReturnType<typeof offstage.tasks.stop>,
  ])[])('is recovered, or has failed, with its job, by a stop of %s; the record of the job stays', async (_, stop) => {
    const { engine, offstage, now, executionId } = await jobLeft();
    await using _engine = engine;
    const record = await offstage.get('j');
    expect(record).toMatchObject({ status: 'errored', reasonCode: 'abandoned.crash', detached: true });
    const entry = { sessionId: 'host', jobId: 'j', executionId };
    await expect(stop(offstage)).rejects.toMatchObject({ code: 'stop.failed', details: { failed: [entry] } });
    now(() => ({ verdict: 'killed', detail: 'Ended.' }));
    expect((await stop(offstage)).recovered).toEqual([entry]);
    expect(await offstage.processes()).toEqual([]);
    expect(await offstage.get('j')).toEqual(record);
  });

  it('and of which nobody can say whose it is, is said, and hides none of the others', async () => {
    const { engine, offstage, now, executionId, found } = await jobLeft([agentProcess('e', 'host')]);
    await using _engine = engine;
    now(() => ({ verdict: 'killed', detail: 'Ended.' }));
    const read = found.getMany.bind(found);
    found.getMany = (keys) =>
      keys.includes(KEYS.id('j')) ? Promise.reject(offstageError('store.failed', { message: 'a bad block' })) : read(keys);
    const report = await offstage.tasks.stop('t');
    expect(report.recovered).toEqual([{ sessionId: 'host', executionId: 'e' }]);
    expect(engine.log.filter(({ event }) => event === 'stop.source_failed')).toMatchObject([
      { fields: { error: expect.stringContaining('a bad block') } },
    ]);
    await expect(offstage.tasks.stop('t')).rejects.toMatchObject({ code: 'stop.failed', cause: { code: 'store.failed' } });
    expect(await offstage.processes()).toMatchObject([{ executionId }]);
  });
});

describe.runIf(process.platform === 'linux')('real processes of an earlier engine', () => {
  /** Notes a process as if an engine that is dead had launched it for the agent of `s`. */
  async function leftBy(script: string, hasToken: boolean) {
    const executionId = newExecutionId();
    const child = spawn('sh', ['-c', script], {
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { PATH: process.env.PATH, ...(hasToken ? { OFFSTAGE_EXECUTION: executionId } : {}) },
    });
    const pid = child.pid as number;
    groups.push(pid);
    const startTime = processStartTime(pid);
    await once(child.stdout, 'data');
    const record = { ...agentProcess(executionId, 's'), pid, startTime, bootId: bootId() };
    const store = await storeWith({ sessions: [session('s', 'waiting_for_input')], processes: [record] });
    let isStarting = true;
    const reap: ProcessReaper = async (left) =>
      isStarting ? UNVERIFIED : reapProcess(left, { clock: systemClock, killAfterMs: 300, deadlineMs: 10_000 });
    const host = await testEngine({ store, reap });
    isStarting = false;
    return { host, store, executionId, pid, child };
  }

  it('are found and killed, whatever the record says', async () => {
    const { host, store, executionId } = await leftBy(
      "trap '' TERM; (setsid sleep 600 &); echo ready; while :; do sleep 0.1; done",
      true,
    );
    await using _host = host;
    expect((await tokenHolders(executionId)).length).toBeGreaterThan(1);
    const row = await store.get(KEYS.session('s'));
    expect((await host.offstage.tasks.stop('t')).recovered).toEqual([{ sessionId: 's', executionId }]);
    expect(await tokenHolders(executionId)).toEqual([]);
    expect(await store.get(KEYS.session('s'))).toBe(row);
    expect(await host.offstage.processes()).toEqual([]);
    await expect(host.offstage.tasks.stop('t')).rejects.toMatchObject(nothingRunning);
  });

  it('that may be somebody else’s are named and not touched, until they are gone', async () => {
    const { host, executionId, pid, child } = await leftBy('(echo ready; exec sleep 600) & exit 0', false);
    await using _host = host;
    if (child.exitCode === null) await once(child, 'exit');
    const [survivor] = (await groupMembers(pid)) as [number];
    await expect(host.offstage.tasks.stop('t')).rejects.toMatchObject({
      code: 'stop.failed',
      details: { failed: [{ sessionId: 's', executionId, error: unknownOf(`process ${survivor} (`) }] },
    });
    expect(await isLiving(survivor)).toBe(true);
    expect(await host.offstage.processes()).toMatchObject([{ executionId, pid }]);
    process.kill(survivor, 'SIGKILL');
    await expect(host.offstage.tasks.stop('t')).rejects.toMatchObject(nothingRunning);
    expect(await host.offstage.processes()).toEqual([]);
  });
});
