/**
 * The rows of the list, held still while somebody points at one or has the focus in it (DSH9).
 */
import { useMemo, useRef, useState } from 'preact/hooks';
import { buildRows, type Row, type RowList } from '../model/rows.ts';
import { useLater } from '../view/later.ts';
import { shown, useShown } from '../view/live.ts';
import { useUi } from '../view/use-source.ts';

export interface ShownRows extends Omit<RowList, 'rows'> {
  readonly rows: readonly Row[];
  /** New ones that are not shown yet, above the row that is held. */
  readonly waiting: number;
  readonly indexOf: ReadonlyMap<string, number>;
  /** Holds the row still; null lets the order be what it is. */
  hold(by: 'pointer' | 'focus', key: string | null): void;
}

export function useRows(): ShownRows {
  const later = useLater();
  const version = useShown((state) => state.version);
  const search = useUi((ui) => ui.search);
  const show = useUi((ui) => ui.show);
  const toggled = useUi((ui) => ui.toggled);
  const active = useUi((ui) => ui.active);
  const [refreshed, setRefreshed] = useState(0);
  const holders = useRef<{ pointer: string | null; focus: string | null }>({ pointer: null, focus: null });
  const last = useRef({ rows: [] as readonly Row[], indexOf: new Map<string, number>(), search, show, toggled, refreshed });

  const built = useMemo(() => {
    const { rows: before, ...seen } = last.current;
    const isAsked = seen.search !== search || seen.show !== show || seen.refreshed !== refreshed;
    // Opening and closing is about the active row: what is above it has no reason to move.
    const anchor = seen.toggled === toggled ? (holders.current.pointer ?? holders.current.focus) : active;
    const holdRows = !isAsked && anchor !== null && seen.indexOf.has(anchor) ? later?.holdRows : undefined;
    const list = buildRows(shown.get(), { search, show, toggled, held: holdRows === undefined ? null : seen.indexOf });
    const { rows, waiting } = holdRows?.(before, list.rows, anchor as string) ?? { rows: list.rows, waiting: 0 };
    const indexOf = new Map(rows.map(({ key }, index) => [key, index]));
    last.current = { rows, indexOf, search, show, toggled, refreshed };
    return { ...list, rows, waiting, indexOf };
  }, [version, search, show, toggled, refreshed]);

  return {
    ...built,
    hold(by, key) {
      const wasHeld = holders.current.pointer ?? holders.current.focus;
      holders.current[by] = key;
      if (wasHeld !== null && (holders.current.pointer ?? holders.current.focus) === null) setRefreshed((count) => count + 1);
    },
  };
}
