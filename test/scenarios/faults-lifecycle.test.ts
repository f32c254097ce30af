/** Reported faults, "lifecycle", in process: B01, B02, B04, B05. The parts with processes are in test/executors. */
import { describe, expect, it } from 'vitest';
import type { JobRecordEvent, OffstageEvent } from '../../src/model/events.ts';
import type { JobView } from '../../src/model/records.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { counting, echo, throwing } from '../support/executors.ts';
import { keptStore } from '../support/kept-store.ts';
import { testEngine } from '../support/test-engine.ts';

const isEnd = (event: OffstageEvent): event is JobRecordEvent => event.type === 'job.status' && event.completedAt !== null;

describe('lifecycle', () => {
  it('B01: a start that fails is a normal failure, frees the slot and is never tried again', async () => {
    const store = keptStore(memoryStore());
    let calls = 0;
    const boom = (): never => {
      calls += 1;
      throw new Error('boom');
    };
    const executors = { boom, refusing: async () => Promise.reject(new Error('no folder')), echo };
    const engine = await testEngine({ executors, store: store.open(), workers: 1 });
    const { offstage } = engine;
    const ids: string[] = [];
    for (const kind of ['boom', 'refusing', 'echo']) ids.push((await offstage.spawn({ kind, input: 'ok' })).jobId);
    expect(new Set(ids).size).toBe(3);
    const ended = await offstage.waitMany(ids);
    expect(ended).toMatchObject([
      { status: 'errored', error: { message: 'Error: boom' }, completedAt: expect.any(Number) },
      { status: 'errored', error: { message: 'Error: no folder' }, completedAt: expect.any(Number) },
      { status: 'completed', resultText: 'ok' },
    ]);
    expect(await offstage.list({ status: 'running' })).toEqual([]);
    await engine[Symbol.asyncDispose]();
    for (const _ of ['first', 'second']) {
      const again = await testEngine({ executors, store: store.open(), clock: engine.clock });
      await again.clock.settle();
      expect(await Promise.all(ids.map((id) => again.offstage.get(id)))).toEqual(ended);
      await again[Symbol.asyncDispose]();
    }
    expect(calls).toBe(1);
  });

  it('B02: when the end of a job is told, every way of reading agrees, and nothing is left to stop', async () => {
    await using engine = await testEngine({ executors: { echo, broken: throwing('x') } });
    const { offstage } = engine;
    const checks: Promise<void>[] = [];
    const check = async (event: JobRecordEvent): Promise<void> => {
      // Asked in the very tick of the event.
      const [record, running, cancelled, many] = await Promise.all([
        offstage.get(event.jobId),
        offstage.list({ status: 'running' }),
        offstage.cancel(event.jobId),
        offstage.cancelMany({ ids: [event.jobId] }),
      ]);
      expect(record).toMatchObject({ status: event.status, revision: event.revision, bodyLive: false });
      expect(running.map(({ jobId }) => jobId)).not.toContain(event.jobId);
      expect(cancelled).toEqual(record);
      expect(many).toEqual({ cancelled: [], cancelling: [], alreadyTerminal: [event.jobId], notFound: [] });
    };
    offstage.onEvent((event) => {
      if (!isEnd(event)) return;
      expect(offstage.jobsModel.get().live.has(event.jobId)).toBe(false);
      checks.push(check(event));
    });
    const jobs = await Promise.all(
      Array.from({ length: 200 }, (_, index) => offstage.spawn({ kind: index % 3 === 0 ? 'broken' : 'echo', input: index })),
    );
    await offstage.waitMany(jobs.map(({ jobId }) => jobId));
    await engine.clock.settle();
    expect(checks).toHaveLength(200);
    await Promise.all(checks);
    expect(engine.events.filter(isEnd)).toHaveLength(200);
    expect(engine.log.filter(({ level }) => level === 'error')).toEqual([]);
  });

  const THROWN: readonly [string, unknown, RegExp][] = [
    ['an Error', new Error('x'), /^Error: x$/],
    ['a TypeError', new TypeError('y'), /^TypeError: y$/],
    ['an Error without a message', new Error(''), /^Error: \S/],
    ['a string', 'plain', /plain/],
    ['an empty string', '', /empty/],
    ['undefined', undefined, /undefined/],
    ['null', null, /null/],
    ['a number', 42, /42/],
    ['an object', { code: 'E1' }, /E1/],
    [
      'an object whose toString throws',
      {
        toString() {
          throw new Error('no text');
        },
      },
      /./,
    ],
    [
      'an error whose message throws',
      Object.defineProperty(new Error(), 'message', {
        get() {
          throw new Error('no message');
        },
      }),
      /./,
    ],
    ['an object without prototype', Object.create(null), /./],
    [
      'a proxy that throws at everything',
      new Proxy(
        {},
        {
          get() {
            throw new Error('no');
          },
          getPrototypeOf() {
            throw new Error('no');
          },
          has() {
            throw new Error('no');
          },
        },
      ),
      /./,
    ],
    [
      'an AggregateError',
      new AggregateError([new Error('one'), new RangeError('two')], 'both'),
      /AggregateError: both.*one.*two/,
    ],
  ];

  for (const way of ['thrown', 'rejected'] as const) {
    it(`B04: whatever is ${way}, the job is errored with a message, and the next one starts`, async () => {
      const executors = Object.fromEntries(
        THROWN.map(([name, thrown]) => [name, way === 'thrown' ? throwing(thrown) : () => Promise.reject(thrown)]),
      );
      await using engine = await testEngine({ executors: { ...executors, echo }, workers: 1 });
      const { offstage } = engine;
      for (const [name, , message] of THROWN) {
        const bad = await offstage.spawn({ kind: name });
        const good = await offstage.spawn({ kind: 'echo', input: name });
        const ended = await offstage.wait(bad.jobId);
        expect([name, ended.status, ended.reasonCode]).toEqual([name, 'errored', 'failed']);
        expect(ended.error?.message).toMatch(message);
        expect((await offstage.wait(good.jobId)).resultText).toBe(name);
      }
      expect(offstage.health().pool.running).toBe(0);
    });
  }

  const circular: Record<string, unknown> = {};
  circular.self = circular;
  const RESULTS: readonly [string, unknown, 'errored' | 'completed'][] = [
    ['circular', circular, 'errored'],
    ['bigint', 10n, 'errored'],
    ['function', () => 1, 'errored'],
    ['symbol', Symbol('s'), 'errored'],
    ['map', new Map([[1, 2]]), 'errored'],
    ['undefined', undefined, 'completed'],
    ['NaN', Number.NaN, 'errored'],
    [
      'a throwing toJSON',
      {
        toJSON() {
          throw new Error('no JSON');
        },
      },
      'errored',
    ],
    [
      'a throwing getter',
      {
        get a() {
          throw new Error('no a');
        },
      },
      'errored',
    ],
    ['nested bigint', { a: [{ b: 1n }] }, 'errored'],
    ['too large', 'x'.repeat(10) && { text: 'x'.repeat(300 * 1024) }, 'errored'],
    ['a date', new Date(0), 'completed'],
    ['a thenable', Promise.resolve({ ok: true }), 'completed'],
  ];

  it('B05: a result that cannot be stored ends its job, with the reason, and nothing else', async () => {
    const store = keptStore(memoryStore());
    const executors = { ...Object.fromEntries(RESULTS.map(([name, result]) => [name, () => result])), echo };
    const engine = await testEngine({ executors, store: store.open(), workers: 1 });
    const { offstage } = engine;
    const before: JobView[] = [];
    for (const [name, , status] of RESULTS) {
      const odd = await offstage.spawn({ kind: name });
      const next = await offstage.spawn({ kind: 'echo', input: 'next' });
      const ended = await offstage.wait(odd.jobId);
      expect([name, ended.status]).toEqual([name, status]);
      if (status === 'errored') {
        const code = name === 'too large' ? 'job.result_too_large' : 'job.result_not_serializable';
        expect([name, ended.error?.code]).toEqual([name, code]);
        expect(ended.error?.message).toMatch(/stored/);
      }
      expect((await offstage.wait(next.jobId)).resultText).toBe('next');
      before.push(ended);
    }
    await engine[Symbol.asyncDispose]();
    await using again = await testEngine({ executors: { echo }, store: store.open(), clock: engine.clock });
    expect(await Promise.all(before.map(({ jobId }) => again.offstage.get(jobId)))).toEqual(before);
  });

  it('B05: a result that is text and too long keeps its end and says what was cut', async () => {
    const text = `${'é'.repeat(200 * 1024)}THE END`;
    await using engine = await testEngine({ executors: { long: () => text } });
    const { jobId } = await engine.offstage.spawn({ kind: 'long' });
    const { status, resultText } = await engine.offstage.wait(jobId);
    expect(status).toBe('completed');
    expect(resultText?.endsWith('THE END')).toBe(true);
    expect(resultText).toMatch(/^\[… \d+ bytes cut\]\né/);
    expect(Buffer.byteLength(resultText ?? '')).toBeLessThan(256 * 1024 + 64);
  });

  it('B01: a count of calls that never grows again is what "never tried again" means', async () => {
    const count = counting();
    await using engine = await testEngine({ executors: { count } });
    const { jobId } = await engine.offstage.spawn({ kind: 'count' });
    await engine.offstage.wait(jobId);
    await engine.clock.advance(7 * 24 * 60 * 60 * 1000);
    expect(count.calls).toEqual([jobId]);
  });
});
