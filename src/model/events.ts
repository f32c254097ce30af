/**
 * What observers are told (spec 11).
 *
 * EVT1  Record events are durable and carry a global gapless `seq`.
 * EVT2  Volatile events (progress, output) are never stored; they carry the `seq` they follow.
 */
import type { OutputStream } from './executor.ts';
import type { JsonValue } from './json.ts';
import type { JobStatus, ReasonCode, SessionState, TaskRow } from './records.ts';

interface EventHead {
  /** Record events: their own number. Volatile events: the number of the record event they follow. */
  readonly seq: number;
  /** Names the process that published it; a new one means that volatile events may be missing. */
  readonly epoch: string;
  readonly at: number;
}

/** What a job's event tells of it; input, description and results are read with `get`. */
export interface JobEventBody {
  readonly jobId: string;
  readonly sessionId: string;
  readonly callerSessionId: string | null;
  readonly taskId: string;
  readonly parentJobId: string | null;
  readonly status: JobStatus;
  readonly reasonCode: ReasonCode | null;
  readonly cancelRequestedAt: number | null;
  readonly completedAt: number | null;
  readonly detached: boolean;
  readonly revision: number;
}

/** A job was accepted, or has got another status. */
export type JobRecordEvent = EventHead & JobEventBody & { readonly type: 'job.created' | 'job.status' };

/** A session was made, or has got another state. */
export type SessionRecordEvent = EventHead & {
  readonly type: 'session.state_changed';
  readonly sessionId: string;
  readonly taskId: string;
  readonly oldState: SessionState | null;
  readonly newState: SessionState;
};

/** A task was made or has changed. */
export type TaskRecordEvent = EventHead & {
  readonly type: 'task.created' | 'task.updated' | 'task.removed';
  readonly taskId: string;
  readonly title: string;
  readonly state: TaskRow['state'];
};

/** Stored, numbered, replayed. */
export type RecordEvent = JobRecordEvent | SessionRecordEvent | TaskRecordEvent;

/** Live only: never stored, never replayed. Carries the `seq` it follows. */
export type VolatileEvent =
  | (EventHead & {
      readonly type: 'job.progress';
      readonly jobId: string;
      readonly sessionId: string;
      readonly progress: JsonValue;
    })
  | (EventHead & {
      readonly type: 'job.output';
      readonly jobId: string;
      readonly sessionId: string;
      readonly text: string;
      /** Where the job printed it, if it said so. */
      readonly stream: OutputStream | null;
      /** Characters the job had printed before: a jump says that output was missed, `output()` lines up with it. */
      readonly offset: number;
    });

/** Older events than the cursor asked for are gone: read the state anew, then go on from `seq`. */
export type ResyncEvent = EventHead & { readonly type: 'resync' };

/** Everything that `events`, `events$` and `onEvent` give. */
export type OffstageEvent = RecordEvent | VolatileEvent | ResyncEvent;

/** A record event before the commit loop numbers it. */
export type UnnumberedEvent = RecordEvent extends infer E ? (E extends RecordEvent ? Omit<E, 'seq' | 'epoch'> : never) : never;
