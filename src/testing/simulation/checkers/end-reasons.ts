/**
 * Why something may have been told to end: what people have asked for in this life.
 *
 * ENR1  A reason for a job is one for everything below it.
 * ENR2  It is enough that somebody has asked: what came of it is for others to judge.
 */
import type { JobRecord } from '../../../model/records.ts';
import type { Fact, FactOf } from '../facts.ts';
import type { Known } from '../known.ts';

/** What is stopped: a whole task, or one session of it. */
export interface Scope {
  readonly isTask: boolean;
  readonly id: unknown;
}

const VERBS: readonly string[] = ['tasks.stop', 'sessions.stop', 'tasks.remove', 'sessions.remove'];

export const scopeOf = ({ verb, args }: FactOf<'asked'>): Scope => ({ isTask: verb.startsWith('tasks.'), id: args[0] });

/** Jobs that run there, and those that it has asked for. */
export const coversJob = ({ isTask, id }: Scope, { taskId, sessionId, callerSessionId }: JobRecord): boolean =>
  isTask ? taskId === id : sessionId === id || callerSessionId === id;

export class EndReasons {
  /** As they were seen last, also those that are gone. */
  readonly records = new Map<string, JobRecord>();
  readonly #taskOf = new Map<string, string>();
  #scopes: Scope[] = [];
  readonly #cancelled = new Set<unknown>();
  #selectors: { readonly [name: string]: unknown }[] = [];
  readonly #plans = new Set<unknown>();
  readonly #interrupted = new Set<unknown>();
  /** Agents of which a call has failed. */
  readonly #failed = new Set<number>();
  /** Somebody who ran a plan has gone, or could not go on. */
  #hasPlanFailed = false;
  #isClosing = false;

  note(fact: Fact, known: Known): void {
    for (const { jobId, after } of known.changes) if (after !== null) this.records.set(jobId, after.record);
    switch (fact.type) {
      case 'crashed':
      case 'closed':
        this.#scopes = [];
        this.#selectors = [];
        for (const memory of [this.#cancelled, this.#plans, this.#interrupted, this.#failed]) memory.clear();
        this.#hasPlanFailed = false;
        this.#isClosing = false;
        break;
      case 'closing':
        this.#isClosing = true;
        break;
      case 'asked':
        this.#asked(fact);
        break;
      case 'refused':
      case 'gave-up':
        if (known.calls.get(fact.call)?.asked.verb === 'plan.run') this.#hasPlanFailed = true;
        break;
      case 'agent.prompt-over':
        if (fact.how === 'threw') this.#failed.add(fact.agent);
        break;
      default:
    }
  }

  covers(scope: Scope, sessionId: string, known: Known): boolean {
    return scope.isTask ? this.taskOf(sessionId, known) === scope.id : scope.id === sessionId;
  }

  /** Null: the session is gone, and was never looked at. */
  taskOf(sessionId: string, { sessions }: Known): string | null {
    const taskId = sessions.get(sessionId)?.taskId ?? this.#taskOf.get(sessionId) ?? null;
    if (taskId !== null) this.#taskOf.set(sessionId, taskId);
    return taskId;
  }

  /** A stop, or a removal, of what it belongs to. */
  isStopped(jobId: string): boolean {
    return this.#scopes.some((scope) => this.isWithin(scope, jobId));
  }

  /** It, or something above it, is covered. */
  isWithin(scope: Scope, jobId: string): boolean {
    return this.#lineOf(jobId).some((record) => coversJob(scope, record));
  }

  /** Whatever there is. A foreground job ends with whoever waits for it, which is seen by nobody else. */
  isCancelled(jobId: string): boolean {
    if (this.isStopped(jobId)) return true;
    return this.#lineOf(jobId).some(
      (record) => record.wait || this.#cancelled.has(record.jobId) || this.#isOfPlan(record) || this.#isSelected(record),
    );
  }

  isAgentEnded(agent: number, sessionId: string, known: Known): boolean {
    if (this.#isClosing || this.#interrupted.has(sessionId) || this.#failed.has(agent)) return true;
    if (known.agents.get(agent)?.isGone !== false || !known.sessions.has(sessionId)) return true;
    return this.#scopes.some((scope) => this.covers(scope, sessionId, known));
  }

  #asked(fact: FactOf<'asked'>): void {
    const { verb, args } = fact;
    if (VERBS.includes(verb)) this.#scopes.push(scopeOf(fact));
    else if (verb === 'cancel') this.#cancelled.add(args[0]);
    else if (verb === 'cancelMany') this.#selectors.push((args[0] ?? {}) as { readonly [name: string]: unknown });
    else if (verb === 'plan.cancel') this.#plans.add(args[0]);
    else if (verb === 'sessions.interrupt') this.#interrupted.add(args[0]);
    else if (verb === 'close') this.#isClosing = true;
  }

  #isOfPlan({ parentMessageId }: JobRecord): boolean {
    return parentMessageId !== null && (this.#hasPlanFailed || this.#plans.has(parentMessageId));
  }

  #isSelected(record: JobRecord): boolean {
    return this.#selectors.some(({ ids, sessionId, taskId, parentMessageId, parentJobId }) => {
      if (Array.isArray(ids) && ids.includes(record.jobId)) return true;
      if (sessionId !== undefined && [record.sessionId, record.callerSessionId].includes(sessionId as string)) return true;
      if (taskId !== undefined && taskId === record.taskId) return true;
      if (parentMessageId !== undefined && parentMessageId === record.parentMessageId) return true;
      return parentJobId !== undefined && parentJobId === record.parentJobId;
    });
  }

  /** Itself and all above it. */
  #lineOf(jobId: string): readonly JobRecord[] {
    const line = new Set<JobRecord>();
    for (let id: string | null = jobId; id !== null; ) {
      const record: JobRecord | undefined = this.records.get(id);
      if (record === undefined || line.has(record)) break;
      line.add(record);
      id = record.parentJobId;
    }
    return [...line];
  }
}
