/** The reducer of the channel: rows P34 to P39. */
import { expect, it } from 'vitest';
import { type AsyncTask, asyncTasksReducer } from '../../src/doors/async-tasks/index.ts';

const task = (taskId: string, fields: Partial<AsyncTask> = {}): AsyncTask => ({
  ...{ taskId, type: 'held', threadId: 'thread', status: 'queued', input: {}, createdAt: '2026-01-01T00:00:00.000Z' },
  ...fields,
});
const x = { a: task('a'), b: task('b') };

it('P34: without anything it is empty; without one side it is the other', () => {
  expect(asyncTasksReducer(undefined, undefined)).toEqual({});
  expect(asyncTasksReducer(x, undefined)).toEqual(x);
  expect(asyncTasksReducer(undefined, x)).toEqual(x);
});

it('P35: the same update twice gives the same map', () => {
  const update = { a: task('a', { status: 'running' }) };
  const once = asyncTasksReducer(x, update);
  expect(asyncTasksReducer(once, update)).toEqual(once);
});

it('P36: an update of one id leaves the others, and neither side is changed', () => {
  const existing = Object.freeze({ ...x });
  const update = Object.freeze({ a: task('a', { status: 'running' }) });
  const merged = asyncTasksReducer(existing, update);
  expect([merged.a, merged.b]).toEqual([update.a, x.b]);
  expect(existing).toEqual(x);
});

it('P37: an entry replaces the whole one before it, also where it is only part of one', () => {
  const update = { a: { status: 'success' } as AsyncTask };
  expect(asyncTasksReducer(x, update).a).toEqual({ status: 'success' });
});

it('P38: the last writer counts, also where it revives a task that has ended', () => {
  const ended = asyncTasksReducer(x, { a: task('a', { status: 'success' }) });
  expect(asyncTasksReducer(ended, { a: task('a', { status: 'running' }) }).a?.status).toBe('running');
});

it('P39: the order of updates matters', () => {
  const [first, second] = [{ a: task('a', { status: 'running' }) }, { a: task('a', { status: 'error' }) }];
  const after = (...updates: (typeof first)[]) =>
    updates.reduce<Record<string, AsyncTask>>((map, one) => asyncTasksReducer(map, one), x);
  expect(after(first, second).a?.status).toBe('error');
  expect(after(second, first).a?.status).toBe('running');
  expect(after(first, first, second, second)).toEqual(after(first, second));
});
