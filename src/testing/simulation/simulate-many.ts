/**
 * `simulateMany`: one world after the other; what fails is shrunk, and told as a story.
 *
 * SMN1  Worlds are of `length` steps at most and of one seed after the other, until `steps` are taken or something is broken.
 * SMN2  A failure that is told was run once more, just as it is told; what did not happen again is said to be so.
 */
import { checkMany, ofWorld } from './check-simulation.ts';
import type { Fact } from './facts.ts';
import { shrinkFrom } from './shrink.ts';
import { type FoundViolation, type SimulationOptions, simulate } from './simulate.ts';
import { isAbout, lineOf } from './trace.ts';

export interface ManyOptions extends Omit<SimulationOptions, 'seed' | 'onFact'> {
  /** Of the first world; default 1. */
  readonly seed?: number;
  /** Steps in all; default 20,000. With `only` there is one world. */
  readonly steps?: number;
  /** Steps of one world at most; default 1,000. */
  readonly length?: number;
  /** False: a failure is told as it was found. Default true. */
  readonly shrinks?: boolean;
  /** True: the story tells everything that happened, not only what is about the failure. Default false. */
  readonly trace?: boolean;
  /** Called with every line that there is to tell, as soon as there is. */
  readonly say?: (line: string) => void;
}

export interface ManyResult {
  readonly worlds: number;
  readonly steps: number;
  readonly facts: number;
  readonly lives: number;
  /** Milliseconds of virtual time. */
  readonly elapsedMs: number;
  /** Null: every guarantee held, in all of them. */
  readonly failure: Failure | null;
}

/** What was found; its seed with `only`, or with `steps`, repeats it. */
export interface Failure extends FoundViolation {
  readonly seed: number;
  readonly steps: number;
  /** The steps that are needed; null where they were not looked for. */
  readonly only: readonly number[] | null;
  /** All of it for people, line by line. */
  readonly story: string;
}

/**
 * Runs worlds until one breaks a guarantee, or enough steps were taken.
 * @throws OffstageError `config.invalid` for options, and whatever executors, inputs or checkers throw by mistake
 * @example
 * const { failure } = await simulateMany({ executors, inputs, steps: 50_000 });
 * if (failure !== null) console.error(failure.story);
 */
export async function simulateMany(given: ManyOptions = {}): Promise<ManyResult> {
  const options = checkMany(given);
  const { seed: first = 1, steps = 20_000, length = 1_000, only } = options;
  const total = { worlds: 0, steps: 0, facts: 0, lives: 0, elapsedMs: 0 };
  for (let seed = first; total.steps < steps; seed++) {
    const world = { ...options, seed, steps: Math.min(length, steps - total.steps) };
    const { violation, ...taken } = await simulate(worldOf(world));
    total.worlds += 1;
    for (const name of ['steps', 'facts', 'lives', 'elapsedMs'] as const) total[name] += taken[name];
    if (violation !== null) return { ...total, failure: await explained(world, violation) };
    if (only !== undefined) break;
  }
  return { ...total, failure: null };
}

type OneWorld = ManyOptions & { readonly seed: number; readonly steps: number };

const worldOf = (world: OneWorld): SimulationOptions => ({ ...ofWorld(world), seed: world.seed });

async function explained(world: OneWorld, found: FoundViolation): Promise<Failure> {
  const lines: string[] = [];
  const say = (line: string): void => {
    lines.push(line);
    world.say?.(line);
  };
  const { seed, steps } = world;
  say(`Seed ${seed}, step ${found.step} of ${steps}: ${found.message}`);
  const only = await shrunk(world, say);
  const told = await tell(only === null ? world : { ...world, only }, found, say);
  return { ...told, seed, steps, only, story: lines.join('\n') };
}

/** Null: it is told as it is. */
async function shrunk(world: OneWorld, say: (line: string) => void): Promise<readonly number[] | null> {
  if (world.shrinks === false) return world.only ?? null;
  const whole = await simulate(worldOf(world));
  const { violation } = whole;
  if (violation === null) return world.only ?? null;
  say('Steps that are not needed are left out …');
  const { only, runs } = await shrinkFrom(worldOf(world), { ...whole, violation });
  say(`After ${runs} worlds these are left of ${world.only?.length ?? world.steps}: ${only.join(',')}`);
  return only;
}

/** SMN2. */
async function tell(world: OneWorld, found: FoundViolation, say: (line: string) => void): Promise<FoundViolation> {
  const facts: Fact[] = [];
  const { violation } = await simulate({ ...worldOf(world), onFact: (fact) => void facts.push(fact) });
  if (violation === null) {
    say(
      'It did not happen again. Something does not come from the seed: real time, Math.random, or state that outlives a world.',
    );
    return found;
  }
  say(`\n  step      life:elapsed  what happened${world.trace ? '' : ', as far as it is about this'}`);
  for (const fact of world.trace ? facts : about(facts, violation.message)) say(lineOf(fact));
  say(`\n${violation.message}\nIt breaks: ${violation.promise}.`);
  return violation;
}

/** Who asks does not know yet what the answer is about; what has no answer yet may be about anything. */
function about(facts: readonly Fact[], message: string): readonly Fact[] {
  const others = new Set<number>();
  for (const fact of facts) {
    if ((fact.type === 'answered' || fact.type === 'refused') && !isAbout(fact, message)) others.add(fact.call);
  }
  return facts.filter((fact) => isAbout(fact, message) || (fact.type === 'asked' && !others.has(fact.call)));
}
