/** `offstage sessions list | get` and `offstage tasks list | get`. */
import type { SessionView, TaskView } from '../../model/activity.ts';
import { offstageError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import type { WireClient } from '../client/wire-client.ts';
import type { WireFields } from '../rename.ts';
import { sessionFromWire, taskFromWire, ticketFromWire, workloadFromWire } from '../wire-sessions.ts';
import { type Cli, rowsOf } from './cli.ts';
import { EXIT } from './exit-codes.ts';
import { watchList } from './list-watch.ts';
import { type Pair, sessionGist, sessionPairs, sessionTable, ticketPairs, workloadPairs } from './session-lines.ts';
import { blockLines } from './table.ts';
import { taskGist, taskPairs, taskTable } from './task-lines.ts';
import type { Sink } from './terminal.ts';
import { parseCount } from './words.ts';

export interface RowsOptions {
  readonly limit?: string;
  readonly watch?: boolean;
  /** Of tasks only. */
  readonly archived?: boolean;
}

export interface Kind<Row> {
  readonly noun: string;
  readonly one: 'session' | 'task';
  readonly list: string;
  readonly get: string;
  readonly idName: string;
  readonly idOf: (row: Row) => string;
  readonly fromWire: (wire: WireFields) => Row;
  readonly table: (sink: Sink, rows: readonly Row[], now: number) => readonly string[];
  readonly gist: (row: Row) => string;
  readonly pairs: (sink: Sink, row: Row, now: number) => readonly Pair[];
  /** What is shown of one besides its record. */
  readonly around?: (client: WireClient, row: Row, now: number) => Promise<readonly Pair[]>;
  readonly notFound: (id: string) => Error;
}

export const SESSIONS: Kind<SessionView> = {
  noun: 'sessions',
  one: 'session',
  list: 'list_sessions',
  get: 'get_session',
  idName: 'session_id',
  idOf: (row) => row.sessionId,
  fromWire: sessionFromWire,
  table: sessionTable,
  gist: sessionGist,
  pairs: sessionPairs,
  async around(client, { sessionId }, now) {
    const { workloads } = await client.request('list_workloads', { session_id: sessionId });
    const { tickets } = await client.request('list_tickets', { session_id: sessionId });
    return [
      ...workloadPairs(rowsOf(workloads).map(workloadFromWire), now),
      ...ticketPairs(rowsOf(tickets).map(ticketFromWire), now),
    ];
  },
  notFound: (sessionId) => offstageError('session.not_found', { sessionId }),
};

export const TASKS: Kind<TaskView> = {
  noun: 'tasks',
  one: 'task',
  list: 'list_tasks',
  get: 'get_task',
  idName: 'task_id',
  idOf: (row) => row.taskId,
  fromWire: taskFromWire,
  table: taskTable,
  gist: taskGist,
  pairs: taskPairs,
  notFound: (taskId) => offstageError('task.not_found', { taskId }),
};

export async function rowsList<Row>(cli: Cli, kind: Kind<Row>, options: RowsOptions): Promise<number> {
  const limit = parseCount('--limit', options.limit ?? String(LIMITS.listDefault));
  const archived = options.archived === true ? { archived: true } : {};
  const read = async (client: WireClient): Promise<readonly Row[]> => {
    const rows: Row[] = [];
    for (let before: WireFields = {}; rows.length < limit; ) {
      const asked = Math.min(limit - rows.length, LIMITS.listMaximum);
      const answer = await client.request(kind.list, { ...archived, ...before, limit: asked });
      rows.push(...rowsOf(answer[kind.noun]).map(kind.fromWire));
      if (answer.next_before === null || answer.next_before === undefined) break;
      before = { before: answer.next_before };
    }
    return rows;
  };
  const lines = (sink: Sink, rows: readonly Row[]): readonly string[] => kind.table(sink, rows, Date.now());
  const empty = `No ${kind.noun}.`;
  if (options.watch === true) {
    await watchList<Row>(cli, { read, idOf: kind.idOf, lines, empty, gist: kind.gist, changesByTime: true });
  }
  const rows = (await cli.hasStoreToList()) ? await cli.persist(({ client }) => read(client)) : [];
  if (cli.isJson) await cli.document(rows);
  else for (const line of rows.length === 0 ? [empty] : lines(cli.out, rows)) await cli.out.line(line);
  return EXIT.done;
}

export async function rowsGet<Row>(cli: Cli, kind: Kind<Row>, id: string): Promise<number> {
  if (!(await cli.hasStore())) throw kind.notFound(id);
  await cli.persist(async ({ client }) => {
    const row = kind.fromWire(await client.request(kind.get, { [kind.idName]: id }));
    if (cli.isJson) return cli.document(row);
    const now = Date.now();
    const around = (await kind.around?.(client, row, now)) ?? [];
    for (const line of blockLines(cli.out, [...kind.pairs(cli.out, row, now), ...around])) await cli.out.line(line);
  });
  return EXIT.done;
}
