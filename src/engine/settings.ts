/**
 * The options of `open`, checked and with their defaults (spec 3, 4, 6; api.md).
 *
 * SET1  Nothing invalid is rounded, clamped or ignored: it is `config.invalid`.
 * SET2  An option beats the environment.
 */
import { systemClock } from '../actors/clock.ts';
import { idSource } from '../actors/id-source.ts';
import type { AgentFactory, AgentProfile, Agents } from '../model/agent.ts';
import type { Clock, IdSource } from '../model/clock.ts';
import { offstageError } from '../model/errors.ts';
import { LIMITS } from '../model/limits.ts';
import type { EngineOptions, Inspect } from '../model/options.ts';
import type { Durability, Log, Retention } from '../model/requests.ts';
import { settleQuietly } from '../model/settle-quietly.ts';
import { namesOf, type Refuse, readable, readOptions } from './check-options.ts';

/** An agent with everything filled in. */
export interface RegisteredAgent {
  readonly start: AgentFactory;
  readonly display: 'attested' | 'coarse';
  readonly admission: 'attested' | 'conservative';
}

export type RegisteredAgents = Readonly<Record<string, RegisteredAgent>>;

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
  /** Without a prototype, so that any name may be looked up. */
  readonly agents: RegisteredAgents;
  readonly display: 'attested' | 'coarse';
  readonly admission: 'attested' | 'conservative';
  /** In the next five Infinity means never. */
  readonly interruptGraceMs: number;
  readonly outOfTurnIdleMs: number;
  readonly turnTimeoutMs: number;
  readonly quietAfterMs: number;
  readonly stallFailMs: number;
  readonly confirmArchive: boolean;
  readonly notices: boolean;
  /** Whether events and finished jobs are stored. Only an engine that serves one door alone, and is asked for neither, does without. */
  readonly keepsHistory: boolean;
  readonly retention: { readonly maxAgeMs: number | null; readonly maxJobs: number | null };
  readonly inspect: Inspect | undefined;
  readonly log: Log;
  /** Where output beyond memory goes; null keeps only the end of it. */
  readonly spillDirectory: string | null;
}

/** Refuses an option of `open`. */
export const invalidOption: Refuse = (option, message, cause) =>
  offstageError('config.invalid', { option, message }, cause === undefined ? undefined : { cause });

/** For the names inside an option. */
export const invalidWithin =
  (option: string): Refuse =>
  (name, message, cause) =>
    invalidOption(name === option ? option : `${option}.${name}`, message, cause);

/** For a message; whatever it is, it is never asked what it is called. */
const shown = (value: unknown): string =>
  typeof value === 'function' || (typeof value === 'object' && value !== null) ? `a ${typeof value}` : String(value);

/** An integer from 1 to 1,024, or null. */
function count(option: string, value: unknown): number | null {
  if (value === null || value === Number.POSITIVE_INFINITY) return null;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= LIMITS.workers) return value;
  throw invalidOption(option, `it must be an integer from 1 to ${LIMITS.workers}, or null for no limit, not ${shown(value)}`);
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
  throw invalidOption(option, `it must be milliseconds of 0 or more, or null for none, not ${shown(value)}`);
}

export const RETENTION_NAMES = namesOf<Retention>({ maxAgeMs: true, maxJobs: true });

function retention(given: Retention | null | undefined): Settings['retention'] {
  if (given === null) return { maxAgeMs: null, maxJobs: null };
  const value = readOptions('retention', given, RETENTION_NAMES, invalidWithin('retention'));
  const limit = (option: string, given: number | null | undefined, fallback: number): number | null => {
    const checked = graceMs(option, given, fallback);
    return checked === Number.POSITIVE_INFINITY ? null : checked;
  };
  return {
    maxAgeMs: limit('retention.maxAgeMs', value.maxAgeMs, LIMITS.retentionMs),
    maxJobs: limit('retention.maxJobs', value.maxJobs, LIMITS.retentionJobs),
  };
}

/** A function, where one is given. */
function callback<Given>(option: string, value: Given): Given {
  if (value === undefined || typeof value === 'function') return value;
  throw invalidOption(option, `it must be a function, not ${shown(value)}`);
}

/** True or false, where it is given. */
export function checkFlag(option: string, value: boolean | undefined): boolean | undefined {
  if (value === undefined || typeof value === 'boolean') return value;
  throw invalidOption(option, `it must be true or false, not ${shown(value)}`);
}

/** One of a few words, the first of which is the default. */
function choice<Word extends string>(option: string, value: Word | undefined, words: readonly [Word, ...Word[]]): Word {
  if (value === undefined) return words[0];
  if (words.includes(value)) return value;
  throw invalidOption(option, `it must be ${words.map((word) => `'${word}'`).join(' or ')}, not ${shown(value)}`);
}

const PROFILE_NAMES = namesOf<AgentProfile>({ start: true, display: true, admission: true });

const displayOf = (option: string, value: RegisteredAgent['display'] | undefined) =>
  choice(option, value, ['attested', 'coarse']);
const admissionOf = (option: string, value: RegisteredAgent['admission'] | undefined) =>
  choice(option, value, ['attested', 'conservative']);

function agentsFrom(given: Agents | undefined, rules: Omit<RegisteredAgent, 'start'>): RegisteredAgents {
  const agents: Record<string, RegisteredAgent> = Object.create(null);
  if (given === undefined) return agents;
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw invalidOption('agents', 'it must be an object of functions by their name');
  }
  for (const [name, entry] of Object.entries(given)) {
    const option = `agents.${name}`;
    if (typeof entry === 'function') {
      agents[name] = { start: entry, ...rules };
      continue;
    }
    if (typeof entry !== 'object' || entry === null) throw invalidOption(option, `it must be a function, not ${shown(entry)}`);
    const profile = readOptions(option, entry, PROFILE_NAMES, invalidWithin(option));
    if (typeof profile.start !== 'function') throw invalidOption(option, 'its start must be a function');
    agents[name] = {
      start: profile.start,
      display: profile.display === undefined ? rules.display : displayOf(`${option}.display`, profile.display),
      admission: profile.admission === undefined ? rules.admission : admissionOf(`${option}.admission`, profile.admission),
    };
  }
  return agents;
}

/** An implementation of a port, where one is given. */
export function checkPort<Port extends object>(
  option: string,
  value: Port | undefined,
  verbs: readonly (keyof Port & string)[],
): Port | undefined {
  if (value === undefined) return value;
  return readable(
    option,
    () => {
      const missing = verbs.find((verb) => typeof Object(value)[verb] !== 'function');
      if (missing === undefined) return value;
      throw invalidOption(option, `it must have a function ${missing}`);
    },
    invalidOption,
  );
}

/** @throws OffstageError `config.invalid` */
export function settingsFrom(options: EngineOptions, environment: NodeJS.ProcessEnv, spillDirectory: string | null): Settings {
  const clock = checkPort('clock', options.clock, ['now', 'monotonic', 'schedule', 'nextTurn']) ?? systemClock;
  checkFlag('handleSignals', options.handleSignals);
  const cancelGraceMs = graceMs('cancelGraceMs', options.cancelGraceMs, 30_000);
  const rules = { display: displayOf('display', options.display), admission: admissionOf('admission', options.admission) };
  const killAfterMs = graceMs('killAfterMs', options.killAfterMs, 5_000);
  return {
    workers: workersFrom(options.workers, environment.OFFSTAGE_WORKERS),
    perSessionLimit: options.perSessionLimit === undefined ? null : count('perSessionLimit', options.perSessionLimit),
    clock,
    ids: checkPort('ids', options.ids, ['jobId', 'id']) ?? idSource,
    durability: choice('durability', options.durability, ['full', 'process']),
    cancelGraceMs,
    killAfterMs: Math.min(killAfterMs, cancelGraceMs / 2),
    shutdownGraceMs: graceMs('shutdownGraceMs', options.shutdownGraceMs, 5_000),
    agents: readable('agents', () => agentsFrom(options.agents, rules), invalidOption),
    ...rules,
    interruptGraceMs: graceMs('interruptGraceMs', options.interruptGraceMs, 10_000),
    outOfTurnIdleMs: graceMs('outOfTurnIdleMs', options.outOfTurnIdleMs, 5_000),
    turnTimeoutMs: graceMs('turnTimeoutMs', options.turnTimeoutMs, Number.POSITIVE_INFINITY),
    quietAfterMs: graceMs('quietAfterMs', options.quietAfterMs, 300_000),
    stallFailMs: graceMs('stallFailMs', options.stallFailMs, Number.POSITIVE_INFINITY),
    confirmArchive: checkFlag('confirmArchive', options.confirmArchive) ?? true,
    notices: checkFlag('notices', options.notices) ?? true,
    keepsHistory: true,
    retention: retention(options.retention),
    inspect: callback('inspect', options.inspect),
    log: fencedLog(callback('log', options.log)),
    spillDirectory,
  };
}

/** A host's log function may throw, or reject; without one, warnings and errors go to stderr. */
function fencedLog(log: Log | undefined): Log {
  if (log === undefined) {
    return (level, event, fields) => {
      if (level === 'warn' || level === 'error') process.stderr.write(`offstage ${level}: ${event} ${JSON.stringify(fields)}\n`);
    };
  }
  return (level, event, fields) => {
    try {
      settleQuietly(log(level, event, fields), () => {});
    } catch {
      // Nothing is left to tell it to.
    }
  };
}
