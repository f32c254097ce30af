/** What a client knows of the state of an engine, as it is told to it: shapes only, the rules are in `live-rows.ts` and `live.ts`. */
import type { SessionView, TaskView } from '../../model/activity.ts';
import type { ErrorCode } from '../../model/errors.ts';
import type { JobStatus, JobView } from '../../model/records.ts';

/** A job as lists show it: without the parts that may be large, which `getJob` reads. */
export type JobRow = Omit<JobView, 'input' | 'description' | 'result' | 'resultText' | 'partialText'>;

/** How the client stands to the server, and so how far what it shows can be trusted. */
export interface Connection {
  /** `connecting`: nothing was shown yet. `lost`: what is shown was true at `lastHeardAt`. `refused`: the token is no good; not tried again. */
  readonly status: 'connecting' | 'open' | 'lost' | 'refused';
  /** Epoch milliseconds of this machine: since when the status is what it is. */
  readonly since: number;
  /** Epoch milliseconds of this machine: when the server was last heard. Null: never. */
  readonly lastHeardAt: number | null;
  /** The number of the last record event that what is shown knows of. */
  readonly seq: number;
  /** Names the server's process; null before the first snapshot. */
  readonly epoch: string | null;
  /** Why it is lost or refused; null while it is open. */
  readonly error: { readonly code: ErrorCode; readonly message: string } | null;
  /** Epoch milliseconds of this machine: when it is tried again; null while nothing is planned. */
  readonly retryAt: number | null;
}

/** The rows of everything, by id. The Maps are live: read them, never keep them; `version` says that something has changed. */
export interface LiveState {
  /** Grows with every change that is told. */
  readonly version: number;
  readonly connection: Connection;
  readonly tasks: ReadonlyMap<string, TaskView>;
  readonly sessions: ReadonlyMap<string, SessionView>;
  /** In no particular order. A row is never changed: another one takes its place. */
  readonly jobs: ReadonlyMap<string, JobRow>;
  /** Everything there is, is here: all pages were read, and none was left out for `maxJobs`. */
  readonly isComplete: boolean;
  /** Of the jobs that are here; live ones are read first. */
  readonly counts: Readonly<Record<JobStatus, number>>;
}

/** A read model for screens. A callback that throws harms nobody. */
export interface Live {
  get(): LiveState;
  /** Calls back when something has changed, at most every 50 ms. Returns a function that ends it. */
  subscribe(callback: (state: LiveState) => unknown): () => void;
}
