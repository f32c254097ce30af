/** A connection that takes events encoded for many: keeps the frames, may be slow, may go away. */

import type { FrameEncoding } from '../../src/doors/events/event-sink.ts';
import type { Connection, Frame } from '../../src/doors/requests/connection.ts';
import { type RecordingConnection, recordingConnection } from './recording-connection.ts';

/** How often frames were encoded, by all connections together. */
export const encoded = { frames: 0 };

const LINES: FrameEncoding = {
  name: 'lines',
  encode(frames) {
    encoded.frames += frames.length;
    let end = 0;
    const parts = frames.map(({ json }) => Buffer.from(`${json}\n`));
    const ends = parts.map(({ length }) => {
      end += length;
      return end;
    });
    return { bytes: Buffer.concat(parts), ends };
  },
};

export interface BroadcastConnection extends RecordingConnection {
  /** Bytes that were written while nobody took any. */
  readonly writtenWhileHeld: number;
}

export function broadcastConnection(): BroadcastConnection {
  const inner = recordingConnection();
  let isHeld = false;
  let writtenWhileHeld = 0;
  let held = Promise.resolve();
  let release = (): void => {};
  const events: NonNullable<Connection['events']> = {
    encoding: LINES,
    get isDrained() {
      return !isHeld;
    },
    write(bytes) {
      if (isHeld) writtenWhileHeld += bytes.length;
      for (const line of String(bytes).split('\n')) if (line !== '') void inner.send(JSON.parse(line) as Frame);
    },
    drained: () => held,
  };
  return {
    caller: inner.caller,
    events,
    frames: inner.frames,
    send: (frame) => inner.send(frame).then(() => held),
    onClose: (callback) => inner.onClose(callback),
    frameOf: (matches) => inner.frameOf(matches),
    hold() {
      // Whoever waits already waits for the same end.
      if (isHeld) return;
      isHeld = true;
      held = new Promise((resolve) => {
        release = resolve;
      });
    },
    resume() {
      isHeld = false;
      held = Promise.resolve();
      release();
    },
    goAway() {
      isHeld = false;
      release();
      inner.goAway();
    },
    get listeners() {
      return inner.listeners;
    },
    get writtenWhileHeld() {
      return writtenWhileHeld;
    },
  };
}
