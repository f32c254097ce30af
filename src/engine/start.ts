/** Brings an engine up on a store: recovers what the last process left, then accepts work. */
import type { Executors } from '../model/executor.ts';
import type { Store } from '../persistence/store.ts';
import type { Closer } from './closers.ts';
import type { RegisteredExecutor } from './core.ts';
import { noticeHook } from './notices.ts';
import { Offstage } from './offstage.ts';
import type { PausePoints } from './pause-points.ts';
import { type ProcessReaper, recover } from './recovery.ts';
import type { Settings } from './settings.ts';
import type { CommitHook } from './transaction.ts';

export interface StartOptions {
  readonly settings: Settings;
  readonly store: Store;
  readonly executors: ReadonlyMap<string, RegisteredExecutor>;
  readonly reap: ProcessReaper;
  readonly hooks?: readonly CommitHook[];
  /** Called at close, before the store goes; may grow while the engine runs. */
  readonly closers?: readonly Closer[];
  /** Null with a store of the host's own. */
  readonly dataDir?: string | null;
  /** For tests. */
  readonly points?: PausePoints;
}

/** @throws OffstageError `store.corrupt`, `store.failed` */
export async function startEngine<Kinds extends Executors>(options: StartOptions): Promise<Offstage<Kinds>> {
  const { settings, store, executors, reap } = options;
  const hooks = [noticeHook, ...(options.hooks ?? [])];
  const recovered = await recover(store, settings, reap, hooks);
  return new Offstage<Kinds>(settings, store, executors, recovered, { ...options, hooks });
}
