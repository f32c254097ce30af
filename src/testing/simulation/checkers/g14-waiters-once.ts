/**
 * G14: a waiter settles exactly once.
 *
 * WTR1  No call is settled twice, or without having been made. No wait is open at the last rest of a life, nor after its
 *       close. What does not wait for any end is answered by the next rest.
 * WTR2  A wait is answered with an end, or with `timedOut`: not before its time, and, but for what stood still and for slots, not after it. A job that
 *       failed or was cancelled rejects none.
 * WTR3  `waitMany` and `plan.run` answer an entry for each id, in order. `any` needs one end; `all` needs every one.
 * WTR4  Nobody outside waits for what has ended: at rest, or when time has passed since that was told. A job that was asked for after the wait
 *       was is none of those that it waits for, whatever its id.
 */
import { isTerminal, type JobView } from '../../../model/records.ts';
import type { PlanSpec, SpawnOptions, WaitManyEntry, WaitManyOptions } from '../../../model/requests.ts';
import { type Check, type Checker, type Violate, violating } from '../checker.ts';
import type { Fact, FactOf } from '../facts.ts';
import type { Known } from '../known.ts';
import { isWell } from './store-trouble.ts';
import { isExpired } from './stored-jobs.ts';
import { textOf } from './told-events.ts';

const violate: Violate = violating('G14');

const WAITS = new Set(['wait', 'waitMany', 'run', 'plan.run']);
/** What waits for the store alone. */
const AT_ONCE = new Set([
  'spawn',
  'cancel',
  'cancelMany',
  'plan.cancel',
  'get',
  'list',
  'history',
  'output',
  'snapshot',
  'prune',
  'cards.get',
  'cards.list',
]);
const HOST_TIMEOUT_MS = 30_000;

/** What may refuse a wait, besides its caller's own signal. */
const REFUSALS = new Set([
  'job.not_found',
  'job.expired',
  'input.invalid',
  'limit.waiters',
  'engine.closing',
  'store.failed',
  'store.closed',
  'store.corrupt',
]);
/** The same for one from within a body. */
const BODY_REFUSALS = new Set(['job.wait_cycle', 'job.cancelled', 'job.context_closed']);

/** A wait that nobody has settled yet. */
interface OpenWait {
  readonly asked: FactOf<'asked'>;
  /** Counts facts. */
  readonly moment: number;
  readonly stoodStillMs: number;
  /** When it was told that what it waits for has ended, and what had stood still by then; null: not yet. */
  over: { readonly at: number; readonly stoodStillMs: number } | null;
}

class Waits {
  readonly #made = new Set<number>();
  readonly #settled = new Set<number>();
  readonly #open = new Map<number, OpenWait>();
  /** Answers that came late, unless it shows that something had stood still. */
  #late: { readonly call: number; readonly at: number; readonly dueAt: number; readonly stoodStillMs: number }[] = [];
  /** When jobs were told of as accepted: from then on everybody may know of them. */
  readonly #toldAt = new Map<string, number>();
  /** When somebody asked for a job of this id, if he was not refused: from then on it may be waited for. */
  readonly #spawnedAt = new Map<string, number>();
  #moment = 0;

  judge(fact: Fact, known: Known): void {
    this.#moment += 1;
    switch (fact.type) {
      case 'opened':
      case 'crashed':
        // They are open for ever, and nobody is there to wait.
        this.#open.clear();
        this.#toldAt.clear();
        this.#spawnedAt.clear();
        this.#late = [];
        break;
      case 'asked':
        if (this.#made.has(fact.call)) violate(`call ${fact.call} was made twice`);
        this.#made.add(fact.call);
        this.#noteSpawn(fact);
        if (!WAITS.has(fact.verb) && !AT_ONCE.has(fact.verb)) break;
        this.#open.set(fact.call, { asked: fact, moment: this.#moment, stoodStillMs: known.stoodStillMs, over: null });
        break;
      case 'told':
        if (fact.observer === 0 && fact.event.type === 'job.status' && isTerminal(fact.event.status))
          this.#noteEnds(fact.at, known);
        if (fact.event.type === 'job.created' && fact.observer === 0) this.#toldAt.set(fact.event.jobId, this.#moment);
        break;
      case 'refused':
        this.#noteRefused(fact, known);
        this.#settle(fact, known);
        break;
      case 'answered':
        this.#settle(fact, known);
        break;
      case 'rested':
        this.#judgeRest(fact, known);
        break;
      case 'closed':
        for (const [call, { asked }] of this.#open)
          violate(`${describe(asked)}, call ${call}, is open, and the engine has closed`);
        break;
      default:
    }
  }

  /** Time passes when nothing is due, or is said to have stood still. */
  #noteEnds(at: number, known: Known): void {
    for (const open of this.#open.values()) {
      if (open.asked.by.who !== 'body' && this.#isOver(open, known)) open.over ??= { at, stoodStillMs: known.stoodStillMs };
    }
  }

  #noteSpawn(asked: FactOf<'asked'>): void {
    const jobId = ownIdOf(asked);
    if (jobId !== null && !this.#spawnedAt.has(jobId)) this.#spawnedAt.set(jobId, this.#moment);
  }

  /** A conflict is with a job that is there. */
  #noteRefused({ call, code }: FactOf<'refused'>, known: Known): void {
    const asked = known.calls.get(call)?.asked;
    const jobId = asked === undefined || code === 'job.conflict' ? null : ownIdOf(asked);
    if (jobId !== null) this.#spawnedAt.delete(jobId);
  }

  /** WTR4. False also for what asks for no ids. */
  #isOver({ asked, moment }: OpenWait, known: Known): boolean {
    const { verb, args } = asked;
    if (verb !== 'wait' && verb !== 'waitMany') return false;
    const ids = verb === 'wait' ? [args[0] as string] : (args[0] as readonly string[]);
    const hasEnded = (jobId: string): boolean => {
      const toldAt = this.#toldAt.get(jobId);
      const isOlder = toldAt === undefined || Math.min(toldAt, this.#spawnedAt.get(jobId) ?? toldAt) < moment;
      return isOlder && isTerminal(known.jobs.get(jobId)?.record.status ?? 'pending');
    };
    return isAny(asked) ? ids.some(hasEnded) : ids.every((jobId) => hasEnded(jobId) || isExpired(known, jobId));
  }

  #settle(fact: FactOf<'answered'> | FactOf<'refused'>, known: Known): void {
    const { call, verb } = fact;
    const asked = known.calls.get(call);
    if (asked === undefined) violate(`call ${call}, ${verb}, was ${fact.type}, and was never made`);
    if (this.#settled.has(call)) violate(`call ${call}, ${verb}, was ${fact.type}, and had been settled before`);
    if (asked.asked.verb !== verb) violate(`call ${call}, ${asked.asked.verb}, was ${fact.type} as ${verb}`);
    this.#settled.add(call);
    const open = this.#open.get(call);
    this.#open.delete(call);
    if (!WAITS.has(verb) || open === undefined) return;
    const wrong: Violate = (what) => violate(`${describe(open.asked)}, call ${call}, ${what}`);
    const { over } = open;
    if (over !== null && fact.at > over.at + known.stoodStillMs - over.stoodStillMs)
      wrong(`was ${fact.type} at ${fact.at}, and what it waits for had ended at ${over.at}`);
    if (fact.type === 'refused') this.#judgeRefused(fact, open, wrong, known);
    else this.#judgeAnswered(fact, open, wrong, known);
  }

  #judgeRefused({ verb, code, call }: FactOf<'refused'>, { asked, moment }: OpenWait, wrong: Violate, known: Known): void {
    if (known.calls.get(call)?.gaveUp === true) return;
    // What spawns is refused for many reasons more.
    if (verb !== 'wait' && verb !== 'waitMany') return;
    if (!REFUSALS.has(code) && !(asked.by.who === 'body' && BODY_REFUSALS.has(code))) wrong(`was refused with ${code}`);
    if (verb !== 'wait') return;
    const jobId = asked.args[0] as string;
    if (code === 'job.not_found' && this.#isThere(jobId, moment, known)) wrong(`was refused with ${code}, and the job is stored`);
    if (code === 'job.expired' && known.jobs.has(jobId)) wrong(`was refused with ${code}, and the job is stored`);
  }

  /** It was there when it was asked for, and is still. */
  #isThere(jobId: string, moment: number, known: Known): boolean {
    return known.jobs.has(jobId) && (this.#toldAt.get(jobId) ?? moment) < moment;
  }

  #judgeAnswered(fact: FactOf<'answered'>, open: OpenWait, wrong: Violate, known: Known): void {
    const { verb, value, at } = fact;
    const { asked } = open;
    const limitMs = limitOf(asked);
    if (Number.isNaN(limitMs) || limitMs < 0) wrong('was answered, and its time is no time');
    const entries = verb === 'wait' || verb === 'run' ? [value as JobView] : (value as readonly WaitManyEntry[]);
    if (!Array.isArray(entries)) wrong('was answered with no list');
    const hasTimedOut = entries.some((entry) => 'status' in entry && entry.timedOut === true);
    for (const entry of entries) {
      if (!('status' in entry)) {
        const { code } = entry.error;
        if (code === 'job.not_found' && this.#isThere(entry.jobId, open.moment, known))
          wrong(`says that there is no ${entry.jobId}`);
        if (code === 'job.expired' && known.jobs.has(entry.jobId)) wrong(`says that ${entry.jobId} was pruned`);
      } else if (entry.timedOut === true && isTerminal(entry.status)) {
        wrong(`says of ${entry.jobId} that it is ${entry.status}, and timed out`);
      }
    }
    judgeShape(asked, entries, wrong);
    judgeSufficient(asked, entries, hasTimedOut, wrong);
    if (!hasTimedOut) return;
    const dueAt = asked.at + limitMs;
    if (at < dueAt) wrong(`timed out at ${at}, and was to wait until ${dueAt}`);
    // A body comes back only with a slot.
    if (asked.by.who !== 'body' && at > dueAt) this.#late.push({ call: fact.call, at, dueAt, stoodStillMs: open.stoodStillMs });
  }

  /** Also while the store refuses: whoever waits is told what was decided. */
  #judgeSettledBodies(known: Known): void {
    const isAtWork = new Map<string, boolean>();
    for (const { called, settled } of known.bodies.values()) isAtWork.set(called.jobId, settled === null);
    for (const [call, { asked }] of this.#open) {
      if (asked.verb !== 'wait' || asked.by.who === 'body' || isAtWork.get(asked.args[0] as string) !== false) continue;
      violate(`${describe(asked)}, call ${call}, is open at rest, and the body has settled`);
    }
  }

  #judgeRest({ at, view }: FactOf<'rested'>, known: Known): void {
    this.#judgeSettledBodies(known);
    for (const { call, at: answeredAt, dueAt, stoodStillMs } of this.#late) {
      const latest = dueAt + known.stoodStillMs - stoodStillMs;
      if (answeredAt > latest) violate(`call ${call} timed out at ${answeredAt}, and was to wait until ${latest}`);
    }
    this.#late = [];
    for (const [call, open] of this.#open) {
      const { asked, stoodStillMs } = open;
      const wrong: Violate = (what) => violate(`${describe(asked)}, call ${call}, is open at rest, and ${what}`);
      if (AT_ONCE.has(asked.verb)) wrong('it waits for nothing');
      if (view.isLast) wrong('everything was let go');
      if (known.calls.get(call)?.gaveUp === true && asked.by.who !== 'body' && asked.verb !== 'plan.run')
        wrong('its caller does not wait any more');
      if (asked.by.who === 'body') continue;
      const latest = asked.at + limitOf(asked) + known.stoodStillMs - stoodStillMs;
      if (at > latest) wrong(`it was to wait until ${latest}`);
      if (isWell(view) && this.#isOver(open, known)) wrong('what it waits for has ended');
    }
  }
}

/** One entry for each id or step, in order. */
function judgeShape({ verb, args }: FactOf<'asked'>, entries: readonly WaitManyEntry[], wrong: Violate): void {
  const answered = entries.map(({ jobId }) => jobId);
  if (verb === 'wait' && answered[0] !== args[0]) wrong(`was answered with ${answered[0]}`);
  if (verb === 'waitMany' && answered.join('\n') !== (args[0] as readonly string[]).join('\n'))
    wrong(`answers ${textOf(answered)}`);
  if (verb !== 'plan.run') return;
  const steps = (args[0] as readonly PlanSpec[]).map(({ description }) => description);
  const isInOrder = entries.every((entry, index) => !('status' in entry) || entry.subject === steps[index]);
  if (answered.length !== steps.length || !isInOrder) wrong(`has the steps ${textOf(steps)}, and answers ${textOf(answered)}`);
}

/** Whether there was reason to answer. */
function judgeSufficient(asked: FactOf<'asked'>, entries: readonly WaitManyEntry[], hasTimedOut: boolean, wrong: Violate): void {
  const hasEnded = (entry: WaitManyEntry): boolean => 'status' in entry && isTerminal(entry.status);
  const isEnough =
    isAny(asked) && entries.length > 0
      ? hasTimedOut || entries.some(hasEnded) || entries.every((entry) => !('status' in entry))
      : entries.every((entry) => !('status' in entry) || hasEnded(entry) || entry.timedOut === true);
  if (!isEnough) wrong(`was answered, and nothing had ended: ${textOf(entries.map(stateOf))}`);
  if (hasTimedOut && limitOf(asked) === Number.POSITIVE_INFINITY) wrong('has no time, and timed out');
}

/** The id that somebody gives to a job he asks for. */
function ownIdOf({ verb, args }: FactOf<'asked'>): string | null {
  if (verb !== 'spawn' && verb !== 'run') return null;
  const { jobId } = (args[0] ?? {}) as SpawnOptions;
  return typeof jobId === 'string' ? jobId : null;
}

const isAny = ({ verb, args }: FactOf<'asked'>): boolean =>
  verb === 'waitMany' && (args[1] as WaitManyOptions | undefined)?.mode === 'any';

/** Milliseconds. */
function limitOf({ verb, args, by }: FactOf<'asked'>): number {
  if (verb !== 'wait' && verb !== 'waitMany') return Number.POSITIVE_INFINITY;
  const given = (args[1] as WaitManyOptions | undefined)?.timeoutMs;
  if (given === undefined) return by.who === 'body' ? Number.POSITIVE_INFINITY : HOST_TIMEOUT_MS;
  return given ?? Number.POSITIVE_INFINITY;
}

const stateOf = (entry: WaitManyEntry): string => ('status' in entry ? entry.status : entry.error.code);
const describe = ({ verb, args }: FactOf<'asked'>): string => `${verb}(${textOf(args[0])})`;

export const waitersOnce: Checker = {
  guarantee: 'G14',
  promise: 'a waiter settles exactly once',
  begin(): Check {
    const waits = new Waits();
    return (fact, known) => waits.judge(fact, known);
  },
};
