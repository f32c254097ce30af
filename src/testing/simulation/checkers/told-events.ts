/** Record events as they are stored and as they are told, and how to compare the two. */
import type { OffstageEvent, RecordEvent } from '../../../model/events.ts';
import { decodeSegment } from '../../../persistence/event-log.ts';
import type { StoreOperation } from '../../../persistence/store.ts';
import { differingField } from './stored-jobs.ts';

/** What the engine adds to an event that it tells live, and stores of none; the epoch names the life in which it is read. */
const LIVE_ONLY = new Set(['epoch', 'foregroundActivity', 'activeSubagentCount', 'activityEpoch', 'sessionSeq', 'taskSeq']);

/** The field in which they differ, but for what is only told live; null: none. */
export const differenceOf = (one: OffstageEvent, other: OffstageEvent): string | null => differingField(one, other, LIVE_ONLY);

/** What a batch adds to the log, in order. */
export const eventsOf = (operations: readonly StoreOperation[]): readonly RecordEvent[] =>
  operations.flatMap((operation) =>
    operation.type === 'put' && operation.key.startsWith('e/') && !operation.key.endsWith('~')
      ? decodeSegment(operation.key, operation.value, '').events
      : [],
  );

export const textOf = (value: unknown): string => JSON.stringify(value) ?? 'nothing';
