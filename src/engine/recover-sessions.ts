/**
 * What a new process does with the sessions and the waiting prompts of the last one (liveness 13).
 *
 * RVS1  Only marked sessions are read. Nothing of their activity is made up again: it was in memory, and is gone.
 * RVS2  Rows that cannot be read are said, and left as they are: they keep no engine from starting.
 * RVS3  What was settled is not marked any more: the next start has nothing to do with it.
 */
import { decideSession } from '../actors/session-chart.ts';
import type { UnnumberedEvent } from '../model/events.ts';
import { LIMITS } from '../model/limits.ts';
import type { SessionRow } from '../model/records.ts';
import type { Log } from '../model/requests.ts';
import { decodeId } from '../persistence/key-encoding.ts';
import { KEYS, RANGES } from '../persistence/row-keys.ts';
import {
  isOpenSession,
  isRemoved,
  readSessionRow,
  readTicket,
  removeTicketOperation,
  sessionOperations,
} from '../persistence/session-rows.ts';
import type { Store, StoreOperation } from '../persistence/store.ts';

/** What belongs in one batch; worked out when its batch is built. */
export type RecoveryStep = () => { readonly operations: readonly StoreOperation[]; readonly events?: readonly UnnumberedEvent[] };

/** A prompt that waited when its process died, and will not be served. */
export interface LostTicket {
  readonly ticketId: string;
  readonly promptId: string;
  readonly sessionId: string;
}

interface Found<Of> {
  readonly steps: readonly RecoveryStep[];
  readonly told: readonly Of[];
}

/** Told are the ids of the sessions whose turn, or launch, was cut off. `now` in epoch milliseconds. */
export async function settleOpenSessions(store: Store, log: Log, now: () => number): Promise<Found<string>> {
  const steps: RecoveryStep[] = [];
  const told: string[] = [];
  let marks: string[] = [];
  const readMarked = async (): Promise<void> => {
    const ids = marks.flatMap((key) => readable(log, key, () => decodeId(key.slice(2))));
    marks = [];
    const values = await store.getMany(ids.map((id) => KEYS.session(id)));
    for (const [index, sessionId] of ids.entries()) {
      for (const row of readable(log, KEYS.session(sessionId), () => storedRow(values[index]))) {
        if (isRemoved(row) || !isOpenSession(row)) {
          steps.push(() => ({ operations: [{ type: 'del', key: KEYS.openSession(sessionId) }] }));
          continue;
        }
        if (isCutOff(row)) told.push(sessionId);
        steps.push(() => settle(row, now()));
      }
    }
  };
  for await (const { key } of store.range(RANGES.openSessions)) {
    marks.push(key);
    if (marks.length === LIMITS.changesPerBatch) await readMarked();
  }
  await readMarked();
  return { steps, told };
}

export async function loseTickets(store: Store, log: Log): Promise<Found<LostTicket>> {
  const steps: RecoveryStep[] = [];
  const told: LostTicket[] = [];
  for await (const { key, value } of store.range(RANGES.tickets)) {
    for (const { ticketId, promptId, sessionId } of readable(log, key, () => readTicket(value))) {
      told.push({ ticketId, promptId, sessionId });
      steps.push(() => ({ operations: [removeTicketOperation(ticketId)] }));
    }
  }
  return { steps, told };
}

const isCutOff = ({ state }: SessionRow): boolean => state === 'starting' || state === 'running';

function settle(row: SessionRow, now: number): ReturnType<RecoveryStep> {
  // A request in a state that takes none is no state of the chart; it is cleared all the same.
  const decided = decideSession({ ...row, launchedFrom: null }, { type: 'process.died' }) ?? { ...row, pending: null };
  const { state, interrupted, pending } = decided;
  const updatedAt = Math.max(now, row.createdAt);
  const after: SessionRow = { ...row, state, interrupted, pending, updatedAt, revision: row.revision + 1 };
  const { sessionId, taskId } = after;
  return {
    operations: sessionOperations(after),
    events: [{ type: 'session.state_changed', at: updatedAt, sessionId, taskId, oldState: row.state, newState: state }],
  };
}

function storedRow(value: string | undefined): NonNullable<ReturnType<typeof readSessionRow>> {
  const row = readSessionRow(value);
  if (row === null) throw new Error('it is marked as open, and there is no row');
  return row;
}

/** What `read` answers, or nothing (RVS2). */
function readable<Result>(log: Log, key: string, read: () => Result): readonly Result[] {
  try {
    return [read()];
  } catch (error) {
    log('error', 'row.unreadable', { key, error: (error as Error).message });
    return [];
  }
}
