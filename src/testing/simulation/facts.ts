/**
 * What is noted of a simulated engine: plain facts, in the order in which they happened. Checkers judge them, the trace tells them.
 *
 * FCT1  Facts come from outside the engine: from its callers, its bodies, its agents, its store and its observers, never from its own books.
 * FCT2  A fact is noted in the very moment it tells of; what an engine does after its crash is not noted any more.
 */
import type { SessionView, TaskView, WorkloadView } from '../../model/activity.ts';
import type { Card } from '../../model/cards.ts';
import type { OffstageEvent } from '../../model/events.ts';
import type { JobView } from '../../model/records.ts';
import type { Durability, Health } from '../../model/requests.ts';
import type { PromptTicket } from '../../model/session-requests.ts';
import type { StoreEntry, StoreOperation } from '../../persistence/store.ts';

/** How the engine of one life was opened. */
export interface LifeSettings {
  readonly workers: number | null;
  readonly perSessionLimit: number | null;
  readonly durability: Durability;
  /** Milliseconds; Infinity: none. */
  readonly cancelGraceMs: number;
  readonly shutdownGraceMs: number;
  readonly interruptGraceMs: number;
  readonly turnTimeoutMs: number;
  readonly stallFailMs: number;
  readonly outOfTurnIdleMs: number;
  readonly display: 'attested' | 'coarse';
  readonly admission: 'attested' | 'conservative';
  readonly notices: boolean;
}

/** Who calls: a person outside, the body of a job, or an observer from within its callback. */
export type Caller = { readonly who: 'person' | 'observer' } | { readonly who: 'body'; readonly jobId: string };

/** Everything at rest: nothing is under way, as far as the world knows. */
export interface RestView {
  /** Every job that can still be read, oldest first. */
  readonly jobs: readonly JobView[];
  /** Their ids by the session that they run on, as its own list gives them, oldest first. */
  readonly jobsOf: ReadonlyMap<string, readonly string[]>;
  readonly sessions: readonly SessionView[];
  /** Archived ones too. */
  readonly tasks: readonly TaskView[];
  /** Background work by session. */
  readonly workloads: ReadonlyMap<string, readonly WorkloadView[]>;
  readonly tickets: ReadonlyMap<string, readonly PromptTicket[]>;
  /** Cards by session, newest first. */
  readonly cards: ReadonlyMap<string, readonly Card[]>;
  readonly health: Health;
  /** Of the snapshot that sessions and tasks are from. */
  readonly seq: number;
  /** What a reader who begins after `logAfter` is told now, up to `seq`; the first may be `resync`. */
  readonly log: readonly OffstageEvent[];
  readonly logAfter: number;
  /** Whether writes can succeed; while they cannot, reads show the last commit. */
  readonly canStore: boolean;
  /** The last one of this life, after everything was let go: whatever waits now waits for ever. */
  readonly isLast: boolean;
}

/** When and where. */
export interface FactHead {
  /** The step of the simulation during which it happened. */
  readonly step: number;
  /** Milliseconds of elapsed time since the beginning of the world, over all lives. */
  readonly at: number;
  /** Counts engines on this store: 1 is the first. */
  readonly life: number;
}

/** What happened. */
export type FactBody =
  // The host.
  | { readonly type: 'opened'; readonly settings: LifeSettings; readonly epoch: string; readonly seq: number }
  | { readonly type: 'closing' }
  | { readonly type: 'closed' }
  /** `left`: what the next owner finds. `taken`: batches that were written and are gone. */
  | {
      readonly type: 'crashed';
      readonly kind: 'process' | 'power';
      readonly left: readonly StoreEntry[];
      readonly taken: number;
    }
  /** The wall clock jumped. */
  | { readonly type: 'jumped'; readonly ms: number }
  /** Time passed while reads, writes and turns of the loop that were due stood still: a busy machine, a slow disk. */
  | { readonly type: 'stood-still'; readonly ms: number }
  // Callers. `call` numbers them over all lives; what is never settled is answered by nobody.
  | {
      readonly type: 'asked';
      readonly call: number;
      readonly by: Caller;
      readonly verb: string;
      readonly args: readonly unknown[];
    }
  | { readonly type: 'answered'; readonly call: number; readonly verb: string; readonly value: unknown }
  | { readonly type: 'refused'; readonly call: number; readonly verb: string; readonly code: string; readonly message: string }
  /** The caller's own signal fired: it does not want to wait any more. */
  | { readonly type: 'gave-up'; readonly call: number }
  // The store. `denied`: it was written, and the engine was told that it failed.
  | {
      readonly type: 'wrote';
      readonly operations: readonly StoreOperation[];
      readonly sync: boolean;
      readonly outcome: 'written' | 'failed' | 'denied';
    }
  // Observers; `observer` 0 is attached at open and does nothing but note.
  | { readonly type: 'told'; readonly observer: number; readonly event: OffstageEvent }
  | { readonly type: 'attached' | 'detached'; readonly observer: number; readonly how: 'onEvent' | 'events$' | 'events' }
  // Bodies of jobs. `run` numbers calls of `run` over all lives.
  | {
      readonly type: 'body.called';
      readonly run: number;
      readonly jobId: string;
      readonly kind: string;
      readonly sessionId: string;
      readonly isWaited: boolean;
      /** It reacts to its signal at once. */
      readonly isObedient: boolean;
    }
  /** Its signal fired. */
  | { readonly type: 'body.told'; readonly run: number; readonly jobId: string; readonly code: string }
  /** It waits inside the engine, by this call; until the call is settled and it goes on. */
  | { readonly type: 'body.waits' | 'body.goes-on'; readonly run: number; readonly jobId: string; readonly call: number }
  | { readonly type: 'body.settled'; readonly run: number; readonly jobId: string; readonly how: 'returned' | 'threw' }
  // Agents. `agent` numbers starts over all lives.
  | {
      readonly type: 'agent.started';
      readonly agent: number;
      readonly executionId: string;
      readonly sessionId: string;
      /** Null for the session's own. */
      readonly jobId: string | null;
    }
  | { readonly type: 'agent.not-started'; readonly agent: number; readonly sessionId: string; readonly jobId: string | null }
  | {
      readonly type: 'agent.prompted';
      readonly agent: number;
      readonly sessionId: string;
      readonly jobId: string | null;
      readonly generation: number;
      readonly origin: 'human' | 'synthetic';
      readonly content: unknown;
    }
  /** The promise of a prompt settled. */
  | {
      readonly type: 'agent.prompt-over';
      readonly agent: number;
      readonly sessionId: string;
      readonly generation: number;
      readonly how: 'returned' | 'threw';
    }
  /** A frame left the provider; `isLate` when the agent had been told to end, or has gone. */
  | {
      readonly type: 'agent.said';
      readonly agent: number;
      readonly sessionId: string;
      readonly frame: { readonly type: string; readonly generation: number; readonly [name: string]: unknown };
    }
  | { readonly type: 'agent.cancelled'; readonly agent: number; readonly sessionId: string; readonly generation: number }
  | { readonly type: 'agent.told-to-end'; readonly agent: number; readonly sessionId: string }
  /** It is gone: closed, crashed, or left by itself. */
  | { readonly type: 'agent.gone'; readonly agent: number; readonly sessionId: string }
  // The world.
  | { readonly type: 'rested'; readonly view: RestView }
  /** An error that nobody caught; `ofHost`: what of the host has let it go, where it was not the engine. */
  | { readonly type: 'escaped'; readonly message: string; readonly ofHost?: string }
  /** Things are let go on for as long as anything is due, and it never ends. */
  | { readonly type: 'never-rests'; readonly pending: readonly string[] }
  // Executors of a host.
  /** What one of them has noted, for its host's own checkers. */
  | { readonly type: 'own'; readonly what: string; readonly value: unknown }
  /** The body of a job uses a timer, or a file, a socket, a process of the machine, for which the world does not wait. */
  | { readonly type: 'strayed'; readonly jobId: string; readonly kind: string; readonly resource: string }
  /** For the trace only: what the world does to the engine. */
  | { readonly type: 'did'; readonly what: string };

export type Fact = FactHead & FactBody;
export type FactType = Fact['type'];
export type FactOf<Type extends FactType> = Extract<Fact, { readonly type: Type }>;
