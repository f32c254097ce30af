/**
 * One live actor as the inspector shows it: as it was after the last change that was taken from the queue.
 *
 * IWA1  `snapshot` and `event` belong together, and follow the order in which the engine's actors have changed.
 */
import type { EventObject, Snapshot } from 'xstate';
import type { InspectedActor } from '../../engine/inspection.ts';
import { clippedText } from './plain-value.ts';

const MOST_SUBJECT_CHARACTERS = 120;
const INIT: EventObject = { type: 'xstate.init' };

/** What a viewer wants to see; everything that is given must match. Parents are shown in any case. */
export interface InspectorFilter {
  readonly jobId?: string | null;
  readonly sessionId?: string | null;
  readonly taskId?: string | null;
}

export class WatchedActor {
  readonly owner: InspectedActor;
  readonly name: string;
  readonly startedAt: number;
  snapshot: Snapshot<unknown>;
  event: EventObject = INIT;
  changedAt: number;

  constructor(owner: InspectedActor, at: number) {
    this.owner = owner;
    this.name = nameOf(owner);
    this.snapshot = owner.actorRef.getSnapshot() as Snapshot<unknown>;
    this.startedAt = at;
    this.changedAt = at;
  }

  /** It has ended: nothing of it changes any more. */
  get isOver(): boolean {
    return this.snapshot.status !== 'active';
  }

  get isParent(): boolean {
    return this.owner.machine === 'supervisor' || this.owner.machine === 'roster';
  }

  matches({ jobId, sessionId, taskId }: InspectorFilter): boolean {
    const { owner } = this;
    if (this.isParent) return true;
    if (jobId != null && owner.jobId !== jobId) return false;
    if (taskId != null && owner.taskId !== taskId) return false;
    return sessionId == null || owner.sessionId === sessionId || owner.callerSessionId === sessionId;
  }
}

/** For people; the first word is the chart. */
function nameOf({ machine, actorRef, jobId, sessionId, taskId, subject }: InspectedActor): string {
  switch (machine) {
    case 'job':
      return `job ${jobId} ${JSON.stringify(clippedText(subject ?? '', MOST_SUBJECT_CHARACTERS))}`;
    case 'activity':
      return `activity ${sessionId}`;
    case 'task':
      return `task ${taskId}`;
    default:
      return actorRef.id;
  }
}
