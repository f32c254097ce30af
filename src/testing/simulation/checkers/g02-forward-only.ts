/**
 * G2: status only moves forward along the chart.
 *
 * FWD1  Judged by stored states, batch by batch (one batch may hold several steps of a job), and by events, which tell every step.
 * FWD2  What acceptance fixed stays, and so does every time and every cause once it is set; times are in order, also when the wall clock jumps.
 * FWD3  An end fits what led to it: its reason, its error, and whether the body had been at work.
 */
import { isDeepStrictEqual } from 'node:util';
import type { JobRecordEvent } from '../../../model/events.ts';
import { isTerminal, type JobRecord, type JobStatus, type ReasonCode } from '../../../model/records.ts';
import type { JobState } from '../../../persistence/job-codec.ts';
import { type Check, type Checker, type Violate, violating } from '../checker.ts';
import type { Fact } from '../facts.ts';
import type { Known, StoredJob } from '../known.ts';
import { stepsOf } from './stored-jobs.ts';
import { textOf } from './told-events.ts';

const violate: Violate = violating('G2');

const RANK: Readonly<Record<JobState, number>> = {
  pending: 0,
  queued: 1,
  active: 2,
  ending: 3,
  completed: 4,
  cancelled: 4,
  errored: 4,
};

const FIXED = [
  'jobId',
  'kind',
  'subject',
  'description',
  'agentId',
  'input',
  'createdAt',
  'sessionId',
  'callerSessionId',
  'taskId',
  'parentJobId',
  'parentMessageId',
  'contextMode',
  'wait',
  'attempt',
  'timeoutMs',
  'idleTimeoutMs',
  'cardId',
] as const;
/** Null until they are set, and then the same for ever. */
const SET_ONCE = ['queuedAt', 'startedAt', 'completedAt', 'cancelRequestedAt', 'cancelReason', 'reasonCode', 'error'] as const;

const REASONS: Readonly<Record<'completed' | 'cancelled' | 'errored', readonly ReasonCode[]>> = {
  completed: ['completed'],
  cancelled: ['cancel.user', 'cancel.parent', 'cancel.caller_gone', 'cancel.stop', 'cancel.timed_out'],
  errored: ['failed', 'timed_out', 'idle_timed_out', 'abandoned.crash', 'abandoned.shutdown', 'worker_died'],
};
const FORCED: readonly (ReasonCode | null)[] = [
  'cancel.timed_out',
  'timed_out',
  'idle_timed_out',
  'abandoned.crash',
  'abandoned.shutdown',
];
const isAbandoned = (reason: ReasonCode | null): boolean => reason === 'abandoned.crash' || reason === 'abandoned.shutdown';

export const forwardOnly: Checker = {
  guarantee: 'G2',
  promise: 'status only moves forward along the chart',
  begin(): Check {
    /** By observer, by job: the last event told of it. */
    const told = new Map<number, Map<string, JobRecordEvent>>();
    return (fact, known) => {
      switch (fact.type) {
        case 'opened':
          told.clear();
          break;
        case 'attached':
          told.delete(fact.observer);
          break;
        case 'wrote':
          judgeStored(known);
          break;
        case 'told':
          judgeTold(fact, told);
          break;
        default:
      }
    };
  },
};

function judgeStored(known: Known): void {
  const { born, changed } = stepsOf(known.changes);
  for (const job of born) {
    const { jobId } = job.record;
    // A start is decided when the acceptance is stored, so it is of a later batch.
    if (job.record.startedAt !== null) violate(`${jobId} was stored for the first time as ${job.state}, and had been started`);
    judgeRecord(job);
  }
  for (const { before, after } of changed) {
    judgeRecord(after);
    judgeStep(before, after);
  }
}

function judgeStep(before: StoredJob, after: StoredJob): void {
  const { jobId } = after.record;
  const [from, to] = [before.state, after.state];
  if (RANK[to] < RANK[from] || (RANK[to] === RANK[from] && to !== from)) violate(`${jobId} went from ${from} to ${to}`);
  for (const name of FIXED) {
    if (before.record[name] !== after.record[name] && !isDeepStrictEqual(before.record[name], after.record[name]))
      violate(`${jobId} has changed its ${name}`);
  }
  for (const name of SET_ONCE) {
    if (before.record[name] !== null && !isDeepStrictEqual(before.record[name], after.record[name]))
      violate(`${jobId} has changed its ${name} from ${textOf(before.record[name])} to ${textOf(after.record[name])}`);
  }
  const { revision } = after.record;
  if (revision < before.record.revision) violate(`${jobId} went from revision ${before.record.revision} to ${revision}`);
  // One that could not be told apart from an earlier one by its number.
  if (revision === before.record.revision && !isDeepStrictEqual(before.record, after.record))
    violate(`${jobId} has changed, and is of revision ${revision} as before`);
}

/** FWD2, FWD3: what holds of every stored state by itself. */
function judgeRecord({ state, record }: StoredJob): void {
  const { jobId, createdAt, queuedAt, startedAt, completedAt, cancelRequestedAt } = record;
  const wrong: Violate = (what) => violate(`${jobId}, ${state}: ${what}`);
  const times = [createdAt, queuedAt, startedAt, completedAt].filter((time) => time !== null);
  if (times.some((time, index) => time < (times[index - 1] ?? time)))
    wrong(`created, queued, started, completed at ${textOf([createdAt, queuedAt, startedAt, completedAt])}`);
  if (cancelRequestedAt !== null && (cancelRequestedAt < createdAt || cancelRequestedAt > (completedAt ?? cancelRequestedAt)))
    wrong(`its cancel was requested at ${cancelRequestedAt}, created ${createdAt}, completed ${textOf(completedAt)}`);
  if ((queuedAt === null) !== (state === 'pending') && !isTerminal(record.status)) wrong(`queuedAt is ${textOf(queuedAt)}`);
  if (startedAt !== null && queuedAt === null) wrong('started, and never queued');
  if (!isTerminal(record.status)) {
    if ((startedAt !== null) !== (record.status === 'running')) wrong(`startedAt is ${textOf(startedAt)}`);
    if (cancelRequestedAt !== null && state !== 'ending') wrong('its cancel was requested, and it goes on');
    const early = (['completedAt', 'reasonCode', 'error', 'resultText', 'result', 'headId', 'sourceCommitId'] as const).find(
      (name) => record[name] !== null,
    );
    if (early !== undefined || record.detached) wrong(`it has ${early ?? 'detached'} before its end`);
    return;
  }
  if (completedAt === null) wrong('completedAt is null');
  judgeEnd(record, wrong);
}

function judgeEnd(record: JobRecord, wrong: Violate): void {
  const { status, startedAt, completedAt, reasonCode, error, cancelRequestedAt, detached } = record;
  if (reasonCode === null || !REASONS[status as keyof typeof REASONS].includes(reasonCode))
    wrong(`its reason is ${textOf(reasonCode)}`);
  if (status === 'completed' ? error !== null : error === null || error.message === '') wrong(`its error is ${textOf(error)}`);
  if (status === 'cancelled' && (cancelRequestedAt === null || error?.code !== 'job.cancelled'))
    wrong(`cancelRequestedAt is ${textOf(cancelRequestedAt)}, its error ${textOf(error)}`);
  if (detached && !FORCED.includes(reasonCode)) wrong(`it is detached, and its reason is ${textOf(reasonCode)}`);
  if (reasonCode === 'cancel.timed_out' && !detached) wrong('its cancel timed out, and it is not detached');
  // The first cause wins: after a request to cancel there is no other end but that of the process.
  if (cancelRequestedAt !== null && status !== 'cancelled' && reasonCode !== 'abandoned.crash')
    wrong(`its cancel was requested, and its reason is ${textOf(reasonCode)}`);
  if (startedAt !== null) return;
  if (status === 'completed' || (status === 'errored' && !isAbandoned(reasonCode))) wrong('it never started');
  if (status === 'cancelled' && cancelRequestedAt !== completedAt)
    wrong(`it never started, its cancel was requested at ${textOf(cancelRequestedAt)}, and it ended at ${textOf(completedAt)}`);
  if (detached && reasonCode !== 'abandoned.crash') wrong('it never started, and is detached');
}

function judgeTold({ observer, event }: Extract<Fact, { type: 'told' }>, told: Map<number, Map<string, JobRecordEvent>>): void {
  const last = told.get(observer) ?? new Map<string, JobRecordEvent>();
  told.set(observer, last);
  if (event.type === 'resync') last.clear();
  if (event.type !== 'job.created' && event.type !== 'job.status') return;
  const { jobId, status } = event;
  const before = last.get(jobId);
  last.set(jobId, event);
  const wrong: Violate = (what) => violate(`observer ${observer}, event ${event.seq}: ${jobId} ${what}`);
  if (event.type === 'job.created' && (status !== 'pending' || before !== undefined))
    wrong(before === undefined ? `was created ${status}` : `was created again, and had been ${before.status}`);
  if (event.type === 'job.status' && status === 'pending') wrong('went to pending');
  if (isTerminal(status) !== (event.completedAt !== null) || isTerminal(status) !== (event.reasonCode !== null))
    wrong(`is ${status}, completed at ${textOf(event.completedAt)} for the reason ${textOf(event.reasonCode)}`);
  if (event.detached && !FORCED.includes(event.reasonCode)) wrong(`is detached for the reason ${textOf(event.reasonCode)}`);
  if (before === undefined) return;
  if (!follows(before, event)) wrong(`went from ${before.status} to ${status} (${textOf(event.reasonCode)})`);
  if (event.at < before.at) wrong(`is told of as of ${event.at}, after ${before.at}`);
  // The acceptance is one change, and two events.
  if (event.revision < before.revision + (before.type === 'job.created' ? 0 : 1))
    wrong(`is of revision ${event.revision}, after ${before.revision}`);
  if (before.cancelRequestedAt !== null && event.cancelRequestedAt !== before.cancelRequestedAt)
    wrong(`had been asked to end at ${before.cancelRequestedAt}, and now at ${textOf(event.cancelRequestedAt)}`);
}

/** The chart, as events tell it. */
function follows(before: JobRecordEvent, { status, reasonCode, cancelRequestedAt }: JobRecordEvent): boolean {
  const ways: Readonly<Partial<Record<JobStatus, readonly JobStatus[]>>> = {
    pending: ['queued', 'cancelled', 'errored'],
    queued: ['running', 'cancelled', 'errored'],
    running: ['running', 'completed', 'cancelled', 'errored'],
  };
  if (ways[before.status]?.includes(status) !== true) return false;
  if (before.status !== 'running') return status !== 'errored' || isAbandoned(reasonCode);
  // No transition: it was asked to end.
  return status !== 'running' || (before.cancelRequestedAt === null && cancelRequestedAt !== null);
}
