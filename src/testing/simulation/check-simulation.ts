/**
 * The options of a simulation as hosts hand them in, made safe before a world is made of them.
 *
 * CSI1  What is misspelt, or of the wrong kind, is `config.invalid` and named: a simulation that took nothing, or judged by nothing, must not look
 *       like one in which everything held.
 * CSI2  Judges, makers of inputs and listeners answer at once. One that answers a promise has said nothing yet: it is told so, and what its promise
 *       comes to reaches nobody.
 */
import { checkNames, namesOf, readable, readOptions } from '../../engine/check-options.ts';
import { checkFlag, invalidOption, invalidWithin } from '../../engine/settings.ts';
import { settleQuietly } from '../../model/settle-quietly.ts';
import type { Check, Checker } from './checker.ts';
import type { FixedOptions } from './host.ts';
import type { SimulationOptions } from './simulate.ts';
import type { ManyOptions } from './simulate-many.ts';

/** A world is a list of steps, and no list of JavaScript is longer. */
const MOST_STEPS = 2 ** 32 - 1;

const OF_A_WORLD = {
  seed: true,
  steps: true,
  only: true,
  executors: true,
  inputs: true,
  options: true,
  checkers: true,
  onFact: true,
} as const;
const { onFact: _, ...OF_EACH_WORLD } = OF_A_WORLD;
const WORLD_NAMES = namesOf<SimulationOptions>(OF_A_WORLD);
const MANY_NAMES = namesOf<ManyOptions>({ ...OF_EACH_WORLD, length: true, shrinks: true, trace: true, say: true });
const FIXED_NAMES = namesOf<FixedOptions>({
  workers: true,
  perSessionLimit: true,
  display: true,
  admission: true,
  interruptGraceMs: true,
  outOfTurnIdleMs: true,
  turnTimeoutMs: true,
  quietAfterMs: true,
  stallFailMs: true,
  confirmArchive: true,
  notices: true,
  durability: true,
  cancelGraceMs: true,
  killAfterMs: true,
  shutdownGraceMs: true,
  retention: true,
  inspect: true,
});

/** A copy of the options of one world. @throws OffstageError `config.invalid` */
export function checkWorld(given: SimulationOptions): SimulationOptions {
  const options = readOptions('options', given, WORLD_NAMES, invalidOption);
  checkInteger('seed', options.seed, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
  checkSteps('steps', options.steps, 0);
  checkCommon(options);
  checkFunction('onFact', options.onFact);
  return options;
}

/** A copy of the options of several worlds. @throws OffstageError `config.invalid` */
export function checkMany(given: ManyOptions): ManyOptions {
  const options = readOptions('options', given, MANY_NAMES, invalidOption);
  const { seed = 1, steps = 1 } = options;
  checkInteger('steps', steps, 1, Number.MAX_SAFE_INTEGER);
  // The seeds of later worlds have to be other ones.
  checkInteger('seed', seed, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER - steps);
  checkSteps('length', options.length, 1);
  for (const name of ['shrinks', 'trace'] as const) checkFlag(name, options[name]);
  checkFunction('say', options.say);
  checkCommon(options);
  return options;
}

/** Those of them that a single world has. */
export function ofWorld({ length, shrinks, trace, say, ...world }: ManyOptions): Omit<SimulationOptions, 'seed'> {
  return world;
}

function checkCommon({ only, executors, inputs, options, checkers }: Omit<SimulationOptions, 'seed'>): void {
  if (only !== undefined) checkList('only', only, (step) => checkInteger('only', step, 0, Number.MAX_SAFE_INTEGER));
  checkFunction('executors', executors);
  if (options !== undefined) readOptions('options', options, FIXED_NAMES, invalidWithin('options'));
  if (checkers !== undefined) checkList('checkers', checkers, checkChecker);
  if (inputs === undefined) return;
  const given: unknown = inputs;
  if (typeof given !== 'object' || given === null)
    throw invalidOption('inputs', 'it must be an object, with a function for each kind');
  for (const [kind, make] of Object.entries(inputs)) {
    if (make !== null && typeof make !== 'function')
      throw invalidOption(`inputs.${kind}`, 'it must be a function that makes an input, or null');
  }
}

function checkChecker(given: unknown): void {
  const { guarantee, promise, begin } = (given ?? {}) as Partial<Checker>;
  if (typeof guarantee === 'string' && typeof promise === 'string' && typeof begin === 'function') return;
  throw invalidOption('checkers', 'each of them must have a guarantee, a promise and a function begin');
}

function checkList(option: string, given: unknown, check: (one: unknown) => void): void {
  readable(
    option,
    () => {
      if (!Array.isArray(given)) throw invalidOption(option, 'it must be an array');
      for (const one of given) check(one);
    },
    invalidOption,
  );
}

function checkInteger(option: string, value: unknown, least: number, most: number): void {
  if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most) return;
  throw invalidOption(option, `it must be an integer from ${least} to ${most}`);
}

function checkSteps(option: string, value: unknown, least: number): void {
  if (value !== undefined) checkInteger(option, value, least, MOST_STEPS);
}

function checkFunction(option: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'function') throw invalidOption(option, 'it must be a function');
}

/** What a host's `executors` has answered, for one life. @throws OffstageError `config.invalid` */
export function checkKinds<Kinds extends object>(given: Kinds, isSimulators: (kind: string) => boolean): Kinds {
  checkNames('executors', given, new Set(Object.keys(given ?? {})), invalidOption);
  atOnce('executors', given);
  for (const kind of Object.keys(given))
    if (isSimulators(kind)) throw invalidOption(`executors.${kind}`, 'kinds of this name are those of the simulator');
  return given;
}

/** The judge that a checker has begun. @throws OffstageError `config.invalid` */
export function begun(checker: Checker): Check {
  const check = checker.begin();
  if (typeof check === 'function') return check;
  throw invalidOption('checkers', `begin of ${checker.guarantee} must answer a function`);
}

/** CSI2. @throws OffstageError `config.invalid` */
export function atOnce<Value>(option: string, answer: Value): Value {
  if (typeof (answer as { readonly then?: unknown } | null | undefined)?.then !== 'function') return answer;
  settleQuietly(answer, () => {});
  throw invalidOption(option, 'what it calls must answer at once, and no promise');
}
