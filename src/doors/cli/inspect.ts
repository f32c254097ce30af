/**
 * `offstage inspect`: where an inspector can look at the owner's charts, and what becomes of them, line by line.
 *
 * INV1  It only looks: it never opens the folder itself, and what it hands out lets nobody change anything.
 * INV2  It ends with the server, or, where it follows one job, with that job.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { WebSocket } from 'ws';
import { offstageError } from '../../model/errors.ts';
import { isTerminal, type JobStatus } from '../../model/records.ts';
import { readOwner } from '../../persistence/ownership.ts';
import { connectControl } from '../control/control-client.ts';
import { isToken, Tokens } from '../server/tokens.ts';
import type { WireFields } from '../wire/rename.ts';
import { failureFromWire } from '../wire/wire-errors.ts';
import type { Cli } from './cli.ts';
import { EXIT } from './exit-codes.ts';
import { InspectLines } from './inspect-lines.ts';
import { printable } from './terminal.ts';

export interface InspectOptions {
  readonly job?: string;
  readonly session?: string;
  readonly task?: string;
  readonly tokenFile?: string;
}

const GOING_AWAY = 1001;
const TRIES = 50;
const PAUSE_MS = 100;

export async function inspect(cli: Cli, options: InspectOptions): Promise<number> {
  const url = await serverOf(cli, options);
  if (url === null) return EXIT.done;
  const { token, isFolders } = await tokenOf(cli, options);
  const query = new URLSearchParams({ token });
  for (const name of ['job', 'session', 'task'] as const) if (options[name] !== undefined) query.set(name, options[name]);
  const page = new URL(`inspect?${query}`, url);
  const address = new URL(page);
  address.protocol = page.protocol === 'https:' ? 'wss:' : 'ws:';
  const tell = (text: string): Promise<void> => (cli.isJson ? cli.err.line(text) : cli.out.line(text));
  await tell(`Stately inspector, in a browser: ${page.href}`);
  await tell(`Address for other inspectors:    ${address.href}`);
  return follow(cli, address, { jobId: options.job ?? null, isFolders });
}

/** The address of the owner's server; null: what was asked for has ended. @throws OffstageError `inspector.unavailable`, `*.not_found` */
async function serverOf(cli: Cli, { job, session, task }: InspectOptions): Promise<string | null> {
  const client = await ownerOf(cli);
  try {
    if (job !== undefined) {
      const { status } = await client.request('get_job', { job_id: job });
      if (isTerminal(status as JobStatus)) {
        await cli.note(`${printable(job)} has ended (${status}); there is nothing live to look at.`);
        return null;
      }
    }
    if (session !== undefined) await client.request('get_session', { session_id: session });
    if (task !== undefined) await client.request('get_task', { task_id: task });
    const { url } = await client.request('get_server');
    if (typeof url === 'string') return url;
    throw unavailable(`the process that has ${cli.dataDir} open serves nothing; start it with offstage serve`);
  } finally {
    client.close();
  }
}

async function ownerOf(cli: Cli) {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const client = await connectControl(cli.dataDir);
    if (client !== null) return client;
    if ((await readOwner(cli.dataDir)) === null) break;
    await cli.pause(PAUSE_MS);
  }
  throw unavailable(`nobody has ${cli.dataDir} open; start offstage serve there`);
}

/** A token that may look, and nothing else, as far as it can be made. */
async function tokenOf({ dataDir }: Cli, { tokenFile }: InspectOptions): Promise<{ token: string; isFolders: boolean }> {
  const path = tokenFile ?? join(dataDir, 'token');
  let text = '';
  try {
    text = (await readFile(path, 'utf8')).trim();
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? String(error);
    if (tokenFile !== undefined) throw invalidFile(`it cannot be read (${why})`);
  }
  if (isToken(text)) return { token: new Tokens(text).issue('observe'), isFolders: tokenFile === undefined };
  if (tokenFile !== undefined) throw invalidFile('it holds no token');
  throw unavailable(`${path} holds no token; if the server was given one, hand it over with --token-file`);
}

const unavailable = (message: string) => offstageError('inspector.unavailable', { message });
const invalidFile = (message: string) => offstageError('input.invalid', { argument: '--token-file', message });

/** Until the server, the job or the reader goes. */
async function follow(
  cli: Cli,
  address: URL,
  { jobId, isFolders }: { jobId: string | null; isFolders: boolean },
): Promise<number> {
  const webSocket = new WebSocket(address, { handshakeTimeout: 10_000 });
  const lines = new InspectLines(cli.out);
  let isOver = false;
  const ended = new Promise<number>((resolve, reject) => {
    webSocket.on('unexpected-response', (_, response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => reject(refusalOf(Buffer.concat(chunks).toString(), isFolders)));
    });
    webSocket.on('error', (error) => reject(unavailable(`the server cannot be reached (${error.message})`)));
    webSocket.on('close', (code) => resolve(code));
    cli.finished.addEventListener('abort', () => reject(cli.finished.reason));
  });
  let writing = Promise.resolve();
  webSocket.on('message', (data) => {
    // Whoever reads slowly is shown what has become of things, not every step to it.
    webSocket.pause();
    writing = writing
      .then(async () => {
        const text = String(data);
        const frame = JSON.parse(text) as WireFields;
        const line = lines.take(frame);
        if (cli.isJson) await cli.out.line(text);
        else if (line !== null) await cli.out.line(line);
        if (jobId !== null && lines.hasEnded(jobId)) isOver = true;
      })
      .finally(() => {
        webSocket.resume();
        if (isOver) webSocket.close();
      });
  });
  try {
    const code = await ended;
    await writing;
    if (isOver) return EXIT.done;
    await cli.note(code === GOING_AWAY ? 'the server has closed.' : `the connection to the server was lost (${code}).`);
    return code === GOING_AWAY ? EXIT.done : EXIT.failed;
  } finally {
    webSocket.terminate();
  }
}

function refusalOf(body: string, isFolders: boolean): Error {
  try {
    const error = failureFromWire(JSON.parse(body) as WireFields);
    if (error.code !== 'access.unauthorized' || !isFolders) return error;
    return unavailable('the server does not take the token of the folder; hand over the one that it was given with --token-file');
  } catch {
    return unavailable('the server has answered something that is not understood');
  }
}
