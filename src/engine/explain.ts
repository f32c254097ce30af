/**
 * Why a live job is where it is, in words (seed 000 D4): the last line of its history, made when somebody asks.
 *
 * EXP1  It tells what is waited for, and what it would take to go on; it changes nothing and is never stored.
 */
import type { HistoryEntry } from '../model/records.ts';
import type { Core } from './core.ts';
import type { LiveJob } from './live-job.ts';

const inWords = (ms: number): string => (ms < 1_000 ? `${Math.ceil(ms)} ms` : `${Math.ceil(ms / 1_000)} s`);

/** Null when there is nothing to tell: the job has ended, and so has its body. */
export function explain(core: Core, job: LiveJob, awaited: readonly string[]): HistoryEntry | null {
  const detail = sentence(core, job, awaited);
  return detail === null ? null : { at: core.stamp(job), type: 'now', detail };
}

function sentence(core: Core, job: LiveJob, awaited: readonly string[]): string | null {
  const { execution, decided } = job;
  switch (decided.state) {
    case 'pending':
    case 'queued':
      return whyQueued(core, job);
    case 'active':
      return whyRunning(core, job, awaited);
    case 'ending': {
      const { cause } = decided.context;
      const leftMs = (execution?.graceDueAt ?? Number.POSITIVE_INFINITY) - core.settings.clock.monotonic();
      const deadline =
        leftMs === Number.POSITIVE_INFINITY ? 'there is no deadline' : `it is ended by force in ${inWords(Math.max(0, leftMs))}`;
      const survivors = execution?.survivors == null ? '' : `; still there: ${execution.survivors}`;
      return `told to end (${cause ?? 'cancel'}), and its body has not settled yet; ${deadline}${survivors}`;
    }
    default:
      return execution?.isBodyLive === true
        ? 'the record has ended, but its body is still at work and holds what it holds'
        : null;
  }
}

function whyQueued(core: Core, job: LiveJob): string {
  const { pool, settings } = core;
  if (core.isClosing) return 'the engine is closing and starts nothing more';
  if (job.committed === null || job.place.phase === 'idle') return 'accepted, and about to be handed to the pool';
  if (settings.perSessionLimit !== null && pool.takenBy(job.base.sessionId) >= settings.perSessionLimit) {
    return `waiting for a place in its session, which has ${settings.perSessionLimit} of ${settings.perSessionLimit} jobs at work`;
  }
  const stuck = pool.stuck === 0 ? '' : `, ${pool.stuck} of them by bodies that did not end when they were told to`;
  return `waiting for a slot: ${pool.taken} of ${settings.workers ?? 'any number'} are in use${stuck}; ${pool.queued} jobs are queued`;
}

function whyRunning(core: Core, job: LiveJob, awaited: readonly string[]): string {
  const { execution, place } = job;
  if (place.phase === 'waiting') return `waiting for ${awaited.join(', ')}; its slot is free meanwhile`;
  if (place.phase === 'resuming') return 'what it waited for is there; waiting for a slot to go on';
  if (execution === null || !execution.isBodyLive) return 'its start is being stored; its body is called right after';
  return `at work; last heard of ${inWords(core.settings.clock.monotonic() - execution.lastHeard)} ago`;
}
