/**
 * `simulate`: a world of one seed on the real engine, watched by the checkers of G1 to G16, or by others.
 *
 * SIM1  The same seed, steps and executors give the same facts, on every machine.
 * SIM2  The first violation ends the world, and is what is told.
 * SIM3  A mistake in what a host hands in (options, executors, inputs, checkers) rejects; it is no violation.
 */
import { errorMessage } from '../../engine/outcome.ts';
import { invalidOption } from '../../engine/settings.ts';
import type { Executors } from '../../model/executor.ts';
import { isTerminal } from '../../model/records.ts';
import { simulatedAgents } from './agents.ts';
import { notedExecutors, PLANNED_KINDS, plannedExecutors } from './bodies.ts';
import { atOnce, begun, checkWorld } from './check-simulation.ts';
import { type Checker, Violation } from './checker.ts';
import { CHECKERS } from './checkers/index.ts';
import type { Fact } from './facts.ts';
import { type FixedOptions, hostOptions } from './host.ts';
import { jobActions, type OwnInputs } from './job-actions.ts';
import { Known } from './known.ts';
import { ownBodies } from './own-bodies.ts';
import { type HostLife, OwnExecutors } from './own-executors.ts';
import { sessionActions } from './session-actions.ts';
import type { Action } from './stage.ts';
import { World } from './world.ts';

/** Jobs are what a host's executors are about: people do so much more with them, beside sessions and tasks. */
const MORE_JOBS = 3;
const PLANNED: ReadonlySet<string> = new Set(PLANNED_KINDS);

/** What to simulate. */
export interface SimulationOptions {
  readonly seed: number;
  /** How many steps; default 1,000. */
  readonly steps?: number;
  /** Only these of them, by number: what a shrunk failure consists of. */
  readonly only?: readonly number[];
  /** Executors of your own, made anew for every life. Most jobs are then of their kinds, some still of the simulator's, which are named `sim.…`. */
  readonly executors?: (life: HostLife) => Executors;
  /** Makes an input, for each of those kinds that needs one; null for a kind that only other bodies spawn. */
  readonly inputs?: OwnInputs;
  /** Options of `open` that are the same in every world; the seed picks the others. */
  readonly options?: FixedOptions;
  /** Default: `CHECKERS`, which are G1 to G16. `[...CHECKERS, mine]` adds one. */
  readonly checkers?: readonly Checker[];
  /** Called with every fact: for a trace. */
  readonly onFact?: (fact: Fact) => void;
}

/** What came of it. */
export interface SimulationResult {
  readonly seed: number;
  /** Steps that were taken. */
  readonly steps: number;
  /** Facts that were judged. */
  readonly facts: number;
  /** Engines that were opened. */
  readonly lives: number;
  /** Milliseconds of elapsed time in the world. */
  readonly elapsedMs: number;
  /** Null: every guarantee held. */
  readonly violation: FoundViolation | null;
}

export interface FoundViolation {
  /** `G1` to `G16`, the name of a checker of your own, or `executors`: a body of your own did what cannot be simulated, or never ended. */
  readonly guarantee: string;
  /** What it promises. */
  readonly promise: string;
  readonly message: string;
  /** The step during which it was seen. */
  readonly step: number;
}

/**
 * Runs one world to its end, or to the first violation. `simulateMany` runs one after the other, and explains what it finds.
 * @throws OffstageError `config.invalid` for options, and whatever executors, inputs or checkers throw by mistake
 * @example
 * const { violation } = await simulate({ seed: 7, steps: 2_000 });
 * if (violation !== null) throw new Error(violation.message);
 */
export async function simulate(given: SimulationOptions): Promise<SimulationResult> {
  const options = checkWorld(given);
  const { seed, steps = 1_000, inputs = {}, checkers = CHECKERS, onFact } = options;
  const own = options.executors === undefined ? null : new OwnExecutors(options.executors, (kind) => PLANNED.has(kind));
  const known = new Known();
  const judges = [...(own === null ? [] : [ownBodies(own)]), ...checkers].map((checker) => ({ checker, check: begun(checker) }));
  let violation: FoundViolation | null = null;
  let mistake: { readonly error: unknown } | null = null;
  let lives = 0;
  const judge = (fact: Fact): boolean => {
    lives = fact.life;
    known.learn(fact);
    try {
      atOnce('onFact', onFact?.(fact));
      for (const { checker, check } of judges) violation ??= verdict(checker, () => atOnce('checkers', check(fact, known)), fact);
    } catch (error) {
      // Thrown from here, it would be lost in a fence of the engine.
      mistake ??= { error };
    }
    return violation !== null || mistake !== null;
  };
  const world = new World({
    seed,
    actions: actionsOf(own, inputs),
    onFact: judge,
    endless: () => unfinished(known, own?.kinds ?? []),
    optionsOf:
      ({ jobs }) =>
      (life) => {
        let executors = plannedExecutors(life, jobs);
        try {
          executors = { ...executors, ...own?.of(life) };
          const unknown = Object.keys(inputs).find((kind) => !own?.kinds.includes(kind));
          if (unknown !== undefined) throw invalidOption(`inputs.${unknown}`, 'there is no executor of this kind');
        } catch (error) {
          mistake ??= { error };
        }
        return hostOptions(life, notedExecutors(life, executors, PLANNED), simulatedAgents(life), options.options ?? {});
      },
  });
  let taken = 0;
  await whileWatched(world, own, async () => {
    for (const number of options.only ?? Array(steps).keys()) {
      await world.step(number);
      taken += 1;
      if (world.hasEnough) break;
    }
    await world.end(steps);
  });
  if (mistake !== null) throw (mistake as { readonly error: unknown }).error;
  return { seed, steps: taken, facts: world.facts, lives, elapsedMs: world.time.elapsedMs, violation };
}

/** What a checker says to a fact; whatever else it throws is a mistake of its own. */
function verdict({ promise }: Checker, check: () => void, { step }: Fact): FoundViolation | null {
  try {
    check();
    return null;
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    return { guarantee: error.guarantee, promise, message: error.message, step };
  }
}

function actionsOf(own: OwnExecutors | null, inputs: OwnInputs): readonly Action[] {
  const kinds = { inputs, ofHost: () => own?.kinds ?? [] };
  const jobs = jobActions(PLANNED_KINDS, kinds);
  return [...(own === null ? jobs : jobs.map((action) => ({ ...action, weight: action.weight * MORE_JOBS }))), ...sessionActions];
}

/** Jobs of these kinds that have not ended. */
const unfinished = (known: Known, kinds: readonly string[]): readonly string[] =>
  kinds.length === 0
    ? []
    : [...known.jobs.values()].flatMap(({ record }) =>
        kinds.includes(record.kind) && !isTerminal(record.status) ? [record.jobId] : [],
      );

/** Notes what nobody catches, and what bodies of the host use of the machine. */
async function whileWatched(world: World, own: OwnExecutors | null, act: () => Promise<void>): Promise<void> {
  const escaped = (error: unknown): void => {
    const ofHost = own?.whose(error) ?? null;
    world.note({ type: 'escaped', message: errorMessage(error), ...(ofHost === null ? {} : { ofHost }) });
  };
  process.on('unhandledRejection', escaped);
  process.on('uncaughtException', escaped);
  own?.begin();
  try {
    await act();
  } finally {
    own?.end();
    process.off('unhandledRejection', escaped);
    process.off('uncaughtException', escaped);
  }
}
