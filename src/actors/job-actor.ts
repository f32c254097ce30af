/**
 * Job charts brought to life. Every job actor is a child of one roster in the supervisor's system, at constant cost per job.
 *
 * ACT1  A queued job, and one that a dead process left, need no actor: `queuedContext` and `crashedContext` are what the chart decides for them.
 * ACT2  All job actors share one actor id, so that XState's caches do not grow with every job ever run.
 */
import { type ActorRefFrom, createActor } from 'xstate';
import { abandonedFields, CRASH_MESSAGE, type JobChartContext, type JobEvent, jobMachine, NEW_JOB } from '../machines/job.ts';
import type { JobStatus } from '../model/records.ts';
import type { Roster } from './supervisor-actor.ts';

export type JobActor = ActorRefFrom<typeof jobMachine>;
type JobSnapshot = ReturnType<JobActor['getSnapshot']>;

const TEMPLATES = {
  pending: jobMachine.resolveState({ value: 'pending', context: NEW_JOB }),
  queued: jobMachine.resolveState({ value: 'queued', context: NEW_JOB }),
  running: jobMachine.resolveState({ value: { running: 'active' }, context: NEW_JOB }),
};

/** What the chart makes of a job that is accepted and queued in one step. */
export const queuedContext = (at: number): JobChartContext => ({ ...NEW_JOB, queuedAt: at });

/** What the chart makes of any unfinished job of a process that died; a thousand actors would be half of what a start takes. */
export const crashedContext = (context: JobChartContext, at: number, detail: string | null): JobChartContext => ({
  ...context,
  ...abandonedFields({ at, code: 'abandoned.crash', message: CRASH_MESSAGE, detail }),
});

// The snapshots below are resolved already; XState would resolve them again for every job, at a fifth of the price of an actor.
const resolvedJobMachine = Object.create(jobMachine, {
  restoreSnapshot: { value: (snapshot: unknown) => snapshot },
}) as typeof jobMachine;

/** Starts the actor of one job in the given unfinished state. */
export function startJobActor(roster: Roster, state: 'pending' | 'queued' | 'running', context: JobChartContext): JobActor {
  const template = TEMPLATES[state];
  const actor = createActor(resolvedJobMachine, { id: 'job', parent: roster, snapshot: { ...template, context } as JobSnapshot });
  actor.start();
  return actor;
}

/** The new chart context if the chart took the event, else null. */
export function decide(actor: JobActor, event: JobEvent): JobChartContext | null {
  const before = actor.getSnapshot();
  if (before.status !== 'active') return null;
  actor.send(event);
  const after = actor.getSnapshot();
  return after === before ? null : after.context;
}

/** The record's status for an actor's state. */
export function statusOf(actor: JobActor): JobStatus {
  const value = actor.getSnapshot().value;
  return typeof value === 'string' ? value : 'running';
}

export const isEnding = (actor: JobActor): boolean => actor.getSnapshot().hasTag('ending');
