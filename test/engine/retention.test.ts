/** What is kept, and for how long (spec 6 "Retention"). */
import { describe, expect, it } from 'vitest';
import { LIMITS } from '../../src/model/limits.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { echo, gate } from '../support/executors.ts';
import { keptStore } from '../support/kept-store.ts';
import { contentOf } from '../support/store-content.ts';
import { type TestEngine, testEngine } from '../support/test-engine.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const expired = expect.objectContaining({ code: 'job.expired' });

const finish = async ({ offstage }: TestEngine, ids: readonly string[], more: object = {}): Promise<void> => {
  await Promise.all(ids.map((jobId) => offstage.spawn({ kind: 'echo', jobId, ...more })));
  await offstage.waitMany(ids, { timeoutMs: null });
};
const named = (prefix: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);

describe('prune', () => {
  it('by number removes the oldest finished jobs, and no other', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { echo, held } });
    const { offstage, clock } = engine;
    await offstage.spawn({ kind: 'held', jobId: 'running' });
    await held.started('running');
    await finish(engine, named('a', 5));
    await clock.settle();
    expect(await offstage.prune({ maxJobs: 2 })).toMatchObject({ jobs: 3 });
    expect((await offstage.list()).map(({ jobId }) => jobId)).toEqual(['a4', 'a3', 'running']);
    for (const id of ['a0', 'a1', 'a2']) await expect(offstage.get(id)).rejects.toEqual(expired);
    expect(await offstage.prune({ maxJobs: 2 })).toMatchObject({ jobs: 0 });
    await held.release('running');
    await offstage.wait('running');
  });

  it('by age counts from the end of the job', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { echo, held } });
    const { offstage, clock } = engine;
    await offstage.spawn({ kind: 'held', jobId: 'long' });
    await held.started('long');
    await finish(engine, ['short']);
    await clock.advance(10 * DAY_MS);
    await held.release('long');
    await offstage.wait('long');
    await clock.settle();
    await clock.advance(5 * DAY_MS);
    await offstage.prune({ maxAgeMs: 8 * DAY_MS });
    expect((await offstage.list()).map(({ jobId }) => jobId)).toEqual(['long']);
  });

  it('finds jobs that are due behind one that is not', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { echo, held } });
    const { offstage, clock } = engine;
    await offstage.spawn({ kind: 'held', jobId: 'long' });
    await held.started('long');
    await finish(engine, named('a', 600));
    await clock.advance(20 * DAY_MS);
    await held.release('long');
    await offstage.wait('long');
    await clock.settle();
    await clock.advance(DAY_MS);
    expect(await offstage.prune({ maxAgeMs: 10 * DAY_MS })).toMatchObject({ jobs: 600 });
    expect((await offstage.list()).map(({ jobId }) => jobId)).toEqual(['long']);
  });

  it('leaves a bare tombstone and its card, and nothing else of a job', async () => {
    await using engine = await testEngine({ executors: { echo: () => 'the answer' } });
    const { offstage, clock, store } = engine;
    await offstage.sessions.create({ sessionId: 's' });
    await clock.settle();
    const before = Object.keys(await contentOf(store)).filter((key) => !key.startsWith('e/') && !key.startsWith('!'));
    const large = { description: 'x'.repeat(5_000), input: 'y'.repeat(5_000) };
    await finish(engine, ['secret name'], { sessionId: 's', subject: 'its label', ...large });
    await clock.settle();
    await offstage.prune({ maxJobs: 0 });
    await clock.settle();
    const left = Object.entries(await contentOf(store)).filter(
      ([key]) => !before.includes(key) && !key.startsWith('e/') && !key.startsWith('!'),
    );
    expect(left.map(([key]) => key.slice(0, 2)).sort()).toEqual(['i/', 'k/', 't/', 'w/']);
    expect(JSON.stringify(left)).not.toMatch(/xxxx|yyyy/);
  });

  it('keeps what hangs on a job that was pruned while somebody still looks', async () => {
    const store = keptStore(memoryStore());
    const engine = await testEngine({ executors: { echo }, store: store.open() });
    const { offstage, clock } = engine;
    await finish(engine, named('a', 3));
    await clock.settle();
    const [listed] = await Promise.all([offstage.list(), offstage.prune({ maxJobs: 0 })]);
    expect(listed.length === 3 || listed.length === 0).toBe(true);
    expect(await offstage.list()).toEqual([]);
    // `before` may name a job that is gone: that is said, not guessed.
    await expect(offstage.list({ before: 'a1' })).rejects.toEqual(expired);
    expect(await offstage.waitMany(['a0', 'a1'])).toMatchObject([
      { error: { code: 'job.expired' } },
      { error: { code: 'job.expired' } },
    ]);
    await expect(offstage.cancel('a0')).rejects.toEqual(expired);
    await expect(offstage.spawn({ kind: 'echo', parentJobId: 'a0' })).rejects.toEqual(expired);
    await engine[Symbol.asyncDispose]();
    await using again = await testEngine({ executors: { echo }, store: store.open(), clock });
    await expect(again.offstage.get('a0')).rejects.toEqual(expired);
    // The order of creation goes on behind the pruned ones.
    await finish(again, ['b']);
    expect((await again.offstage.list()).map(({ jobId }) => jobId)).toEqual(['b']);
  });

  it('forgets tombstones after a year: then the id is unknown', async () => {
    await using engine = await testEngine({ executors: { echo }, retention: { maxJobs: 0 } });
    const { offstage, clock } = engine;
    await finish(engine, ['a']);
    await clock.settle();
    await offstage.prune();
    await clock.advance(LIMITS.tombstoneMs - DAY_MS);
    await expect(offstage.get('a')).rejects.toEqual(expired);
    await clock.advance(2 * DAY_MS);
    await expect(offstage.get('a')).rejects.toMatchObject({ code: 'job.not_found' });
  }, 60_000);

  it('refuses limits that are none', async () => {
    await using engine = await testEngine({ executors: { echo } });
    const { offstage, clock } = engine;
    await finish(engine, named('a', 2));
    await clock.settle();
    for (const bad of [{ maxJobs: -1 }, { maxJobs: Number.NaN }, { maxJobs: 1.5 }, { maxAgeMs: -1 }, { maxAgeMs: Number.NaN }]) {
      await expect((async () => offstage.prune(bad))()).rejects.toMatchObject({ code: 'input.invalid' });
    }
    expect(await offstage.list()).toHaveLength(2);
  });
});

describe('the sweep', () => {
  it('runs by itself: 30 days and 100,000 jobs unless told otherwise, null for ever', async () => {
    await using engine = await testEngine({ executors: { echo }, retention: { maxAgeMs: 2 * DAY_MS } });
    await using forever = await testEngine({ executors: { echo }, retention: null });
    for (const each of [engine, forever]) {
      await finish(each, ['a']);
      await each.clock.advance(DAY_MS);
      expect((await each.offstage.get('a')).status).toBe('completed');
      await each.clock.advance(1.1 * DAY_MS);
    }
    await expect(engine.offstage.get('a')).rejects.toEqual(expired);
    expect((await forever.offstage.get('a')).status).toBe('completed');
  });
});
