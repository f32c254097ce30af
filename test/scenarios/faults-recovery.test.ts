/** Reported faults, "recovery" and "persistence", between two engines on one store: B26, B27, B45. The versions with SIGKILL are in test/crash. */
import { describe, expect, it } from 'vitest';
import { outcome } from '../../src/model/executor.ts';
import type { JobView } from '../../src/model/records.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { echo, gate, stubborn } from '../support/executors.ts';
import { keptStore } from '../support/kept-store.ts';
import { pastOf } from '../support/past.ts';
import { testEngine } from '../support/test-engine.ts';

describe('recovery', () => {
  it('B26: whatever was unfinished is errored once, and the engine works', async () => {
    const store = controlledStore(memoryStore());
    const held = gate();
    const stuck = stubborn();
    const executors = { held, stuck, echo };
    const engine = await testEngine({ executors, store, workers: 2 });
    const { offstage, clock } = engine;
    const done = await offstage.spawn({ kind: 'echo', input: 'kept' });
    const completed = await offstage.wait(done.jobId);
    const cancelling = await offstage.spawn({ kind: 'stuck' });
    const running = await offstage.spawn({ kind: 'held' });
    await stuck.started(cancelling.jobId);
    await held.started(running.jobId);
    const queued = await Promise.all([1, 2, 3].map(() => offstage.spawn({ kind: 'held' })));
    await offstage.cancel(cancelling.jobId, { reason: 'enough' });
    await clock.settle();
    const calls = held.calls.length + stuck.calls.length;
    const found = controlledStore(await store.crash());
    clock.jumpWall(200 * 60 * 60 * 1000);
    const next = await testEngine({ executors, store: found, clock });
    const unfinished = [cancelling, running, ...queued].map(({ jobId }) => jobId);
    expect([...next.recovery.abandoned].sort()).toEqual([...unfinished].sort());
    const records = await Promise.all(unfinished.map((id) => next.offstage.get(id)));
    for (const record of records) {
      expect(record).toMatchObject({
        status: 'errored',
        reasonCode: 'abandoned.crash',
        error: { code: 'job.abandoned', message: 'worker died before completion' },
        completedAt: expect.any(Number),
        detached: false,
      });
    }
    // A pending cancel is remembered, and the queued ones never started.
    expect(records[0]).toMatchObject({ cancelReason: 'enough', cancelRequestedAt: expect.any(Number) });
    expect(records.slice(2).every(({ startedAt }) => startedAt === null)).toBe(true);
    expect(await next.offstage.get(done.jobId)).toEqual(completed);
    expect(await next.offstage.list({ status: ['running', 'queued', 'pending'] })).toEqual([]);
    expect(next.offstage.jobsModel.get().live.size).toBe(0);
    expect(held.calls.length + stuck.calls.length).toBe(calls);
    // Their ends are events like any other, after the last one that was seen.
    const told: string[] = [];
    for await (const event of next.offstage.events({ after: 0 })) {
      if (event.type === 'job.status' && event.reasonCode === 'abandoned.crash') told.push(event.jobId);
      if (told.length === unfinished.length) break;
    }
    expect([...told].sort()).toEqual([...unfinished].sort());
    const fresh = await next.offstage.spawn({ kind: 'echo', input: 'works' });
    expect((await next.offstage.wait(fresh.jobId)).resultText).toBe('works');
    await clock.settle();
    const all = await next.offstage.list();
    const again = await found.crash();
    await using third = await testEngine({ executors, store: again, clock });
    expect(third.recovery.abandoned).toEqual([]);
    expect(await third.offstage.list()).toEqual(all);
  });

  it('B26: a crash in the middle of any write loses no acknowledged job and leaves none unfinished', async () => {
    for (let kill = 1; kill <= 10; kill++) {
      const store = controlledStore(memoryStore());
      const held = gate();
      const engine = await testEngine({ executors: { held, echo }, store, workers: 1 });
      const { offstage, clock } = engine;
      const acknowledged: string[] = [];
      const ended = new Map<string, JobView>();
      const work = async (): Promise<void> => {
        for (let index = 0; index < 3; index++) {
          const { jobId } = await offstage.spawn({ kind: 'echo', input: index });
          acknowledged.push(jobId);
          ended.set(jobId, await offstage.wait(jobId, { timeoutMs: null }));
        }
        acknowledged.push((await offstage.spawn({ kind: 'held' })).jobId);
      };
      void work();
      while (store.writes.length < kill && acknowledged.length < 4) await clock.settle();
      // The worst power loss: only what was synced is left.
      const found = await store.crash(0);
      await using next = await testEngine({ executors: { held, echo }, store: found, clock });
      for (const id of acknowledged) {
        const record = await next.offstage.get(id);
        const known = ended.get(id);
        if (known === undefined) expect(['completed', 'errored']).toContain(record.status);
        else expect(record).toEqual(known);
      }
      expect(await next.offstage.list({ status: ['pending', 'queued', 'running'] })).toEqual([]);
    }
  });

  it('B27: what has begun is never begun again, by a restart or by its id', async () => {
    const store = controlledStore(memoryStore());
    const held = gate();
    let sideEffects = 0;
    const executors = {
      effect: async () => {
        sideEffects += 1;
        await new Promise(() => {});
      },
      held,
      echo,
    };
    const engine = await testEngine({ executors, store });
    const request = { kind: 'effect', jobId: 'once', input: { file: 'f' } } as const;
    await engine.offstage.spawn(request);
    await engine.eventOf((event) => event.type === 'job.status' && event.status === 'running');
    expect(sideEffects).toBe(1);
    const found = await store.crash();
    await using next = await testEngine({ executors, store: found, clock: engine.clock });
    const { offstage } = next;
    const others = await Promise.all(Array.from({ length: 10 }, () => offstage.spawn({ kind: 'echo', input: 'x' })));
    await offstage.waitMany(others.map(({ jobId }) => jobId));
    const errored = await offstage.get('once');
    expect(errored.status).toBe('errored');
    expect(await offstage.spawn(request)).toEqual(errored);
    await expect(offstage.spawn({ ...request, input: { file: 'g' } })).rejects.toMatchObject({ code: 'job.conflict' });
    await next.clock.settle();
    expect(sideEffects).toBe(1);
    expect(await offstage.get('once')).toEqual(errored);
  });
});

describe('what is stored', () => {
  it('B45: jobs in every end, with odd contents, read back exactly, three times; nothing in flight is resurrected', async () => {
    const store = keptStore(memoryStore());
    const held = gate();
    const stuck = stubborn();
    let calls = 0;
    const executors = {
      held,
      stuck,
      echo,
      text: async (job: { readonly input: unknown }) => String(job.input),
      named: async (job: { readonly input: unknown }) =>
        outcome({ text: '', value: job.input, headId: 'h\u2028', sourceCommitId: '' }),
      broken: async (job: { readonly input: unknown }) => {
        throw new Error(String(job.input));
      },
      flight: async () => {
        calls += 1;
        await new Promise(() => {});
      },
    };
    const engine = await testEngine({ executors, store: store.open(), workers: null, cancelGraceMs: 100, shutdownGraceMs: 100 });
    const { offstage, clock } = engine;
    const odd = [
      '',
      '\u2028\u2029',
      '😀👩‍👩‍👧',
      'a\u0000b',
      '\ufeffBOM',
      '"quotes" and \\ and \n',
      '__proto__',
      'é'.repeat(100_000),
      'x'.repeat(1024 * 1024 - 64),
    ];
    const ids: string[] = [];
    for (const text of odd) {
      for (const kind of ['text', 'named', 'broken']) {
        const isLarge = text.length > 50_000;
        // A result of a megabyte is refused, an input is not.
        const request = {
          kind,
          input: text,
          description: isLarge ? '' : text,
          subject: [...text.slice(0, 100)].slice(0, 9).join(''),
        };
        ids.push((await offstage.spawn(request)).jobId);
      }
    }
    const nested = { ['__proto__']: { a: 1 }, constructor: null, deep: [[[[{}]]]], zero: -0, tiny: 5e-324, '': 'empty key' };
    ids.push((await offstage.spawn({ kind: 'echo', input: nested })).jobId);
    const queuedLike = await offstage.spawn({ kind: 'held', timeoutMs: 50, description: 'times out' });
    const forced = await offstage.spawn({ kind: 'stuck', description: 'x'.repeat(2_000) });
    await stuck.started(forced.jobId);
    await offstage.cancel(forced.jobId, { reason: '😀' });
    await clock.advance(200);
    ids.push(queuedLike.jobId, forced.jobId);
    const flight = await offstage.spawn({ kind: 'flight' });
    await clock.settle();
    expect(calls).toBe(1);
    const read = async (from: typeof offstage) =>
      Promise.all(ids.map(async (id) => [await from.get(id), await pastOf(from, id)] as const));
    const before = await read(offstage);
    const statuses = new Set(before.map(([{ status }]) => status));
    expect([...statuses].sort()).toEqual(['cancelled', 'completed', 'errored']);
    await engine[Symbol.asyncDispose]();
    for (const round of [1, 2, 3]) {
      const again = await testEngine({ executors, store: store.open(), clock });
      // Only `bodyLive` was about the process of then.
      expect([round, await read(again.offstage)]).toEqual([
        round,
        before.map(([record, history]) => [{ ...record, bodyLive: false }, history]),
      ]);
      expect(await again.offstage.get(flight.jobId)).toMatchObject({ status: 'errored', reasonCode: 'abandoned.shutdown' });
      await again[Symbol.asyncDispose]();
    }
    expect(calls).toBe(1);
  });

  it('B45: input that is changed after spawn does not change the record', async () => {
    await using engine = await testEngine({ executors: { echo } });
    const { offstage } = engine;
    const input = { list: [1] };
    const spawning = offstage.spawn({ kind: 'echo', input });
    input.list.push(2);
    const { jobId } = await spawning;
    input.list.push(3);
    const done = await offstage.wait(jobId);
    expect(done.input).toEqual({ list: [1] });
    expect(done.result).toEqual({ list: [1] });
    expect(() => (done.input as { list: number[] }).list.push(4)).toThrow(TypeError);
  });
});
