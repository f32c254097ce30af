/** A connection without a transport: keeps what it is sent, may be slow, may go away. */
import { type CallerIdentity, LOCAL_CALLER } from '../../src/doors/requests/caller-identity.ts';
import type { Connection, Frame } from '../../src/doors/requests/connection.ts';

export interface RecordingConnection extends Connection {
  readonly frames: readonly Frame[];
  /** Resolves with the first frame that matches, past ones included. */
  frameOf(matches: (frame: Frame) => boolean): Promise<Frame>;
  /** From now on nobody takes frames, until `resume`. */
  hold(): void;
  resume(): void;
  goAway(): void;
  /** Callbacks that wait for the end of the connection. */
  readonly listeners: number;
}

/** @param caller default: one who may do everything */
export function recordingConnection(caller: CallerIdentity = LOCAL_CALLER): RecordingConnection {
  const frames: Frame[] = [];
  const waiting = new Set<{ matches: (frame: Frame) => boolean; resolve: (frame: Frame) => void }>();
  const onClose = new Set<() => void>();
  let held: Promise<void> = Promise.resolve();
  let resume = (): void => {};
  return {
    caller,
    frames,
    send(frame) {
      frames.push(frame);
      for (const entry of waiting) {
        if (!entry.matches(frame)) continue;
        waiting.delete(entry);
        entry.resolve(frame);
      }
      return held;
    },
    onClose(callback) {
      onClose.add(callback);
      return () => onClose.delete(callback);
    },
    frameOf(matches) {
      const past = frames.find(matches);
      if (past !== undefined) return Promise.resolve(past);
      return new Promise((resolve) => waiting.add({ matches, resolve }));
    },
    hold() {
      held = new Promise((resolve) => {
        resume = resolve;
      });
    },
    resume() {
      held = Promise.resolve();
      resume();
    },
    goAway() {
      for (const callback of onClose) callback();
      onClose.clear();
    },
    get listeners() {
      return onClose.size;
    },
  };
}
