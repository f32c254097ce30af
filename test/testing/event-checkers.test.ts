/** G4: the checker of card events sees what it is there to see (CHK1). */
import { describe, expect, it } from 'vitest';
import type { OffstageEvent } from '../../src/model/events.ts';
import type { JobStatus } from '../../src/model/records.ts';
import { cardChecker } from '../../src/testing/event-checkers.ts';

const created = (jobId: string) => ({ type: 'job.created', jobId, status: 'pending' });
const status = (jobId: string, to: JobStatus) => ({ type: 'job.status', jobId, status: to });
const card = (jobId: string, to: string) => ({ type: 'card.updated', jobId, status: to });
const VOLATILE = { type: 'job.progress', jobId: 'a' };
const ACCEPTED = [created('a'), status('a', 'queued'), card('a', 'running')];
const ENDED = [status('a', 'running'), status('a', 'completed'), card('a', 'completed')];

const seen = (events: readonly object[]) => (): void => {
  const check = cardChecker();
  for (const event of events) check(event as OffstageEvent);
};

describe('cardChecker', () => {
  it.each<[string, readonly object[]]>([
    ['a whole life', [...ACCEPTED, ...ENDED]],
    ['a job that is cancelled before it runs', [...ACCEPTED, status('a', 'cancelled'), card('a', 'cancelled')]],
    ['volatile events in between', [created('a'), VOLATILE, status('a', 'queued'), VOLATILE, card('a', 'running')]],
    ['who begins to look between a job and its card', [card('a', 'running'), ...ENDED]],
    ['who has missed something', [...ACCEPTED, status('a', 'completed'), { type: 'resync' }, card('b', 'errored')]],
  ])('finds nothing wrong with %s', (_, events) => {
    expect(seen(events)).not.toThrow();
  });

  it.each<[string, readonly object[]]>([
    ['none at the creation', [created('a'), status('a', 'queued'), status('a', 'running')]],
    ['none at the creation, and another job comes', [created('a'), created('b')]],
    ['none at the end', [...ACCEPTED, status('a', 'completed'), status('b', 'running')]],
    ['one that comes late', [...ACCEPTED, status('a', 'completed'), created('b'), card('a', 'completed')]],
    ['another status', [...ACCEPTED, status('a', 'completed'), card('a', 'errored')]],
    ['another job', [created('a'), status('a', 'queued'), card('b', 'running')]],
    ['two', [...ACCEPTED, ...ENDED, card('a', 'completed')]],
    ['one for a job that has only started', [...ACCEPTED, status('a', 'running'), card('a', 'running')]],
  ])('G4 is broken by %s', (_, events) => {
    expect(seen(events)).toThrow(/^G4/);
  });
});
