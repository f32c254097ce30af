/** Reads what lists leave out, and reads it again when it may have changed. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { useCurrent } from './live.ts';

export interface Loaded<Value> {
  readonly value: Value | null;
  readonly error: string | null;
}

/**
 * @param id what it is about: another one starts from nothing
 * @param version what it depends on: another one reads it again, and the old value stays until then
 */
export function useLoad<Value>(id: string, version: unknown, load: () => Promise<Value>): Loaded<Value> {
  const [loaded, setLoaded] = useState<Loaded<Value> & { readonly id: string }>({ id, value: null, error: null });
  const isOpen = useCurrent(({ connection }) => connection.status === 'open');
  const latest = useRef(0);
  useEffect(() => {
    if (!isOpen) return;
    latest.current += 1;
    const turn = latest.current;
    const keep = (change: Loaded<Value>): void => {
      if (turn === latest.current) setLoaded({ id, ...change });
    };
    load().then(
      (value) => keep({ value, error: null }),
      (error: unknown) => keep({ value: null, error: error instanceof Error ? error.message : String(error) }),
    );
  }, [id, version, isOpen]);
  return loaded.id === id ? loaded : { value: null, error: null };
}
