/**
 * How a simulated host opens its engine, and what it does to it from outside: other settings in every world, careless callbacks in most.
 *
 * HST1  The settings of a world are those of its seed; a restart changes only what a host may change between two starts.
 */
import type { Agents } from '../../model/agent.ts';
import type { Executors } from '../../model/executor.ts';
import type { EngineOptions } from '../../model/options.ts';
import { random } from './random.ts';
import type { Life } from './stage.ts';

// Made once: with its stack it costs more than a step.
const INSPECTOR_FAILURE = new Error('the inspector is broken');

const pickGrace = (dice: ReturnType<typeof random>, usualMs: number): number | null =>
  dice.weighted([
    [4, usualMs],
    [2, 1 + dice.integer(2_000)],
    [1, 0],
    [1, null],
  ]);

/** Options of `open` that a host may fix for its simulation; the world picks the others. */
export type FixedOptions = Omit<EngineOptions, 'executors' | 'agents' | 'clock' | 'ids' | 'log' | 'handleSignals'>;

/** The options of one life. */
export function hostOptions(life: Life, executors: Executors, agents: Agents, fixed: FixedOptions): EngineOptions {
  const world = random(life.seed, 'settings');
  const restart = random(life.seed, 'settings', life.number);
  const limit = (): number | null => restart.pick([1, 1, 2, 3, 4, null]);
  return {
    executors,
    agents,
    durability: world.chance(0.8) ? 'full' : 'process',
    display: world.chance(0.8) ? 'attested' : 'coarse',
    admission: world.chance(0.8) ? 'attested' : 'conservative',
    notices: world.chance(0.8),
    confirmArchive: world.chance(0.8),
    workers: limit() ?? (restart.chance(0.5) ? 2 : null),
    perSessionLimit: restart.chance(0.7) ? null : limit(),
    // Null would leave bodies that hang as they are until the end: once in a while that is what a host wants.
    cancelGraceMs: pickGrace(world, 30_000),
    shutdownGraceMs: world.pick([5_000, 5_000, 100, 0]),
    interruptGraceMs: pickGrace(world, 10_000),
    outOfTurnIdleMs: world.pick([5_000, 5_000, 200]),
    turnTimeoutMs: world.chance(0.7) ? null : 1_000 + world.integer(600_000),
    quietAfterMs: world.pick([300_000, 60_000, null]),
    stallFailMs: world.chance(0.8) ? null : 60_000 + world.integer(3_600_000),
    retention: world.weighted<EngineOptions['retention']>([
      [1, { maxJobs: 20 }],
      [3, { maxJobs: 100 }],
      [1, { maxAgeMs: 12 * 3_600_000 }],
    ]) as NonNullable<EngineOptions['retention']>,
    ...(world.chance(0.15)
      ? {
          inspect: () => {
            throw INSPECTOR_FAILURE;
          },
        }
      : {}),
    ...fixed,
  };
}
