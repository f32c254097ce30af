/**
 * Draws the few rows that can be seen of very many, all of one height.
 *
 * DSH15  The row that has the focus stays mounted, wherever the list was scrolled to.
 */
import type { ComponentChildren, JSX, RefObject } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';

/** Of a row, in pixels: fingers need more of them. */
export const ROW_HEIGHT = matchMedia('(pointer: coarse)').matches ? 44 : 32;

/** Rows drawn beyond each edge. */
const MARGIN = 4;

interface Range {
  readonly from: number;
  readonly to: number;
}

interface VirtualRowsProps {
  readonly scroller: RefObject<HTMLElement | null>;
  readonly count: number;
  /** Index of the row that must stay; -1 for none. */
  readonly kept: number;
  readonly children: (index: number) => ComponentChildren;
}

export function VirtualRows({ scroller, count, kept, children }: VirtualRowsProps): JSX.Element {
  const [range, setRange] = useState<Range>({ from: 0, to: 30 });
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const look = (): void => {
      const from = Math.max(0, Math.floor(element.scrollTop / ROW_HEIGHT) - MARGIN);
      const to = Math.ceil((element.scrollTop + element.clientHeight) / ROW_HEIGHT) + MARGIN;
      setRange((range) => (range.from === from && range.to === to ? range : { from, to }));
    };
    look();
    const resized = new ResizeObserver(look);
    resized.observe(element);
    element.addEventListener('scroll', look, { passive: true });
    return () => {
      resized.disconnect();
      element.removeEventListener('scroll', look);
    };
  }, []);
  const to = Math.min(count, range.to);
  const from = Math.min(range.from, to);
  const indexes = Array.from({ length: to - from }, (_, place) => from + place);
  if (kept >= 0 && kept < from) indexes.unshift(kept);
  if (kept >= to && kept < count) indexes.push(kept);
  return (
    <div class="rows" role="rowgroup" style={{ height: `${count * ROW_HEIGHT}px` }}>
      {indexes.map(children)}
    </div>
  );
}

/** Scrolls no further than needed. */
export function reveal(scroller: HTMLElement | null, index: number): void {
  if (scroller === null || index < 0) return;
  const top = index * ROW_HEIGHT;
  if (top < scroller.scrollTop) scroller.scrollTop = top;
  else if (top + ROW_HEIGHT > scroller.scrollTop + scroller.clientHeight)
    scroller.scrollTop = top + ROW_HEIGHT - scroller.clientHeight;
}
