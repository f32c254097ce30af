/** `offstage sessions list | get` and `offstage tasks list | get`. */

import { offstageError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import type { SessionRow, TaskRow } from '../../model/records.ts';
import type { WireFields } from '../rename.ts';
import type { WireClient } from '../wire-client.ts';
import { sessionFromWire, taskFromWire } from '../wire-sessions.ts';
import { type Cli, rowsOf } from './cli.ts';
import { EXIT } from './exit-codes.ts';
import { watchList } from './list-watch.ts';
import { blockLines, tableLines } from './table.ts';
import { printable, type Sink } from './terminal.ts';
import { ageInWords, dateInWords, parseCount } from './words.ts';

export interface RowsOptions {
  readonly limit?: string;
  readonly watch?: boolean;
}

interface Kind<Row> {
  readonly noun: string;
  readonly list: string;
  readonly get: string;
  readonly idName: string;
  readonly idOf: (row: Row) => string;
  readonly fromWire: (wire: WireFields) => Row;
  readonly lines: (sink: Sink, rows: readonly Row[]) => readonly string[];
  readonly block: (row: Row) => readonly (readonly [string, string])[];
  readonly notFound: (id: string) => Error;
}

const created = (row: { readonly createdAt: number }): string => ageInWords(Date.now() - row.createdAt);

export const SESSIONS: Kind<SessionRow> = {
  noun: 'sessions',
  list: 'list_sessions',
  get: 'get_session',
  idName: 'session_id',
  idOf: (row) => row.sessionId,
  fromWire: sessionFromWire,
  lines: (sink, rows) =>
    tableLines(
      sink,
      ['STATE', 'CREATED', 'SESSION', 'TASK'],
      rows.map((row) => [row.state, created(row), printable(row.sessionId), printable(row.taskId)].map((text) => ({ text }))),
    ),
  block: (row) => [
    ['session', printable(row.sessionId)],
    ['task', printable(row.taskId)],
    ['agent', row.agentId === null ? '-' : printable(row.agentId)],
    ['state', row.state],
    ['created', `${dateInWords(row.createdAt)} (${created(row)})`],
  ],
  notFound: (sessionId) => offstageError('session.not_found', { sessionId }),
};

export const TASKS: Kind<TaskRow> = {
  noun: 'tasks',
  list: 'list_tasks',
  get: 'get_task',
  idName: 'task_id',
  idOf: (row) => row.taskId,
  fromWire: taskFromWire,
  lines: (sink, rows) =>
    tableLines(
      sink,
      ['STATE', 'CREATED', 'TASK', 'TITLE'],
      rows.map((row) => [row.state, created(row), printable(row.taskId), printable(row.title)].map((text) => ({ text }))),
    ),
  block: (row) => [
    ['task', printable(row.taskId)],
    ['title', printable(row.title)],
    ['state', row.state],
    ['created', `${dateInWords(row.createdAt)} (${created(row)})`],
  ],
  notFound: (taskId) => offstageError('task.not_found', { taskId }),
};

export async function rowsList<Row>(cli: Cli, kind: Kind<Row>, options: RowsOptions): Promise<number> {
  const limit = parseCount('--limit', options.limit ?? String(LIMITS.listDefault));
  const read = async (client: WireClient): Promise<readonly Row[]> => {
    const rows: Row[] = [];
    for (let before: WireFields = {}; rows.length < limit; ) {
      const asked = Math.min(limit - rows.length, LIMITS.listMaximum);
      const answer = await client.request(kind.list, { ...before, limit: asked });
      rows.push(...rowsOf(answer[kind.noun]).map(kind.fromWire));
      if (answer.next_before === null || answer.next_before === undefined) break;
      before = { before: answer.next_before };
    }
    return rows;
  };
  const empty = `No ${kind.noun}.`;
  if (options.watch === true) await watchList<Row>(cli, { read, idOf: kind.idOf, lines: kind.lines, empty });
  const rows = (await cli.hasStoreToList()) ? await cli.persist(({ client }) => read(client)) : [];
  if (cli.isJson) await cli.document(rows);
  else for (const line of rows.length === 0 ? [empty] : kind.lines(cli.out, rows)) await cli.out.line(line);
  return EXIT.done;
}

export async function rowsGet<Row>(cli: Cli, kind: Kind<Row>, id: string): Promise<number> {
  if (!(await cli.hasStore())) throw kind.notFound(id);
  const row = kind.fromWire(await cli.persist(({ client }) => client.request(kind.get, { [kind.idName]: id })));
  if (cli.isJson) await cli.document(row);
  else for (const line of blockLines(cli.out, kind.block(row))) await cli.out.line(line);
  return EXIT.done;
}
