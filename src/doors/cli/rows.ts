/** `offstage sessions list | get` and `offstage tasks list | get`. */
import type { SessionView, TaskView } from '../../model/activity.ts';
import { offstageError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import type { TaskQuery } from '../../model/requests.ts';
import type { ConfirmedAnswer, RemoveOptions, StopReport } from '../../model/stop.ts';
import type { StopAndWaitOptions } from '../client/verbs.ts';
import type { WireClient } from '../client/wire-client.ts';
import type { Cli } from './cli.ts';
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
  readonly list: (client: WireClient, query: TaskQuery) => Promise<readonly Row[]>;
  readonly get: (client: WireClient, id: string) => Promise<Row>;
  readonly stop: (client: WireClient, id: string, options: StopAndWaitOptions) => Promise<StopReport>;
  readonly remove: (client: WireClient, id: string, options: RemoveOptions) => Promise<ConfirmedAnswer>;
  readonly idOf: (row: Row) => string;
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
  list: (client, { archived: _, ...query }) => client.listSessions(query),
  get: (client, id) => client.getSession(id),
  stop: (client, id, options) => client.stopSession(id, options),
  remove: (client, id, options) => client.removeSession(id, options),
  idOf: (row) => row.sessionId,
  table: sessionTable,
  gist: sessionGist,
  pairs: sessionPairs,
  async around(client, { sessionId }, now) {
    const workloads = await client.workloads(sessionId);
    const tickets = await client.tickets(sessionId);
    return [...workloadPairs(workloads, now), ...ticketPairs(tickets, now)];
  },
  notFound: (sessionId) => offstageError('session.not_found', { sessionId }),
};

export const TASKS: Kind<TaskView> = {
  noun: 'tasks',
  one: 'task',
  list: (client, query) => client.listTasks(query),
  get: (client, id) => client.getTask(id),
  stop: (client, id, options) => client.stopTask(id, options),
  remove: (client, id, options) => client.removeTask(id, options),
  idOf: (row) => row.taskId,
  table: taskTable,
  gist: taskGist,
  pairs: taskPairs,
  notFound: (taskId) => offstageError('task.not_found', { taskId }),
};

export async function rowsList<Row>(cli: Cli, kind: Kind<Row>, options: RowsOptions): Promise<number> {
  const limit = parseCount('--limit', options.limit ?? String(LIMITS.listDefault));
  const archived = options.archived === true ? { archived: true } : {};
  const read = (client: WireClient): Promise<readonly Row[]> => kind.list(client, { ...archived, limit });
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
    const row = await kind.get(client, id);
    if (cli.isJson) return cli.document(row);
    const now = Date.now();
    const around = (await kind.around?.(client, row, now)) ?? [];
    for (const line of blockLines(cli.out, [...kind.pairs(cli.out, row, now), ...around])) await cli.out.line(line);
  });
  return EXIT.done;
}
