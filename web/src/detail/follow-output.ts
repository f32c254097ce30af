/**
 * What one job prints, over a connection of its own: the page's other one carries nobody's output.
 */

import { closeQuietly } from '../view/close-quietly.ts';

/** Between two tries. */
const RETRY_MS = 2_000;

export interface OutputListener {
  /** It listens from here on: what was printed before is to be read. */
  onOpen(): void;
  onPiece(offset: number, text: string): void;
}

/** Returns a function that ends it. */
export function followOutput(jobId: string, { onOpen, onPiece }: OutputListener): () => void {
  const url = new URL('ws', document.baseURI);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  url.hash = '';
  let socket: WebSocket;
  let retry: ReturnType<typeof setTimeout> | undefined;
  const connect = (): void => {
    socket = new WebSocket(url, ['offstage.v1']);
    socket.onopen = () => socket.send(JSON.stringify({ action: 'subscribe', job_id: jobId, types: ['job_output'] }));
    socket.onmessage = ({ data }) => {
      const { type, offset, text } = JSON.parse(String(data)) as { type: string; offset: number; text: string };
      if (type === 'snapshot') onOpen();
      if (type === 'job_output') onPiece(offset, text);
    };
    socket.onclose = () => {
      retry = setTimeout(connect, RETRY_MS);
    };
  };
  connect();
  return () => {
    socket.onclose = null;
    clearTimeout(retry);
    closeQuietly(socket);
  };
}
