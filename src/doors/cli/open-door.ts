/**
 * The way to a data folder: through its owner when there is one, else by becoming it (spec 15).
 *
 * DOR1  Whoever owns the folder stays until every job it accepted has ended, also those of other terminals.
 * DOR2  Owners that are just starting or just ending are waited for; one without a control socket is not.
 */
import { performance } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';
import { systemClock } from '../../actors/clock.ts';
import type { Offstage } from '../../engine/offstage.ts';
import { isOffstageError, offstageError } from '../../model/errors.ts';
import type { OpenOptions } from '../../open.ts';
import { readOwner } from '../../persistence/ownership.ts';
import type { WireClient } from '../client/wire-client.ts';
import { connectControl, localClient } from '../control/control-client.ts';
import { requestsUnderWay } from '../control/control-server.ts';
import { roomFor } from '../events/output-backlog.ts';

/** How long one and the same obstacle is waited for. An owner may have to recover before it serves. */
const PATIENCE_MS = {
  serving: 20_000,
  /** Locked, and nobody says by whom: an owner in its first or last moments. */
  unknown: 5_000,
  /** Without a socket it will not serve, unless it only looks at the folder, such as `doctor`. */
  silent: 1_000,
} as const;
/** Others may read answers slowly; a reader that has stopped does not keep the owner. */
const ANSWERING_PATIENCE_MS = 2_000;
const PAUSE_MS = 50;

export const CANCEL_GRACE_MS = 5_000;

export interface Door {
  readonly client: WireClient;
  /** The engine, when this process owns the folder. */
  readonly engine: Offstage | null;
}

/**
 * @param pause waits so many milliseconds; rejects to give up
 * @throws OffstageError `control.unavailable`, and all that `open` throws
 */
export async function openDoor(dataDir: string, pause: (ms: number) => Promise<void>): Promise<Door> {
  let obstacle = '';
  let since = 0;
  for (;;) {
    const failure = await attempt(dataDir);
    if (!(failure instanceof Error)) return failure;
    const owner = await readOwner(dataDir);
    const kind = owner === null ? 'unknown' : owner.control === null ? 'silent' : 'serving';
    const now = performance.now();
    if (obstacle !== `${kind} ${owner?.pid}`) since = now;
    obstacle = `${kind} ${owner?.pid}`;
    if (now - since > PATIENCE_MS[kind]) throw failure;
    await pause(PAUSE_MS);
  }
}

/** A door, or why there is none at the moment. */
async function attempt(dataDir: string): Promise<Door | Error> {
  try {
    const client = await connectControl(dataDir);
    if (client !== null) return { client, engine: null };
    const engine = await openFolder(dataDir, { cancelGraceMs: CANCEL_GRACE_MS });
    return { client: localClient(engine), engine };
  } catch (error) {
    if (isOffstageError(error, 'control.unavailable')) return error;
    if (isOffstageError(error, 'store.locked')) {
      return offstageError('control.unavailable', { dataDir, pid: (error.details.pid as number | null) ?? null });
    }
    throw error;
  }
}

/**
 * Becomes the owner of the folder, and serves other terminals; commands wait for those that show their output slowly.
 * @throws OffstageError all that `open` throws
 */
export async function openFolder(dataDir: string, options: OpenOptions): Promise<Offstage> {
  // Loading the engine takes longer than all that a client does.
  const { open } = await import('../../open.ts');
  const { commandExecutor } = await import('../../executors/command.ts');
  let engine: Offstage | null = null;
  const command = commandExecutor({
    clock: systemClock,
    pace: (jobId) => (engine === null ? null : roomFor(engine, jobId)),
  });
  const executors = { command, ...options.executors };
  engine = (await open({ ...options, dataDir, control: true, executors })) as unknown as Offstage;
  return engine;
}

/** Jobs of this engine that have not ended. */
export const unfinished = (engine: Offstage): number => engine.jobsModel.get().live.size;

/** Resolves when every accepted job has ended and everybody who asked has an answer. */
export async function whenIdle(engine: Offstage): Promise<void> {
  let answeringSince: number | null = null;
  for (;;) {
    if (unfinished(engine) > 0) {
      answeringSince = null;
      await nextChange(engine);
      continue;
    }
    if (requestsUnderWay(engine) === 0 && engine.health().store.pendingWrites === 0) return;
    answeringSince ??= performance.now();
    if (performance.now() - answeringSince > ANSWERING_PATIENCE_MS) return;
    await setTimeout(PAUSE_MS);
  }
}

function nextChange(engine: Offstage): Promise<void> {
  return new Promise((resolve) => {
    const stop = engine.jobsModel.subscribe(() => {
      stop();
      resolve();
    });
  });
}
