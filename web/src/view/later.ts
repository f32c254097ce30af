/** Loads what comes after the first view, and tells when it is there. */
import type * as Later from '../later/index.ts';
import { type Source, useSource } from './use-source.ts';

type Parts = typeof Later;

let parts: Parts | null = null;
const listeners = new Set<() => void>();

const source: Source<Parts | null> = {
  get: () => parts,
  subscribe(listener) {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
};

/** Null while it is not there. */
export const useLater = (): Parts | null => useSource(source, (loaded) => loaded);

export async function loadLater(): Promise<void> {
  parts = await import('../later/index.ts');
  parts.followScope();
  for (const listener of listeners) listener();
}
