/**
 * What observers are told (spec 11).
 *
 * EVT1  Record events are durable and carry a global gapless `seq`.
 * EVT2  Volatile events (progress, output, activity, aggregates) are never stored; they carry the `seq` they follow.
 */
import type { ActivityValue } from './activity.ts';
import type { CardStatus } from './cards.ts';
import type { OutputStream } from './executor.ts';
import type { JsonValue } from './json.ts';
import type { JobError, JobStatus, ReasonCode, SessionState, TaskRow } from './records.ts';

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

/** A session was made, or its row has changed (`oldState` = `newState` where that was something else than its state). */
export type SessionRecordEvent = EventHead & {
  readonly type: 'session.state_changed';
  readonly sessionId: string;
  readonly taskId: string;
  readonly oldState: SessionState | null;
  readonly newState: SessionState;
} & LiveActivity;

/** A session was removed; its id is never used again. */
export type SessionRemovedEvent = EventHead & {
  readonly type: 'session.removed';
  readonly sessionId: string;
  readonly taskId: string;
};

/** A task was made, has changed, or was removed. */
export type TaskRecordEvent = EventHead & {
  readonly type: 'task.created' | 'task.updated' | 'task.removed';
  readonly taskId: string;
  readonly title: string;
  readonly state: TaskRow['state'];
  /** Counts the updates of this task in this process; missing in what is replayed. */
  readonly taskSeq?: number;
} & Partial<ActivityValue>;

/** Tier and count as of the instant of the event; missing in what is replayed, where they are unknown. */
export type LiveActivity = Partial<ActivityValue> & {
  readonly activityEpoch?: number;
  readonly sessionSeq?: number;
};

/** A card was made, or its job has ended; read it with `cards.get`. */
export type CardRecordEvent = EventHead & {
  readonly type: 'card.updated';
  readonly cardId: string;
  /** The conversation it stands in. */
  readonly sessionId: string;
  readonly jobId: string;
  readonly status: CardStatus;
};

/** Stored, numbered, replayed. */
export type RecordEvent = JobRecordEvent | CardRecordEvent | SessionRecordEvent | SessionRemovedEvent | TaskRecordEvent;

/** A task's aggregate has changed, and nothing of its row: live only, like all activity. */
export type TaskActivityEvent = EventHead &
  ActivityValue & {
    readonly type: 'task.updated';
    readonly taskId: string;
    readonly taskSeq: number;
    readonly isVolatile: true;
  };

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
    })
  /** A session's tier or count has changed (liveness 7). */
  | (EventHead &
      ActivityValue & {
        readonly type: 'session.activity_changed';
        readonly sessionId: string;
        readonly taskId: string;
        /** Grows whenever the session's activity is tracked anew. */
        readonly activityEpoch: number;
        /** Counts the publications of this session in this process. */
        readonly sessionSeq: number;
      })
  | TaskActivityEvent
  /** What the agent says. */
  | (EventHead & {
      readonly type: 'session.output';
      readonly sessionId: string;
      readonly generation: number;
      readonly channel: 'message' | 'thought';
      readonly text: string;
    })
  | (EventHead & {
      readonly type: 'session.turn_ended';
      readonly sessionId: string;
      readonly generation: number;
      readonly stopReason: string | null;
      /** Why it was cut off; null when the provider ended it. */
      readonly error: JobError | null;
    })
  /** Nothing was heard for `quietAfterMs`; told once for each silence. It is a label: what is quiet is live all the same. */
  | (EventHead & {
      readonly type: 'session.quiet';
      readonly sessionId: string;
      readonly taskId: string;
      /** The turn that is silent, 0 while its prompt is on its way; null where it is background work alone. */
      readonly generation: number | null;
      /** Ids of the background work that is silent. */
      readonly workloads: readonly string[];
      /** Milliseconds since the last word of what has been silent for longest. */
      readonly silentMs: number;
    })
  /** What became of a queued prompt. */
  | (EventHead & {
      readonly type: 'session.ticket';
      readonly sessionId: string;
      readonly ticketId: string;
      readonly promptId: string;
      readonly status: 'queued' | 'accepted' | 'failed' | 'cancelled' | 'dropped' | 'stopped';
      /** Of an accepted one; else 0. */
      readonly generation: number;
      readonly error: JobError | null;
    });

/** Older events than the cursor asked for are gone: read the state anew, then go on from `seq`. */
export type ResyncEvent = EventHead & { readonly type: 'resync' };

/** Everything that `events`, `events$` and `onEvent` give. */
export type OffstageEvent = RecordEvent | VolatileEvent | ResyncEvent;

/** A record event before the commit loop numbers it. */
export type UnnumberedEvent = RecordEvent extends infer E ? (E extends RecordEvent ? Omit<E, 'seq' | 'epoch'> : never) : never;

const VOLATILE: ReadonlySet<OffstageEvent['type']> = new Set([
  'job.progress',
  'job.output',
  'session.activity_changed',
  'session.output',
  'session.turn_ended',
  'session.quiet',
  'session.ticket',
]);

/** Whether it was never stored: it is missing in replays, and its `seq` is that of the record event it follows. */
export const isVolatileEvent = (event: OffstageEvent): boolean =>
  VOLATILE.has(event.type) || (event.type === 'task.updated' && 'isVolatile' in event && event.isVolatile === true);
