/**
 * Cards: the placeholder of a job in the conversation that asked for it (spec 9; seed 000 D8).
 *
 * CRD1  A card is a pure function of its job's record: whoever reads both at one instant reads the same (G4).
 * CRD2  It lies in the caller's session and names the session that the job runs on.
 * CRD3  What is kept of a card, by a host or in a row, may be anything; it is read here, once, and never throws.
 */
import { callerOf, isTerminal, type JobRecord } from './records.ts';

/** What a card shows of its job's status; everything before the end is `running`. */
export type CardStatus = 'running' | 'completed' | 'cancelled' | 'errored';

/** The placeholder in a conversation that mirrors one job. The names inside `attach` are those of the conversation. */
export interface Card {
  readonly cardId: string;
  /** The conversation it stands in: the caller's. */
  readonly sessionId: string;
  readonly function: 'attach';
  /** `(running)`; the final text; the partial text and `[cancelled at T]`; `[task error] message`. */
  readonly content: string;
  readonly attach: {
    /** Where the job runs. */
    readonly session_id: string;
    readonly job_id: string;
    readonly status: CardStatus;
    readonly head_id: string | null;
    readonly source_commit_id: string | null;
    readonly label: string;
  };
}

/** An item of a conversation that is a card: what `cards.get` answered, as the host has kept it. */
export type ContextItem = Pick<Card, 'function' | 'content' | 'attach'>;

/**
 * The word on a card's badge.
 * @example
 * badge.textContent = CARD_BADGES[card.attach.status]; // 'done'
 */
export const CARD_BADGES: Readonly<Record<CardStatus, 'running' | 'done' | 'cancelled' | 'error'>> = {
  running: 'running',
  completed: 'done',
  cancelled: 'cancelled',
  errored: 'error',
};

const PREFIX = 'card_';

export const cardIdOf = (jobId: string): string => `${PREFIX}${jobId}`;

/** The job whose card it is; null when it is no id of a card. */
export const jobIdOfCard = (cardId: string): string | null => (cardId.startsWith(PREFIX) ? cardId.slice(PREFIX.length) : null);

export const cardStatusOf = (status: JobRecord['status']): CardStatus => (isTerminal(status) ? status : 'running');

type Shown = Pick<
  JobRecord,
  | 'jobId'
  | 'sessionId'
  | 'callerSessionId'
  | 'subject'
  | 'status'
  | 'resultText'
  | 'result'
  | 'error'
  | 'completedAt'
  | 'headId'
  | 'sourceCommitId'
>;

/**
 * CRD1.
 * @example
 * const card = cardOf(await offstage.get(jobId)); // what `offstage.cards.get(card.cardId)` answers
 */
export function cardOf(job: Shown): Card {
  return {
    cardId: cardIdOf(job.jobId),
    sessionId: callerOf(job),
    function: 'attach',
    content: contentOf(job),
    attach: {
      session_id: job.sessionId,
      job_id: job.jobId,
      status: cardStatusOf(job.status),
      head_id: job.headId,
      source_commit_id: job.sourceCommitId,
      label: job.subject,
    },
  };
}

function contentOf(job: Shown): string {
  switch (job.status) {
    case 'completed':
      return finalTextOf(job);
    case 'cancelled': {
      const mark = `[cancelled at ${new Date(job.completedAt ?? 0).toISOString()}]`;
      return job.resultText === null || job.resultText === '' ? mark : `${job.resultText}\n${mark}`;
    }
    case 'errored':
      return `[task error] ${job.error?.message ?? 'unknown error'}`;
    default:
      return '(running)';
  }
}

/** What stands for a cancelled or errored job where its text is not shown: its mark, which has one line, or its whole message. */
export const markOf = ({ content, attach: { status } }: ContextItem): string =>
  status === 'cancelled' ? content.slice(content.lastIndexOf('\n') + 1) : content;

/** What a completed job answered, as text; the result as JSON where it has no text. */
export const finalTextOf = ({ resultText, result }: Pick<JobRecord, 'resultText' | 'result'>): string =>
  resultText ?? (result === null ? '' : JSON.stringify(result));

/** The job of an item that is a card of one; null for everything else (CRD3). */
export function jobIdIn(item: unknown): string | null {
  try {
    if (typeof item !== 'object' || item === null) return null;
    const { function: name, attach } = item as Partial<ContextItem>;
    const jobId: unknown = name === 'attach' ? attach?.job_id : null;
    return typeof jobId === 'string' ? jobId : null;
  } catch {
    return null;
  }
}

/** A copy of an item that is a whole card; null for everything else (CRD3). */
export function readContextItem(item: unknown): ContextItem | null {
  try {
    const { function: name, content, attach } = item as ContextItem;
    const { session_id, job_id, status, head_id = null, source_commit_id = null, label } = attach;
    const isWhole =
      name === 'attach' &&
      [content, session_id, job_id, label].every((text) => typeof text === 'string') &&
      [head_id, source_commit_id].every((id) => id === null || typeof id === 'string') &&
      Object.hasOwn(CARD_BADGES, status);
    return isWhole ? { function: name, content, attach: { session_id, job_id, status, head_id, source_commit_id, label } } : null;
  } catch {
    return null;
  }
}

/** The same with what only a card of ours has; null for everything else (CRD3). */
export function readCard(value: unknown): Card | null {
  try {
    const item = readContextItem(value);
    const { cardId, sessionId } = value as Card;
    const isWhole = item !== null && cardId === cardIdOf(item.attach.job_id) && typeof sessionId === 'string';
    return isWhole ? { cardId, sessionId, ...item } : null;
  } catch {
    return null;
  }
}
