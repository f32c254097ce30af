/**
 * Checkers for the job events of a running engine: what must hold whatever happens (G1, G2, G4, G7, G9).
 *
 * CHK1  A checker throws at the first event that breaks its rule, and names the event.
 */
import { type CardStatus, cardStatusOf } from '../model/cards.ts';
import { isVolatileEvent, type JobRecordEvent, type OffstageEvent } from '../model/events.ts';
import { isTerminal, type JobStatus } from '../model/records.ts';

/** Give it to `onEvent`; throws at the first event that breaks its rule. */
export type EventChecker = (event: OffstageEvent) => void;

const RANK: Readonly<Record<JobStatus, number>> = { pending: 0, queued: 1, running: 2, completed: 3, cancelled: 3, errored: 3 };

const isJobEvent = (event: OffstageEvent): event is JobRecordEvent => event.type === 'job.created' || event.type === 'job.status';

const fail = (rule: string, event: OffstageEvent): never => {
  throw new Error(`${rule}: ${JSON.stringify(event)}`);
};

/**
 * G1: one end per job, and nothing after it. G2: forward only. G6: the session never changes.
 * @example
 * const check = lifecycleChecker();
 * for await (const event of offstage.events({ after: 0 })) check(event);
 */
export function lifecycleChecker(): EventChecker {
  const last = new Map<string, JobRecordEvent>();
  return (event) => {
    if (!isJobEvent(event)) return;
    const before = last.get(event.jobId);
    last.set(event.jobId, event);
    if (before === undefined) return;
    if (isTerminal(before.status)) fail('G1 an event after the end', event);
    if (RANK[event.status] < RANK[before.status]) fail('G2 backwards', event);
    if (before.sessionId !== event.sessionId) fail('G6 another session', event);
    if (event.revision < before.revision) fail('an older revision', event);
  };
}

/**
 * G9: record events are numbered without a gap, volatile ones carry the number they follow.
 * @example
 * const check = sequenceChecker(0);
 * for await (const event of offstage.events({ after: 0 })) check(event);
 */
export function sequenceChecker(after: number): EventChecker {
  let seq = after;
  return (event) => {
    if (event.type === 'resync') {
      seq = event.seq;
      return;
    }
    if (isVolatileEvent(event)) {
      if (event.seq !== seq) fail('G9 a volatile event with another number', event);
      return;
    }
    if (event.seq !== seq + 1) fail(`G9 a gap after ${seq}`, event);
    seq = event.seq;
  };
}

/**
 * G4, as far as events tell: a card is told of once when its job is accepted and once when it ends, at once after its job, with its job's status.
 * @example
 * const check = cardChecker();
 * for await (const event of offstage.events({ after: 0 })) check(event);
 */
export function cardChecker(): EventChecker {
  /** What has to be told next: the card of a job that was accepted, or has ended, just now. */
  let owed: { readonly jobId: string; readonly status: CardStatus } | null = null;
  // Who begins to look in the middle has not seen the job's own event.
  let hasSeen = false;
  return (event) => {
    if (event.type === 'resync') {
      owed = null;
      hasSeen = false;
      return;
    }
    if (isVolatileEvent(event)) return;
    const now = owed;
    if (event.type === 'card.updated') {
      const isExplained = now?.jobId === event.jobId && now.status === event.status;
      if (!isExplained && (hasSeen || now !== null)) fail('G4 a card that its job does not explain', event);
      owed = null;
    } else if (now !== null) {
      // An accepted job is announced, and queued, before its card is told of.
      const isQueued = event.type === 'job.status' && event.jobId === now.jobId && event.status === 'queued';
      if (!isQueued || now.status !== 'running') fail(`G4 nothing was told of the card of ${now.jobId}`, event);
    } else if (isJobEvent(event) && (event.type === 'job.created' || isTerminal(event.status))) {
      owed = { jobId: event.jobId, status: cardStatusOf(event.status) };
    }
    hasSeen = true;
  };
}

/**
 * All of these checkers, and the first violation kept for the end of a test: observers are fenced, so a throw alone would go unseen.
 * @example
 * const checks = eventChecks();
 * offstage.onEvent(checks.observe);
 * // … the test …
 * checks.assertSound();
 */
export function eventChecks(after = 0): { readonly observe: EventChecker; readonly assertSound: () => void } {
  const checkers = [lifecycleChecker(), cardChecker(), sequenceChecker(after)];
  let first: unknown = null;
  return {
    observe(event) {
      for (const check of checkers) {
        try {
          check(event);
        } catch (error) {
          first ??= error;
        }
      }
    },
    assertSound() {
      if (first !== null) throw first;
    },
  };
}
