/**
 * What the people, the bodies and the agents of a simulation are given: where they act, and how they are noted.
 *
 * STG1  A call never rejects and never throws: how it was settled is noted, and told to whoever made it.
 * STG2  What was made is remembered by the step that made it, so that leaving out one step changes no other one's choice.
 */

import type { Offstage } from '../../engine/offstage.ts';
import type { Clock } from '../../model/clock.ts';
import type { Executors } from '../../model/executor.ts';
import type { Caller, FactBody } from './facts.ts';
import type { Random } from './random.ts';

/** How a call ended; `call` is its number. */
export type Settled =
  | { readonly call: number; readonly isOk: true; readonly value: unknown }
  | { readonly call: number; readonly isOk: false; readonly code: string; readonly error: unknown };

/** What is noted at the beginning and at the end of a call. */
export interface CallMoments {
  /** Called with its number, before the verb is. */
  begun?(call: number): void;
  over?(call: number): void;
}

/** Ids by the step that made them. */
export interface Names {
  add(key: string, id: string): void;
  delete(id: string): void;
  /** One of them; undefined when there is none. */
  pick(random: Random): string | undefined;
  readonly ids: readonly string[];
}

/** One engine on the store, from its opening to its end or crash. */
export interface Life {
  readonly seed: number;
  /** Counts lives from 1. */
  readonly number: number;
  /** The newest event that was stored when its engine opened. */
  readonly openedAt: number;
  /** The one that the engine has, too. */
  readonly clock: Clock;
  /** Resolves when the simulation lets it happen; never after a crash. */
  hop(label: string): Promise<void>;
  /** Resolves after this much time; never after a crash. */
  pause(ms: number): Promise<void>;
  /** Does nothing once the process has died. */
  note(fact: FactBody): void;
  /** Calls back when everything is to come to an end at last: what hangs has to let go. At once when that is so already. */
  onLetGo(callback: () => void): void;
  /** Counts up over all lives; for runs, agents and calls. */
  nextNumber(what: 'run' | 'agent' | 'call' | 'observer'): number;
  /** Calls a verb and notes it (STG1). */
  call(verb: string, args: readonly unknown[], act: () => unknown, by?: Caller, moments?: CallMoments): Promise<Settled>;
  /** A body, or an observer, cancels a job. */
  cancel(jobId: string, by: Caller): Promise<Settled>;
}

/** What one step of a person gets. */
export interface Stage {
  readonly life: Life;
  readonly offstage: Offstage<Executors>;
  readonly step: number;
  /** Of this step alone. */
  readonly random: Random;
  readonly jobs: Names;
  readonly sessions: Names;
  readonly tasks: Names;
  readonly tickets: Names;
}

/** Something that a person does in one step; it begins it, and does not wait for it. */
export interface Action {
  readonly verb: string;
  /** How often, beside the others. */
  readonly weight: number;
  act(stage: Stage): void;
}
