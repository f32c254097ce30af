/**
 * Many callers behind one AbortSignal. Node warns of a leak from the eleventh listener on, and a session's signal may have hundreds of waits.
 *
 * FAN1  However many callers wait for one signal, it has one listener.
 * FAN2  When the last caller has left, the listener has too.
 */

interface Fan {
  readonly callbacks: Set<() => void>;
  readonly listener: () => void;
}

const fans = new WeakMap<AbortSignal, Fan>();

/** Calls back once when `signal` aborts; returns a function that ends it. Nothing happens for a signal that has aborted before. */
export function onAbortOf(signal: AbortSignal, callback: () => void): () => void {
  const fan = fans.get(signal) ?? addFan(signal);
  // A closure of its own, so that one caller can register the same function twice.
  const entry = (): void => callback();
  fan.callbacks.add(entry);
  return () => {
    if (!fan.callbacks.delete(entry) || fan.callbacks.size > 0) return;
    signal.removeEventListener('abort', fan.listener);
    if (fans.get(signal) === fan) fans.delete(signal);
  };
}

function addFan(signal: AbortSignal): Fan {
  const callbacks = new Set<() => void>();
  const listener = (): void => {
    fans.delete(signal);
    for (const callback of [...callbacks]) if (callbacks.delete(callback)) callback();
  };
  const fan: Fan = { callbacks, listener };
  fans.set(signal, fan);
  signal.addEventListener('abort', listener, { once: true });
  return fan;
}

/** What the promise comes to, or the signal's reason. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    const stop = onAbortOf(signal, () => reject(signal.reason));
    promise.then(resolve, reject).finally(stop);
  });
}
