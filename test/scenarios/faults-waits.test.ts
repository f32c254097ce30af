/** Reported faults, "await", in process: B15, B16, B18. */
import { describe, expect, it } from 'vitest';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { counting, echo, gate, sync } from '../support/executors.ts';
import { keptStore } from '../support/kept-store.ts';
import { testEngine } from '../support/test-engine.ts';

describe('waits', () => {
  it('B15: a wait settles whether it began before the start, during the run, in the tick of the end, or after', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held }, workers: 1 });
    const { offstage, clock } = engine;
    const first = await offstage.spawn({ kind: 'held' });
    await held.started(first.jobId);
    const { jobId } = await offstage.spawn({ kind: 'held' });
    const waits = [offstage.wait(jobId, { timeoutMs: null })];
    await held.release(first.jobId);
    await held.started(jobId);
    waits.push(offstage.wait(jobId, { timeoutMs: null }));
    await clock.settle();
    // The tick in which the body returns, the tick in which the end is told, and an observer of it.
    offstage.onEvent((event) => {
      if (event.type === 'job.status' && event.jobId === jobId && event.status === 'completed') waits.push(offstage.wait(jobId));
    });
    const released = held.release(jobId, 'done');
    waits.push(offstage.wait(jobId));
    await released;
    waits.push(offstage.wait(jobId));
    await engine.eventOf((event) => event.type === 'job.status' && event.jobId === jobId && event.status === 'completed');
    waits.push(offstage.wait(jobId));
    await clock.settle();
    waits.push(offstage.wait(jobId));
    expect(waits).toHaveLength(7);
    const records = await Promise.all(waits);
    for (const record of records) expect(record).toEqual(records[0]);
    expect(records[0]).toMatchObject({ status: 'completed', resultText: 'done' });
  });

  it('B15: 500 jobs that end at once are all seen to end', async () => {
    await using engine = await testEngine({ executors: { sync } });
    const { offstage } = engine;
    const records = await Promise.all(
      Array.from({ length: 500 }, async (_, index) => {
        const { jobId } = await offstage.spawn({ kind: 'sync', input: `n${index}` });
        return offstage.wait(jobId, { timeoutMs: null });
      }),
    );
    expect(records.map(({ resultText }) => resultText)).toEqual(Array.from({ length: 500 }, (_, index) => `n${index}`));
    expect(records.every(({ status }) => status === 'completed')).toBe(true);
  });

  it('B15: a wait of 0 ms answers at once with the running job', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held } });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'held' });
    await held.started(jobId);
    await clock.settle();
    const before = clock.monotonic();
    const peek = offstage.wait(jobId, { timeoutMs: 0 });
    await clock.advance(0);
    expect(await peek).toMatchObject({ status: 'running', timedOut: true });
    expect(clock.monotonic()).toBe(before);
  });

  it('B16: results can be read again and again, after a thousand others, and by the next process', async () => {
    const store = keptStore(memoryStore());
    const engine = await testEngine({ executors: { echo }, store: store.open() });
    const { offstage } = engine;
    const ids: string[] = [];
    for (const input of ['one', 'two', 'three', 'four']) {
      const { jobId } = await offstage.spawn({ kind: 'echo', input });
      await offstage.wait(jobId);
      ids.unshift(jobId);
    }
    const first = await Promise.all(ids.map((id) => offstage.get(id)));
    expect(first.map(({ resultText }) => resultText)).toEqual(['four', 'three', 'two', 'one']);
    const readAll = async (engineNow: typeof offstage) => {
      for (let round = 0; round < 3; round++) {
        for (const [index, id] of ids.entries()) {
          expect(await engineNow.get(id)).toEqual(first[index]);
          expect(await engineNow.wait(id)).toEqual(first[index]);
        }
      }
    };
    await readAll(offstage);
    const others = await Promise.all(Array.from({ length: 1_000 }, (_, index) => offstage.spawn({ kind: 'echo', input: index })));
    await offstage.waitMany(
      others.map(({ jobId }) => jobId),
      { timeoutMs: null },
    );
    await readAll(offstage);
    await expect(offstage.get('no-such-id')).rejects.toMatchObject({ code: 'job.not_found' });
    await engine[Symbol.asyncDispose]();
    await using again = await testEngine({ executors: { echo }, store: store.open(), clock: engine.clock });
    await readAll(again.offstage);
    await expect(again.offstage.wait('no-such-id')).rejects.toMatchObject({ code: 'job.not_found' });
    // Past the limit the answer is another one.
    await again.offstage.prune({ maxJobs: 1_000 });
    for (const id of ids) {
      await expect(again.offstage.get(id)).rejects.toMatchObject({ code: 'job.expired' });
      await expect(again.offstage.wait(id)).rejects.toMatchObject({ code: 'job.expired' });
    }
    await expect(again.offstage.get('no-such-id')).rejects.toMatchObject({ code: 'job.not_found' });
  });

  it("B18: a waiter's own end is not the job's end", async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held } });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'held' });
    await held.started(jobId);
    for (let round = 0; round < 2; round++) {
      const short = offstage.wait(jobId, { timeoutMs: 50 });
      await clock.advance(50);
      expect(await short).toMatchObject({ status: 'running', timedOut: true });
    }
    const controller = new AbortController();
    const aborted = offstage.wait(jobId, { signal: controller.signal });
    const abortedMany = offstage.waitMany([jobId], { signal: controller.signal });
    const reason = new Error('the caller has gone');
    await clock.settle();
    controller.abort(reason);
    await expect(aborted).rejects.toBe(reason);
    await expect(abortedMany).rejects.toBe(reason);
    await expect(offstage.wait(jobId, { signal: controller.signal })).rejects.toBe(reason);
    expect(await offstage.get(jobId)).toMatchObject({ status: 'running', cancelRequestedAt: null });
    await held.release(jobId, 'done');
    const done = await offstage.wait(jobId);
    expect(done).toMatchObject({ status: 'completed', resultText: 'done', cancelRequestedAt: null });
    expect(done.timedOut).toBeUndefined();
    expect(await offstage.get(jobId)).toEqual(done);
    expect(engine.statuses(jobId)).toEqual(['pending', 'queued', 'running', 'completed']);
  });

  it('B18: a limit that is no time is refused, and nothing waits', async () => {
    const count = counting();
    const held = gate();
    await using engine = await testEngine({ executors: { held, count } });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'held' });
    await held.started(jobId);
    await clock.settle();
    for (const timeoutMs of [-1, Number.NaN, Number.NEGATIVE_INFINITY, '5' as unknown as number]) {
      await expect(offstage.wait(jobId, { timeoutMs })).rejects.toMatchObject({ code: 'input.invalid' });
      await expect(offstage.waitMany([jobId], { timeoutMs })).rejects.toMatchObject({ code: 'input.invalid' });
    }
    await expect(offstage.wait(jobId, { signal: {} as AbortSignal })).rejects.toMatchObject({ code: 'input.invalid' });
    await expect(offstage.waitMany([jobId], { mode: 'some' as 'any' })).rejects.toMatchObject({ code: 'input.invalid' });
    await expect(offstage.waitMany(jobId as unknown as string[])).rejects.toMatchObject({ code: 'input.invalid' });
    expect((await offstage.get(jobId)).status).toBe('running');
    // Longer than Node's timers can count is long, not now.
    let isSettled = false;
    const long = offstage.wait(jobId, { timeoutMs: 2 ** 31 + 1_000 }).finally(() => {
      isSettled = true;
    });
    await clock.advance(1_000);
    expect(isSettled).toBe(false);
    await held.release(jobId, 'done');
    expect((await long).resultText).toBe('done');
  });
});
