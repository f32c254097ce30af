/**
 * What every work is written against, so that all subjects do the same.
 *
 * A subject is `{name, missing(): Promise<string | null>, load?(): Promise<unknown>, open(options): Promise<Session>}`. Options: `dataDir`, `redis`, `workers`,
 * `noop()` (the body of kind `noop`), `hold(getSignal, jobId)` (the body of kind `hold`, where a work uses it), `onEnd(jobId)`.
 * A session has `submit(kind)` (resolves with the id once accepted, durably where the subject stores anything) and `close()`; where the
 * subject can: `end(jobId)`, `cancel(jobId)`, `get(jobId)`, `list(limit)`, `hasUnfinished()`.
 *
 * SES1  `onEnd` is called once per job, when its end is stored.
 * SES2  Jobs are submitted in small groups, one group per turn of the event loop: a program never makes 10,000 in one turn, and the
 *       loop delay measured is the engine's, not that of the loop which submits.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';

const GROUP = 100;

/** Follows ends by count and by id. */
export class Ends {
  #count = 0;
  #whenCount = null;
  #waiting = new Map();
  #seen;

  /** `isKept: false` forgets ids at once (for works that only count, and for those that measure memory). */
  constructor({ isKept }) {
    this.#seen = isKept ? new Set() : null;
  }

  get count() {
    return this.#count;
  }

  add = (jobId) => {
    this.#count += 1;
    this.#seen?.add(jobId);
    if (this.#whenCount !== null && this.#count >= this.#whenCount.count) {
      this.#whenCount.resolve();
      this.#whenCount = null;
    }
    if (this.#waiting.size === 0) return;
    this.#waiting.get(jobId)?.();
    this.#waiting.delete(jobId);
  };

  /** Resolves when `count` jobs have ended since the beginning. */
  reached(count) {
    if (this.#count >= count) return Promise.resolve();
    return new Promise((resolve) => {
      this.#whenCount = { count, resolve };
    });
  }

  of(jobId) {
    if (this.#seen.has(jobId)) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.set(jobId, resolve));
  }
}

/** Submits `jobs` jobs and waits until all are accepted. @returns their ids, where `isKept` */
export async function submitMany(session, kind, jobs, { isKept = false } = {}) {
  const ids = [];
  let accepted = 0;
  let finish;
  const all = new Promise((resolve, reject) => {
    finish = { resolve, reject };
  });
  const onAccepted = (jobId) => {
    if (isKept) ids.push(jobId);
    accepted += 1;
    if (accepted === jobs) finish.resolve();
  };
  for (let made = 0; made < jobs; ) {
    for (let index = 0; index < GROUP && made < jobs; index += 1, made += 1) session.submit(kind).then(onAccepted, finish.reject);
    await nextTurn();
  }
  await all;
  return ids;
}

/** Submits `jobs` no-op jobs and waits until all have ended. */
export async function runMany(session, ends, jobs, options) {
  const target = ends.count + jobs;
  const ids = await submitMany(session, 'noop', jobs, options);
  await ends.reached(target);
  if (ends.count !== target) throw new Error(`${ends.count} ends, expected ${target}`);
  return ids;
}

/** A body that stays until it is aborted (then it rejects) or released by its id. */
export function gate({ watchesSignal = true } = {}) {
  const releases = new Map();
  let started = 0;
  let whenStarted = null;
  const noteStart = () => {
    started += 1;
    if (whenStarted === null || started < whenStarted.count) return;
    whenStarted.resolve();
    whenStarted = null;
  };
  return {
    hold: (getSignal, jobId) =>
      new Promise((resolve, reject) => {
        releases.set(jobId, resolve);
        if (watchesSignal) {
          const signal = getSignal();
          signal.addEventListener('abort', () => {
            releases.delete(jobId);
            reject(signal.reason);
          });
        }
        noteStart();
      }),
    release(jobId) {
      releases.get(jobId)?.(null);
      releases.delete(jobId);
    },
    /** In order of start. */
    held: () => [...releases.keys()],
    get started() {
      return started;
    },
    reached: (count) => (started >= count ? Promise.resolve() : new Promise((resolve) => (whenStarted = { count, resolve }))),
  };
}

export const quantile = (values, fraction) => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * fraction))];
};
