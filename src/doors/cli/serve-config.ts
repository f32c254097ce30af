/**
 * The module of `serve --config`: what a host would hand to `open`, written down once (spec 15).
 *
 * SCF1  What cannot be loaded or is misspelt is refused by name, before anything is opened.
 * SCF2  Where the data lies, and who may reach them, is said on the command line only.
 */
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Offstage } from '../../engine/offstage.ts';
import { type OffstageError, offstageError } from '../../model/errors.ts';
import type { OpenOptions } from '../../open.ts';

/** Ends what `onServe` has begun. */
export type Ending = () => unknown;

export interface ServeConfig {
  readonly options: OpenOptions;
  /** Called once the server is up; what it returns, a function or an AsyncDisposable, is called before the engine closes. */
  readonly onServe: ((offstage: Offstage) => unknown) | null;
}

const HOOK = 'onServe';
const TAKEN: readonly string[] = ['dataDir', 'store', 'control', 'handleSignals'];

export const NO_CONFIG: ServeConfig = { options: {}, onServe: null };

/** @throws OffstageError `config.invalid` */
export async function loadServeConfig(path: string): Promise<ServeConfig> {
  const file = resolve(path);
  const found = await stat(file).catch((error: NodeJS.ErrnoException) => {
    throw refuse(error.code === 'ENOENT' ? `there is no file ${file}` : `${file} cannot be read (${error.code})`, error);
  });
  if (!found.isFile()) throw refuse(`${file} is not a file`);
  let module: Readonly<Record<string, unknown>>;
  try {
    module = (await import(pathToFileURL(file).href)) as Record<string, unknown>;
  } catch (error) {
    throw refuse(`${file} could not be loaded: ${error instanceof Error ? error.message : String(error)}`, error);
  }
  const onServe = module[HOOK] ?? null;
  if (onServe !== null && typeof onServe !== 'function') throw refuse(`${HOOK} must be a function`);
  const options = optionsOf(module);
  const taken = TAKEN.find((name) => name in options);
  if (taken !== undefined) throw refuse(`${taken} is not for it to say`);
  return { options, onServe: onServe as ServeConfig['onServe'] };
}

/** Those of `options`; else each export is one. Names that `open` does not know are refused by it. */
function optionsOf(module: Readonly<Record<string, unknown>>): OpenOptions {
  if ('options' in module) {
    const { options } = module;
    if (typeof options === 'object' && options !== null && !Array.isArray(options)) return { ...options };
    throw refuse('options must be an object');
  }
  const { [HOOK]: _, ...named } = module;
  if ('default' in named) throw refuse('it has a default export; export options, or each option, by name');
  if (Object.keys(module).length === 0) throw refuse('it exports nothing; export options such as executors or agents by name');
  return { ...named } as OpenOptions;
}

const refuse = (message: string, cause?: unknown): OffstageError =>
  offstageError('config.invalid', { option: '--config', message }, cause === undefined ? undefined : { cause });

/** What is to be called in the end. @throws OffstageError `config.invalid` */
export function endingOf(value: unknown): Ending | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'function') return value as Ending;
  const dispose =
    (value as Partial<AsyncDisposable & Disposable>)[Symbol.asyncDispose] ?? (value as Partial<Disposable>)[Symbol.dispose];
  if (typeof dispose === 'function') return () => dispose.call(value);
  throw refuse(`${HOOK} must return a function or something that can be disposed of, or nothing`);
}
