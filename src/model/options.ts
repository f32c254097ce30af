/**
 * The options of `open` (api.md). Defaults and checks live in `engine/settings.ts`.
 */
import type { Agents } from './agent.ts';
import type { Clock, IdSource } from './clock.ts';
import type { Executors } from './executor.ts';
import type { Durability, Log, Retention } from './requests.ts';

/** An XState inspection observer; fenced, so it may throw. */
export type Inspect = (event: { readonly type: string }) => void;

/** The options of `open` that do not say where the data lies. */
export interface EngineOptions<Kinds extends Executors = Executors> {
  /** Bodies at work at once; 1 to 1,024, or null for no limit. Default 4, or `OFFSTAGE_WORKERS`. Fixed for the life of the engine. */
  readonly workers?: number | null;
  /** Bodies at work at once per session; default null, no limit. */
  readonly perSessionLimit?: number | null;
  /** What runs each kind of job. The built-in kind `command` can be replaced here. */
  readonly executors?: Kinds;
  readonly clock?: Clock;
  readonly ids?: IdSource;
  /** `full` (default): acknowledged spawns and ends survive power loss. `process`: they survive the death of the process. */
  readonly durability?: Durability;
  /** Milliseconds from a cancel to its forced end; default 30,000; null or Infinity: none. */
  readonly cancelGraceMs?: number | null;
  /** Milliseconds between TERM and KILL; default 5,000, at most half the grace. */
  readonly killAfterMs?: number;
  /** Milliseconds that running bodies get at `close()`; default 5,000. */
  readonly shutdownGraceMs?: number | null;
  /** What sessions and jobs of kind `agent` run, by name; `default` serves those that name none. */
  readonly agents?: Agents;
  /** `attested` (default): a session whose agent vouches that its foreground is free shows so. `coarse`: a running session shows `generating`. */
  readonly display?: 'attested' | 'coarse';
  /** `attested` (default): a prompt is let in when the foreground is vouched to be free. `conservative`: never while a prompt is open. */
  readonly admission?: 'attested' | 'conservative';
  /** Milliseconds from an interrupt until the turn is closed without its agent; default 10,000; null or Infinity: never. */
  readonly interruptGraceMs?: number | null;
  /** Milliseconds of silence that end a turn which the agent opened by itself; default 5,000. */
  readonly outOfTurnIdleMs?: number | null;
  /** Milliseconds that a turn may take; default null, no limit. */
  readonly turnTimeoutMs?: number | null;
  /** Milliseconds of silence after which a turn or a workload is shown as quiet, and told of once; default 300,000; null or Infinity: never. */
  readonly quietAfterMs?: number | null;
  /** Milliseconds of silence in the middle of a turn after which its session is declared failed and its agent ended; default null: never. */
  readonly stallFailMs?: number | null;
  /** Whether the agent that asked for a background job is told of its end by a prompt; default true. False: the job's event is all. */
  readonly notices?: boolean;
  /** Whether archiving a task with live work has to be confirmed; default true. */
  readonly confirmArchive?: boolean;
  /** Default 30 days and 100,000 finished jobs; null keeps everything. */
  readonly retention?: Retention | null;
  /** Receives XState inspection events of every actor. */
  readonly inspect?: Inspect;
  /** Closes the engine on SIGINT and SIGTERM. Default false: the library installs no handlers. */
  readonly handleSignals?: boolean;
  readonly log?: Log;
}
