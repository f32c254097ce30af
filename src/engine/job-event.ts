/** The record event of one job at one of its snapshots (spec 11): what identifies it and how it stands, not what it was given or made. */
import { cardIdOf, cardStatusOf } from '../model/cards.ts';
import type { CardRecordEvent, JobRecordEvent } from '../model/events.ts';
import { callerOf } from '../model/records.ts';
import { isFinished, type JobBase, type JobSnapshot, statusOfState } from '../persistence/job-codec.ts';

export function jobEvent(
  type: 'job.created' | 'job.status',
  base: JobBase,
  snapshot: JobSnapshot,
  revision: number,
): Omit<JobRecordEvent, 'seq' | 'epoch'> {
  const { context } = snapshot;
  const isCreation = type === 'job.created';
  return {
    type,
    at: isCreation
      ? base.createdAt
      : (context.completedAt ?? context.cancelRequestedAt ?? context.startedAt ?? context.queuedAt ?? base.createdAt),
    jobId: base.jobId,
    sessionId: base.sessionId,
    callerSessionId: base.callerSessionId,
    taskId: base.taskId,
    parentJobId: base.parentJobId,
    status: isCreation ? 'pending' : statusOfState(snapshot.state),
    reasonCode: isCreation ? null : context.reasonCode,
    cancelRequestedAt: isCreation ? null : context.cancelRequestedAt,
    completedAt: isCreation ? null : context.completedAt,
    detached: !isCreation && context.detached,
    revision,
  };
}

/** A card changes when its job is accepted and when it ends (spec 9). */
export const changesCard = (before: JobSnapshot | null, after: JobSnapshot): boolean =>
  before === null || (isFinished(after.state) && !isFinished(before.state));

export const cardEvent = (base: JobBase, { state, context }: JobSnapshot): Omit<CardRecordEvent, 'seq' | 'epoch'> => ({
  type: 'card.updated',
  at: context.completedAt ?? base.createdAt,
  cardId: cardIdOf(base.jobId),
  sessionId: callerOf(base),
  jobId: base.jobId,
  status: cardStatusOf(statusOfState(state)),
});
