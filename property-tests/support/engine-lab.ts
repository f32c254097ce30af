/** What the properties of whole engines share: the whole log, and the question whether every way of reading agrees. */
import { expect } from 'vitest';
import type { Offstage } from '../../src/engine/offstage.ts';
import type { OffstageEvent } from '../../src/model/events.ts';
import type { Executors } from '../../src/model/executor.ts';
import { isTerminal, type JobView } from '../../src/model/records.ts';
import { eventChecks } from '../../src/testing/event-checkers.ts';

export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Everything the log holds, from its first event on; checked by the event checkers as a whole, over all engines that wrote it. */
export async function wholeLog(offstage: Offstage<Executors>): Promise<readonly OffstageEvent[]> {
  const { seq } = await offstage.snapshot();
  const checks = eventChecks(0);
  const events: OffstageEvent[] = [];
  if (seq === 0) return events;
  for await (const event of offstage.events({ after: 0 })) {
    // The reader says so where something is missing; here nothing may be.
    expect(event.type).not.toBe('resync');
    events.push(event);
    checks.observe(event);
    if (event.seq >= seq) break;
  }
  checks.assertSound();
  return events;
}

/** QRY1 at a quiescent point: get = list = last event = history, for these jobs. */
export async function assertReadersAgree(
  offstage: Offstage<Executors>,
  jobIds: readonly string[],
  events: readonly OffstageEvent[],
): Promise<ReadonlyMap<string, JobView>> {
  const listed = new Map((await offstage.list({ limit: 1_000 })).map((view) => [view.jobId, view]));
  const last = new Map<string, OffstageEvent>();
  for (const event of events) if (event.type === 'job.created' || event.type === 'job.status') last.set(event.jobId, event);
  expect([...listed.keys()].toSorted()).toEqual([...jobIds].toSorted());
  for (const jobId of jobIds) {
    const view = await offstage.get(jobId);
    expect(listed.get(jobId)).toEqual(view);
    expect(last.get(jobId)).toMatchObject({ status: view.status, sessionId: view.sessionId, reasonCode: view.reasonCode });
    const history = await offstage.history(jobId);
    const transitions = history.filter(({ type }) => type === 'transition');
    expect(transitions.at(-1)?.to).toBe(view.status);
    expect(transitions.filter(({ to }) => to !== undefined && isTerminal(to))).toHaveLength(isTerminal(view.status) ? 1 : 0);
    const path = [view.createdAt, view.queuedAt, view.startedAt, view.completedAt].filter((at) => at !== null);
    expect(path).toEqual(path.toSorted((a, b) => a - b));
  }
  return listed;
}
