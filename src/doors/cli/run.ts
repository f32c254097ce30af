/**
 * `offstage run -- command…`: a command as a job, with its output here and its end as exit code (spec 15).
 *
 * CRN1  The id is made here, so asking again after a lost connection can never run the command twice.
 * CRN2  Output is shown completely before the end is told.
 */
import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { isTerminal, type JobStatus, type JobView } from '../../model/records.ts';
import type { ClientSpawnOptions } from '../client/verbs.ts';
import type { Cli } from './cli.ts';
import { EXIT, exitCodeOfJob } from './exit-codes.ts';
import { endSentence } from './job-lines.ts';
import type { Door } from './open-door.ts';
import { OutputPrinter } from './output-printer.ts';
import { ProgressLine } from './progress-line.ts';
import { readOutput } from './read-output.ts';
import { clipped, printable } from './terminal.ts';
import { durationInWords, parseDuration } from './words.ts';

export interface RunOptions {
  readonly subject?: string;
  readonly session?: string;
  readonly timeout?: string;
  readonly cwd?: string;
  readonly stdin?: boolean;
}

export async function run(cli: Cli, command: readonly string[], options: RunOptions): Promise<number> {
  const [program = '', ...args] = command;
  const line = command.map(quoted).join(' ');
  const jobId = `job_run_${randomBytes(10).toString('hex')}`;
  const spawn: ClientSpawnOptions = {
    jobId,
    kind: 'command',
    description: line,
    subject: options.subject ?? clipped(printable(line), 60),
    input: {
      command: program,
      args,
      cwd: resolve(options.cwd ?? '.'),
      ...(options.stdin === true ? { stdin: await readText(process.stdin) } : {}),
    },
    ...(options.session === undefined ? {} : { sessionId: options.session }),
    ...(options.timeout === undefined ? {} : { timeoutMs: parseDuration('--timeout', options.timeout) }),
  };
  const job = await new Run(cli, jobId, spawn).untilEnd();
  if (job === null) return EXIT.cancelled;
  const sentence = endSentence(job);
  if (sentence !== null) await cli.note(sentence);
  if (cli.isJson) await cli.document(job);
  return exitCodeOfJob(job);
}

class Run {
  readonly #cli: Cli;
  readonly #jobId: string;
  readonly #spawn: ClientSpawnOptions;
  readonly #printer: OutputPrinter;
  readonly #progress: ProgressLine;
  #door: Door | null = null;
  #status: JobStatus = 'queued';
  /** The job was asked for: from here on there may be one. */
  #isAsked = false;
  #startedAt = 0;

  constructor(cli: Cli, jobId: string, spawn: ClientSpawnOptions) {
    this.#cli = cli;
    this.#jobId = jobId;
    this.#spawn = spawn;
    this.#progress = new ProgressLine(cli.err, () => this.#describe());
    this.#printer = new OutputPrinter({
      // The document has stdout for itself.
      out: cli.isJson ? cli.err : cli.out,
      err: cli.err,
      readKept: () => readOutput(cli, jobId),
      onLost: (text) => cli.note(text),
      beforeWrite: () => this.#progress.clear(),
    });
  }

  /** The record at its end; null when it was interrupted before it began. */
  async untilEnd(): Promise<JobView | null> {
    const { interrupts } = this.#cli;
    const early = new Promise<null>((giveUp) => {
      interrupts.ask(() => {
        this.#progress.clear();
        void this.#cli.note(this.#isAsked ? 'cancelling; once more kills it.' : 'interrupted before the command was started.');
        if (this.#isAsked) this.#cancel();
        else giveUp(null);
      });
    });
    try {
      return await Promise.race([this.#cli.persist((door) => this.#through(door)), early]);
    } finally {
      this.#progress.stop();
      interrupts.ask(null);
    }
  }

  async #through(door: Door): Promise<JobView | null> {
    const { client } = door;
    this.#door = door;
    let onEnd = (): void => {};
    const ended = new Promise<void>((settle) => {
      onEnd = settle;
    });
    await client.follow({ jobId: this.#jobId, hold: true }, async (event) => {
      if (event.type === 'job.output') await this.#printer.take(event);
      if (event.type !== 'job.status') return;
      this.#status = event.status;
      if (isTerminal(event.status)) onEnd();
    });
    if (this.#cli.interrupts.hasCome && !this.#isAsked) return null;
    this.#isAsked = true;
    const { status } = await client.spawn(this.#spawn);
    this.#startedAt = Date.now();
    // It may have come while the job was not known yet.
    if (this.#cli.interrupts.hasCome) this.#cancel();
    if (!isTerminal(status)) await Promise.race([ended, client.ended]);
    const job = await client.getJob(this.#jobId);
    const { end } = await client.output(this.#jobId, { tail: 0 });
    await this.#printer.fillTo(end);
    return job;
  }

  #cancel(): void {
    this.#door?.client.cancelJob(this.#jobId, { reason: 'interrupted' }).catch(() => {});
  }

  #describe(): string | null {
    if (this.#startedAt === 0 || !this.#printer.endsLine) return null;
    const since = durationInWords(Date.now() - this.#startedAt);
    return this.#status === 'running' ? `running for ${since}` : `${this.#status} for ${since}`;
  }
}

/** As one would type it. */
const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
