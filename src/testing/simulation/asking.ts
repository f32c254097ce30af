/**
 * How people ask: with ids that exist or do not, with options or what is none, and what they make of the answers of stops and removals.
 *
 * ASK1  Everything that is chosen follows from the step's own chance.
 */
import type { ConfirmedAnswer, StopReport, StopResult } from '../../model/stop.ts';
import type { Names, Settled, Stage } from './stage.ts';

/** Given instead of an id or of options. */
const ODD = [undefined, null, 5, '', [], { odd: true }, 'x'.repeat(600)];

export const oddInput = ({ random }: Stage): never => random.pick(ODD) as never;

/** An id that exists, mostly; else one that never did. Undefined: there is none, and this person leaves it at that. */
export function someId({ random }: Stage, names: Names): string | undefined {
  if (random.chance(0.04)) return 'nobody';
  return names.pick(random) ?? (random.chance(0.2) ? 'nobody' : undefined);
}

/** A session that exists, mostly; the built-in one now and then, and where there is no other; rarely one that never was. */
export const someSession = ({ random, sessions }: Stage): string =>
  random.weighted([
    [40, () => sessions.pick(random) ?? 'default'],
    [2, () => 'default'],
    [1, () => 'nobody'],
  ])();

/** Notes a stop, and what came of it. `act` asks the engine. */
export async function stopBy(
  stage: Stage,
  verb: string,
  args: readonly unknown[],
  act: () => Promise<StopResult>,
): Promise<void> {
  const { life } = stage;
  let last: Promise<StopReport> | null = null;
  const answer = await life.call(verb, args, async () => {
    const { settled, ...report } = await act();
    last = settled;
    return report;
  });
  if (last !== null) void life.call('stop.settled', [answer.call], () => last);
}

/** Some stop without a reason, some by force. */
export function stopOptions({ random, step }: Stage): { reason?: string; force?: boolean } | undefined {
  if (random.chance(0.05)) return { force: 'yes' } as never;
  const options = {
    ...(random.chance(0.4) ? { reason: `step ${step}` } : {}),
    ...(random.chance(0.3) ? { force: random.chance(0.8) } : {}),
  };
  return random.chance(0.2) ? undefined : options;
}

/** Removes, and forgets the name when it is gone; mostly, for some ask for what was removed. */
export async function removeBy(
  { random, step }: Stage,
  names: Names,
  id: string,
  remove: (options: { confirm?: boolean; force?: boolean; reason?: string } | undefined) => Promise<Settled>,
): Promise<void> {
  const forgets = random.chance(0.7);
  const options = random.weighted([
    [6, { confirm: true }],
    [2, { confirm: true, force: true, reason: `step ${step}` }],
    [1, { confirm: false }],
    [2, undefined],
    [0.3, { confirm: 'yes' } as never],
  ]);
  const answer = await remove(options);
  if (forgets && answer.isOk && (answer.value as ConfirmedAnswer).done) names.delete(id);
}

/** Without what is not given. */
export const given = <Options extends object>(options: Options): { [Name in keyof Options]: Exclude<Options[Name], undefined> } =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never;
