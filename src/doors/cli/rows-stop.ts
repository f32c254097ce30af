/** `offstage tasks stop | rm | archive` and `offstage sessions stop | rm` (spec 15, liveness 11 and 12). */
import { isOffstageError } from '../../model/errors.ts';
import type { ConfirmedAnswer, StopReport } from '../../model/stop.ts';
import type { Cli } from './cli.ts';
import { EXIT } from './exit-codes.ts';
import { failureDocument } from './failure-line.ts';
import { subjectOf } from './job-lines.ts';
import { askForLong, type LongRequest } from './long-request.ts';
import type { Kind } from './rows.ts';
import { jobsShown, liveWorkInWords, type StopLists, stopLines, stopTally } from './stop-words.ts';
import { printable, type Sink } from './terminal.ts';

/** What is stopped or removed: a session, or a task. */
type Scope = Pick<Kind<never>, 'stop' | 'remove' | 'notFound'>;

export interface StopVerbOptions {
  readonly reason?: string;
  readonly force?: boolean;
  /** False with `--no-wait`. */
  readonly wait?: boolean;
}

export async function rowsStop(cli: Cli, scope: Scope, id: string, options: StopVerbOptions): Promise<number> {
  if (!(await cli.hasStore())) throw scope.notFound(id);
  const isSettled = options.wait !== false;
  let report: StopReport;
  try {
    const answer = await askForLong(cli, {
      ask: (client) =>
        scope.stop(client, id, {
          wait: isSettled,
          ...(options.reason === undefined ? {} : { reason: options.reason }),
          ...(options.force === true ? { force: true } : {}),
        }),
      what: 'stop',
      doing: 'stopping',
    });
    if (answer === null) return EXIT.cancelled;
    report = answer;
  } catch (error) {
    if (isOffstageError(error, 'stop.nothing_running')) return tellNothing(cli, error);
    if (isOffstageError(error, 'stop.failed') && !cli.isJson) await tell(cli, cli.err, error.details as StopLists, true);
    throw error;
  }
  if (cli.isJson) {
    await cli.document(report);
  } else {
    await tell(cli, cli.out, report, isSettled);
    await cli.out.line(stopTally(report, { isSettled }));
    if (report.sourceError !== null)
      await cli.note(`not everything could be looked up, so there may be more: ${report.sourceError.message}`);
    if (!report.durable) await cli.note('the store refuses for now: what was decided is stored once it can be.');
  }
  return report.failed.length > 0 ? EXIT.failed : EXIT.done;
}

/** Not an error for somebody who wants it to be quiet. */
async function tellNothing(cli: Cli, error: Parameters<typeof failureDocument>[0]): Promise<number> {
  if (cli.isJson) {
    await cli.document(failureDocument(error));
    return EXIT.done;
  }
  const lists: StopLists = { detached: [], ...(error.details as StopLists) };
  await tell(cli, cli.out, lists, true);
  await cli.out.line(lists.detached?.length === 0 ? 'Nothing is running.' : 'Nothing else is running.');
  return EXIT.done;
}

async function tell(cli: Cli, sink: Sink, lists: StopLists, isSettled: boolean): Promise<void> {
  const subjects = await subjectsOf(cli, jobsShown(lists));
  for (const line of stopLines(lists, { isSettled, subjects })) await sink.line(line);
}

/** Of those that can be read; for the others, and without an owner, the id has to do. */
async function subjectsOf(cli: Cli, jobIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const subjects = new Map<string, string>();
  const { client } = await cli.door();
  for (const jobId of new Set(jobIds)) {
    const job = await client.getJob(jobId).catch(() => null);
    if (job !== null) subjects.set(jobId, subjectOf(job));
  }
  return subjects;
}

export interface ConfirmVerbOptions {
  readonly yes?: boolean;
  readonly force?: boolean;
}

export const rowsRemove = (cli: Cli, scope: Scope, id: string, options: ConfirmVerbOptions): Promise<number> =>
  confirmed(cli, scope, id, {
    ask: (client) => scope.remove(client, id, { ...confirmOf(options), ...(options.force === true ? { force: true } : {}) }),
    what: 'removal',
    doing: 'stopping and removing',
    done: 'removed',
    withYes: 'to stop that, and to remove it',
  });

export const tasksArchive = (cli: Cli, scope: Scope, id: string, options: ConfirmVerbOptions): Promise<number> =>
  confirmed(cli, scope, id, {
    ask: (client) => client.archiveTask(id, confirmOf(options)),
    what: 'archiving',
    doing: 'archiving',
    done: 'archived',
    withYes: 'to archive it all the same; what runs goes on',
  });

const confirmOf = ({ yes = false }: ConfirmVerbOptions) => (yes ? { confirm: true } : {});

interface ConfirmRequest extends LongRequest<ConfirmedAnswer> {
  readonly done: string;
  readonly withYes: string;
}

async function confirmed(cli: Cli, scope: Scope, id: string, { done, withYes, ...request }: ConfirmRequest): Promise<number> {
  if (!(await cli.hasStore())) throw scope.notFound(id);
  const answer = await askForLong(cli, request);
  if (answer === null) return EXIT.cancelled;
  if (cli.isJson) await cli.document(answer);
  else if (answer.done) await cli.out.line(`${printable(id)} was ${done}.`);
  else await cli.note(`${liveWorkInWords(answer.warning)} Nothing was ${done}; repeat with --yes ${withYes}.`);
  return answer.done ? EXIT.done : EXIT.failed;
}
