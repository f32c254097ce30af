/**
 * How a job lies in the store: one versioned row of plain JSON, with a path from every older version to this one.
 *
 * COD1  A row read back gives exactly the record that was written.
 * COD2  Every row starts with its version; a newer one than this code knows is refused, an older one is upgraded step by step.
 * COD3  Large immutable parts (input, description) are written once, beside the row, never again with it.
 * COD4  A row is encoded from its own snapshot, not from what the job has become meanwhile.
 * COD5  A row whose columns are not of their types is refused: no record is made up of what is left.
 */
import { type JobChartContext, NEW_JOB } from '../machines/job.ts';
import { cardIdOf } from '../model/cards.ts';
import { offstageError } from '../model/errors.ts';
import type { JsonValue } from '../model/json.ts';
import type { CancelCode, ContextMode, HistoryEntry, JobError, JobRecord, JobStatus, ReasonCode } from '../model/records.ts';
import { hasColumns, isBit, isCount, isIdText, isNumber, isObject, isText, orNull } from './row-shape.ts';

/** What acceptance fixed for good. */
export interface JobBase {
  /** Creation order in this store; also the key. */
  readonly ordinal: number;
  readonly jobId: string;
  readonly kind: string;
  readonly subject: string;
  readonly description: string;
  readonly agentId: string | null;
  readonly input: JsonValue;
  readonly createdAt: number;
  readonly sessionId: string;
  readonly callerSessionId: string | null;
  readonly taskId: string;
  readonly parentJobId: string | null;
  readonly parentMessageId: string | null;
  readonly contextMode: ContextMode;
  readonly wait: boolean;
  readonly timeoutMs: number | null;
  readonly idleTimeoutMs: number | null;
  /** Its caller's agent is told when it has ended (spec 9). */
  readonly notifies: boolean;
  /** Levels of parents above. */
  readonly depth: number;
  /** Input and description lie in their own row. */
  readonly isLarge: boolean;
}

/** The chart's state, flat: what `resolveState` needs besides the context. */
export type JobState = 'pending' | 'queued' | 'active' | 'ending' | 'completed' | 'cancelled' | 'errored';

/** One decided state of a job; immutable. */
export interface JobSnapshot {
  readonly state: JobState;
  readonly context: JobChartContext;
  readonly lastActivityAt: number | null;
  /** Facts of the history that the record does not hold itself. */
  readonly notes: readonly HistoryEntry[];
}

export interface StoredJob {
  readonly base: JobBase;
  readonly snapshot: JobSnapshot;
  readonly revision: number;
}

export const JOB_ROW_VERSION = 1;

/** Larger inputs and descriptions get a row of their own: 8 KiB cost 22 µs with every rewrite. */
export const LARGE_CHARACTERS = 1024;

const STATES: readonly JobState[] = ['pending', 'queued', 'active', 'ending', 'completed', 'cancelled', 'errored'];

export const statusOfState = (state: JobState): JobStatus => (state === 'active' || state === 'ending' ? 'running' : state);
export const isFinished = (state: JobState): boolean => state === 'completed' || state === 'cancelled' || state === 'errored';

export function encodeJobRow(base: JobBase, snapshot: JobSnapshot, revision: number): string {
  const context = snapshot.context;
  return JSON.stringify([
    JOB_ROW_VERSION,
    base.ordinal,
    base.jobId,
    base.kind,
    base.subject,
    base.isLarge ? null : base.description,
    base.agentId,
    base.isLarge ? null : base.input,
    base.createdAt,
    base.sessionId,
    base.callerSessionId,
    base.taskId,
    base.parentJobId,
    base.parentMessageId,
    base.contextMode === 'clean' ? 1 : 0,
    base.wait ? 1 : 0,
    base.timeoutMs,
    base.idleTimeoutMs,
    // Once the id of its card, which follows from its own.
    null,
    base.depth,
    base.isLarge ? 1 : 0,
    revision,
    STATES.indexOf(snapshot.state),
    snapshot.lastActivityAt,
    context.queuedAt,
    context.startedAt,
    context.completedAt,
    context.cause,
    context.causeMessage,
    context.cancelRequestedAt,
    context.cancelReason,
    context.cancelCode,
    context.reasonCode,
    context.error,
    context.resultText,
    context.result,
    context.headId,
    context.sourceCommitId,
    context.detached ? 1 : 0,
    snapshot.notes.length === 0 ? 0 : snapshot.notes,
    base.notifies ? 1 : 0,
  ]);
}

export const encodeLargePart = (base: JobBase): string => JSON.stringify([base.description, base.input]);

export type Row = readonly unknown[];

/** `UPGRADES[n]` turns a row of version n into one of version n + 1. */
const UPGRADES: Readonly<Record<number, (row: Row) => Row>> = {};

const isAnything = (value: unknown): boolean => value !== undefined;
const isNote = (note: unknown): boolean =>
  isObject(note) && isNumber(note.at) && isText(note.type) && Object.hasOwn(RANK, note.type) && isTextOrNone(note.detail);
const isTextOrNone = (value: unknown): boolean => value === undefined || isText(value);
const isJobError = (value: unknown): boolean => isObject(value) && isText(value.code) && isText(value.message);
const [textOrNull, idOrNull, numberOrNull] = [orNull(isText), orNull(isIdText), orNull(isNumber)];

/** COD5, in the order of `encodeJobRow`. */
const COLUMNS = [
  ...[isAnything, isCount, isIdText, isText, isText, textOrNull, textOrNull, isAnything, isNumber],
  ...[isIdText, idOrNull, isIdText, idOrNull, textOrNull, isBit, isBit, numberOrNull, numberOrNull],
  ...[textOrNull, isCount, isBit, isCount, isCount, numberOrNull, numberOrNull, numberOrNull, numberOrNull],
  ...[textOrNull, textOrNull, numberOrNull, textOrNull, textOrNull, textOrNull, orNull(isJobError), textOrNull, isAnything],
  ...[textOrNull, textOrNull, isBit],
  (notes: unknown) => notes === 0 || (Array.isArray(notes) && notes.every(isNote)),
];

/** @throws OffstageError `store.corrupt` when the text is no row, or one of a newer version */
export function decodeJobRow(stored: Row, largePart: string | undefined, upgrades = UPGRADES): StoredJob {
  let row = stored;
  for (let version = row[0]; version !== JOB_ROW_VERSION; version = row[0]) {
    const upgrade = typeof version === 'number' ? upgrades[version] : undefined;
    if (upgrade === undefined) {
      throw corrupt(`a job row has version ${JSON.stringify(version)}, and this release knows up to ${JOB_ROW_VERSION}`);
    }
    row = upgrade(row);
  }
  if (!hasColumns(row, COLUMNS)) throw corrupt('a job row has a column that is not of its type');
  const isLarge = row[20] === 1;
  if (isLarge && largePart === undefined) throw corrupt(`the input of job ${String(row[2])} is missing`);
  const [description, input] = isLarge ? parseRow(largePart as string) : [row[5], row[7]];
  if (!isText(description) || input === undefined)
    throw corrupt(`the description or the input of job ${String(row[2])} is missing`);
  const state = STATES[row[22] as number];
  if (state === undefined) throw corrupt(`a job row has the state ${String(row[22])}`);
  return {
    base: {
      ordinal: row[1] as number,
      jobId: row[2] as string,
      kind: row[3] as string,
      subject: row[4] as string,
      description,
      agentId: row[6] as string | null,
      input: input as JsonValue,
      createdAt: row[8] as number,
      sessionId: row[9] as string,
      callerSessionId: row[10] as string | null,
      taskId: row[11] as string,
      parentJobId: row[12] as string | null,
      parentMessageId: row[13] as string | null,
      contextMode: row[14] === 1 ? 'clean' : 'inherit',
      wait: row[15] === 1,
      timeoutMs: row[16] as number | null,
      idleTimeoutMs: row[17] as number | null,
      notifies: row[40] === 1,
      depth: row[19] as number,
      isLarge,
    },
    revision: row[21] as number,
    snapshot: {
      state,
      lastActivityAt: row[23] as number | null,
      context: {
        queuedAt: row[24] as number | null,
        startedAt: row[25] as number | null,
        completedAt: row[26] as number | null,
        cause: row[27] as JobChartContext['cause'],
        causeMessage: row[28] as string | null,
        cancelRequestedAt: row[29] as number | null,
        cancelReason: row[30] as string | null,
        cancelCode: row[31] as CancelCode | null,
        reasonCode: row[32] as ReasonCode | null,
        error: row[33] as JobError | null,
        resultText: row[34] as string | null,
        result: row[35] as JsonValue,
        headId: row[36] as string | null,
        sourceCommitId: row[37] as string | null,
        detached: row[38] === 1,
      },
      notes: row[39] === 0 ? [] : (row[39] as readonly HistoryEntry[]),
    },
  };
}

/** True when decoding the row needs its large part. */
export const needsLargePart = (row: Row): boolean => row[20] === 1;

/** @throws OffstageError `store.corrupt` */
export function parseRow(text: string): Row {
  let row: unknown;
  try {
    row = JSON.parse(text);
  } catch (error) {
    throw corrupt('a row is not readable', error);
  }
  if (!Array.isArray(row)) throw corrupt('a row has an unknown form');
  return row;
}

const corrupt = (message: string, cause?: unknown) =>
  offstageError('store.corrupt', { folder: 'the store', message }, cause === undefined ? undefined : { cause });

/** The public record of a snapshot. */
export function toRecord(base: JobBase, snapshot: JobSnapshot, revision: number): JobRecord {
  const context = snapshot.context;
  return {
    jobId: base.jobId,
    kind: base.kind,
    subject: base.subject,
    description: base.description,
    agentId: base.agentId,
    input: base.input,
    status: statusOfState(snapshot.state),
    createdAt: base.createdAt,
    queuedAt: context.queuedAt,
    startedAt: context.startedAt,
    completedAt: context.completedAt,
    lastActivityAt: snapshot.lastActivityAt,
    sessionId: base.sessionId,
    callerSessionId: base.callerSessionId,
    taskId: base.taskId,
    parentJobId: base.parentJobId,
    parentMessageId: base.parentMessageId,
    contextMode: base.contextMode,
    wait: base.wait,
    headId: context.headId,
    sourceCommitId: context.sourceCommitId,
    resultText: context.resultText,
    result: context.result,
    error: context.error,
    reasonCode: context.reasonCode,
    cancelRequestedAt: context.cancelRequestedAt,
    cancelReason: context.cancelReason,
    detached: context.detached,
    attempt: 0,
    timeoutMs: base.timeoutMs,
    idleTimeoutMs: base.idleTimeoutMs,
    cardId: cardIdOf(base.jobId),
    revision,
  };
}

/** For ties in time: the order in which these things happen. */
const RANK: Readonly<Record<HistoryEntry['type'], number>> = {
  transition: 0,
  process_launched: 1,
  note: 2,
  cancel_requested: 3,
  ending: 4,
  late_result_dropped: 6,
  detached_settled: 7,
  now: 8,
};

/** The whole history: transitions stand in the record as times, everything else in the notes. */
export function historyOf(base: JobBase, snapshot: JobSnapshot): readonly HistoryEntry[] {
  const { queuedAt, startedAt, completedAt, cancelRequestedAt, cancelReason, reasonCode, error } = snapshot.context;
  const entries: HistoryEntry[] = [{ at: base.createdAt, type: 'transition', to: 'pending' }];
  let last: JobStatus = 'pending';
  const step = (at: number | null, to: JobStatus, more: Partial<HistoryEntry> = {}): void => {
    if (at === null) return;
    entries.push({ at, type: 'transition', from: last, to, ...more });
    last = to;
  };
  step(queuedAt, 'queued');
  step(startedAt, 'running');
  if (cancelRequestedAt !== null) {
    entries.push({ at: cancelRequestedAt, type: 'cancel_requested', ...(cancelReason === null ? {} : { detail: cancelReason }) });
  }
  if (isFinished(snapshot.state)) {
    step(completedAt, statusOfState(snapshot.state), {
      ...(reasonCode === null ? {} : { reasonCode }),
      ...(error === null ? {} : { detail: error.message }),
    });
  }
  entries.push(...snapshot.notes);
  const rank = (entry: HistoryEntry): number =>
    entry.type === 'transition' && entry.to === statusOfState(snapshot.state) && isFinished(snapshot.state)
      ? 5
      : RANK[entry.type];
  return entries
    .map((entry, index) => ({ entry, index }))
    .sort((a, b) => a.entry.at - b.entry.at || rank(a.entry) - rank(b.entry) || a.index - b.index)
    .map(({ entry }) => entry);
}

/** A snapshot of a job that nothing has happened to yet; for tests and templates. */
export const NEW_SNAPSHOT: JobSnapshot = { state: 'pending', context: NEW_JOB, lastActivityAt: null, notes: [] };
