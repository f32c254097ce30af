/** MNY1, MNY2: requests for many jobs hold few of them at a time, and answer as if they had read them all at once. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { WireFields } from '../../src/doors/wire/rename.ts';
import { LIMITS } from '../../src/model/limits.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import type { Store } from '../../src/persistence/store.ts';
import { type Client, type Lab, serverLab } from '../server/lab.ts';

const isRow = (key: string): boolean => key.startsWith('f/');

/** How many rows of ended jobs are read at a time: looked up by key, or in one range. */
function watched(inner: Store): { readonly store: Store; readonly most: () => number; readonly forget: () => void } {
  let now = 0;
  let most = 0;
  const looked = async <Result>(count: number, work: () => Promise<Result>): Promise<Result> => {
    now += count;
    most = Math.max(most, now);
    await new Promise((resolve) => setImmediate(resolve));
    try {
      return await work();
    } finally {
      now -= count;
    }
  };
  const store: Store = {
    get: (key) => inner.get(key),
    getMany: (keys) => looked(keys.filter(isRow).length, () => inner.getMany(keys)),
    async *range(options) {
      let count = 0;
      for await (const entry of inner.range(options)) {
        if (isRow(entry.key)) count += 1;
        most = Math.max(most, count);
        yield entry;
      }
    },
    batch: (operations, options) => inner.batch(operations, options),
    close: () => inner.close(),
  };
  return {
    store,
    most: () => most,
    forget: () => {
      most = 0;
    },
  };
}

const COUNT = 200;
/** In the order of their acceptance. */
const ended = Array.from({ length: COUNT }, (_, index) => `ended-${index}`);
const live = ['live-0', 'live-1'];
const reads = watched(memoryStore());
let lab: Lab;
let person: Client;
let agent: Client;
beforeAll(async () => {
  lab = await serverLab({ store: reads.store, workers: 16 });
  const { offstage, gate } = lab;
  await offstage.sessions.create({ sessionId: 's' });
  await Promise.all(ended.map((jobId) => offstage.spawn({ kind: 'echo', jobId, sessionId: 's', input: jobId })));
  await offstage.waitMany(ended);
  for (const jobId of live) await offstage.spawn({ kind: 'gate', jobId, sessionId: 's' });
  for (const jobId of live) await gate.started(jobId);
  person = await lab.client();
  agent = await lab.client({ token: lab.server.issueToken('session:s') });
});
afterAll(() => lab[Symbol.asyncDispose]());

const idsOf = ({ tasks }: WireFields): readonly unknown[] => (tasks as readonly WireFields[]).map(({ job_id: id }) => id);

describe.each(['a person', 'an agent'])('for %s', (who) => {
  const ask = (action: string, fields: WireFields): Promise<WireFields> => {
    reads.forget();
    return (who === 'a person' ? person : agent).ask(action, fields);
  };
  const newestFirst = [...ended, ...live].reverse();

  it('a long list has everything, newest first, and reads a portion at a time', async () => {
    const answer = await ask('list_jobs', { limit: 1_000, brief: true });
    expect(idsOf(answer)).toEqual(newestFirst);
    expect(answer.next_before).toBeNull();
    expect(reads.most()).toBeLessThanOrEqual(LIMITS.recordsAtOnce + 1);
  });

  it.each([1, 31, 32, 33, 64, 202, 203])('a list of %i ends where it was asked to, and says where to go on', async (limit) => {
    const first = await ask('list_jobs', { limit });
    expect(idsOf(first)).toEqual(newestFirst.slice(0, limit));
    expect(first.next_before).toBe(limit > newestFirst.length ? null : newestFirst[limit - 1]);
  });

  it.each([10, 32, 100, 300])('a list of %i cards as well', async (limit) => {
    const { cards, next_before: next } = await ask('list_cards', { session_id: 's', limit });
    const shown = cards as readonly WireFields[];
    const expected = newestFirst.slice(0, limit);
    expect(shown.map(({ attach }) => (attach as WireFields).job_id)).toEqual(expected);
    expect(next).toBe(limit > newestFirst.length ? null : shown.at(-1)?.card_id);
  });

  it('a wait for all of those that have ended reads a portion at a time, and answers in the order asked', async () => {
    const answer = await ask('await_jobs', { job_ids: ended, timeout: 0 });
    expect(idsOf(answer)).toEqual(ended);
    expect(reads.most()).toBeLessThanOrEqual(LIMITS.recordsAtOnce + 1);
  });

  it('a wait for some of both ends with its time, and says so of those that live', async () => {
    const waiting = ask('await_jobs', { job_ids: [...live, ...ended, 'nobody'], timeout: 20_000, brief: true });
    // Whoever asks later is answered earlier: by then it waits.
    await ask('list_jobs', { limit: 1_000, brief: true });
    await ask('list_jobs', { limit: 1_000, brief: true });
    await lab.engine.clock.advance(20_000);
    const { tasks } = await waiting;
    const rows = tasks as readonly WireFields[];
    expect(rows.slice(0, 3)).toMatchObject([
      { job_id: 'live-0', status: 'running', timed_out: true },
      { job_id: 'live-1', status: 'running', timed_out: true },
      { job_id: 'ended-0', status: 'completed' },
    ]);
    expect(rows.at(-1)).toMatchObject({ job_id: 'nobody', error_code: 'job.not_found' });
    expect(rows[2]).not.toHaveProperty('timed_out');
  });

  it('a wait for any of them is over where one has ended, and has timed out nowhere', async () => {
    const { tasks } = await ask('await_jobs', { job_ids: [...live, ...ended], mode: 'any', timeout: null, brief: true });
    expect((tasks as readonly WireFields[])[0]).toMatchObject({ job_id: 'live-0', status: 'running' });
    expect((tasks as readonly WireFields[])[0]).not.toHaveProperty('timed_out');
  });

  it('a wait that is not valid says so', async () => {
    expect(await ask('await_jobs', { job_ids: ended, timeout: -5 })).toMatchObject({ error_code: 'input.invalid' });
  });

  it('a cancel by session, also of those that have ended, looks at a portion at a time', async () => {
    const answer = await ask('cancel_jobs', { session_id: 's', status_filter: ['completed'] });
    expect(answer.already_terminal).toEqual([...ended].reverse());
    expect(reads.most()).toBeLessThanOrEqual(LIMITS.recordsAtOnce + 1);
  });

  it('a cancel of one job, named ten thousand times, looks at it once', async () => {
    const ids = Array.from({ length: 10_000 }, () => 'ended-7');
    const answer = await ask('cancel_jobs', { job_ids: [...ids, ...ended] });
    expect(answer.already_terminal).toEqual([...ids, ...ended]);
    expect(reads.most()).toBeLessThanOrEqual(LIMITS.recordsAtOnce + 1);
  });
});
