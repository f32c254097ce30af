/**
 * `simulate`: a world of one seed on the real engine, watched by the checkers of G1 to G16.
 *
 * SIM1  The same seed, steps and executors give the same facts, on every machine.
 * SIM2  The first violation ends the world, and is what is told.
 */
import type { Executors } from '../../model/executor.ts';
import { simulatedAgents } from './agents.ts';
import { notedExecutors, PLANNED_KINDS, plannedExecutors } from './bodies.ts';
import { type Checker, type Guarantee, Violation } from './checker.ts';
import { CHECKERS } from './checkers/index.ts';
import type { Fact } from './facts.ts';
import { hostOptions } from './host.ts';
import { jobActions, type OwnInputs } from './job-actions.ts';
import { Known } from './known.ts';
import { sessionActions } from './session-actions.ts';
import type { Life } from './stage.ts';
import { World } from './world.ts';

/** What to simulate. */
export interface SimulationOptions {
  readonly seed: number;
  /** How many steps; default 1,000. */
  readonly steps?: number;
  /** Only these of them, by number, in order: what a shrunk failure consists of. */
  readonly only?: readonly number[];
  /**
   * A host's own executors, beside those of the simulator, made anew for every life. Time that they spend must be that of `life.pause`, or of
   * `life.clock`.
   */
  readonly executors?: (life: Life) => Executors;
  /** Makes an input for each of these kinds. */
  readonly inputs?: OwnInputs;
  /** Default: all of G1 to G16. */
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
  readonly guarantee: Guarantee;
  readonly message: string;
  /** The step during which it was seen. */
  readonly step: number;
}

/**
 * Runs one world to its end, or to the first violation.
 * @example
 * const { violation } = await simulate({ seed: 7, steps: 2_000 });
 * if (violation !== null) throw new Error(violation.message);
 */
export async function simulate(options: SimulationOptions): Promise<SimulationResult> {
  const { seed, steps = 1_000, executors = () => ({}), inputs = {}, checkers = CHECKERS, onFact } = options;
  const known = new Known();
  const checks = checkers.map(({ begin }) => begin());
  let violation: FoundViolation | null = null;
  let broken: { readonly error: unknown } | null = null;
  let lives = 0;
  const judge = (fact: Fact): boolean => {
    onFact?.(fact);
    lives = fact.life;
    known.learn(fact);
    try {
      for (const check of checks) check(fact, known);
    } catch (error) {
      // Thrown from here, a mistake of a checker's own would be lost in a fence of the engine.
      if (!(error instanceof Violation)) broken = { error };
      else violation = { guarantee: error.guarantee, message: error.message, step: fact.step };
    }
    return violation !== null || broken !== null;
  };
  const planned = new Set<string>(PLANNED_KINDS);
  const world = new World({
    seed,
    actions: [...jobActions(PLANNED_KINDS, inputs), ...sessionActions],
    onFact: judge,
    optionsOf:
      ({ jobs }) =>
      (life) =>
        hostOptions(
          life,
          notedExecutors(life, { ...plannedExecutors(life, jobs), ...executors(life) }, planned),
          simulatedAgents(life),
        ),
  });
  const escaped = (error: unknown): void => world.note({ type: 'escaped', message: String(error) });
  process.on('unhandledRejection', escaped);
  process.on('uncaughtException', escaped);
  let taken = 0;
  try {
    for (const number of options.only ?? Array(steps).keys()) {
      await world.step(number);
      taken += 1;
      if (world.hasEnough) break;
    }
    await world.end(steps);
  } finally {
    process.off('unhandledRejection', escaped);
    process.off('uncaughtException', escaped);
  }
  if (broken !== null) throw (broken as { readonly error: unknown }).error;
  return { seed, steps: taken, facts: world.facts, lives, elapsedMs: world.time.elapsedMs, violation };
}
