/** A few lines between stores and components. */
import { useEffect, useReducer, useRef } from 'preact/hooks';
import type { Ui } from './ui-store.ts';
import { ui } from './ui-store.ts';

export interface Source<State> {
  get(): State;
  subscribe(listener: () => void): () => void;
}

/** A part of what a source has; the component is drawn again when that part is another one. */
export function useSource<State, Part>(source: Source<State>, select: (state: State) => Part): Part {
  const [, redraw] = useReducer((count: number, _: null) => count + 1, 0);
  const part = select(source.get());
  const latest = useRef({ select, part });
  latest.current = { select, part };
  useEffect(() => {
    const look = (): void => {
      if (!Object.is(latest.current.select(source.get()), latest.current.part)) redraw(null);
    };
    look();
    return source.subscribe(look);
  }, [source]);
  return part;
}

/** A store as a source of its context. */
export const contextOf = <Context>(store: {
  getSnapshot(): { readonly context: Context };
  subscribe(listener: () => void): { unsubscribe(): void };
}): Source<Context> => ({
  get: () => store.getSnapshot().context,
  subscribe(listener) {
    const subscription = store.subscribe(listener);
    return () => subscription.unsubscribe();
  },
});

const uiSource = contextOf<Ui>(ui);

export const useUi = <Part>(select: (ui: Ui) => Part): Part => useSource(uiSource, select);
