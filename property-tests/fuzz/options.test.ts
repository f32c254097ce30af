/**
 * What a program may hand over: options of `open`, and arguments of the verbs, of any type, also such as no JSON has. `open` opens, or rejects with
 * `config.invalid` and leaves nothing; a verb answers, or rejects with a code that was foreseen; the engine goes on as before.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Offstage } from '../../src/engine/offstage.ts';
import { type OpenOptions, open } from '../../src/open.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { virtualClock } from '../../src/testing/virtual-clock.ts';
import { echo } from '../../test/support/executors.ts';
import { mutedError, strayErrors, thorny } from '../../test/support/hostile.ts';
import { type TestEngine, testEngine } from '../../test/support/test-engine.ts';
import { LIMIT_MS, times } from '../support/how-often.ts';
import { codeOf, odd, rarely } from '../support/mutated.ts';

/** Made anew for each run: some of them change when they are used. */
const STRANGE: readonly (() => unknown)[] = [
  () => undefined,
  () => Number.NaN,
  () => Number.POSITIVE_INFINITY,
  () => -0,
  () => 10n,
  () => Symbol('x'),
  () => () => {},
  () => async () => 1,
  () => class {},
  () => new Date(Number.NaN),
  () => new Map([['a', 1]]),
  () => new Proxy([], {}),
  () => Object.create(null) as unknown,
  () => Object.create({ jobId: 'y' }) as unknown,
  () => new Array(3),
  () => thorny(),
  () => mutedError(),
  () => AbortSignal.abort(),
  () => ({
    get jobId() {
      throw new Error('no');
    },
  }),
  () => {
    const circle: Record<string, unknown> = {};
    circle.circle = circle;
    return circle;
  },
  () => 'x'.repeat(2_000_000),
  () => 'a\ud800',
];
const anything: fc.Arbitrary<() => unknown> = fc.oneof(
  odd.map((value) => () => value),
  fc.constantFrom(...STRANGE),
);

const GOOD: Readonly<Record<string, readonly unknown[]>> = {
  workers: [1, null, 1_024],
  perSessionLimit: [1, null],
  executors: [{}, { echo }, { echo: { run: echo } }],
  agents: [{}],
  display: ['attested', 'coarse'],
  admission: ['attested', 'conservative'],
  interruptGraceMs: [0, 5, null],
  outOfTurnIdleMs: [5, null],
  turnTimeoutMs: [5, null],
  quietAfterMs: [5, null],
  stallFailMs: [5_000, null],
  confirmArchive: [true, false],
  notices: [true, false],
  durability: ['full', 'process'],
  cancelGraceMs: [0, null, 5],
  killAfterMs: [0, 5],
  shutdownGraceMs: [0, null],
  retention: [null, { maxAgeMs: 5, maxJobs: null }],
  handleSignals: [true, false],
  control: [false],
  clock: [{}, { now: () => 1 }],
  ids: [{}],
  log: [() => {}],
  inspect: [() => {}],
};
const NAMES = [...Object.keys(GOOD), 'workes', '__proto__', 'constructor', 'then'];
const entry = fc.oneof(
  fc
    .constantFrom(...Object.entries(GOOD))
    .chain(([name, values]) => fc.constantFrom(...values).map((value) => [name, () => value] as const)),
  fc.tuple(fc.constantFrom(...NAMES), anything),
);

it(
  'open opens, or rejects with config.invalid and leaves nothing behind',
  async () => {
    using stray = strayErrors();
    const listeners = (): number => process.listenerCount('SIGINT') + process.listenerCount('SIGTERM');
    const before = listeners();
    let opened = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { maxLength: 3 }), rarely(anything), async (entries, whole) => {
        const store = memoryStore();
        const options: Record<string, unknown> = { store, clock: virtualClock(), executors: { echo }, log: () => {} };
        for (const [name, make] of entries)
          Object.defineProperty(options, name, { value: make(), enumerable: true, configurable: true });
        let offstage: Offstage;
        try {
          offstage = (await open((whole === null ? options : whole()) as OpenOptions)) as unknown as Offstage;
        } catch (error) {
          expect(codeOf(error)).toBe('config.invalid');
          // The store was not taken.
          await (await open({ store, clock: virtualClock() })).close();
          return;
        }
        opened += 1;
        expect(offstage.health().status).toBe('ok');
        await offstage.close();
        expect(listeners()).toBe(before);
      }),
      times(300),
    );
    expect(opened).toBeGreaterThan(0);
    await new Promise((resolve) => setImmediate(resolve));
    expect(stray.errors).toEqual([]);
  },
  LIMIT_MS,
);

const VERBS: Readonly<Record<string, (engine: Offstage, a: unknown, b: unknown) => unknown>> = {
  spawn: (engine, a) => engine.spawn(a as never),
  spawnInput: (engine, a, b) => engine.spawn({ kind: 'echo', input: a, subject: b } as never),
  run: (engine, a, b) => engine.run({ kind: 'echo', input: a } as never, b as never),
  get: (engine, a) => engine.get(a as never),
  list: (engine, a) => engine.list(a as never),
  listBy: (engine, a, b) => engine.list({ status: a, limit: b } as never),
  wait: (engine, a) => engine.wait('done', { timeoutMs: a } as never),
  waitMany: (engine, a, b) => engine.waitMany(a as never, { timeoutMs: 0, mode: b } as never),
  cancel: (engine, a, b) => engine.cancel(a as never, b as never),
  cancelMany: (engine, a) => engine.cancelMany(a as never, {}),
  history: (engine, a) => engine.history(a as never),
  output: (engine, a, b) => engine.output(a as never, b as never),
  prune: (engine, a) => engine.prune(a as never),
  events: (engine, a) => engine.events(a as never),
  sessionCreate: (engine, a) => engine.sessions.create(a as never),
  sessionPrompt: (engine, a, b) => engine.sessions.prompt(a as never, { content: b } as never),
  sessionStop: (engine, a, b) => engine.sessions.stop(a as never, b as never),
  sessionAnswer: (engine, a, b) => engine.sessions.answer('default', a as never, b as never),
  sessionList: (engine, a) => engine.sessions.list(a as never),
  taskCreate: (engine, a) => engine.tasks.create(a as never),
  taskRemove: (engine, a, b) => engine.tasks.remove(a as never, b as never),
  taskState: (engine, a, b) => engine.tasks.setState(a as never, b as never),
  cards: (engine, a) => engine.cards.list(a as never),
  card: (engine, a) => engine.cards.get(a as never),
  dismiss: (engine, a, b) => engine.workloads.dismiss(a as never, b as never),
};

it(
  'verbs answer, or reject with a code that was foreseen, and the engine goes on',
  async () => {
    using stray = strayErrors();
    await using engine: TestEngine = await testEngine({ executors: { echo } });
    const offstage = engine.offstage as unknown as Offstage;
    await offstage.spawn({ kind: 'echo', jobId: 'done' });
    await offstage.wait('done');
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...Object.keys(VERBS)), anything, anything, async (name, a, b) => {
        try {
          await VERBS[name]?.(offstage, a(), b());
        } catch (error) {
          codeOf(error);
        }
        expect(await offstage.get('done')).toMatchObject({ status: 'completed' });
      }),
      times(500),
    );
    await offstage.spawn({ kind: 'echo', jobId: 'last' });
    expect(await offstage.wait('last')).toMatchObject({ status: 'completed' });
    await new Promise((resolve) => setImmediate(resolve));
    expect(stray.errors).toEqual([]);
  },
  LIMIT_MS,
);
