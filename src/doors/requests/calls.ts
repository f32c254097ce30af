/**
 * What is told of every request, whatever door it came through: for the audit and for counters (spec 12).
 *
 * CAL1  Names and ids only: no text, prompt, input or token ever stands in it (B74).
 * CAL2  An observer that throws or rejects harms nobody; it is logged.
 */
import type { Offstage } from '../../engine/offstage.ts';
import type { JsonValue } from '../../model/json.ts';
import { LIMITS } from '../../model/limits.ts';
import type { WireFields } from '../wire/rename.ts';
import type { CallerIdentity, Scope } from './caller-identity.ts';

/** One request that was answered. */
export interface Call {
  /** Epoch milliseconds at which it came. */
  readonly at: number;
  readonly action: string;
  readonly scope: Scope;
  /** Which credential was used; never the credential itself. */
  readonly caller: string;
  /** Address of the other side; null for a caller on this machine's own socket. */
  readonly remote: string | null;
  /** What it was about, by the names of the wire: `job_id`, `session_id` and so on. */
  readonly ids: Readonly<Record<string, string | readonly string[]>>;
  /** `ok`, or the code of the error that was answered. */
  readonly outcome: string;
  readonly durationMs: number;
}

type Observer = (call: Call, isMutating: boolean) => unknown;

const observers = new WeakMap<object, Set<Observer>>();

/** Calls back for every request of an engine. Returns a function that ends it. */
export function observeCalls(offstage: object, observer: Observer): () => void {
  const all = observers.get(offstage) ?? new Set();
  observers.set(offstage, all.add(observer));
  return () => void all.delete(observer);
}

/** Tells it to the log, where something may have changed, and to the observers. Never throws. */
export function tellCall(offstage: Offstage, call: Call, isMutating: boolean): void {
  const { log } = offstage.doors;
  if (isMutating) log('info', 'audit.call', { ...call });
  const failed = (error: unknown): void => log('error', 'audit.observer_failed', { error: describe(error) });
  for (const observer of observers.get(offstage) ?? []) {
    try {
      Promise.resolve(observer(call, isMutating)).catch(failed);
    } catch (error) {
      failed(error);
    }
  }
}

/** Ids that a request names, and those that its answer has made. */
const ID_NAMES = [
  'job_id',
  'session_id',
  'parent_session_id',
  'caller_session_id',
  'task_id',
  'parent_job_id',
  'parent_msg_id',
  'ticket_id',
  'workload_id',
  'card_id',
  'agent_id',
  'prompt_id',
  'pending_request_id',
];
/** Of a list of ids, this many are named. */
const MOST_IDS = 100;

export function idsIn(request: unknown, answer: WireFields | null): Call['ids'] {
  const ids: Record<string, string | readonly string[]> = {};
  for (const source of [answer, request]) {
    if (typeof source !== 'object' || source === null) continue;
    for (const name of ID_NAMES) {
      const value = own(source as WireFields, name);
      if (isId(value)) ids[name] = value;
    }
  }
  const many = typeof request === 'object' && request !== null ? own(request as WireFields, 'job_ids') : null;
  if (Array.isArray(many)) ids.job_ids = (many as readonly JsonValue[]).slice(0, MOST_IDS).filter(isId);
  return ids;
}

const own = (fields: WireFields, name: string): JsonValue | undefined => (Object.hasOwn(fields, name) ? fields[name] : undefined);

const isId = (value: unknown): value is string => typeof value === 'string' && value.length <= LIMITS.idBytes;

export const whoOf = ({ scope, name, remote }: CallerIdentity): Pick<Call, 'scope' | 'caller' | 'remote'> => ({
  scope,
  caller: name,
  remote,
});

function describe(error: unknown): string {
  try {
    return String(error);
  } catch {
    return 'an error that cannot be shown';
  }
}
