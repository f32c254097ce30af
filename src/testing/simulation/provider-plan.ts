/**
 * What a simulated provider is to do with one prompt, as words that a trace can show: the content of the prompt itself, or made by chance.
 *
 * PPL1  A plan is plain JSON: who reads the prompt in a trace knows what its agent was meant to do.
 * PPL2  Every word may stand anywhere; what makes no sense there does nothing.
 */
import type { JsonValue } from '../../model/json.ts';
import type { Random } from './random.ts';

/**
 * One thing that a provider does: a word, and what belongs to it.
 * `accept` · `speak [thought|child|nobody|stale|empty]` · `tool [subagent|shell|monitor] [detached]`, `tool child`, `tool on`, `tool end`, `tool fail` ·
 * `launch <kind> [called]` · `finish [exact|called|blind|kind|again|wrong]` · `list [all|none|less|more|odd]` · `idle [stale|nobody]` ·
 * `end [stale|nobody]` · `ask <kind> [on]` · `use [odd]` · `can [all|nothing|odd]` · `garble` · `hop` · `pause <ms>` · `hang` ·
 * `later <ms> <deed>` · `crash` · `exit` · `return [<reason>|odd]` · `refuse [gone]` · `throw`
 */
export type Deed = string;

/** What it does when it is told to end the turn: `obeys`, `obeys late <ms>`, `ends`, `refuses`, `ignores`, `throws`, `rejects`, `hangs`. */
export type CancelWay = string;

/** The content of a prompt whose agent is told what to do. */
export type Plan = {
  /** Unique in its world; what is left to chance follows from it. */
  readonly id: string;
  readonly say: readonly Deed[];
  readonly cancelled: CancelWay;
};

/** The plan that a content is; null when it is none. */
export function readPlan(content: JsonValue): Plan | null {
  if (typeof content !== 'object' || content === null || Array.isArray(content)) return null;
  const { id, say, cancelled } = content as { readonly [name: string]: JsonValue | undefined };
  if (typeof id !== 'string' || typeof cancelled !== 'string' || !Array.isArray(say)) return null;
  return { id, say: say.map(String), cancelled };
}

/** Milliseconds: below, at and above what engines wait for, up to hours. */
export const spanMs = (random: Random): number =>
  random.weighted([
    [6, random.pick([1, 20, 250])],
    [4, random.pick([1_000, 4_999, 5_000, 5_001])],
    [3, random.pick([10_000, 30_000, 60_000])],
    [1, random.pick([300_000, 600_000])],
    [0.5, random.pick([3_600_000, 4 * 3_600_000])],
  ]);

const kind = (random: Random): string => random.pick(['subagent', 'subagent', 'shell', 'monitor']);

const tool = (random: Random): Deed =>
  random.weighted([
    [4, 'tool'],
    [2, `tool ${kind(random)}`],
    [2, `tool ${kind(random)} detached`],
    [1, 'tool child'],
    [2, 'tool on'],
    [4, 'tool end'],
    [1, 'tool fail'],
  ]);

const work = (random: Random): Deed =>
  random.weighted([
    [4, `launch ${kind(random)}`],
    [2, `launch ${kind(random)} called`],
    [3, `finish ${random.pick(['exact', 'exact', 'called', 'blind', 'kind', 'again', 'wrong'])}`],
    [1, `list ${random.pick(['all', 'none', 'less', 'more', 'odd'])}`],
  ]);

const speech = (random: Random): Deed =>
  random.weighted([
    [6, 'speak'],
    [1, 'speak thought'],
    [1, 'speak child'],
    [2, 'speak nobody'],
    [1, 'speak stale'],
    [0.5, 'speak empty'],
  ]);

const oddity = (random: Random): Deed =>
  random.pick([
    'garble',
    'idle stale',
    'idle nobody',
    'end stale',
    'end nobody',
    'use odd',
    'can nothing',
    'can all',
    'can odd',
    'accept',
  ]);

const wait = (random: Random): Deed => (random.chance(0.5) ? 'hop' : `pause ${spanMs(random)}`);

/** What may happen at any time of a turn. */
const anything = (random: Random): Deed =>
  random.weighted([
    [6, speech(random)],
    [4, tool(random)],
    [4, work(random)],
    [1, 'use'],
    [5, wait(random)],
    [1, oddity(random)],
    [0.5, 'garble'],
  ]);

const several = (random: Random, most: number, make: (random: Random) => Deed): readonly Deed[] =>
  Array.from({ length: random.integer(most + 1) }, () => make(random));

const later = (random: Random, make: (random: Random) => Deed): Deed => `later ${spanMs(random)} ${make(random)}`;

/** How the agent says that it took the prompt, if it does. */
const opening = (random: Random): readonly Deed[] =>
  random.weighted<readonly Deed[]>([
    [6, ['accept']],
    [2, ['hop', 'accept']],
    [1, [`pause ${spanMs(random)}`, 'accept']],
    [2, []],
  ]);

const closing = (random: Random): readonly Deed[] =>
  random.weighted<readonly Deed[]>([
    [10, ['return']],
    [2, ['end', 'hop', 'return']],
    [1, ['end', `pause ${spanMs(random)}`, 'return']],
    [1, [`return ${random.pick(['cancelled', 'refusal', 'error', 'max_tokens', 'odd'])}`]],
    [1, ['refuse']],
    // Words that come after the end.
    [1, ['return', ...several(random, 3, anything)]],
  ]);

/** What one prompt comes to. */
function deeds(random: Random): readonly Deed[] {
  const middle = several(random, 4, anything);
  return random.weighted<() => readonly Deed[]>([
    [5, () => [...opening(random), 'speak', ...closing(random)]],
    [6, () => [...opening(random), ...middle, ...closing(random)]],
    // Work that outlives its turn.
    [
      5,
      () => [
        ...opening(random),
        `launch ${kind(random)}`,
        ...middle,
        ...closing(random),
        ...several(random, 2, (chance) => later(chance, () => `finish ${chance.pick(['exact', 'exact', 'blind', 'called'])}`)),
      ],
    ],
    // The foreground is free before the answer comes.
    [
      6,
      () => [
        ...opening(random),
        ...several(random, 2, work),
        'speak',
        'idle',
        ...several(random, 2, (chance) =>
          chance.weighted<Deed>([
            [4, wait(chance)],
            [2, 'speak'],
            [1, 'idle'],
            [1, tool(chance)],
          ]),
        ),
        `pause ${spanMs(random)}`,
        ...closing(random),
      ],
    ],
    // It asks a person.
    [
      4,
      () => [
        ...opening(random),
        `ask ${random.pick(['permission', 'clarification'])}${random.chance(0.3) ? ' on' : ''}`,
        ...middle,
        ...closing(random),
      ],
    ],
    // Silence.
    [3, () => [...opening(random), ...several(random, 2, anything), 'hang']],
    // It is not taken.
    [2, () => [...several(random, 1, () => 'hop'), random.pick(['refuse', 'refuse gone', 'throw'])]],
    // It speaks without being asked.
    [3, () => [...opening(random), ...closing(random), ...several(random, 3, (chance) => later(chance, () => 'speak nobody'))]],
    // It goes in the middle.
    [2, () => [...opening(random), ...middle, random.pick(['crash', 'exit'])]],
  ])();
}

const cancelWay = (random: Random): CancelWay =>
  random.weighted([
    [6, 'obeys'],
    [2, `obeys late ${spanMs(random)}`],
    [1, 'ends'],
    [1, 'refuses'],
    [2, 'ignores'],
    [0.5, 'throws'],
    [0.5, 'rejects'],
    [0.5, 'hangs'],
  ]);

/** A plan by chance. */
export const planBy = (random: Random, id: string): Plan => ({ id, say: deeds(random), cancelled: cancelWay(random) });

/** What an agent does that nobody has asked: for some time after its start it lives a life of its own. */
export const ownDeeds = (random: Random): readonly Deed[] => [wait(random), ...several(random, 5, anything)];
