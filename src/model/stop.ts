/**
 * What callers hand in and get back about stop, removal and archive (liveness 11 and 12): shapes only.
 */
import type { JobError } from './records.ts';

/** Why, and how hard. */
export interface StopOptions {
  /** Kept in the records of the jobs that end by it. */
  readonly reason?: string;
  /** No grace: processes are killed at once, and bodies that cannot be killed are not waited for. Default false. */
  readonly force?: boolean;
}

/** One thing that a stop was about: a session, the agent of one, or a job. */
export interface StopEntry {
  readonly sessionId: string;
  /** What runs, or ran: teardown goes by this id, never by the session's. */
  readonly executionId?: string;
  readonly jobId?: string;
  /** Why it failed, could not be loaded, or what is known to be left of it. */
  readonly error?: JobError;
}

/** What a stop found and did, or, once settled, what came of it. */
export interface StopReport {
  /** Told to end: agents of active sessions, and jobs. Settled: they have ended. */
  readonly stopped: readonly StopEntry[];
  /** Told to end although the record of their session says that it is over; the record stays as it is. */
  readonly recovered: readonly StopEntry[];
  /** An earlier request to end them is under way. */
  readonly alreadyStopping: readonly StopEntry[];
  /** The grace is over and they were not seen to end; they are looked after further. */
  readonly detached: readonly StopEntry[];
  /** Active sessions in which nothing was live; nothing of them was changed. */
  readonly absent: readonly StopEntry[];
  /** Could not be told to end, or nobody can say whether they live; tried again. */
  readonly failed: readonly StopEntry[];
  /** Records that could not be read. What runs of them was told to end all the same. */
  readonly loadErrors: readonly StopEntry[];
  /** Why not everything could be looked up; null: it was. What runs of it was told to end all the same. */
  readonly sourceError: JobError | null;
  /** False: the store refuses for now. Everything was told to end, and what was decided is stored once it can be. */
  readonly durable: boolean;
}

/** The report as of the scheduling of everything, and a promise of the last one. */
export interface StopResult extends StopReport {
  /** Everything has ended, or its grace is over. Never rejects. */
  readonly settled: Promise<StopReport>;
}

/** What somebody who removes or archives has to know first. */
export interface LiveWork {
  /** Sessions whose foreground is at work. */
  readonly generating: number;
  /** Sessions with background work only. */
  readonly background: number;
  readonly activeSubagentCount: number;
  /** Jobs that have not ended. */
  readonly jobs: number;
}

export interface ConfirmOptions {
  /** True: also with live work. Default false: live work is answered with a warning, and nothing is done. */
  readonly confirm?: boolean;
}

/** What to do with what still lives. */
export interface RemoveOptions extends ConfirmOptions, StopOptions {}

/** Done, or what one has to know and confirm first. */
export type ConfirmedAnswer = { readonly done: true } | { readonly done: false; readonly warning: LiveWork };
