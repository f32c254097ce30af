/** `events()`: replay, then follow, without a gap; one resync where events are gone (spec 11, api "Events in process"). */
import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { Core } from '../../src/engine/core.ts';
import { EventBus } from '../../src/engine/event-bus.ts';
import { type EventsOptions, readFrom } from '../../src/engine/event-reader.ts';
import { isVolatileEvent, type OffstageEvent } from '../../src/model/events.ts';
import { LIMITS } from '../../src/model/limits.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { eventChecks } from '../../src/testing/event-checkers.ts';
import { virtualClock } from '../../src/testing/virtual-clock.ts';
import { echo, gate } from '../support/executors.ts';
import { keptStore } from '../support/kept-store.ts';
import { asReplayed, isRecordEvent } from '../support/record-events.ts';
import { type TestEngine, testEngine } from '../support/test-engine.ts';

/** Takes events from the reader until `count` of the log, or resyncs, are among them; those. */
async function take(reader: AsyncIterator<OffstageEvent>, count: number): Promise<OffstageEvent[]> {
  const taken: OffstageEvent[] = [];
  while (taken.length < count) {
    const { value, done } = await reader.next();
    if (done === true) break;
    if (!isVolatileEvent(value)) taken.push(value);
  }
  return taken;
}

const finish = async ({ offstage }: TestEngine, count: number): Promise<void> => {
  const jobs = await Promise.all(Array.from({ length: count }, () => offstage.spawn({ kind: 'echo' })));
  await offstage.waitMany(
    jobs.map(({ jobId }) => jobId),
    { timeoutMs: null },
  );
};

const numbers = (events: readonly OffstageEvent[]): readonly number[] => events.map(({ seq }) => seq);
const span = (from: number, to: number): readonly number[] => Array.from({ length: to - from + 1 }, (_, index) => from + index);

describe('replay', () => {
  it('from 0 gives everything of the log that was told, as it was stored, and goes on with what happens', async () => {
    await using engine = await testEngine({ executors: { echo } });
    const { offstage } = engine;
    await finish(engine, 5);
    const reader = offstage.events({ after: 0 });
    const { seq } = await offstage.snapshot();
    const replayed = await take(reader, seq);
    expect(replayed).toEqual(engine.events.filter(isRecordEvent).map(asReplayed));
    expect(numbers(replayed)).toEqual(span(1, seq));
    const before = engine.events.length;
    await finish(engine, 3);
    await engine.clock.settle();
    const live = engine.events.slice(before);
    // Nothing is left out from here on, and what was known at the instant is there.
    const followed: OffstageEvent[] = [];
    while (followed.length < live.length) followed.push((await reader.next()).value);
    expect(followed).toEqual(live);
    expect(numbers(followed.filter(isRecordEvent))).toEqual(span(seq + 1, seq + 18));
    await reader.return?.();
  });

  it('leaves out what only the instant knew: tier, count and their numbers', async () => {
    await using engine = await testEngine({ executors: { echo } });
    await finish(engine, 1);
    const reader = engine.offstage.events({ after: 0 });
    const isOfSession = ({ type }: OffstageEvent): boolean => type === 'session.state_changed';
    expect(engine.events.find(isOfSession)).toMatchObject({ foregroundActivity: null, activeSubagentCount: 0, sessionSeq: 1 });
    const replayed = (await take(reader, 2)).find(isOfSession);
    expect(Object.keys(replayed ?? {})).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^(foregroundActivity|activeSubagentCount|activityEpoch|sessionSeq)$/)]),
    );
    await reader.return?.();
  });

  it('from a number gives what came after it; without one, what comes from now on', async () => {
    await using engine = await testEngine({ executors: { echo } });
    const { offstage } = engine;
    await finish(engine, 3);
    const { seq } = await offstage.snapshot();
    const reader = offstage.events({ after: seq - 4 });
    const fromNow = offstage.events();
    expect(numbers(await take(reader, 4))).toEqual(span(seq - 3, seq));
    await finish(engine, 1);
    expect(numbers(await take(reader, 6))).toEqual(span(seq + 1, seq + 6));
    expect(numbers(await take(fromNow, 4))).toEqual(span(seq + 1, seq + 4));
    await reader.return?.();
    await fromNow.return?.();
  });

  it('while things happen misses nothing and doubles nothing, wherever it begins', async () => {
    await using engine = await testEngine({ executors: { echo } });
    const { offstage } = engine;
    await finish(engine, 4);
    const readers: { readonly reader: AsyncIterator<OffstageEvent>; readonly after: number }[] = [];
    const stop = offstage.onEvent((event) => {
      if (readers.length < 30)
        readers.push({ reader: offstage.events({ after: Math.max(0, event.seq - 7) }), after: Math.max(0, event.seq - 7) });
    });
    await finish(engine, 20);
    stop();
    const { seq } = await offstage.snapshot();
    expect(readers).toHaveLength(30);
    for (const { reader, after } of readers) expect(numbers(await take(reader, seq - after))).toEqual(span(after + 1, seq));
    await finish(engine, 1);
    for (const { reader } of readers) {
      expect(numbers(await take(reader, 4))).toEqual(span(seq + 1, seq + 4));
      await reader.return?.();
    }
  });

  it('after a restart gives the same events, under the new epoch, and goes on from there', async () => {
    const store = keptStore(memoryStore());
    const engine = await testEngine({ executors: { echo }, store: store.open() });
    await finish(engine, 3);
    const told = engine.events.filter(isRecordEvent).map(asReplayed);
    await engine[Symbol.asyncDispose]();
    await using again = await testEngine({ executors: { echo }, store: store.open(), clock: engine.clock });
    const reader = again.offstage.events({ after: 0 });
    const { epoch } = await again.offstage.snapshot();
    expect(epoch).not.toBe(told[0]?.epoch);
    expect(await take(reader, told.length)).toEqual(told.map((event) => ({ ...event, epoch })));
    await finish(again, 1);
    expect(numbers(await take(reader, 4))).toEqual(span(told.length + 1, told.length + 4));
    await reader.return?.();
  });

  it('of what is stored and not yet told waits until it is told', async () => {
    const store = controlledStore(memoryStore());
    await using engine = await testEngine({ executors: { echo }, store });
    const { offstage, clock } = engine;
    await finish(engine, 1);
    const { seq } = await offstage.snapshot();
    store.hold();
    const spawning = offstage.spawn({ kind: 'echo' });
    await clock.settle();
    const reader = offstage.events({ after: seq });
    const first = reader.next();
    let isTold = false;
    void first.then(() => {
      isTold = true;
    });
    await clock.settle();
    expect(isTold).toBe(false);
    store.release();
    await spawning;
    expect((await first).value).toMatchObject({ seq: seq + 1, type: 'job.created' });
    await reader.return?.();
  });
});

describe('resync', () => {
  it('is told once, first, when events that were asked for are gone', async () => {
    await using engine = await testEngine({ executors: { echo } });
    const { offstage, clock } = engine;
    await finish(engine, 3);
    const before = (await offstage.snapshot()).seq;
    await clock.advance(LIMITS.eventLogMs + 1);
    await finish(engine, 1);
    expect((await offstage.prune()).eventSegments).toBeGreaterThan(0);
    const { seq, epoch } = await offstage.snapshot();
    expect(seq).toBe(before + 6);
    const reader = offstage.events({ after: 0 });
    const replayed = await take(reader, 7);
    expect(replayed[0]).toEqual({ type: 'resync', seq: before, epoch, at: clock.now() });
    expect(numbers(replayed.slice(1))).toEqual(span(before + 1, seq));
    await finish(engine, 1);
    expect(numbers(await take(reader, 4))).toEqual(span(seq + 1, seq + 4));
    await reader.return?.();
    // Whose cursor is still covered is told nothing of it.
    const covered = offstage.events({ after: before });
    expect(numbers(await take(covered, 2))).toEqual(span(before + 1, before + 2));
    await covered.return?.();
  });

  it('is told when the whole log is gone', async () => {
    await using engine = await testEngine({ executors: { echo } });
    const { offstage, clock } = engine;
    await finish(engine, 2);
    await clock.advance(2 * LIMITS.eventLogMs);
    await offstage.prune();
    const { seq } = await offstage.snapshot();
    const reader = offstage.events({ after: 1 });
    expect(await take(reader, 1)).toMatchObject([{ type: 'resync', seq }]);
    await finish(engine, 1);
    expect(numbers(await take(reader, 4))).toEqual(span(seq + 1, seq + 4));
    await reader.return?.();
  });

  it('is told behind the replay to a slow reader that has missed what no replay tells', async () => {
    await using engine = await testEngine({ executors: { echo, gate: gate() } });
    const { offstage, clock } = engine;
    const reader = offstage.events();
    await offstage.tasks.create({ taskId: 't' });
    await offstage.sessions.create({ sessionId: 's', taskId: 't' });
    await offstage.spawn({ kind: 'gate', sessionId: 's' });
    await clock.settle();
    const passing = engine.events.filter(isVolatileEvent).length;
    expect(passing).toBeGreaterThan(0);
    // Then more than a reader holds.
    await finish(engine, LIMITS.readerBuffer / 6 + 1);
    await clock.settle();
    const { seq } = await offstage.snapshot();
    const taken: OffstageEvent[] = [];
    while (taken.at(-1)?.type !== 'resync') taken.push((await reader.next()).value);
    expect(taken.at(-1)).toMatchObject({ type: 'resync', seq });
    expect(numbers(taken.filter(isRecordEvent))).toEqual(span(1, seq));
    await reader.return?.();
  });

  it('is told to a cursor that is ahead of the log, as after a power loss that took the newest events', async () => {
    await using engine = await testEngine({ executors: { echo } });
    const { offstage } = engine;
    await finish(engine, 2);
    const { seq } = await offstage.snapshot();
    const reader = offstage.events({ after: seq + 50 });
    expect(await take(reader, 1)).toMatchObject([{ type: 'resync', seq }]);
    await finish(engine, 1);
    expect(numbers(await take(reader, 4))).toEqual(span(seq + 1, seq + 4));
    await reader.return?.();
  });
});

describe('a reader', () => {
  it('gets volatile events too, each with the number it follows', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held } });
    const { offstage, clock } = engine;
    const checks = eventChecks();
    const reader = offstage.events({ after: 0 });
    const seen: OffstageEvent[] = [];
    const reading = (async () => {
      for await (const event of { [Symbol.asyncIterator]: () => reader }) {
        seen.push(event);
        checks.observe(event);
      }
    })();
    const { jobId } = await offstage.spawn({ kind: 'held' });
    const { context } = await held.started(jobId);
    await clock.settle();
    context.progress(1);
    context.output('text');
    await held.release(jobId);
    await offstage.wait(jobId);
    await clock.settle();
    await reader.return?.();
    await reading;
    expect(seen.map(({ type }) => type)).toEqual(expect.arrayContaining(['job.progress', 'job.output']));
    expect(seen).toEqual(engine.events);
    checks.assertSound();
  });

  it('that is slow is taken back to the log, and misses no record event', async () => {
    await using engine = await testEngine({ executors: { echo }, workers: 64 });
    const { offstage } = engine;
    const reader = offstage.events({ after: 0 });
    await take(reader, 0);
    // More than is buffered for one reader.
    const rounds = Math.ceil((LIMITS.readerBuffer + 1_000) / 4 / 500);
    for (let round = 0; round < rounds; round++) await finish(engine, 500);
    const { seq } = await offstage.snapshot();
    expect(seq).toBeGreaterThan(LIMITS.readerBuffer);
    const read = await take(reader, seq);
    expect(numbers(read)).toEqual(span(1, seq));
    await finish(engine, 1);
    expect(numbers(await take(reader, 4))).toEqual(span(seq + 1, seq + 4));
    await reader.return?.();
  });

  /** A reader on a bus whose observers can be counted. */
  const readerOn = (options: EventsOptions = {}) => {
    const bus = new EventBus(() => {});
    const core = {
      bus,
      loop: { seq: 0 },
      store: memoryStore(),
      epoch: 'e',
      settings: { clock: virtualClock() },
    } as unknown as Core;
    const ends = new Set<() => void>();
    const reader = readFrom(core, options, (end) => {
      ends.add(end);
      return () => ends.delete(end);
    });
    const isGone = (): boolean => !bus.hasObservers && ends.size === 0;
    return { bus, reader, ends, isGone };
  };
  const volatile: OffstageEvent = { type: 'job.progress', seq: 0, epoch: 'e', at: 1, jobId: 'j', sessionId: 's', progress: 1 };

  it('ends with its loop, and leaves no subscription', async () => {
    const { bus, reader, isGone } = readerOn();
    expect(isGone()).toBe(false);
    bus.publish(volatile);
    for await (const event of reader) {
      expect(event).toEqual(volatile);
      break;
    }
    expect(isGone()).toBe(true);
  });

  it('that was never asked for anything ends as well', async () => {
    const { reader, isGone } = readerOn();
    await reader.return(undefined);
    expect(isGone()).toBe(true);
    expect(await reader.next()).toEqual({ done: true, value: undefined });
  });

  it('that waits for the next event ends when it is returned', async () => {
    const { reader, isGone } = readerOn();
    const waiting = reader.next();
    await new Promise((resolve) => setImmediate(resolve));
    await reader.return(undefined);
    expect(await waiting).toEqual({ done: true, value: undefined });
    expect(isGone()).toBe(true);
  });

  it('ends with its signal, also with one that has fired before', async () => {
    const controller = new AbortController();
    const { reader, isGone } = readerOn({ signal: controller.signal });
    const waiting = reader.next();
    controller.abort();
    expect(await waiting).toEqual({ done: true, value: undefined });
    expect(isGone()).toBe(true);
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
    const late = readerOn({ signal: AbortSignal.abort() });
    expect(await late.reader.next()).toEqual({ done: true, value: undefined });
    expect(late.isGone()).toBe(true);
  });

  it('ends at close, after what was told before', async () => {
    const engine = await testEngine({ executors: { echo } });
    const { offstage, clock } = engine;
    const seen: OffstageEvent[] = [];
    const reading = (async () => {
      await using events = offstage.events({ after: 0 });
      for await (const event of events) seen.push(event);
    })();
    await finish(engine, 2);
    await engine[Symbol.asyncDispose]();
    await reading;
    expect(seen).toEqual(engine.events);
    expect(clock.pending).toBe(0);
  });

  it('EVR3: a replay that the close cuts short is the end: nothing is told from behind what is missing', async () => {
    const engine = await testEngine({ executors: { echo } });
    const { offstage } = engine;
    await finish(engine, 3);
    const reader = offstage.events({ after: 0 });
    const first = await take(reader, 2);
    // More happens, and is told live, while the reader stands in the middle of its replay.
    await finish(engine, 2);
    await engine[Symbol.asyncDispose]();
    const rest = await take(reader, Number.POSITIVE_INFINITY);
    expect(numbers([...first, ...rest])).toEqual(span(1, first.length + rest.length));
  });

  it('BUS4: who comes after the close is told nothing, also of what the store answers at last', async () => {
    const store = controlledStore(memoryStore());
    const engine = await testEngine({ executors: { echo }, store });
    const { offstage, clock } = engine;
    await offstage.sessions.create({ sessionId: 's' });
    store.hold();
    void offstage.sessions.create({ sessionId: 'late' }).catch(() => {});
    await clock.settle();
    const closing = offstage.close();
    await clock.advance(60_000);
    const seen: OffstageEvent[] = [];
    let isComplete = false;
    const complete = (): void => {
      isComplete = true;
    };
    offstage.onEvent((event) => seen.push(event));
    offstage.events$.subscribe({ next: (event) => seen.push(event), complete });
    store.release();
    await clock.settle();
    await closing;
    expect([seen, isComplete]).toEqual([[], true]);
  });

  it('is refused with a cursor that is none', async () => {
    await using engine = await testEngine({ executors: { echo } });
    for (const after of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '3' as unknown as number]) {
      expect(() => engine.offstage.events({ after })).toThrow(expect.objectContaining({ code: 'input.invalid' }));
    }
  });
});
