/**
 * `offstage jobs tail`: what a job prints, until it has ended; without an id, what happens to all of them.
 */

import type { OffstageEvent } from '../../model/events.ts';
import { isTerminal } from '../../model/records.ts';
import { eventFromWire } from '../wire-names.ts';
import type { Cli } from './cli.ts';
import { EXIT } from './exit-codes.ts';
import { followOwner } from './follow-owner.ts';
import { endSentence, subjectOf } from './job-lines.ts';
import { getJob, withJobs } from './job-verbs.ts';
import { OutputPrinter } from './output-printer.ts';
import { readOutput } from './read-output.ts';
import { printable } from './terminal.ts';
import { parseCount, timeInWords } from './words.ts';

export interface TailOptions {
  readonly lines?: string;
}

const LINES = 10;

export async function jobsTail(cli: Cli, jobId: string | undefined, options: TailOptions): Promise<number> {
  if (jobId === undefined) return tailAll(cli);
  const tail = parseCount('--lines', options.lines ?? String(LINES), 0);
  return cli.isJson ? tailEvents(cli, jobId) : tailOutput(cli, jobId, tail);
}

async function tailOutput(cli: Cli, jobId: string, tail: number): Promise<number> {
  let printer: OutputPrinter | null = null;
  const job = await withJobs(cli, jobId, async ({ client }) => {
    let onEnd = (): void => {};
    const ended = new Promise<void>((resolve) => {
      onEnd = resolve;
    });
    let onReady = (): void => {};
    const ready = new Promise<void>((resolve) => {
      onReady = resolve;
    });
    client.listen(async (frame) => {
      const event = eventFromWire(frame);
      if (event?.type === 'job.output') {
        // Not before it is known where they go on.
        await ready;
        await printer?.take({ ...event, stream: null });
      }
      if (event?.type === 'job.status' && isTerminal(event.status)) onEnd();
    });
    await client.request('subscribe', { job_id: jobId });
    const other = await cli.another();
    let lastLines = '';
    try {
      const first = await getJob(other, jobId);
      const { end } = await other.request('get_output', { job_id: jobId, parts: true, tail }, (text) => {
        lastLines += text;
      });
      if (printer === null) {
        await cli.out.write(lastLines);
        const sinks = { out: cli.out, err: cli.out };
        printer = new OutputPrinter(
          { ...sinks, readKept: () => readOutput(cli, jobId), onLost: (text) => cli.note(text) },
          end as number,
        );
      } else {
        await printer.fillTo(end as number);
      }
      onReady();
      if (isTerminal(first.status)) return first;
    } finally {
      onReady();
      other.close();
    }
    await Promise.race([ended, client.ended]);
    const last = await getJob(client, jobId);
    const { end } = await client.request('get_output', { job_id: jobId });
    await printer.fillTo(end as number);
    return last;
  });
  const sentence = endSentence(job);
  if (sentence !== null) await cli.note(sentence);
  return EXIT.done;
}

/** The job's events, one per line, until its end. */
async function tailEvents(cli: Cli, jobId: string): Promise<number> {
  await withJobs(cli, jobId, async ({ client }) => {
    let onEnd = (): void => {};
    const ended = new Promise<void>((resolve) => {
      onEnd = resolve;
    });
    client.listen(async (frame) => {
      const event = eventFromWire(frame);
      if (event === null) return;
      await cli.record(event);
      if (event.type === 'job.status' && isTerminal(event.status)) onEnd();
    });
    const other = await cli.another();
    try {
      await client.request('subscribe', { job_id: jobId });
      if (isTerminal((await getJob(other, jobId)).status)) onEnd();
    } finally {
      other.close();
    }
    await Promise.race([ended, client.ended]);
    await getJob(client, jobId);
  });
  return EXIT.done;
}

async function tailAll(cli: Cli): Promise<never> {
  // Nobody is waited for where there can never be anything.
  await cli.hasStore();
  const subjects = new Map<string, string>();
  return followOwner(cli, async ({ door: { client }, over }) => {
    const other = await cli.another();
    const describe = async (event: OffstageEvent): Promise<string | null> => {
      if (!('jobId' in event)) return null;
      const { jobId, at } = event;
      const head = `${cli.out.paint('dim', timeInWords(at))}  ${printable(jobId)}`;
      if (event.type === 'job.output') return `${head}  ${cli.out.paint('dim', '|')} ${lastLine(event.text)}`;
      if (event.type === 'job.progress') return `${head}  ${printable(JSON.stringify(event.progress))}`;
      if (!subjects.has(jobId)) subjects.set(jobId, subjectOf(await getJob(other, jobId).catch(() => ({ subject: '' }))));
      const subject = subjects.get(jobId) ?? '';
      if ('status' in event && isTerminal(event.status)) subjects.delete(jobId);
      const cancelling = event.status === 'running' && event.cancelRequestedAt !== null;
      return `${head}  ${cancelling ? 'cancelling' : event.status}  ${subject}`;
    };
    client.listen(async (frame) => {
      const event = eventFromWire(frame);
      if (event === null) return;
      if (cli.isJson) return cli.record(event);
      const line = await describe(event);
      if (line !== null) await cli.out.line(line);
    });
    try {
      await client.request('subscribe');
      await over;
    } finally {
      other.close();
    }
  });
}

const lastLine = (text: string): string => printable(text.trimEnd().split('\n').at(-1) ?? '');
