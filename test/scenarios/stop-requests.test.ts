/** Liveness 11: what is on its way when a stop decides is refused; what is asked for afterwards is as ever; and what a stop itself is refused for. */
import { describe, expect, it } from 'vitest';
import type { Executor } from '../../src/model/executor.ts';
import type { StopOptions } from '../../src/model/stop.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { pausePoints } from '../../src/testing/pause-at.ts';
import { held } from '../support/bare-agent.ts';
import { echo, gate } from '../support/executors.ts';
import { heldReads } from '../support/held-reads.ts';
import { leave, session } from '../support/left-behind.ts';
import { FULL, type SessionLab, sessionLab } from '../support/sessions.ts';
import { slowReads } from '../support/slow-reads.ts';
import { closesOf, nothingRunning, statesOf, stopAll, taskLab } from '../support/stopping.ts';

const codeOf = (answer: Promise<unknown>): Promise<string> =>
  answer.then(
    () => 'done',
    (error: { code: string }) => error.code,
  );

/** Task `t` with a job at work on `busy`, and a session `s` of which nothing is in memory. */
async function leftLab() {
  const executor = gate();
  const reads = heldReads();
  await leave(reads.store, { sessions: [session('s', 'waiting_for_input'), session('busy', 'created')] });
  const lab = await sessionLab({ store: reads.store, executors: { gate: executor, echo } });
  await lab.offstage.spawn({ kind: 'gate', jobId: 'job', sessionId: 'busy' });
  await executor.started('job');
  await lab.settled();
  return { lab, reads };
}

const stopOf = (lab: SessionLab, verb: 'task' | 'session') =>
  verb === 'task' ? lab.offstage.tasks.stop('t') : lab.offstage.sessions.stop('s');

describe('a prompt on its way', () => {
  it.each([
    ['task', undefined, 'task.stopping'],
    ['task', 'queue', 'task.stopping'],
    ['session', undefined, 'session.stopped'],
  ] as const)('that waits for the read of its row: stop of its %s, whenBusy %s: %s', async (verb, whenBusy, code) => {
    const { lab, reads } = await leftLab();
    await using _lab = lab;
    const open = reads.hold('next');
    const asking = codeOf(lab.offstage.sessions.prompt('s', { content: 'go', ...(whenBusy === undefined ? {} : { whenBusy }) }));
    await lab.settled();
    expect(await codeOf(stopOf(lab, verb))).toBe(verb === 'task' ? 'done' : nothingRunning.code);
    open();
    expect(await asking).toBe(code);
    await lab.settled();
    expect([lab.mock.starts.length, (await lab.offstage.sessions.get('s')).state]).toEqual([0, 'waiting_for_input']);
  });

  it('while reads take their time: it is refused, or what it has begun is stopped; nothing of it is left', async () => {
    for (const turnsLate of [0, 1, 2, 3, 4, 6, 8, 12]) {
      const store = memoryStore();
      await leave(store, { sessions: [session('s', 'waiting_for_input'), session('busy', 'created')] });
      await using lab = await sessionLab({ store: slowReads(store), executors: { gate: gate() } });
      await lab.offstage.spawn({ kind: 'gate', sessionId: 'busy' });
      const asking = codeOf(lab.offstage.sessions.prompt('s', { content: 'go' }));
      for (let turn = 0; turn < turnsLate; turn++) await new Promise((resolve) => setImmediate(resolve));
      await stopAll(lab);
      expect(['task.stopping', 'session.stopped', 'done']).toContain(await asking);
      await lab.settled();
      expect(lab.mock.agents.every(({ isClosed }) => isClosed)).toBe(true);
      expect(lab.offstage.health().agents).toEqual({ live: 0, ending: 0, detached: 0 });
      expect(['waiting_for_input', 'cancelled']).toContain((await lab.offstage.sessions.get('s')).state);
    }
  });

  it('that waits for a start: session.stopped; one that waits for that start of another: the code of its stop', async () => {
    await using lab = await taskLab({ script: { hangStart: true } });
    const s = await lab.create('s', 't');
    const first = codeOf(s.ask());
    await lab.settled();
    const second = codeOf(s.ask());
    await stopAll(lab);
    expect([await first, await second]).toEqual(['session.stopped', 'task.stopping']);
    expect(statesOf(lab, 's')).toEqual(['created', 'starting', 'cancelled']);
  });

  it('that has reached its agent and was not taken: session.stopped', async () => {
    await using lab = await taskLab({ script: { attests: FULL, acceptAtOnce: false } });
    const s = await lab.create('s', 't');
    const asking = codeOf(s.ask());
    await lab.settled();
    expect(s.prompts).toHaveLength(1);
    await stopAll(lab);
    expect(await asking).toBe('session.stopped');
  });

  it('that is a ticket about to be served: session.stopped', async () => {
    await using lab = await taskLab();
    const s = await lab.running('s', 't');
    expect(await s.attempt({ whenBusy: 'queue', promptId: 'p' })).toBe('queued');
    lab.mock.script.hangStart = true;
    s.agent.exit();
    await lab.settled();
    expect(await s.view()).toMatchObject({ state: 'starting', queuedPrompts: 0 });
    await stopAll(lab);
    const last = lab.engine.events.findLast(({ type }) => type === 'session.ticket');
    expect(last).toMatchObject({ promptId: 'p', error: { code: 'session.stopped' } });
    expect(await s.view()).toMatchObject({ state: 'cancelled', executionId: null });
  });
});

describe('a spawn on its way', () => {
  it.each([
    ['task', 'task.stopping'],
    ['session', 'session.stopped'],
  ] as const)('that waits for the row of its session: stop of its %s: %s', async (verb, code) => {
    const { lab, reads } = await leftLab();
    await using _lab = lab;
    const open = reads.hold('next');
    const spawning = codeOf(lab.offstage.spawn({ kind: 'echo', sessionId: 's' }));
    await lab.settled();
    await codeOf(stopOf(lab, verb));
    open();
    expect(await spawning).toBe(code);
    await lab.settled();
    expect((await lab.offstage.list()).map(({ jobId }) => jobId)).toEqual(['job']);
  });

  it('whose input is still being validated: task.stopping; one for another task is accepted', async () => {
    const validated = held();
    const slow: Executor = {
      run: echo,
      input: {
        '~standard': { version: 1, vendor: 'test', validate: async (value) => validated.promise.then(() => ({ value })) },
      },
    };
    await using lab = await taskLab({ executors: { slow } });
    await lab.running('s', 't');
    await lab.create('other');
    const spawning = codeOf(lab.offstage.spawn({ kind: 'slow', sessionId: 's' }));
    const elsewhere = lab.offstage.spawn({ kind: 'slow', sessionId: 'other' });
    await lab.offstage.tasks.stop('t');
    validated.resolve();
    expect(await spawning).toBe('task.stopping');
    expect((await lab.offstage.wait((await elsewhere).jobId)).status).toBe('completed');
  });

  it('that was asked for by a session which is stopped, for another one: session.stopped', async () => {
    const { lab, reads } = await leftLab();
    await using _lab = lab;
    const open = reads.hold('next');
    const spawning = codeOf(lab.offstage.spawn({ kind: 'echo', sessionId: 'busy', callerSessionId: 's' }));
    await lab.settled();
    await codeOf(lab.offstage.sessions.stop('s'));
    open();
    expect(await spawning).toBe('session.stopped');
  });
});

describe('what is asked for after stop() has resolved', () => {
  it('is as ever: prompts, jobs on sessions of any state, new sessions, and another stop', async () => {
    await using lab = await taskLab({ executors: { echo, gate: gate() } });
    const s = await lab.running('s', 't');
    const fresh = await lab.create('fresh', 't');
    await lab.offstage.tasks.stop('t');
    expect(await s.attempt()).toBe('session.not_promptable');
    expect(await fresh.attempt()).toBe('accepted');
    const job = await lab.offstage.spawn({ kind: 'echo', input: 1, sessionId: 's' });
    expect(await lab.offstage.wait(job.jobId)).toMatchObject({ status: 'completed', result: 1 });
    const next = await lab.running('next', 't');
    expect((await stopAll(lab)).stopped.map(({ sessionId }) => sessionId)).toEqual(['fresh', 'next']);
    expect([(await fresh.view()).state, (await next.view()).state]).toEqual(['cancelled', 'cancelled']);
  });

  it('also while something older is still on its way, which is refused', async () => {
    const { lab, reads } = await leftLab();
    await using _lab = lab;
    const open = reads.hold('next');
    const older = codeOf(lab.offstage.sessions.prompt('s', { content: 'older' }));
    await lab.settled();
    await stopAll(lab);
    const job = await lab.offstage.spawn({ kind: 'echo', sessionId: 's' });
    // Its session is in memory, so it needs no time at all.
    const atOnce = await lab.offstage.spawn({ kind: 'echo', sessionId: 'busy' });
    for (const { jobId } of [job, atOnce]) expect((await lab.offstage.wait(jobId)).status).toBe('completed');
    expect(await codeOf(lab.offstage.sessions.prompt('s', { content: 'newer' }))).toBe('done');
    open();
    expect(await older).toBe('task.stopping');
    expect(lab.mock.prompts.map(({ content }) => content)).toEqual(['newer']);
  });

  it('also while what it stopped is being torn down', async () => {
    const closing = held();
    await using lab = await taskLab();
    const s = await lab.running('s', 't');
    const fresh = await lab.create('fresh', 't');
    closesOf(s.agent, [closing.promise]);
    await lab.offstage.tasks.stop('t');
    expect(await fresh.attempt()).toBe('accepted');
    closing.resolve();
    await lab.settled();
    expect(await fresh.view()).toMatchObject({ state: 'running', executionId: fresh.executionId });
  });

  it('a stop with nothing live leaves no trace: the next prompt is accepted and not aborted', async () => {
    await using lab = await taskLab();
    const s = await lab.create('s', 't');
    await expect(lab.offstage.tasks.stop('t')).rejects.toMatchObject(nothingRunning);
    await expect(lab.offstage.sessions.stop('s')).rejects.toMatchObject(nothingRunning);
    expect(await s.attempt()).toBe('accepted');
    expect([s.prompt.signal.aborted, (await s.view()).state]).toEqual([false, 'running']);
  });
});

describe('a stop itself', () => {
  it.each<[string, unknown]>([
    ['an unknown option', { grace: 1 }],
    ['force that is no flag', { force: 'yes' }],
    ['a reason that is no text', { reason: 5 }],
    ['options that are none', 'now'],
  ])('is refused for %s, and then nothing is stopped', async (_what, options) => {
    await using lab = await taskLab();
    const s = await lab.running('s', 't');
    for (const stop of [
      lab.offstage.tasks.stop('t', options as StopOptions),
      lab.offstage.sessions.stop('s', options as StopOptions),
    ])
      await expect(stop).rejects.toMatchObject({ code: 'input.invalid' });
    await lab.settled();
    expect([s.agent.isClosed, (await s.view()).state]).toEqual([false, 'running']);
  });

  it('is refused by an engine that closes, also where it was on its way', async () => {
    const { points, pauseAt } = pausePoints();
    const lab = await taskLab({ points });
    await lab.running('s', 't');
    const lock = pauseAt('lock');
    const onItsWay = codeOf(lab.offstage.tasks.stop('t'));
    await lab.settled();
    const closing = lab[Symbol.asyncDispose]();
    expect(await codeOf(lab.offstage.tasks.stop('t'))).toBe('engine.closing');
    lock.release();
    expect(await onItsWay).toBe('engine.closing');
    await closing;
    expect(await codeOf(lab.offstage.sessions.stop('s'))).toBe('engine.closing');
  });

  it('that has resolved settles when its engine closes, whatever its agents do', async () => {
    const lab = await taskLab();
    const s = await lab.running('s', 't');
    closesOf(s.agent, [new Promise(() => {})]);
    const { settled } = await lab.offstage.tasks.stop('t');
    await lab[Symbol.asyncDispose]();
    expect((await settled).detached).toMatchObject([{ sessionId: 's', executionId: s.executionId }]);
  });
});
