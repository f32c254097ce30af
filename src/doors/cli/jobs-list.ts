/** `offstage jobs list`. */

import { offstageError } from '../../model/errors.ts';
import { JOB_STATUSES, type JobStatus, type JobView } from '../../model/records.ts';
import type { ListQuery } from '../../model/requests.ts';
import type { Cli } from './cli.ts';
import { EXIT } from './exit-codes.ts';
import { jobTable } from './job-lines.ts';
import { watchList } from './list-watch.ts';
import { clipped } from './terminal.ts';
import { parseCount } from './words.ts';

export interface JobsListOptions {
  readonly session?: string;
  readonly task?: string;
  readonly parent?: string;
  readonly kind?: string;
  readonly status?: readonly string[];
  readonly limit?: string;
  readonly all?: boolean;
  readonly watch?: boolean;
}

const NONE = 'No jobs.';
const LIMIT = 50;

export async function jobsList(cli: Cli, options: JobsListOptions): Promise<number> {
  const query = queryOf(options);
  const limit = options.all === true ? Number.POSITIVE_INFINITY : parseCount('--limit', options.limit ?? String(LIMIT));
  if (options.watch === true) {
    await watchList<JobView>(cli, {
      read: (client) => client.listJobs({ ...query, limit }),
      idOf: (job) => job.jobId,
      lines: (sink, jobs) => jobTable(sink, jobs, Date.now()),
      empty: NONE,
    });
  }
  if (!(await cli.hasStoreToList())) {
    if (cli.isJson) await cli.out.line('[]');
    else await cli.out.line(NONE);
    return EXIT.done;
  }
  if (cli.isJson) await cli.persist(({ client }) => writeArray(cli, client.jobPages({ ...query, limit })));
  else await cli.persist(async ({ client }) => showTable(cli, await client.listJobs({ ...query, limit })));
  return EXIT.done;
}

async function showTable(cli: Cli, jobs: readonly JobView[]): Promise<void> {
  if (jobs.length === 0) await cli.out.line(NONE);
  else for (const line of jobTable(cli.out, jobs, Date.now())) await cli.out.line(line);
}

/** One array, written as it is read. */
async function writeArray(cli: Cli, pages: AsyncIterable<readonly JobView[]>): Promise<void> {
  let count = 0;
  for await (const page of pages) {
    for (const job of page) {
      await cli.out.write(`${count === 0 ? '[\n' : ',\n'}${JSON.stringify(job)}`);
      count += 1;
    }
  }
  await cli.out.line(count === 0 ? '[]' : '\n]');
}

function queryOf(options: JobsListOptions): ListQuery {
  const { session, task, parent, kind, status } = options;
  const statuses = status?.flatMap((names) => names.split(','));
  const unknown = statuses?.find((name) => !JOB_STATUSES.includes(name as JobStatus));
  if (unknown !== undefined) {
    throw offstageError('input.invalid', {
      argument: '--status',
      message: `it must be one of ${JOB_STATUSES.join(', ')}, not ${JSON.stringify(clipped(unknown, 80))}`,
    });
  }
  return {
    ...(session === undefined ? {} : { sessionId: session }),
    ...(task === undefined ? {} : { taskId: task }),
    ...(parent === undefined ? {} : { parentJobId: parent }),
    ...(kind === undefined ? {} : { kind }),
    ...(statuses === undefined ? {} : { status: statuses as readonly JobStatus[] }),
  };
}
