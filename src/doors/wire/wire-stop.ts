/**
 * Stop, removal and archive on the wire (spec 13, liveness 11 and 12).
 *
 * WST1  Every list of a report is in what we send, empty ones included: nothing of it stands for "none" by being left out.
 */
import type { ConfirmedAnswer, LiveWork, StopReport } from '../../model/stop.ts';
import { type KeysOfUnion, type Names, rename, renameBack, type WireFields } from './rename.ts';
import { errorFromWire, errorToWire } from './wire-names.ts';
import { entriesFromWire, entriesToWire } from './wire-stop-entries.ts';

const LISTS = {
  stopped: 'stopped',
  recovered: 'recovered',
  alreadyStopping: 'already_stopping',
  detached: 'detached',
  absent: 'absent',
  failed: 'failed',
  loadErrors: 'load_errors',
} as const satisfies Names<Omit<StopReport, 'durable' | 'sourceError'>>;

const LIVE_WORK = {
  generating: 'generating',
  background: 'background',
  activeSubagentCount: 'active_subagent_count',
  jobs: 'jobs',
} as const satisfies Names<LiveWork>;

const CONFIRMED = { done: 'done', warning: 'warning' } as const satisfies Readonly<Record<KeysOfUnion<ConfirmedAnswer>, string>>;

export const stopReportToWire = (report: StopReport): WireFields => ({
  ...Object.fromEntries(
    Object.entries(LISTS).map(([ours, theirs]) => [theirs, entriesToWire(report[ours as keyof typeof LISTS])]),
  ),
  source_error: report.sourceError === null ? null : errorToWire(report.sourceError),
  durable: report.durable,
});

export const stopReportFromWire = (wire: WireFields): StopReport =>
  ({
    ...Object.fromEntries(Object.entries(LISTS).map(([ours, theirs]) => [ours, entriesFromWire(wire[theirs])])),
    sourceError: wire.source_error == null ? null : errorFromWire(wire.source_error as WireFields),
    durable: wire.durable,
  }) as unknown as StopReport;

export function confirmedToWire(answer: ConfirmedAnswer): WireFields {
  const named = rename(answer, CONFIRMED);
  return answer.done ? named : { ...named, [CONFIRMED.warning]: rename(answer.warning, LIVE_WORK) };
}

export function confirmedFromWire(wire: WireFields): ConfirmedAnswer {
  const { warning } = wire;
  const named = renameBack(wire, CONFIRMED);
  return (warning === undefined
    ? named
    : { ...named, warning: renameBack(warning as WireFields, LIVE_WORK) }) as unknown as ConfirmedAnswer;
}
