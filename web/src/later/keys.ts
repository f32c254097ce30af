/**
 * What keys do while the list has the focus.
 *
 * DSH16  Single letters mean something only in the list, and never with a modifier: nobody loses a key of their own.
 */
import type { Row } from '../model/rows.ts';
import { current, shown } from '../view/live.ts';
import { cancelJobs, stopAll, stopScope } from '../view/stop.ts';
import { canOperate, open, select, ui } from '../view/ui-store.ts';

export interface ListKeys {
  readonly rows: readonly Row[];
  readonly index: number;
  /** Rows that fit on a page. */
  readonly page: number;
  goTo(index: number): void;
  search(): void;
}

/** Whether the key was one of ours. */
export function onListKey(event: KeyboardEvent, { rows, index, page, goTo, search }: ListKeys): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const row = rows[index];
  const toggle = (): void => {
    if (row === undefined) return;
    ui.trigger.activated({ key: row.key });
    ui.trigger.rowToggled({ key: row.key });
  };
  switch (event.key) {
    case 'j':
    case 'ArrowDown':
      goTo(index + 1);
      return true;
    case 'k':
    case 'ArrowUp':
      goTo(index - 1);
      return true;
    case 'PageDown':
      goTo(index + page);
      return true;
    case 'PageUp':
      goTo(index - page);
      return true;
    case 'Home':
      goTo(0);
      return true;
    case 'End':
      goTo(rows.length - 1);
      return true;
    case 'ArrowRight':
      if (row?.hasChildren && !row.isOpen) toggle();
      else if (row?.isOpen) goTo(index + 1);
      return true;
    case 'ArrowLeft':
      if (row?.isOpen) toggle();
      else if (row) goTo(rows.findLastIndex((above, place) => place < index && above.level < row.level));
      return true;
    case 'Enter':
      if (row) select({ kind: row.kind, id: row.id });
      return true;
    case ' ':
    case 'x':
      if (row?.kind === 'job') mark(row.key);
      return true;
    case 'c':
      cancel(row);
      return true;
    case '/':
      search();
      return true;
    case '?':
      open({ name: 'help' });
      return true;
    case 'Escape':
      ui.trigger.unmarked();
      return true;
    default:
      return false;
  }
}

function mark(key: string): void {
  const context = ui.getSnapshot().context;
  if (canOperate(context)) ui.trigger.marked({ key, isMarked: !context.marked.has(key) });
}

/** The marked ones, else the row: a job at once, of anything larger one is asked. */
function cancel(row: Row | undefined): void {
  const context = ui.getSnapshot().context;
  if (!canOperate(context) || current.get().connection.status !== 'open') return;
  const marked = markedJobs(context.marked);
  if (marked.length > 0) cancelJobs(marked, 'the marked jobs');
  else if (row?.kind === 'job') cancelJobs(row.item.completedAt === null ? [row.item] : [], 'jobs');
  else if (row !== undefined) askToStop(row);
}

function askToStop(row: Row): void {
  const scope = stopScope(row);
  if (scope === '') return;
  const title = `Stop everything in this ${row.kind} (${scope})`;
  open({
    name: 'confirm',
    question: { title: `${title}?`, text: [row.title], action: title, isDangerous: true, confirm: () => stopAll(row) },
  });
}

/** Those that can still be cancelled. */
export function markedJobs(marked: ReadonlySet<string>): readonly Extract<Row, { kind: 'job' }>['item'][] {
  const { jobs } = shown.get();
  return [...marked].flatMap((key) => {
    const job = jobs.get(key.slice('job:'.length));
    return job === undefined || job.completedAt !== null ? [] : [job];
  });
}
