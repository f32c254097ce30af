/**
 * What a simulated body is to do, as plain data: it travels in the job's input, so that a trace can be read and a spawn repeated.
 *
 * BPL1  A plan comes from chance alone and names nothing that is not there whenever it is run.
 */
import type { Random } from './random.ts';

/** One thing after the other. */
export type BodyStep =
  | { readonly do: 'work'; readonly ms: number }
  /** Until everything is let go. */
  | { readonly do: 'hang' }
  | { readonly do: 'progress' | 'output' | 'partial' }
  | { readonly do: 'spawn' | 'run'; readonly kind: string; readonly plan: BodyPlan }
  /** Some of the jobs there are; or its own parent, or itself: that would close a cycle. */
  | { readonly do: 'wait'; readonly forWhom: 'child' | 'some' | 'parent' | 'itself'; readonly timeoutMs: number | null }
  | { readonly do: 'wait-many'; readonly mode: 'all' | 'any' }
  /** For two at once, by two waits. */
  | { readonly do: 'wait-twice' }
  | { readonly do: 'cancel'; readonly whom: 'child' | 'itself' | 'some' };

/** What it returns or throws at last. */
export type BodyEnd =
  | 'text'
  | 'value'
  | 'nothing'
  | 'outcome'
  | 'cyclic'
  | 'too-large'
  | 'error'
  | 'string'
  | 'undefined'
  | 'null'
  | 'unprintable'
  | 'never-read';

export interface BodyPlan {
  readonly steps: readonly BodyStep[];
  readonly end: BodyEnd;
  /** What it does when its signal fires. `obey`: throws its reason at once. `slow`: needs a while. `ignore`: goes on with its steps. */
  readonly whenTold: 'obey' | 'slow' | 'ignore';
  /** It goes on using what it was handed after its end. */
  readonly keepsOn?: true;
}

export const THROWING_ENDS: ReadonlySet<BodyEnd> = new Set(['error', 'string', 'undefined', 'null', 'unprintable', 'never-read']);

const DEEPEST = 3;

/** Milliseconds, from none to hours, short ones far more often. */
export const someMs = (dice: Random): number =>
  dice.weighted<() => number>([
    [3, () => 0],
    [6, () => 1 + dice.integer(50)],
    [5, () => dice.integer(2_000)],
    [3, () => dice.integer(60_000)],
    [1, () => dice.integer(4 * 3_600_000)],
  ])();

/** A plan; `kinds` are those that its children may have. */
export function bodyPlan(dice: Random, kinds: readonly string[], depth = 0): BodyPlan {
  const count = dice.weighted([
    [2, 0],
    [5, 1],
    [3, 2],
    [1, 4],
  ]);
  return {
    steps: Array.from({ length: count }, () => bodyStep(dice, kinds, depth)),
    end: dice.weighted<BodyEnd>([
      [8, 'text'],
      [4, 'value'],
      [2, 'nothing'],
      [2, 'outcome'],
      [1, 'cyclic'],
      [1, 'too-large'],
      [2, 'error'],
      [1, 'string'],
      [1, 'undefined'],
      [1, 'null'],
      [1, 'unprintable'],
      [1, 'never-read'],
    ]),
    whenTold: dice.weighted<BodyPlan['whenTold']>([
      [6, 'obey'],
      [3, 'slow'],
      [3, 'ignore'],
    ]),
    ...(dice.chance(0.1) ? { keepsOn: true } : {}),
  };
}

function bodyStep(dice: Random, kinds: readonly string[], depth: number): BodyStep {
  const child = (): BodyStep => {
    if (depth >= DEEPEST) return { do: 'work', ms: someMs(dice) };
    return { do: dice.chance(0.5) ? 'spawn' : 'run', kind: dice.pick(kinds), plan: bodyPlan(dice, kinds, depth + 1) };
  };
  return dice.weighted<() => BodyStep>([
    [10, () => ({ do: 'work', ms: someMs(dice) })],
    [1, () => ({ do: 'hang' })],
    [5, () => ({ do: dice.pick(['progress', 'output', 'partial'] as const) })],
    [5, child],
    [
      3,
      () => ({
        do: 'wait',
        forWhom: dice.pick(['child', 'child', 'some', 'some', 'parent', 'itself'] as const),
        timeoutMs: dice.chance(0.3) ? someMs(dice) : null,
      }),
    ],
    [1, () => ({ do: 'wait-many', mode: dice.pick(['all', 'any'] as const) })],
    [1, () => ({ do: 'wait-twice' })],
    [1, () => ({ do: 'cancel', whom: dice.pick(['child', 'itself', 'some'] as const) })],
  ])();
}
