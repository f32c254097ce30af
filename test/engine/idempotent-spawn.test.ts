/** Spawn with a given id (spec 2, api "Jobs"): the same request is the same job, whatever its status; an id is never revived. */
import { describe, expect, it } from 'vitest';
import type { SpawnOptions } from '../../src/model/requests.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import type { Store } from '../../src/persistence/store.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { counting, echo, gate } from '../support/executors.ts';
import { testEngine } from '../support/test-engine.ts';

const REQUEST: SpawnOptions = {
  kind: 'held',
  jobId: 'x',
  sessionId: 'p2',
  callerSessionId: 'p1',
  subject: 'a subject',
  description: 'the whole prompt',
  agentId: 'planner',
  contextMode: 'clean',
  wait: true,
  timeoutMs: 10_000,
  idleTimeoutMs: 5_000,
  input: { b: [1, { c: null }], a: 'text' },
};

const engineWithSessions = async (held = gate()) => {
  const engine = await testEngine({ executors: { held, other: echo } });
  await engine.offstage.tasks.create({ taskId: 't' });
  for (const sessionId of ['p1', 'p2']) await engine.offstage.sessions.create({ sessionId, taskId: 't' });
  return { engine, held };
};

describe('the same request', () => {
  it('answers the record as it is, in every status', async () => {
    const { engine, held } = await engineWithSessions();
    await using _ = engine;
    const { offstage, clock } = engine;
    const again = () => offstage.spawn(structuredClone(REQUEST));
    const first = await again();
    expect(first.status).toBe('queued');
    await held.started('x');
    await clock.settle();
    expect(await again()).toMatchObject({ status: 'running', bodyLive: true });
    await offstage.cancel('x', { reason: 'enough' });
    const ended = await offstage.wait('x');
    expect(ended.status).toBe('cancelled');
    expect(await again()).toEqual(ended);
    // Keys in another order, and properties that are undefined, are the same content.
    expect(await offstage.spawn({ ...REQUEST, input: { a: 'text', nothing: undefined, b: [1, { c: null }] } })).toEqual(ended);
    expect(held.calls).toEqual(['x']);
    expect(engine.events.filter(({ type }) => type === 'job.created')).toHaveLength(1);
  });

  it('with any part of the content changed is a conflict, while the job lives and after its end', async () => {
    const { engine, held } = await engineWithSessions();
    await using _ = engine;
    const { offstage } = engine;
    await offstage.spawn(REQUEST);
    const changes: readonly Partial<SpawnOptions>[] = [
      { kind: 'other' },
      { sessionId: 'p1' },
      { callerSessionId: 'p2' },
      { subject: 'another' },
      { description: 'another' },
      { agentId: 'other' },
      { contextMode: 'inherit' },
      { wait: false },
      { timeoutMs: 10_001 },
      { timeoutMs: null },
      { idleTimeoutMs: 1 },
      { input: { b: [1, { c: null }], a: 'text', more: 1 } },
      { input: null },
    ];
    for (const change of changes) {
      await expect(offstage.spawn({ ...REQUEST, ...change })).rejects.toMatchObject({ code: 'job.conflict' });
    }
    // Where the answer belongs is no content.
    expect((await offstage.spawn({ ...REQUEST, parentMessageId: 'm' })).parentMessageId).toBeNull();
    await held.release('x');
    const ended = await offstage.wait('x');
    for (const change of changes) {
      await expect(offstage.spawn({ ...REQUEST, ...change })).rejects.toMatchObject({ code: 'job.conflict' });
    }
    expect(await offstage.get('x')).toEqual(ended);
    expect(await offstage.list()).toEqual([ended]);
  });

  it('many times in one tick is one job, and everybody gets it', async () => {
    const count = counting();
    await using engine = await testEngine({ executors: { count } });
    const { offstage, clock } = engine;
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => offstage.spawn({ kind: 'count', jobId: 'x', input: [1] })),
    );
    expect(new Set(answers.map(({ jobId }) => jobId))).toEqual(new Set(['x']));
    await offstage.wait('x');
    await clock.settle();
    expect(count.calls).toEqual(['x']);
    expect(engine.statuses('x')).toEqual(['pending', 'queued', 'running', 'completed']);
  });

  it('in one tick with different contents is one job and conflicts, decided by the order of the calls', async () => {
    const count = counting();
    await using engine = await testEngine({ executors: { count } });
    const { offstage } = engine;
    const answers = await Promise.allSettled([1, 2, 1, 3].map((input) => offstage.spawn({ kind: 'count', jobId: 'x', input })));
    expect(answers).toMatchObject([
      { status: 'fulfilled', value: { input: 1 } },
      { status: 'rejected', reason: { code: 'job.conflict' } },
      { status: 'fulfilled', value: { input: 1 } },
      { status: 'rejected', reason: { code: 'job.conflict' } },
    ]);
    await offstage.wait('x');
    expect(count.calls).toEqual(['x']);
  });

  it('is answered only when the job is durable', async () => {
    const store = controlledStore(memoryStore());
    const count = counting();
    await using engine = await testEngine({ executors: { count }, store });
    const { offstage, clock } = engine;
    await offstage.sessions.create({ sessionId: 's' });
    const request = { kind: 'count', jobId: 'x', sessionId: 's' } as const;
    store.hold();
    let answered = 0;
    const first = offstage.spawn(request).finally(() => (answered += 1));
    await clock.settle();
    const second = offstage.spawn(request).finally(() => (answered += 1));
    await clock.settle();
    expect(answered).toBe(0);
    expect(count.calls).toEqual([]);
    store.release();
    expect((await first).jobId).toBe('x');
    expect((await second).jobId).toBe('x');
  });

  it('of a pruned job is expired, for good', async () => {
    await using engine = await testEngine({ executors: { echo } });
    const { offstage } = engine;
    await offstage.spawn({ kind: 'echo', jobId: 'x' });
    await offstage.wait('x');
    expect(await offstage.prune({ maxJobs: 0 })).toMatchObject({ jobs: 1 });
    await expect(offstage.spawn({ kind: 'echo', jobId: 'x' })).rejects.toMatchObject({ code: 'job.expired' });
    await expect(offstage.spawn({ kind: 'echo', jobId: 'x', input: 1 })).rejects.toMatchObject({ code: 'job.expired' });
    await expect(offstage.get('x')).rejects.toMatchObject({ code: 'job.expired' });
    expect(await offstage.list()).toEqual([]);
  });
});

describe('a cancel in the tick of spawn', () => {
  it('finds a job with a given id, and the spawn answers the cancelled record', async () => {
    const count = counting();
    await using engine = await testEngine({ executors: { count } });
    const { offstage, clock } = engine;
    const spawning = offstage.spawn({ kind: 'count', jobId: 'x' });
    const cancelling = offstage.cancel('x', { reason: 'changed my mind' });
    const waiting = offstage.wait('x');
    const cancelled = await cancelling;
    expect(cancelled).toMatchObject({
      status: 'cancelled',
      reasonCode: 'cancel.user',
      error: { code: 'job.cancelled', message: 'changed my mind' },
      startedAt: null,
    });
    expect(cancelled.cancelRequestedAt).toBe(cancelled.completedAt);
    expect(await spawning).toEqual(cancelled);
    expect(await waiting).toEqual(cancelled);
    await clock.settle();
    expect(count.calls).toEqual([]);
    expect(engine.statuses('x')).toEqual(['pending', 'queued', 'cancelled']);
    expect(offstage.health().pool).toMatchObject({ queued: 0, running: 0 });
  });

  it('of a spawn that is refused finds nothing', async () => {
    await using engine = await testEngine({ executors: { echo } });
    const { offstage } = engine;
    const answers = await Promise.allSettled([
      offstage.spawn({ kind: 'echo', jobId: 'x', sessionId: 'nowhere' }),
      offstage.cancel('x'),
    ]);
    expect(answers).toMatchObject([
      { status: 'rejected', reason: { code: 'session.not_found' } },
      { status: 'rejected', reason: { code: 'job.not_found' } },
    ]);
  });

  it('reaches the stored job when the spawn only finds it', async () => {
    await using engine = await testEngine({ executors: { echo } });
    const { offstage } = engine;
    await offstage.spawn({ kind: 'echo', jobId: 'x' });
    const done = await offstage.wait('x');
    await engine.clock.settle();
    const [again, cancelled] = await Promise.all([offstage.spawn({ kind: 'echo', jobId: 'x' }), offstage.cancel('x')]);
    expect(again).toEqual(done);
    expect(cancelled).toEqual(done);
  });

  it('sees the job as it is by now, although the spawn has looked at it before its end', async () => {
    const held = gate();
    const inner = memoryStore();
    let answers = Promise.resolve();
    const store: Store = {
      get: (key) => inner.get(key),
      range: (options) => inner.range(options),
      batch: (operations, options) => inner.batch(operations, options),
      close: () => inner.close(),
      async getMany(keys) {
        const rows = await inner.getMany(keys);
        await answers;
        return rows;
      },
    };
    await using engine = await testEngine({ executors: { held, echo }, store });
    const { offstage, clock } = engine;
    await offstage.spawn({ kind: 'held', jobId: 'x' });
    await held.started('x');
    await clock.settle();
    let letGo = (): void => {};
    answers = new Promise((resolve) => {
      letGo = resolve;
    });
    // Finds the row of a running job, and hears of it when that has ended.
    const again = offstage.spawn({ kind: 'held', jobId: 'x' });
    await held.release('x', 'done');
    await engine.eventOf((event) => event.type === 'job.status' && event.status === 'completed');
    const [cancelled, many] = [offstage.cancel('x'), offstage.cancelMany({ sessionId: 'default' })];
    letGo();
    await again;
    expect(await cancelled).toMatchObject({ status: 'completed', revision: 3, cancelRequestedAt: null });
    expect(await many).toEqual({ cancelled: [], cancelling: [], alreadyTerminal: [], notFound: [] });
  });

  it('at any number of turns after the spawn has one outcome', async () => {
    for (let turns = 0; turns < 12; turns++) {
      const held = gate();
      await using engine = await testEngine({ executors: { held } });
      const { offstage } = engine;
      const spawning = offstage.spawn({ kind: 'held', jobId: 'x' });
      for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
      const answer = await offstage.cancel('x');
      await spawning;
      const ended = await offstage.wait('x');
      expect([turns, ended.status, ended.reasonCode]).toEqual([turns, 'cancelled', 'cancel.user']);
      expect(answer.cancelRequestedAt).not.toBeNull();
      expect(engine.statuses('x').filter((status) => status === 'cancelled')).toHaveLength(1);
      expect(held.calls.length).toBe(ended.startedAt === null ? 0 : 1);
    }
  });
});
