/**
 * Rows of sessions and tasks in answers, held against the store.
 *
 * RAN1  No answer is ahead of what is stored: neither by its revision, nor, at the same revision, by its state.
 */
import type { Violate } from '../checker.ts';
import type { FactOf } from '../facts.ts';
import type { Known } from '../known.ts';

const SESSIONS: ReadonlySet<string> = new Set(['sessions.create', 'sessions.get', 'sessions.list']);
const TASKS: ReadonlySet<string> = new Set(['tasks.create', 'tasks.get', 'tasks.list', 'tasks.setState']);

interface Row {
  readonly state: string;
  readonly revision: number;
}

export function judgeRows({ verb, value }: FactOf<'answered'>, known: Known, violate: Violate): void {
  if (SESSIONS.has(verb)) {
    for (const row of rowsIn<Row & { readonly sessionId: string }>(value)) {
      judge(`session ${row.sessionId}`, row, known.sessions.get(row.sessionId), violate);
    }
  }
  if (TASKS.has(verb)) {
    for (const row of rowsIn<Row & { readonly taskId: string }>(value)) {
      judge(`task ${row.taskId}`, row, known.tasks.get(row.taskId), violate);
    }
  }
}

const rowsIn = <One>(value: unknown): readonly One[] => (Array.isArray(value) ? value : [value]) as readonly One[];

/** Of what was removed meanwhile nothing is stored. */
function judge(name: string, shown: Row, stored: Row | undefined, violate: Violate): void {
  if (stored === undefined) return;
  const isAhead = shown.revision > stored.revision || (shown.revision === stored.revision && shown.state !== stored.state);
  if (!isAhead) return;
  violate(`${name} is shown ${shown.state}, revision ${shown.revision}, and stored ${stored.state}, revision ${stored.revision}`);
}
