/**
 * The options of `open`, checked and with their defaults (spec 3, 4, 6; api.md).
 *
 * SET1  Nothing invalid is rounded, clamped or ignored: it is `config.invalid`.
 * SET2  An option beats the environment.
 */
import { systemClock } from '../actors/clock.ts';
import { idSource } from '../actors/id-source.ts';
import type { Clock, IdSource } from '../model/clock.ts';
import { offstageError } from '../model/errors.ts';
import { LIMITS } from '../model/limits.ts';
import type { EngineOptions, Inspect } from '../model/options.ts';
import type { Durability, Log, Retention } from '../model/requests.ts';

export interface Settings {
  readonly workers: number | null;
  readonly perSessionLimit: number | null;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly durability: Durability;
  /** Infinity means none. */
  readonly cancelGraceMs: number;
  readonly killAfterMs: number;
  readonly shutdownGraceMs: number;
  readonly retention: { readonly maxAgeMs: number | null; readonly maxJobs: number | null };
  readonly inspect: Inspect | undefined;
  readonly log: Log;
  /** Where output beyond memory goes; null keeps only the end of it. */
  readonly spillDirectory: string | null;
}

const invalid = (option: string, message: string) => offstageError('config.invalid', { option, message });

/** An integer from 1 to 1,024, or null. */
function count(option: string, value: unknown): number | null {
  if (value === null || value === Number.POSITIVE_INFINITY) return null;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= LIMITS.workers) return value;
  throw invalid(option, `it must be an integer from 1 to ${LIMITS.workers}, or null for no limit, not ${String(value)}`);
}

function workersFrom(option: unknown, environment: string | undefined): number | null {
  if (option !== undefined) return count('workers', option);
  if (environment === undefined || environment === '') return 4;
  return count('OFFSTAGE_WORKERS', /^\d+$/.test(environment) ? Number(environment) : environment);
}

/** Milliseconds ≥ 0; null and Infinity mean none. */
function graceMs(option: string, value: number | null | undefined, defaultMs: number): number {
  if (value === undefined) return defaultMs;
  if (value === null) return Number.POSITIVE_INFINITY;
  if (typeof value === 'number' && value >= 0) return value;
  throw invalid(option, `it must be milliseconds of 0 or more, or null for none, not ${String(value)}`);
}

function retention(value: Retention | null | undefined): Settings['retention'] {
  if (value === null) return { maxAgeMs: null, maxJobs: null };
  const limit = (option: string, given: number | null | undefined, fallback: number): number | null => {
    const checked = graceMs(option, given, fallback);
    return checked === Number.POSITIVE_INFINITY ? null : checked;
  };
  return {
    maxAgeMs: limit('retention.maxAgeMs', value?.maxAgeMs, LIMITS.retentionMs),
    maxJobs: limit('retention.maxJobs', value?.maxJobs, LIMITS.retentionJobs),
  };
}

/** @throws OffstageError `config.invalid` */
export function settingsFrom(options: EngineOptions, environment: NodeJS.ProcessEnv, spillDirectory: string | null): Settings {
  const clock = options.clock ?? systemClock;
  const durability = options.durability ?? 'full';
  if (durability !== 'full' && durability !== 'process') {
    throw invalid('durability', `it must be 'full' or 'process', not ${String(durability)}`);
  }
  const cancelGraceMs = graceMs('cancelGraceMs', options.cancelGraceMs, 30_000);
  const killAfterMs = graceMs('killAfterMs', options.killAfterMs, 5_000);
  return {
    workers: workersFrom(options.workers, environment.OFFSTAGE_WORKERS),
    perSessionLimit: options.perSessionLimit === undefined ? null : count('perSessionLimit', options.perSessionLimit),
    clock,
    ids: options.ids ?? idSource,
    durability,
    cancelGraceMs,
    killAfterMs: Math.min(killAfterMs, cancelGraceMs / 2),
    shutdownGraceMs: graceMs('shutdownGraceMs', options.shutdownGraceMs, 5_000),
    retention: retention(options.retention),
    inspect: options.inspect,
    log: fencedLog(options.log),
    spillDirectory,
  };
}

/** A host's log function may throw; without one, warnings and errors go to stderr. */
function fencedLog(log: Log | undefined): Log {
  if (log === undefined) {
    return (level, event, fields) => {
      if (level === 'warn' || level === 'error') process.stderr.write(`offstage ${level}: ${event} ${JSON.stringify(fields)}\n`);
    };
  }
  return (level, event, fields) => {
    try {
      log(level, event, fields);
    } catch {
      // Nothing is left to tell it to.
    }
  };
}
