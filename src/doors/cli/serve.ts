/**
 * `offstage serve`: owns the folder and serves it over HTTP and WebSocket, until it is told to end (spec 15).
 *
 * CLS1  The first line of stdout is the bound address, and nothing is printed before everything works.
 * CLS2  The first signal drains: nothing new starts, what runs is ended, and the end comes within the grace, whoever is connected and
 *       whatever a body does (B65). The second one exits at once.
 * CLS3  The token is in its file and nowhere else: in no command line, no output, no line of the audit (B74). Only the one-time URL is shown.
 */
import { setTimeout } from 'node:timers/promises';
import type { Offstage } from '../../engine/offstage.ts';
import { isOffstageError, offstageError } from '../../model/errors.ts';
import type { OffstageServer, ServeOptions as ServerOptions } from '../server/index.ts';
import { AuditFile } from './audit-file.ts';
import type { Cli } from './cli.ts';
import { EXIT } from './exit-codes.ts';
import { openFolder } from './open-door.ts';
import { endingOf, loadServeConfig, NO_CONFIG, type ServeConfig } from './serve-config.ts';
import { clipped, printable } from './terminal.ts';
import { readTokenFile } from './token-option.ts';
import { counted, durationInWords } from './words.ts';

export interface ServeVerbOptions {
  readonly host?: string;
  readonly port?: string;
  readonly tokenFile?: string;
  readonly config?: string;
}

/** Nobody says who owns the folder: an owner in its first or last moments. */
const UNKNOWN_OWNER_PATIENCE_MS = 5_000;
const PAUSE_MS = 50;
/** What a config module has begun gets this long to end. */
const ENDING_MS = 2_000;
/** After the end: what bodies of a config module leave behind, timers and the like, keeps the process no longer than this. */
const LEFTOVERS_MS = 500;
const NAMED_JOBS = 3;

export async function serve(cli: Cli, options: ServeVerbOptions): Promise<number> {
  const stop = new AbortController();
  // From the first instant on: an engine that is just being opened is closed again.
  cli.interrupts.ask(() => stop.abort());
  const { host, port } = addressOf(options);
  const token = options.tokenFile === undefined ? null : await readTokenFile(cli, options.tokenFile);
  const config = options.config === undefined ? NO_CONFIG : await untilStopped(loadServeConfig(options.config), stop.signal);
  if (config === null || stop.signal.aborted) return doneSoon();
  const engine = await openOwn(cli.dataDir, config, stop.signal);
  if (engine === null) return EXIT.done;
  const audit = new AuditFile(cli.dataDir, {
    onFailure: (error) => void cli.note(`the audit could not be written: ${error.message}`),
  });
  try {
    await cli.tellRecovery(engine.recovery);
    const ending = await whileServing(cli, engine, {
      config,
      stop: stop.signal,
      server: { host, port, ...(token === null ? {} : { token }), onAudit: (entry) => audit.add(entry) },
    });
    await sayWhatIsWaitedFor(cli, engine);
    await endInTime(cli, ending);
  } finally {
    await engine.close();
    await audit.close();
    exitSoon();
  }
  return EXIT.done;
}

/** Null: it was told to end before. What a host has begun may never come to its end (CLS2). */
async function untilStopped<Result>(work: Promise<Result>, stop: AbortSignal): Promise<Result | null> {
  const stopped = new Promise<null>((resolve) => {
    if (stop.aborted) resolve(null);
    stop.addEventListener('abort', () => resolve(null), { once: true });
  });
  return Promise.race([work, stopped]);
}

/** A module that was not loaded to its end may keep the process. */
function doneSoon(): number {
  exitSoon();
  return EXIT.done;
}

interface Served {
  readonly config: ServeConfig;
  readonly server: ServerOptions;
  readonly stop: AbortSignal;
}

/** Resolves when it is time to end, with what is to be ended first. */
async function whileServing(cli: Cli, engine: Offstage, { config, server: options, stop }: Served): Promise<unknown> {
  // Loading it takes longer than all that other verbs do.
  const { serve: serveEngine } = await import('../server/index.ts');
  const server = await serveEngine(engine, options);
  const begun = await untilStopped(Promise.resolve(config.onServe?.(engine)), stop);
  const ending = endingOf(begun);
  if (!stop.aborted) await announce(cli, server);
  if (!stop.aborted) await new Promise((resolve) => stop.addEventListener('abort', resolve, { once: true }));
  return ending;
}

async function announce(cli: Cli, server: OffstageServer): Promise<void> {
  const oneTimeUrl = server.oneTimeUrl();
  if (cli.isJson) {
    const { url, host, port } = server;
    await cli.record({ url, oneTimeUrl, host, port, dataDir: cli.dataDir, pid: process.pid });
    return;
  }
  await cli.out.line(server.url);
  await cli.out.line(`${oneTimeUrl}  signs one browser in, once, within 10 minutes`);
}

function addressOf({ host = '127.0.0.1', port }: ServeVerbOptions): { readonly host: string; readonly port: number } {
  if (port === undefined) return { host, port: 0 };
  if (/^\d{1,5}$/.test(port) && Number(port) <= 65_535) return { host, port: Number(port) };
  throw offstageError('input.invalid', { argument: '--port', message: 'it must be a number of 0 to 65535' });
}

/** Null: it was told to end before the folder was free. @throws OffstageError `store.locked`, which names the owner, and all that `open` throws */
async function openOwn(dataDir: string, { options }: ServeConfig, stop: AbortSignal): Promise<Offstage | null> {
  for (const since = performance.now(); ; ) {
    try {
      return await openFolder(dataDir, options);
    } catch (error) {
      const isUnknown = isOffstageError(error, 'store.locked') && (error.details.pid ?? null) === null;
      if (!isUnknown || performance.now() - since > UNKNOWN_OWNER_PATIENCE_MS) throw error;
    }
    await setTimeout(PAUSE_MS);
    if (stop.aborted) return null;
  }
}

async function sayWhatIsWaitedFor(cli: Cli, engine: Offstage): Promise<void> {
  const rows = [...engine.jobsModel.get().live.values()];
  const running = rows.filter(({ status }) => status === 'running');
  const queued = rows.length - running.length;
  const names = running.slice(0, NAMED_JOBS).map((row) => clipped(printable(row.view().subject), 40));
  const more = running.length > NAMED_JOBS ? `, and ${running.length - NAMED_JOBS} more` : '';
  const waits = `; waiting for ${counted(running.length, 'job', 'jobs')} to end (${names.join(', ')}${more})`;
  const dropped = `; ${counted(queued, 'queued job', 'queued jobs')} will not start`;
  const hint = running.length === 0 ? '' : ' Ctrl-C exits at once.';
  await cli.note(`closing${running.length === 0 ? '' : waits}${queued === 0 ? '' : dropped}.${hint}`);
}

/** Whatever it does, it does not keep the rest. */
async function endInTime(cli: Cli, ending: unknown): Promise<void> {
  if (typeof ending !== 'function') return;
  const patience = new AbortController();
  try {
    const late = setTimeout(ENDING_MS, 'late', { signal: patience.signal });
    const first = await Promise.race([Promise.resolve().then(() => ending()), late]);
    if (first === 'late') await cli.note(`what onServe has begun has not ended within ${durationInWords(ENDING_MS)}`);
  } catch (error) {
    await cli.note(`what onServe has begun did not end well: ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    patience.abort();
  }
}

/** Fires only where something still keeps the process. */
function exitSoon(): void {
  void setTimeout(LEFTOVERS_MS, undefined, { ref: false }).then(() => process.exit());
}
