/**
 * Follows live actors over `/inspect`, in the protocol of `@statelyai/inspect`: which states are on, and how they got there.
 *
 * WIF1  It reconnects while it is followed. Meanwhile it says `unavailable`, and keeps nothing.
 */
import { useEffect, useState } from 'preact/hooks';
import { closeQuietly } from '../view/close-quietly.ts';
import { type InspectedActor, InspectedActors } from './inspected-actors.ts';

export interface InspectFilter {
  readonly jobId?: string | undefined;
  readonly sessionId?: string | undefined;
  readonly taskId?: string | undefined;
}

export interface InspectFeed {
  readonly status: 'connecting' | 'open' | 'unavailable';
  readonly actors: readonly InspectedActor[];
}

const COALESCED_MS = 50;
const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 10_000;

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
