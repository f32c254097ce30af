/**
 * The durable event log: one segment per batch, written in the batch itself.
 *
 * LOG1  Sequence numbers are gapless; a segment holds the numbers from its key on.
 * LOG2  An event read back equals the event that was published, but for the epoch, which names the reading process. What cannot have been
 *       written is `store.corrupt`: no event is made up of what is left.
 */
import { offstageError } from '../model/errors.ts';
import type { JobRecordEvent, RecordEvent, UnnumberedEvent } from '../model/events.ts';
import { JOB_STATUSES, type JobStatus, type ReasonCode } from '../model/records.ts';
import { KEYS, RANGES } from './row-keys.ts';
import { hasColumns, isBit, isCount, isIdText, isNumber, isObject, isText, ordinalAt, orNull } from './row-shape.ts';
import type { Store, StoreOperation } from './store.ts';

const SEGMENT_VERSION = 1;
const JOB_TYPES = ['job.created', 'job.status'] as const;

type UnnumberedJobEvent = Omit<JobRecordEvent, 'seq' | 'epoch'>;
const isJobEvent = (event: UnnumberedEvent): event is UnnumberedJobEvent =>
  event.type === 'job.created' || event.type === 'job.status';

/** Job events are most of the log: as tuples they take a third of the room and of the time. */
function encodeEvent(event: UnnumberedEvent): unknown {
  if (!isJobEvent(event)) return event;
  return [
    event.type === 'job.created' ? 0 : 1,
    event.at,
    event.jobId,
    event.sessionId,
    event.callerSessionId,
    event.taskId,
    event.parentJobId,
    event.status,
    event.reasonCode,
    event.cancelRequestedAt,
    event.completedAt,
    event.detached ? 1 : 0,
    event.revision,
  ];
}

const [idOrNull, textOrNull, timeOrNull] = [orNull(isIdText), orNull(isText), orNull(isNumber)];
const isStatus = (value: unknown): boolean => JOB_STATUSES.includes(value as JobStatus);
/** In the order of `encodeEvent`. */
const COLUMNS = [
  ...[
    isBit,
    isNumber,
    isIdText,
    isIdText,
    idOrNull,
    isIdText,
    idOrNull,
    isStatus,
    textOrNull,
    timeOrNull,
    timeOrNull,
    isBit,
    isCount,
  ],
];
const OTHER_TYPE = /^(?!job\.)[a-z]+\.[a-z_]+$/;

const isStoredEvent = (stored: unknown): boolean =>
  Array.isArray(stored)
    ? hasColumns(stored, COLUMNS)
    : isObject(stored) && isText(stored.type) && OTHER_TYPE.test(stored.type) && isNumber(stored.at);

function decodeEvent(stored: unknown, seq: number, epoch: string): RecordEvent {
  if (!Array.isArray(stored)) return { ...(stored as UnnumberedEvent), seq, epoch } as RecordEvent;
  return {
    type: JOB_TYPES[stored[0] as 0 | 1],
    seq,
    epoch,
    at: stored[1] as number,
    jobId: stored[2] as string,
    sessionId: stored[3] as string,
    callerSessionId: stored[4] as string | null,
    taskId: stored[5] as string,
    parentJobId: stored[6] as string | null,
    status: stored[7] as JobStatus,
    reasonCode: stored[8] as ReasonCode | null,
    cancelRequestedAt: stored[9] as number | null,
    completedAt: stored[10] as number | null,
    detached: stored[11] === 1,
    revision: stored[12] as number,
  };
}

/** The write of one segment; `events` are numbered from `firstSeq`. */
export function segmentOperation(firstSeq: number, events: readonly UnnumberedEvent[]): StoreOperation {
  return { type: 'put', key: KEYS.events(firstSeq), value: JSON.stringify([SEGMENT_VERSION, ...events.map(encodeEvent)]) };
}

export interface Segment {
  readonly firstSeq: number;
  readonly events: readonly RecordEvent[];
}

/** @throws OffstageError `store.corrupt` */
export function decodeSegment(key: string, value: string, epoch: string): Segment {
  const firstSeq = ordinalAt(key, 2);
  let stored: unknown;
  try {
    stored = JSON.parse(value);
  } catch (cause) {
    throw offstageError(
      'store.corrupt',
      { folder: 'the event log', message: `the segment at ${firstSeq} is not readable` },
      { cause },
    );
  }
  if (!Array.isArray(stored) || stored[0] !== SEGMENT_VERSION || !stored.slice(1).every(isStoredEvent)) {
    throw offstageError('store.corrupt', { folder: 'the event log', message: `the segment at ${firstSeq} has an unknown form` });
  }
  return { firstSeq, events: stored.slice(1).map((event, index) => decodeEvent(event, firstSeq + index, epoch)) };
}

/** Stored events after `cursor`, in order; where the log begins later, or has a gap, the numbers jump. */
export async function* readEvents(store: Store, cursor: number, epoch: string): AsyncGenerator<RecordEvent> {
  // The segment that holds cursor + 1 may start before it: begin with the last one that starts at or before it.
  let start: string = KEYS.events(cursor + 1);
  // Segments of a damaged store may overlap; numbers only grow all the same.
  let last = cursor;
  for await (const entry of store.range({ gte: RANGES.events.gte, lte: start, reverse: true, limit: 1 })) start = entry.key;
  for await (const { key, value } of store.range({ gte: start, lt: RANGES.events.lt })) {
    for (const event of decodeSegment(key, value, epoch).events) {
      if (event.seq <= last) continue;
      last = event.seq;
      yield event;
    }
  }
}

/** The number of the newest event stored, or 0. */
export async function newestSeq(store: Store): Promise<number> {
  for await (const { key, value } of store.range({ ...RANGES.events, reverse: true, limit: 1 })) {
    const segment = decodeSegment(key, value, '');
    return segment.firstSeq + segment.events.length - 1;
  }
  return 0;
}

/** Deletes for whole segments that end before `keepFromSeq` or were written before `keepFromAt`; at most `limit` per call. */
export async function trimOperations(
  store: Store,
  keep: { readonly fromSeq: number; readonly fromAt: number },
  limit: number,
): Promise<readonly StoreOperation[]> {
  const operations: StoreOperation[] = [];
  /** Of those that cannot be read it is not known how old they are, only that what follows is younger. */
  let unreadable: StoreOperation[] = [];
  for await (const { key, value } of store.range({ ...RANGES.events, limit })) {
    const segment = readableSegment(key, value);
    if (segment === null) {
      unreadable.push({ type: 'del', key });
      continue;
    }
    const { firstSeq, events } = segment;
    const last = events.at(-1);
    const isOld = firstSeq + events.length <= keep.fromSeq || (last !== undefined && last.at < keep.fromAt);
    if (!isOld) break;
    operations.push(...unreadable, { type: 'del', key });
    unreadable = [];
  }
  return operations;
}

function readableSegment(key: string, value: string): Segment | null {
  try {
    return decodeSegment(key, value, '');
  } catch {
    return null;
  }
}
