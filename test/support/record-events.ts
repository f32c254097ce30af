/** Events of the log among all that is told: what is replayed, and how (spec 11). */
import { isVolatileEvent, type OffstageEvent } from '../../src/model/events.ts';

/** Numbered and stored. */
export const isRecordEvent = (event: OffstageEvent): boolean => !isVolatileEvent(event) && event.type !== 'resync';

/** What is known of the instant and not stored. */
const LIVE_FIELDS: ReadonlySet<string> = new Set([
  'foregroundActivity',
  'activeSubagentCount',
  'activityEpoch',
  'sessionSeq',
  'taskSeq',
]);

/** The event as it is replayed: without what only its instant knew. */
export const asReplayed = (event: OffstageEvent): OffstageEvent =>
  Object.fromEntries(Object.entries(event).filter(([name]) => !LIVE_FIELDS.has(name))) as unknown as OffstageEvent;
