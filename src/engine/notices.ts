/**
 * Follow-up notices: the end of a background job is told to the agent that asked for it, as a prompt (spec 9; seed 000 D8).
 *
 * NTC1  A notice is a row of the batch that ends its job, and is deleted when the agent has taken it: at least once across crashes, and
 *       twice only where its acceptance was not stored.
 * NTC2  One prompt at a time per session; what an earlier process left behind for a session is joined into one.
 * NTC3  It goes through prompt admission like any prompt of a program: it waits for the turn, and launches an agent that is not loaded.
 * NTC4  Who has cancelled the job, or has got its end by other means, is not told, and nobody is told of what a stop has ended. A session that
 *       takes no prompts keeps no notice, nor does the built-in one before anybody has prompted it.
 * NTC5  A stop takes back, for good, what its sessions were not told of yet: a job's end that is older than the stop begins nothing after it,
 *       in this process or in the next one.
 */
import { SESSION_STATES } from '../machines/session.ts';
import { finalTextOf } from '../model/cards.ts';
import { type ErrorCode, isOffstageError, offstageError } from '../model/errors.ts';
import { LIMITS } from '../model/limits.ts';
import { callerOf } from '../model/records.ts';
import { readKeptCard } from '../persistence/card-rows.ts';
import { isFinished, statusOfState, toRecord } from '../persistence/job-codec.ts';
import { noticeOf, noticeOperation, removeNoticeOperation, type StoredNotice } from '../persistence/notice-rows.ts';
import { KEYS } from '../persistence/row-keys.ts';
import type { StoreOperation } from '../persistence/store.ts';
import type { Core } from './core.ts';
import type { LiveJob } from './live-job.ts';
import { capText, errorMessage } from './outcome.ts';
import type { Prompts } from './prompts.ts';
import type { Sessions } from './sessions.ts';
import { DEFAULT_AGENT, DEFAULT_SESSION } from './spawn-request.ts';
import type { Change, CommitHook } from './transaction.ts';

const NONE: readonly StoreOperation[] = [];

/** The end of a job whose caller is told of it. */
const isTold = ({ job, before, after }: Change): boolean =>
  job.base.notifies &&
  isFinished(after.state) &&
  (before === null || !isFinished(before.state)) &&
  // A stop is no reason to begin something.
  after.context.cancelCode !== 'cancel.stop';

/** NTC1. */
export const noticeHook: CommitHook = (_, change) =>
  isTold(change) && !change.job.isAnswered
    ? [noticeOperation(noticeOf(change.job.base, statusOfState(change.after.state)))]
    : NONE;

/** There is nobody to tell any more, or somebody has meant it so. Whatever else an agent, its start or the store says may be over soon. */
const FINAL: readonly ErrorCode[] = ['session.not_found', 'session.stopped', 'task.stopping'];

const isFinal = (error: unknown): boolean => FINAL.some((code) => isOffstageError(error, code));

/** What is told in one prompt. */
interface Parcel {
  /** Fewer, or none, when the agent gets what they tell by other means. */
  notices: readonly StoredNotice[];
  /** Of the prompt that was sent with it last. */
  promptId: string | null;
}

/** What one session is told next, one parcel after the other. */
interface Outbox {
  readonly parcels: Parcel[];
  /** The first one is on its way, or waits to be tried again. */
  isBusy: boolean;
  retryMs: number;
}

/** `changed`: it is not what it was when it was sent, and is sent anew. `kept`: this process has no such agent; the next one may have. */
type Outcome = 'over' | 'changed' | 'later' | 'kept';

export class Notices {
  readonly #core: Core;
  readonly #host: { readonly prompts: Prompts; readonly sessions: Sessions };
  readonly #outboxes = new Map<string, Outbox>();
  /** What this process tells nobody, and leaves to the next one. */
  #kept: StoredNotice[] = [];

  constructor(core: Core, host: { readonly prompts: Prompts; readonly sessions: Sessions }) {
    this.#core = core;
    this.#host = host;
  }

  /** What an earlier process left behind, in the order of its jobs. */
  start(left: readonly StoredNotice[]): void {
    // Nobody is told in this process; the next one may be asked to.
    if (!this.#core.settings.notices) {
      this.#kept = [...left];
      return;
    }
    const bySession = new Map<string, StoredNotice[]>();
    for (const notice of left) {
      const known = bySession.get(notice.sessionId);
      if (known === undefined) bySession.set(notice.sessionId, [notice]);
      else known.push(notice);
    }
    for (const notices of bySession.values()) this.#add(notices);
  }

  /** The rows of these changes are stored. */
  committed(changes: readonly Change[]): void {
    for (const change of changes) {
      if (!isTold(change)) continue;
      const notice = noticeOf(change.job.base, statusOfState(change.after.state));
      // Answered while the row was on its way to the store.
      if (change.job.isAnswered) this.#forget([notice]);
      else this.#add([notice]);
    }
  }

  /** The session's agent is about to cancel the job: what ends by that, it and all below it, is not told. */
  stopping(sessionId: string, jobId: string): void {
    const { jobs, lineage } = this.#core;
    const root = jobs.get(jobId);
    // What has ended already is not what it cancels.
    if (root === undefined || root.isDecidedEnd) return;
    for (const id of [jobId, ...lineage.descendants(jobId)]) {
      const job = jobs.get(id);
      if (job !== undefined && !job.isDecidedEnd && callerOf(job.base) === sessionId) job.isAnswered = true;
    }
  }

  /** The session's agent has got the end of the job by other means. */
  received(sessionId: string, jobId: string): void {
    const live = this.#core.jobs.get(jobId);
    // Its end is not stored yet.
    if (live !== undefined && callerOf(live.base) === sessionId) live.isAnswered = true;
    for (const parcel of this.#outboxes.get(sessionId)?.parcels ?? []) {
      const known = parcel.notices.filter((notice) => notice.jobId === jobId);
      if (known.length === 0) continue;
      parcel.notices = parcel.notices.filter((notice) => notice.jobId !== jobId);
      this.#forget(known);
      // Already taken by the agent, or about to be: then it is told after all.
      if (parcel.promptId !== null) this.#host.prompts.recall(sessionId, parcel.promptId);
    }
  }

  /**
   * A stop decides: these sessions are told no more of what has ended by now, nor of those of the `jobs` that are ending (NTC5). Resolves when
   * that is stored, with whether it is; null: there was nothing to be told.
   */
  stopped(sessionIds: ReadonlySet<string>, jobs: readonly LiveJob[]): Promise<boolean> | null {
    const untold: StoredNotice[] = [];
    for (const job of jobs) {
      if (!job.base.notifies || !sessionIds.has(callerOf(job.base))) continue;
      job.isAnswered = true;
      // Its row may be on its way to the store.
      if (job.isDecidedEnd && job.committed !== job.decided) untold.push(noticeOf(job.base, statusOfState(job.decided.state)));
    }
    for (const sessionId of sessionIds) {
      for (const parcel of this.#outboxes.get(sessionId)?.parcels ?? []) {
        untold.push(...parcel.notices);
        // One that is in line already is taken out of it by the stop.
        parcel.notices = [];
      }
    }
    untold.push(...this.#kept.filter((notice) => sessionIds.has(notice.sessionId)));
    if (untold.length === 0) return null;
    this.#kept = this.#kept.filter((notice) => !sessionIds.has(notice.sessionId));
    for (const sessionId of new Set(untold.map((notice) => notice.sessionId)))
      this.#dropped(sessionId, offstageError('session.stopped', { sessionId }));
    const rows = untold.map((notice) => removeNoticeOperation(notice));
    return new Promise((resolve) => this.#core.submit({ changes: [], rows, mustSync: true, acknowledge: resolve }));
  }

  #add(notices: readonly StoredNotice[]): void {
    const sessionId = notices[0]?.sessionId ?? '';
    let outbox = this.#outboxes.get(sessionId);
    if (outbox === undefined) {
      outbox = { parcels: [], isBusy: false, retryMs: LIMITS.firstNoticeRetryMs };
      this.#outboxes.set(sessionId, outbox);
    }
    outbox.parcels.push({ notices, promptId: null });
    if (!outbox.isBusy) this.#next(sessionId, outbox);
  }

  /** In the next turn: whoever waits for the end of the job gets it first. */
  #next(sessionId: string, outbox: Outbox): void {
    outbox.isBusy = true;
    this.#core.settings.clock.nextTurn(() => void this.#deliver(sessionId, outbox));
  }

  async #deliver(sessionId: string, outbox: Outbox): Promise<void> {
    const [parcel] = outbox.parcels;
    if (parcel === undefined) return;
    const outcome = await this.#send(sessionId, parcel);
    // Also while the engine closes: what was taken is not told again.
    if (outcome === 'over' || outcome === 'kept') outbox.parcels.shift();
    if (outcome === 'over') this.#forget(parcel.notices);
    if (outcome === 'kept') this.#kept.push(...parcel.notices);
    if (this.#core.isClosing) return;
    if (outcome === 'later') {
      this.#core.timers.after(outbox.retryMs, () => this.#next(sessionId, outbox), { background: true });
      outbox.retryMs = Math.min(LIMITS.lastNoticeRetryMs, outbox.retryMs * 2);
      return;
    }
    outbox.retryMs = LIMITS.firstNoticeRetryMs;
    if (outbox.parcels.length > 0) this.#next(sessionId, outbox);
    else this.#outboxes.delete(sessionId);
  }

  async #send(sessionId: string, parcel: Parcel): Promise<Outcome> {
    if (this.#core.isClosing) return 'later';
    this.#split(sessionId, parcel);
    const told = parcel.notices;
    const isChanged = (): boolean => parcel.notices !== told;
    try {
      if (told.length === 0) return 'over';
      const answer = await this.#isWanted(sessionId);
      if (answer !== 'yes') return answer;
      const content = await this.#textOf(told);
      if (isChanged()) return 'changed';
      const promptId = `notice_${told[0]?.jobId ?? ''}`;
      parcel.promptId = promptId;
      // Taken by the agent, or out of the line by somebody who wanted it so.
      await this.#host.prompts.deliver(sessionId, { promptId, content, origin: 'synthetic' }, () => !isChanged());
      return 'over';
    } catch (error) {
      if (isChanged()) return 'changed';
      if (!isFinal(error)) return 'later';
      this.#dropped(sessionId, error);
      return 'over';
    }
  }

  /** NTC4. */
  async #isWanted(sessionId: string): Promise<'yes' | 'over' | 'kept'> {
    const row = this.#core.liveness.find(sessionId)?.row ?? (await this.#host.sessions.resolve(sessionId));
    // Jobs that name no session were asked for by no conversation.
    const isNobodys = sessionId === DEFAULT_SESSION && row.state === 'created';
    if (SESSION_STATES[row.state].terminal || isNobodys) return 'over';
    return this.#core.settings.agents[row.agentId ?? DEFAULT_AGENT] === undefined ? 'kept' : 'yes';
  }

  /** What does not fit into one prompt is told by the next one. */
  #split(sessionId: string, parcel: Parcel): void {
    if (parcel.notices.length <= LIMITS.noticesPerPrompt) return;
    const rest = parcel.notices.slice(LIMITS.noticesPerPrompt);
    parcel.notices = parcel.notices.slice(0, LIMITS.noticesPerPrompt);
    this.#outboxes.get(sessionId)?.parcels.splice(1, 0, { notices: rest, promptId: null });
  }

  async #textOf(notices: readonly StoredNotice[]): Promise<string> {
    const bytes = Math.floor(LIMITS.noticeBytes / notices.length);
    const texts = await Promise.all(
      notices.map(async ({ jobId, status, subject }) => {
        const text = await this.#endOf(jobId);
        return `[task ${jobId} ${status}] ${clipped(subject)}\n${text === '' ? '(no output)' : capText(text, bytes)}`;
      }),
    );
    return texts.join('\n\n');
  }

  /** What the job came to, in words. */
  async #endOf(jobId: string): Promise<string> {
    const { rows, store } = this.#core;
    try {
      const stored = await rows.find(jobId);
      if (stored === null || stored === 'expired') return readKeptCard(await store.get(KEYS.card(jobId)))?.card.content ?? '';
      const record = toRecord(stored.base, stored.snapshot, stored.revision);
      if (record.status === 'completed') return finalTextOf(record);
      return [record.resultText ?? '', record.error?.message ?? ''].filter((part) => part !== '').join('\n');
    } catch (error) {
      // It stays so: waiting for another try would hold up all that comes after it.
      if (isOffstageError(error, 'store.corrupt')) return '(its record cannot be read)';
      throw error;
    }
  }

  #dropped(sessionId: string, error: unknown): void {
    this.#core.settings.log('info', 'notice.dropped', { sessionId, error: errorMessage(error) });
  }

  #forget(notices: readonly StoredNotice[]): void {
    if (this.#core.isClosed || notices.length === 0) return;
    this.#core.submit({ changes: [], rows: notices.map((notice) => removeNoticeOperation(notice)) });
  }
}

const SUBJECT_CHARACTERS = 200;

/** Never half a character. */
function clipped(subject: string): string {
  if (subject.length <= SUBJECT_CHARACTERS) return subject;
  return `${subject.slice(0, SUBJECT_CHARACTERS - 1).toWellFormed()}…`;
}
