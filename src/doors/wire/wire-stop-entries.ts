/** What a stop says of one agent or job, in its report and in the details of an error. */
import type { JsonValue } from '../../model/json.ts';
import type { StopEntry } from '../../model/stop.ts';
import { type Names, rename, renameBack, type WireFields } from './rename.ts';
import { errorFromWire, errorToWire } from './wire-names.ts';

const ENTRY = {
  sessionId: 'session_id',
  executionId: 'execution_id',
  jobId: 'job_id',
} as const satisfies Names<Omit<StopEntry, 'error'>>;

const entryToWire = (entry: StopEntry): WireFields => ({
  ...rename(entry, ENTRY),
  ...(entry.error === undefined ? {} : errorToWire(entry.error)),
});

function entryFromWire(wire: WireFields): StopEntry {
  const error = errorFromWire(wire);
  return { ...renameBack(wire, ENTRY), ...(error === null ? {} : { error }) } as unknown as StopEntry;
}

export const entriesToWire = (entries: readonly StopEntry[]): readonly WireFields[] => entries.map(entryToWire);
export const entriesFromWire = (wire: JsonValue | undefined): readonly StopEntry[] =>
  ((wire ?? []) as readonly WireFields[]).map(entryFromWire);
