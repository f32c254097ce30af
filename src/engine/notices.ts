/**
 * Follow-up notices: the end of a background job is told to the agent that asked for it, as a prompt (spec 9; seed 000 D8).
 *
 * NTC1  A notice is a row of the batch that ends its job, and is deleted when the agent has taken it: at least once across crashes, and
 *       twice only where its acceptance was not stored.
 * NTC2  One at a time per session; those that an earlier process left behind are joined into one.
 * NTC3  It goes through prompt admission like any prompt of a program: it waits for the turn, and launches an agent that is not loaded.
 * NTC4  Who has cancelled the job, or has got its end by other means, is not told; a session that takes no prompts keeps no notice.
 */
import { SESSION_STATES } from '../machines/session.ts';
import { finalTextOf } from '../model/cards.ts';
import { isOffstageError } from '../model/errors.ts';
import { LIMITS } from '../model/limits.ts';
import { isFinished, statusOfState, toRecord } from '../persistence/job-codec.ts';
import {
  callerOf,
  noticeOf,
  noticeOperation,
  readNotice,
  removeNoticeOperation,
  type StoredNotice,
} from '../persistence/notice-rows.ts';
import { RANGES } from '../persistence/row-keys.ts';
import type { StoreOperation } from '../persistence/store.ts';
import type { Core } from './core.ts';
import { capText } from './outcome.ts';
import type { Prompts } from './prompts.ts';
import type { Sessions } from './sessions.ts';
import type { Change, CommitHook } from './transaction.ts';

const NONE: readonly StoreOperation[] = [];

/** The end of a job whose caller is told of it. */
const isTold = ({ job, before, after }: Change): boolean =>
  job.base.notifies && isFinished(after.state) && (before === null || !isFinished(before.state));

/** NTC1. */
export const noticeHook: CommitHook = (_, change) =>
  isTold(change) && !change.job.isAnswered
    ? [noticeOperation(noticeOf(change.job.base, statusOfState(change.after.state)))]
    : NONE;

/** What one session is told next, one group after the other. */
interface Outbox {
  readonly groups: (readonly StoredNotice[])[];
  isDelivering: boolean;
  retryMs: number;
}

export class Notices {
  readonly #core: Core;
  readonly #host: { readonly prompts: Prompts; readonly sessions: Sessions };
  readonly #outboxes = new Map<string, Outbox>();

  constructor(core: Core, host: { readonly prompts: Prompts; readonly sessions: Sessions }) {
    this.#core = core;
    this.#host = host;
  }

  /** What an earlier process left behind. @throws OffstageError `store.failed` */
  async start(): Promise<void> {
    const left = new Map<string, StoredNotice[]>();
    for await (const entry of this.#core.store.range(RANGES.notices)) {
      const notice = readNotice(entry);
      if (notice === null) {
        this.#core.settings.log('error', 'row.unreadable', { key: entry.key, error: 'it is no notice' });
        continue;
      }
      const known = left.get(notice.sessionId);
      if (known === undefined) left.set(notice.sessionId, [notice]);
      else known.push(notice);
    }
    for (const group of left.values()) this.#add(group);
  }

  /** The rows of these changes are stored. */
  committed(changes: readonly Change[]): void {
    for (const change of changes) {
      if (!isTold(change)) continue;
      const notice = noticeOf(change.job.base, statusOfState(change.after.state));
      if (change.job.isAnswered) this.#forget([notice]);
      else this.#add([notice]);
    }
  }

  /** The session's agent has got the end of the job by other means. */
  received(sessionId: string, jobId: string): void {
    this.#answer(sessionId, jobId);
    const outbox = this.#outboxes.get(sessionId);
    if (outbox === undefined) return;
    const index = outbox.groups.findIndex((group) => group.some((notice) => notice.jobId === jobId));
    if (index === -1) return;
    const group = outbox.groups[index] as readonly StoredNotice[];
    const rest = group.filter((notice) => notice.jobId !== jobId);
    this.#forget(group.filter((notice) => notice.jobId === jobId));
    if (rest.length > 0) {
      outbox.groups[index] = rest;
      return;
    }
    outbox.groups.splice(index, 1);
    // On its way: it is taken out of the line, if it is still there.
    if (index === 0 && outbox.isDelivering) this.#host.prompts.recall(sessionId, promptIdOf(group));
    if (outbox.groups.length === 0 && !outbox.isDelivering) this.#outboxes.delete(sessionId);
  }

  /** It has not ended yet, and its end, with that of all below it, is nothing new to the caller: who cancels it says so before. */
  #answer(sessionId: string, jobId: string): void {
    const { jobs, lineage } = this.#core;
    const root = jobs.get(jobId);
    if (root === undefined || root.isDecidedEnd) return;
    for (const id of [jobId, ...lineage.descendants(jobId)]) {
      const job = jobs.get(id);
      if (job !== undefined && !job.isDecidedEnd && callerOf(job.base) === sessionId) job.isAnswered = true;
    }
  }

  #add(group: readonly StoredNotice[]): void {
    const sessionId = group[0]?.sessionId ?? '';
    let outbox = this.#outboxes.get(sessionId);
    if (outbox === undefined) {
      outbox = { groups: [], isDelivering: false, retryMs: LIMITS.firstNoticeRetryMs };
      this.#outboxes.set(sessionId, outbox);
    }
    outbox.groups.push(group);
    this.#next(sessionId, outbox);
  }

  /** In the next turn: whoever waits for the end of the job gets it first. */
  #next(sessionId: string, outbox: Outbox): void {
    if (outbox.isDelivering) return;
    outbox.isDelivering = true;
    this.#core.settings.clock.nextTurn(() => void this.#deliver(sessionId, outbox));
  }

  async #deliver(sessionId: string, outbox: Outbox): Promise<void> {
    const group = outbox.groups[0];
    let isLater = false;
    try {
      if (group !== undefined && (await this.#isWanted(sessionId))) {
        const content = await this.#textOf(group);
        // Received by other means while its text was read.
        if (outbox.groups[0] === group)
          await this.#host.prompts.deliver(sessionId, { promptId: promptIdOf(group), content, origin: 'synthetic' });
      }
    } catch (error) {
      isLater = this.#isWorthAnotherTry(error);
      if (!isLater) this.#core.settings.log('info', 'notice.dropped', { sessionId, error: String((error as Error).message) });
    }
    outbox.isDelivering = false;
    if (this.#core.isClosing) return;
    if (isLater) {
      this.#core.timers.after(outbox.retryMs, () => this.#next(sessionId, outbox), { background: true });
      outbox.retryMs = Math.min(LIMITS.lastNoticeRetryMs, outbox.retryMs * 2);
      return;
    }
    outbox.retryMs = LIMITS.firstNoticeRetryMs;
    if (group !== undefined && outbox.groups[0] === group) {
      outbox.groups.shift();
      this.#forget(group);
    }
    if (outbox.groups.length > 0) this.#next(sessionId, outbox);
    else this.#outboxes.delete(sessionId);
  }

  /** NTC4. */
  async #isWanted(sessionId: string): Promise<boolean> {
    const row = this.#core.liveness.find(sessionId)?.row ?? (await this.#host.sessions.resolve(sessionId));
    return !SESSION_STATES[row.state].terminal;
  }

  /** The agent could not be started, or went: it may come again. Whoever refuses the prompt itself will refuse it again. */
  #isWorthAnotherTry(error: unknown): boolean {
    if (this.#core.isClosing) return true;
    return (
      isOffstageError(error) &&
      (error.code.startsWith('agent.') || error.code.startsWith('store.')) &&
      error.code !== 'agent.unknown'
    );
  }

  async #textOf(group: readonly StoredNotice[]): Promise<string> {
    const texts = await Promise.all(group.map((notice) => this.#one(notice, LIMITS.noticeBytes / group.length)));
    return texts.join('\n\n');
  }

  async #one({ jobId, status, subject }: StoredNotice, bytes: number): Promise<string> {
    const stored = await this.#core.rows.find(jobId);
    let text = '';
    if (stored !== null && stored !== 'expired') {
      const record = toRecord(stored.base, stored.snapshot, stored.revision);
      const parts = status === 'completed' ? [finalTextOf(record)] : [record.resultText ?? '', record.error?.message ?? ''];
      text = parts.filter((part) => part !== '').join('\n');
    }
    return `[task ${jobId} ${status}] ${subject}\n${text === '' ? '(no output)' : capText(text, bytes)}`;
  }

  #forget(notices: readonly StoredNotice[]): void {
    if (this.#core.isClosed || notices.length === 0) return;
    this.#core.submit({ changes: [], rows: notices.map((notice) => removeNoticeOperation(notice)) });
  }
}

const promptIdOf = ([first]: readonly StoredNotice[]): string => `notice_${first?.jobId ?? ''}`;
