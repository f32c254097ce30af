/**
 * Loads what comes after the first view, and tells when it is there.
 *
 * DSH19  What cannot be loaded says so: after an update of the server the page is an old one.
 */
import type * as Later from '../later/index.ts';
import { current } from './live.ts';
import { type Source, useSource } from './use-source.ts';

type Parts = typeof Later;

let parts: Parts | null = null;
let isMissing = false;
const listeners = new Set<() => void>();

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

const source: Source<Parts | null> = { get: () => parts, subscribe };
const missing: Source<boolean> = { get: () => isMissing, subscribe };

/** Null while it is not there. */
export const useLater = (): Parts | null => useSource(source, (loaded) => loaded);
export const useIsMissing = (): boolean => useSource(missing, (is) => is);

export async function loadLater(): Promise<void> {
  try {
    parts = await import('../later/index.ts');
    parts.followScope();
  } catch {
    isMissing = true;
    reloadWhenBack();
  }
  for (const listener of listeners) listener();
}

/** The server has gone between the first view and this. Browsers try a module only once, so with the next connection the page begins anew. */
function reloadWhenBack(): void {
  let wasLost = false;
  const look = (): void => {
    const { status } = current.get().connection;
    wasLost ||= status === 'lost';
    if (wasLost && status === 'open') location.reload();
  };
  look();
  current.subscribe(look);
}
