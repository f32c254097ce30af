/** The list: rows, keys, the hold of the order, and what can be done with many at once. */
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { counted } from '../model/words.ts';
import { useLater } from '../view/later.ts';
import { useCurrent } from '../view/live.ts';
import { canOperate, ui } from '../view/ui-store.ts';
import { useUi } from '../view/use-source.ts';
import { RowView } from './row-view.tsx';
import { useRows } from './use-rows.ts';
import { ROW_HEIGHT, reveal, VirtualRows } from './virtual-rows.tsx';

const keyAt = (event: Event): string | null =>
  (event.target as HTMLElement | null)?.closest?.<HTMLElement>('[data-key]')?.dataset.key ?? null;

export function TreeList({ onSearch }: { readonly onSearch: () => void }): JSX.Element {
  const later = useLater();
  const list = useRows();
  const { rows, indexOf } = list;
  const scroller = useRef<HTMLDivElement>(null);
  const wantsFocus = useRef(false);
  const active = useUi((state) => state.active);
  const selected = useUi((state) => state.selected);
  const marked = useUi((state) => state.marked);
  const isOpen = useCurrent(({ connection }) => connection.status === 'open');
  const operates = useUi(canOperate) && isOpen;
  const activeIndex = (active === null ? undefined : indexOf.get(active)) ?? 0;

  useLayoutEffect(() => {
    if (!wantsFocus.current) return;
    wantsFocus.current = false;
    scroller.current?.querySelector<HTMLElement>('.row[tabindex="0"]')?.focus({ preventScroll: true });
  });

  // Who comes by a link, or from another row's detail, finds it in the list.
  const selectedKey = selected === null ? null : `${selected.kind}:${selected.id}`;
  const isKnown = selectedKey !== null && indexOf.has(selectedKey);
  useEffect(() => {
    if (isKnown && selectedKey !== null) reveal(scroller.current, indexOf.get(selectedKey) ?? -1);
  }, [selectedKey, isKnown]);

  const goTo = (index: number): void => {
    const place = Math.max(0, Math.min(rows.length - 1, index));
    const row = rows[place];
    if (row === undefined) return;
    wantsFocus.current = true;
    reveal(scroller.current, place);
    ui.trigger.activated({ key: row.key });
    list.hold('focus', row.key);
  };

  return (
    <>
      <div
        class="list"
        ref={scroller}
        role="treegrid"
        aria-label="Tasks, sessions and jobs"
        aria-rowcount={rows.length}
        onKeyDown={(event) => {
          if (!(event.target as HTMLElement).classList.contains('row')) return;
          const page = Math.floor((scroller.current?.clientHeight ?? ROW_HEIGHT) / ROW_HEIGHT) - 1;
          // Keys may come faster than rows are drawn: each starts where the one before has led.
          const index = indexOf.get(ui.getSnapshot().context.active ?? '') ?? 0;
          if (later?.onListKey(event, { rows, index, page, goTo, search: onSearch })) event.preventDefault();
        }}
        onFocusIn={(event) => {
          const key = keyAt(event);
          if (key === null) return;
          list.hold('focus', key);
          ui.trigger.activated({ key });
        }}
        onFocusOut={(event) => {
          if (!scroller.current?.contains(event.relatedTarget as Node | null)) list.hold('focus', null);
        }}
        onPointerOver={(event) => {
          if (event.pointerType === 'mouse') list.hold('pointer', keyAt(event));
        }}
        onPointerLeave={() => list.hold('pointer', null)}
      >
        <VirtualRows scroller={scroller} count={rows.length} kept={rows.length > 0 ? activeIndex : -1}>
          {(index) => {
            const row = rows[index];
            return (
              row && (
                <RowView
                  key={row.key}
                  row={row}
                  index={index}
                  isActive={index === activeIndex}
                  isSelected={row.key === selectedKey}
                  isMarked={marked.has(row.key)}
                  canOperate={operates}
                  later={later}
                />
              )
            );
          }}
        </VirtualRows>
      </div>
      {/* It comes as soon as nobody points at the list. */}
      {list.waiting > 0 && <p class="waiting">{counted(list.waiting, 'new row')} above</p>}
      {later && <later.Many list={list} operates={operates} />}
    </>
  );
}
