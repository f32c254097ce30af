/**
 * `open`: the one place where the rooms are put together.
 *
 * OPN1  When open rejects, nothing stays behind: no lock, no socket, no timer.
 */
import { join, resolve } from 'node:path';
import { namesOf, readable, readOptions } from './engine/check-options.ts';
import type { RegisteredExecutor } from './engine/core.ts';
import type { Offstage } from './engine/offstage.ts';
import { errorMessage } from './engine/outcome.ts';
import type { ProcessReaper } from './engine/recovery.ts';
import { checkFlag, checkPort, invalidOption, type Settings, settingsFrom } from './engine/settings.ts';
import { startEngine } from './engine/start.ts';
import { agentExecutor } from './executors/agent.ts';
import type { AgentInput } from './executors/agent-input.ts';
import { commandExecutor } from './executors/command.ts';
import type { CommandInput } from './executors/command-input.ts';
import { resolveExecutor } from './executors/inline.ts';
import { reapProcess } from './executors/process-reaper.ts';
import { offstageError } from './model/errors.ts';
import type { Executor, ExecutorFunction, Executors } from './model/executor.ts';
import type { EngineOptions } from './model/options.ts';
import { levelStore } from './persistence/level-store.ts';
import { CONTROL_SOCKET } from './persistence/ownership.ts';
import type { Store } from './persistence/store.ts';

/** The options of `open`: all of the engine's, and where the data lies. Give a `dataDir` or a `store`. */
// biome-ignore lint/complexity/noBannedTypes: the empty record is the right default: no kinds but the built-in ones.
export interface OpenOptions<Kinds extends Executors = {}> extends EngineOptions<Kinds> {
  /** The folder that holds everything; made if missing. Exactly one process owns it. */
  readonly dataDir?: string;
  /** A store of your own instead of a folder, for example `memoryStore()`. It serves one engine at a time, which closes it. */
  readonly store?: Store;
  /** Serve the verbs on `<dataDir>/control.sock`, so that other terminals can talk to this process. Default false. */
  readonly control?: boolean;
}

/** Kinds that every engine runs. */
export interface BuiltInKinds {
  readonly command: Executor<CommandInput, unknown>;
  readonly agent: Executor<AgentInput, unknown>;
  readonly [kind: string]: Executor;
}

const NAMES = namesOf<OpenOptions<Executors>>({
  dataDir: true,
  store: true,
  control: true,
  workers: true,
  perSessionLimit: true,
  executors: true,
  agents: true,
  display: true,
  admission: true,
  interruptGraceMs: true,
  outOfTurnIdleMs: true,
  turnTimeoutMs: true,
  quietAfterMs: true,
  stallFailMs: true,
  confirmArchive: true,
  notices: true,
  clock: true,
  ids: true,
  durability: true,
  cancelGraceMs: true,
  killAfterMs: true,
  shutdownGraceMs: true,
  retention: true,
  inspect: true,
  handleSignals: true,
  log: true,
});

/** Stores of open engines: each serves one at a time. */
const stores = new WeakSet<Store>();

/**
 * The options of `open` as the compiler reads them. `Bodies` gives each body the input that its schema, or its own annotation, says;
 * `Given` keeps the executors as they were written, so that `spawn` knows what each kind takes.
 */
export type OpenWith<Bodies, Given> = Omit<OpenOptions, 'executors'> & {
  readonly executors?: Given & { readonly [Kind in keyof Bodies]: Executor<Bodies[Kind]> | ExecutorFunction<Bodies[Kind]> };
};

/** The kinds of an engine: the host's own and the built-in ones. */
export type KindsOf<Given> = (Given extends Executors ? Given : unknown) &
  Omit<Pick<BuiltInKinds, 'command' | 'agent'>, keyof Given>;

const REAP_DEADLINE_MS = 10_000;

/**
 * Opens an engine on a data folder, recovers what an earlier process left, and accepts work.
 * @throws OffstageError `config.invalid`, `store.locked`, `store.corrupt`, `store.failed`
 * @example
 * await using offstage = await open({ dataDir: './.offstage', executors: { shout: async (job) => String(job.input).toUpperCase() } });
 * const job = await offstage.spawn({ kind: 'shout', input: 'hi' });
 * console.log((await offstage.wait(job.jobId)).resultText);
 */
export async function open<Bodies extends Record<string, unknown>, Given>(
  given: OpenWith<Bodies, Given> = {},
): Promise<Offstage<KindsOf<Given>>> {
  const options = readOptions('options', given, NAMES, invalidOption);
  const dataDir = dataDirOf(options);
  const settings = settingsFrom(options, process.env, dataDir === null ? null : join(dataDir, 'output'));
  const executors = executorsOf(options as OpenOptions<Executors>, settings);
  if (checkFlag('control', options.control) === true && dataDir === null) {
    throw offstageError('config.invalid', { option: 'control', message: 'it needs a dataDir' });
  }
  if (options.store !== undefined && stores.has(options.store)) {
    throw offstageError('store.locked', { folder: 'This store', pid: process.pid });
  }
  const store = options.store ?? (await levelStore(dataDir as string, { control: controlPathOf(options, dataDir) }));
  stores.add(store);
  const closers: (() => Promise<void> | void)[] = [() => void stores.delete(store)];
  let engine: Offstage<KindsOf<Given>>;
  try {
    const { clock, killAfterMs } = settings;
    const reap: ProcessReaper = (record, { isForced } = { isForced: false }) =>
      reapProcess(record, { clock, killAfterMs: isForced ? 0 : killAfterMs, deadlineMs: REAP_DEADLINE_MS });
    engine = await startEngine({ settings, store, executors, reap, closers, dataDir });
  } catch (error) {
    stores.delete(store);
    await store.close();
    throw error;
  }
  try {
    if (options.control === true) {
      const { serveControl } = await import('./doors/control/control-server.ts');
      closers.push(await serveControl(engine, dataDir as string));
    }
  } catch (error) {
    await engine.close();
    throw error;
  }
  if (options.handleSignals === true) closers.push(closeOnSignals(engine));
  return engine;
}

/** Said from the first instant of the lock on, so that others know that they may wait for it. */
const controlPathOf = (options: OpenOptions<Executors>, dataDir: string | null): string | null =>
  options.control === true && dataDir !== null ? join(dataDir, CONTROL_SOCKET) : null;

function dataDirOf(options: OpenOptions<Executors>): string | null {
  const { dataDir } = options;
  const store = checkPort('store', options.store, ['get', 'getMany', 'range', 'batch', 'close']);
  if (dataDir !== undefined && store !== undefined) {
    throw offstageError('config.invalid', { option: 'store', message: 'give either a store or a dataDir, not both' });
  }
  if (dataDir === undefined && store === undefined) {
    throw offstageError('config.invalid', { option: 'dataDir', message: 'give a folder, or a store such as memoryStore()' });
  }
  if (dataDir === undefined) return null;
  if (typeof dataDir !== 'string' || dataDir === '' || dataDir.includes('\0')) {
    throw offstageError('config.invalid', { option: 'dataDir', message: 'it must be a path' });
  }
  return resolve(dataDir);
}

function executorsOf(options: OpenOptions<Executors>, { clock, agents, log }: Settings): ReadonlyMap<string, RegisteredExecutor> {
  const own = readable('executors', () => entriesOf(options.executors), invalidOption);
  const onUnreadable = (error: unknown): void => log('error', 'frame.unreadable', { error: errorMessage(error) });
  const kinds: Executors = { command: commandExecutor({ clock }), agent: agentExecutor({ agents, clock, onUnreadable }), ...own };
  return new Map(Object.entries(kinds).map(([kind, executor]) => [kind, resolveExecutor(kind, executor)]));
}

function entriesOf(executors: Executors | undefined): Executors {
  if (executors === undefined) return {};
  if (typeof executors === 'object' && executors !== null && !Array.isArray(executors)) return { ...executors };
  throw invalidOption('executors', 'it must be an object of executors by their kind');
}

/** Closes on the first SIGINT or SIGTERM; the host's own handlers and exit code stay the host's. */
function closeOnSignals(engine: AsyncDisposable & { close(): Promise<void> }): () => void {
  const onSignal = (): void => void engine.close();
  process.once('SIGINT', onSignal);
  process.once('SIGTERM', onSignal);
  return () => {
    process.off('SIGINT', onSignal);
    process.off('SIGTERM', onSignal);
  };
}
