/**
 * Follows live actors over `/inspect`, in the protocol of `@statelyai/inspect`: which states are on, and how they got there.
 *
 * WIF1  Actors are known by their own ids, never by XState's, which begin anew with the host: each connection begins with nothing.
 * WIF2  It reconnects while it is followed. Meanwhile it says `unavailable`, and keeps nothing.
 * WIF3  What has ended stays for those who look at it, and is bounded.
 */
import { useEffect, useState } from 'preact/hooks';
import { closeQuietly } from '../view/close-quietly.ts';
import { activePaths, type ChartName, type LastEdge } from './chart-states.ts';

export interface InspectFilter {
  readonly jobId?: string | undefined;
  readonly sessionId?: string | undefined;
  readonly taskId?: string | undefined;
}

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

export interface InspectFeed {
  readonly status: 'connecting' | 'open' | 'unavailable';
  readonly actors: readonly InspectedActor[];
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

const COALESCED_MS = 50;
const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 10_000;
const MOST_ACTORS = 1_000;

const CONNECTING: InspectFeed = { status: 'connecting', actors: [] };
const UNAVAILABLE: InspectFeed = { status: 'unavailable', actors: [] };

/** The live actors that match, while the component is mounted; null follows nothing. */
export function useInspectFeed(filter: InspectFilter | null): InspectFeed {
  const [feed, setFeed] = useState(CONNECTING);
  const address = filter === null ? null : inspectAddress(filter);
  useEffect(() => {
    setFeed(CONNECTING);
    return address === null ? undefined : followInspector(address, setFeed);
  }, [address]);
  return address === null ? UNAVAILABLE : feed;
}

export function inspectAddress({ jobId, sessionId, taskId }: InspectFilter, base: string = document.baseURI): string {
  const url = new URL('inspect', base);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  url.hash = '';
  const query = { job: jobId, session: sessionId, task: taskId };
  for (const [key, id] of Object.entries(query)) if (id !== undefined) url.searchParams.set(key, id);
  return url.href;
}

/** @returns a function that ends it */
export function followInspector(address: string, onChange: (feed: InspectFeed) => void): () => void {
  let webSocket: WebSocket | null = null;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let retryMs = FIRST_RETRY_MS;
  let telling: ReturnType<typeof setTimeout> | undefined;
  let isOver = false;

  const connect = (): void => {
    const actors = new InspectedActors();
    const socket = new WebSocket(address);
    webSocket = socket;
    const tell = (): void => {
      telling ??= setTimeout(() => {
        telling = undefined;
        onChange({ status: 'open', actors: actors.list() });
      }, COALESCED_MS);
    };
    socket.onopen = () => {
      retryMs = FIRST_RETRY_MS;
      tell();
    };
    socket.onmessage = ({ data }) => {
      if (actors.take(data)) tell();
    };
    socket.onclose = () => {
      clearTimeout(telling);
      telling = undefined;
      if (isOver) return;
      onChange(UNAVAILABLE);
      retry = setTimeout(connect, retryMs * (0.75 + Math.random() / 2));
      retryMs = Math.min(LAST_RETRY_MS, retryMs * 2);
    };
  };

  connect();
  return () => {
    isOver = true;
    clearTimeout(retry);
    clearTimeout(telling);
    if (webSocket !== null) closeQuietly(webSocket);
  };
}

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
