/** What people want in scenes in which somebody stops things. */
import fc from 'fast-check';
import { KINDS } from './stop-bodies.ts';
import { CANCEL_GRACE_MS } from './stop-scene.ts';

const session = fc.nat(5);
const which = fc.nat(20);

const simple = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      wish: fc.constant('ask' as const),
      session,
      origin: fc.constantFrom('human' as const, 'human' as const, 'synthetic' as const),
      whenBusy: fc.constantFrom('reject' as const, 'queue' as const),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      wish: fc.constant('spawn' as const),
      host: session,
      caller: fc.option(session, { freq: 2 }),
      kind: fc.constantFrom(...KINDS),
      wait: fc.boolean(),
      isNamed: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ wish: fc.constant('release' as const), which }) },
  { weight: 2, arbitrary: fc.record({ wish: fc.constant('leave' as const), which }) },
  { weight: 1, arbitrary: fc.record({ wish: fc.constant('interrupt' as const), session }) },
  { weight: 1, arbitrary: fc.record({ wish: fc.constant('cancel' as const), which }) },
  {
    weight: 1,
    arbitrary: fc.record({ wish: fc.constant('pass' as const), ms: fc.constantFrom(500, 1_500, CANCEL_GRACE_MS + 1) }),
  },
);
const again = fc.record({
  wish: fc.constant('stop' as const),
  session: fc.option(fc.nat(3), { freq: 2 }),
  isForced: fc.boolean(),
});
/** Its agent has answered, and leaves. */
const unload = fc.record({ wish: fc.constant('unload' as const), session });
export type Wish = typeof simple | typeof again | typeof unload extends infer Kind
  ? Kind extends fc.Arbitrary<infer One>
    ? One
    : never
  : never;
const ask = (of: number, whenBusy: 'reject' | 'queue'): Wish => ({ wish: 'ask', session: of, origin: 'human', whenBusy });

/** What is wanted before a stop decides, and at once when it has. */
export interface Around {
  readonly before: readonly Wish[];
  readonly after: readonly Wish[];
}

/** What chance alone would seldom bring about. */
const together = session.chain((of) =>
  fc.constantFrom<Around>(
    // Somebody waits in line of a session that has been unloaded, and somebody else comes.
    { before: [ask(of, 'queue'), { wish: 'unload', session: of }], after: [ask(of, 'reject')] },
    // Somebody waits for the end of a start that was given up.
    { before: [ask(of, 'reject'), { wish: 'interrupt', session: of }, ask(of, 'reject')], after: [ask(of, 'reject')] },
    { before: [ask(of, 'reject'), ask(of, 'queue')], after: [] },
  ),
);
const around = fc.oneof(
  fc.array(simple, { maxLength: 2 }).map((before): Around => ({ before, after: [] })),
  together,
);

const wishes = fc.array(simple, { maxLength: 8, size: 'max' });
export const people = fc.record({
  before: fc.array(wishes, { minLength: 1, maxLength: 3 }),
  /** What somebody wants as soon as the first stop has decided, and nobody has been told yet. */
  amidst: fc.array(fc.oneof({ weight: 8, arbitrary: simple }, { weight: 1, arbitrary: again }), { maxLength: 6, size: 'max' }),
});
export type People = typeof people extends fc.Arbitrary<infer One> ? One : never;

const stop = fc.record({
  /** Null: the whole task. */
  session: fc.option(fc.nat(3), { freq: 3 }),
  isForced: fc.constantFrom(false, false, true),
  /** Steps that it waits before it is asked for. */
  after: fc.nat(30),
  /** What somebody wants in the same tick, and just before. */
  justBefore: around,
  /** The same, when it has read its sources. */
  lastMinute: around,
});
export type Stop = typeof stop extends fc.Arbitrary<infer One> ? One : never;
export const stops = fc.array(stop, { minLength: 1, maxLength: 2 });
