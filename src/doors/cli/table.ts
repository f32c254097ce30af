/** Columns that stand under each other; the last one takes what is left of the line. */
import { clipped, type Sink, type Style } from './terminal.ts';

export interface Cell {
  readonly text: string;
  readonly style?: Style;
}

const GAP = '  ';
const LEAST_LAST_COLUMN = 20;

/** The lines of a table, with its head. */
export function tableLines(sink: Sink, head: readonly string[], rows: readonly (readonly Cell[])[]): readonly string[] {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.text.length ?? 0)));
  const before = widths.slice(0, -1).reduce((sum, width) => sum + width + GAP.length, 0);
  const room = Math.max(LEAST_LAST_COLUMN, sink.columns - before);
  const line = (cells: readonly Cell[]): string =>
    cells
      .map(({ text, style }, column) => {
        const isLast = column === widths.length - 1;
        const shown = isLast ? clipped(text, room) : text.padEnd(widths[column] as number);
        return style === undefined ? shown : sink.paint(style, shown);
      })
      .join(GAP)
      .trimEnd();
  return [line(head.map((text) => ({ text, style: 'bold' as const }))), ...rows.map(line)];
}

/** Names and values under each other. */
export function blockLines(sink: Sink, pairs: readonly (readonly [string, string])[]): readonly string[] {
  const width = Math.max(...pairs.map(([name]) => name.length));
  return pairs.map(([name, value]) => `${sink.paint('dim', name.padEnd(width))}${GAP}${value}`);
}
