/**
 * The actors that one connection to `/inspect` has told of. No DOM.
 *
 * WIA1  XState's ids are good for one connection: they begin anew with the host, and so does this.
 * WIA2  What has ended stays for those who look at it, and is bounded.
 */
import { activePaths, type ChartName, type LastEdge } from './chart-states.ts';

export interface InspectedActor {
  readonly machine: ChartName;
  /** `job job_1 "subject"`. */
  readonly name: string;
  readonly isOver: boolean;
  readonly active: readonly string[];
  readonly lastEdge: LastEdge | null;
  /** Epoch milliseconds. */
  readonly changedAt: number;
}

interface Frame {
  readonly type?: unknown;
  readonly sessionId?: unknown;
  readonly name?: unknown;
  readonly createdAt?: unknown;
  readonly event?: { readonly type?: unknown };
  readonly snapshot?: { readonly status?: unknown; readonly value?: unknown };
}

const MACHINES: Readonly<Record<string, ChartName>> = {
  job: 'job',
  activity: 'session-activity',
  task: 'task',
  supervisor: 'supervisor',
};

const MOST_ACTORS = 1_000;

/** What one connection has told of. */
export class InspectedActors {
  readonly #actors = new Map<string, InspectedActor>();

  list(): readonly InspectedActor[] {
    return [...this.#actors.values()];
  }

  /** Whether something that is shown has changed. Frames that it does not know are passed over. */
  take(data: unknown): boolean {
    const frame = parsed(data);
    if (frame === null || typeof frame.sessionId !== 'string') return false;
    const { sessionId } = frame;
    if (frame.type === '@xstate.actor') return this.#begin(sessionId, frame);
    if (frame.type === '@xstate.snapshot') return this.#change(sessionId, frame);
    return false;
  }

  #begin(id: string, frame: Frame): boolean {
    const name = String(frame.name);
    const machine = MACHINES[name.split(' ')[0] ?? ''];
    if (machine === undefined) return false;
    this.#actors.set(id, { machine, name, lastEdge: null, ...stateOf(frame) });
    return true;
  }

  #change(id: string, frame: Frame): boolean {
    const before = this.#actors.get(id);
    if (before === undefined) return false;
    const state = stateOf(frame);
    const event = String(frame.event?.type ?? '');
    const hasMoved = state.active.join() !== before.active.join();
    const lastEdge = hasMoved ? { event, from: before.active, to: state.active } : before.lastEdge;
    this.#actors.set(id, { ...before, ...state, lastEdge });
    if (state.isOver) this.#forgetOldEnds();
    return true;
  }

  #forgetOldEnds(): void {
    for (const [id, { isOver }] of this.#actors) {
      if (this.#actors.size <= MOST_ACTORS) return;
      if (isOver) this.#actors.delete(id);
    }
  }
}

function parsed(data: unknown): Frame | null {
  try {
    const frame: unknown = JSON.parse(String(data));
    return typeof frame === 'object' && frame !== null ? frame : null;
  } catch {
    return null;
  }
}

const stateOf = ({ snapshot, createdAt }: Frame) => ({
  active: activePaths(snapshot?.value),
  isOver: snapshot?.status !== 'active',
  changedAt: Number(createdAt),
});
