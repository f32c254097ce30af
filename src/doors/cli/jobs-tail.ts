/**
 * `offstage jobs tail`: what a job prints, until it has ended; without an id, what happens to all of them.
 */

import type { OffstageEvent } from '../../model/events.ts';
import { isTerminal } from '../../model/records.ts';
import type { Cli } from './cli.ts';
import { EXIT } from './exit-codes.ts';
import { followOwner } from './follow-owner.ts';
import { endSentence, subjectOf } from './job-lines.ts';
import { withJobs } from './job-verbs.ts';
import { OutputPrinter } from './output-printer.ts';
import { readOutput } from './read-output.ts';
import { printable } from './terminal.ts';
import { parseCount, timeInWords } from './words.ts';

export interface TailOptions {
  readonly lines?: string;
}

type OutputEvent = Extract<OffstageEvent, { type: 'job.output' }>;

const LINES = 10;

export async function jobsTail(cli: Cli, jobId: string | undefined, options: TailOptions): Promise<number> {
  if (jobId === undefined) return tailAll(cli);
  const tail = parseCount('--lines', options.lines ?? String(LINES), 0);
  return cli.isJson ? tailEvents(cli, jobId, tail) : tailOutput(cli, jobId, tail);
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
    await client.follow({ jobId }, async (event) => {
      if (event.type === 'job.output') {
        // Not before it is known where they go on.
        await ready;
        await printer?.take({ ...event, stream: null });
      }
      if (event.type === 'job.status' && isTerminal(event.status)) onEnd();
    });
    const other = await cli.another();
    let lastLines = '';
    try {
      const first = await other.getJob(jobId);
      const end = await other.readOutput(jobId, { tail }, (text) => {
        lastLines += text;
      });
      if (printer === null) {
        await cli.out.write(lastLines);
        const sinks = { out: cli.out, err: cli.out };
        printer = new OutputPrinter({ ...sinks, readKept: () => readOutput(cli, jobId), onLost: (text) => cli.note(text) }, end);
      } else {
        await printer.fillTo(end);
      }
      onReady();
      if (isTerminal(first.status)) return first;
    } finally {
      onReady();
      other.close();
    }
    await Promise.race([ended, client.ended]);
    const last = await client.getJob(jobId);
    const { end } = await client.output(jobId);
    await printer.fillTo(end);
    return last;
  });
  const sentence = endSentence(job);
  if (sentence !== null) await cli.note(sentence);
  return EXIT.done;
}

/** The last of what it has printed, as events like those that follow: one per line, until its end. */
async function tailEvents(cli: Cli, jobId: string, tail: number): Promise<number> {
  /** Characters of the output that were told, or are older than what was asked for; null before the first answer. */
  let told: number | null = null;
  const tell = async (event: OutputEvent): Promise<void> => {
    const { text, offset } = event;
    const start = Math.max(0, (told ?? 0) - offset);
    if (start >= text.length) return;
    told = offset + text.length;
    await cli.record({ ...event, text: text.slice(start), offset: offset + start });
  };
  await withJobs(cli, jobId, async ({ client }) => {
    let onEnd = (): void => {};
    const ended = new Promise<void>((resolve) => {
      onEnd = resolve;
    });
    let onReady = (): void => {};
    const ready = new Promise<void>((resolve) => {
      onReady = resolve;
    });
    const { seq, epoch } = await client.follow({ jobId }, async (event) => {
      // What its card says is what its status has said.
      if (event.type === 'card.updated') return;
      await ready;
      await (event.type === 'job.output' ? tell(event) : cli.record(event));
      if (event.type === 'job.status' && isTerminal(event.status)) onEnd();
    });
    const other = await cli.another();
    try {
      const { status, sessionId, lastActivityAt, createdAt } = await other.getJob(jobId);
      const head = {
        seq,
        epoch,
        at: lastActivityAt ?? createdAt,
        type: 'job.output',
        jobId,
        sessionId,
      } as const;
      // After a lost connection it goes on where it was.
      const from = told === null ? { tail } : {};
      const end = await other.readOutput(jobId, from, (text, offset) => tell({ ...head, text, stream: null, offset }));
      told = Math.max(told ?? 0, end);
      if (isTerminal(status)) onEnd();
    } finally {
      onReady();
      other.close();
    }
    await Promise.race([ended, client.ended]);
    await client.getJob(jobId);
  });
  return EXIT.done;
}

async function tailAll(cli: Cli): Promise<never> {
  // Nobody is waited for where there can never be anything.
  await cli.hasStoreToList();
  const subjects = new Map<string, string>();
  return followOwner(cli, async ({ door: { client }, over }) => {
    const other = await cli.another();
    const describe = async (event: OffstageEvent): Promise<string | null> => {
      if (!('jobId' in event) || event.type === 'card.updated') return null;
      const { jobId, at } = event;
      const head = `${cli.out.paint('dim', timeInWords(at))}  ${printable(jobId)}`;
      if (event.type === 'job.output') return `${head}  ${cli.out.paint('dim', '|')} ${lastLine(event.text)}`;
      if (event.type === 'job.progress') return `${head}  ${printable(JSON.stringify(event.progress))}`;
      if (!subjects.has(jobId)) subjects.set(jobId, subjectOf(await other.getJob(jobId).catch(() => ({ subject: '' }))));
      const subject = subjects.get(jobId) ?? '';
      if ('status' in event && isTerminal(event.status)) subjects.delete(jobId);
      const cancelling = event.status === 'running' && event.cancelRequestedAt !== null;
      return `${head}  ${cancelling ? 'cancelling' : event.status}  ${subject}`;
    };
    const show = async (event: OffstageEvent): Promise<void> => {
      if (cli.isJson) return cli.record(event);
      const line = await describe(event);
      if (line !== null) await cli.out.line(line);
    };
    try {
      await client.follow({}, show);
      await over;
    } finally {
      other.close();
    }
  });
}

const lastLine = (text: string): string => printable(text.trimEnd().split('\n').at(-1) ?? '');
