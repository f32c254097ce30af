/** `offstage jobs get | output | cancel | history`: one question, one answer. */
import { offstageError } from '../../model/errors.ts';
import { isTerminal, type JobView } from '../../model/records.ts';
import type { Cli } from './cli.ts';
import { EXIT } from './exit-codes.ts';
import { jobBlock, statusWord } from './job-lines.ts';
import type { Door } from './open-door.ts';
import { printable } from './terminal.ts';
import { dateInWords, parseCount } from './words.ts';

/** Where nothing is stored, nothing is known. @throws OffstageError `job.not_found` */
export async function withJobs<Result>(cli: Cli, jobId: string, work: (door: Door) => Promise<Result>): Promise<Result> {
  if (!(await cli.hasStore())) throw offstageError('job.not_found', { jobId });
  return cli.persist(work);
}

export async function jobsGet(cli: Cli, jobId: string): Promise<number> {
  const job = await withJobs(cli, jobId, ({ client }) => client.getJob(jobId));
  if (cli.isJson) await cli.document(job);
  else for (const line of jobBlock(cli.out, job, Date.now())) await cli.out.line(line);
  return EXIT.done;
}

export interface OutputOptions {
  readonly tail?: string;
}

export async function jobsOutput(cli: Cli, jobId: string, options: OutputOptions): Promise<number> {
  const tail = options.tail === undefined ? {} : { tail: parseCount('--tail', options.tail, 0) };
  let shownTo: number | null = null;
  let whole = '';
  await withJobs(cli, jobId, async ({ client }) => {
    await client.readOutput(jobId, tail, async (text, offset) => {
      // After a lost connection it comes again from the beginning.
      const start = shownTo === null ? 0 : Math.max(0, shownTo - offset);
      const missing = shownTo === null ? 0 : Math.max(0, offset - shownTo);
      const shown = (missing === 0 ? '' : `\n[… ${missing} characters were not kept]\n`) + text.slice(start);
      shownTo = Math.max(shownTo ?? 0, offset + text.length);
      if (cli.isJson) whole += shown;
      else await cli.out.write(shown);
    });
  });
  if (cli.isJson) await cli.document({ jobId, output: whole });
  return EXIT.done;
}

export interface CancelOptions {
  readonly reason?: string;
}

export async function jobsCancel(cli: Cli, jobIds: readonly string[], options: CancelOptions): Promise<number> {
  const reason = options.reason === undefined ? {} : { reason: options.reason };
  const jobs: JobView[] = [];
  for (const jobId of jobIds) {
    const before = await withJobs(cli, jobId, ({ client }) => client.getJob(jobId));
    if (isTerminal(before.status)) {
      if (!cli.isJson) await cli.out.line(`${printable(jobId)} had ended already: ${before.status}.`);
      jobs.push(before);
      continue;
    }
    const job = await withJobs(cli, jobId, async ({ client }) => {
      await client.cancelJob(jobId, reason);
      return client.getJob(jobId);
    });
    if (!cli.isJson)
      await cli.out.line(`${printable(jobId)} ${isTerminal(job.status) ? `is ${job.status}` : `is ${statusWord(job)}`}.`);
    jobs.push(job);
  }
  if (cli.isJson) await cli.document(jobs.length === 1 ? jobs[0] : jobs);
  return EXIT.done;
}

export async function jobsHistory(cli: Cli, jobId: string): Promise<number> {
  const entries = await withJobs(cli, jobId, ({ client }) => client.history(jobId));
  if (cli.isJson) {
    await cli.document(entries);
    return EXIT.done;
  }
  for (const { at, type, from, to, reasonCode, detail } of entries) {
    const what = to === undefined ? type.replaceAll('_', ' ') : from === undefined ? to : `${from} → ${to}`;
    const why = [reasonCode, detail].filter((part) => part !== undefined).map((part) => printable(part as string));
    await cli.out.line(`${cli.out.paint('dim', dateInWords(at))}  ${what}${why.length === 0 ? '' : `  (${why.join(': ')})`}`);
  }
  return EXIT.done;
}
