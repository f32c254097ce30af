/**
 * Loads what comes after the first view, and tells when it is there.
 *
 * DSH19  What cannot be loaded says so: after an update of the server the page is an old one.
 */
import type * as Later from '../later/index.ts';
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
  }
  for (const listener of listeners) listener();
}
