/** Reading many jobs (spec 18, api "Jobs"): filters, pages, and one answer over live and finished jobs alike. */
import { describe, expect, it } from 'vitest';
import type { JobStatus } from '../../src/model/records.ts';
import type { ListQuery } from '../../src/model/requests.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { echo, gate, stubborn, throwing } from '../support/executors.ts';
import { slowReads } from '../support/slow-reads.ts';
import { testEngine } from '../support/test-engine.ts';

/** Jobs in every status, in two sessions of one task and one of another, some with parents and groups. */
async function mixedJobs() {
  const held = gate();
  const stuck = stubborn();
  const engine = await testEngine({ executors: { held, stuck, echo, broken: throwing(new Error('x')) }, workers: 2 });
  const { offstage, clock } = engine;
  await offstage.tasks.create({ taskId: 't' });
  for (const sessionId of ['p1', 'p2']) await offstage.sessions.create({ sessionId, taskId: 't' });
  await offstage.sessions.create({ sessionId: 'other' });
  const spawn = async (jobId: string, options: Omit<Parameters<typeof offstage.spawn>[0], 'jobId'>) =>
    offstage.spawn({ ...options, jobId });
  await spawn('done', { kind: 'echo', sessionId: 'p1', parentMessageId: 'm' });
  await spawn('failed', { kind: 'broken', sessionId: 'p2', callerSessionId: 'p1' });
  await offstage.waitMany(['done', 'failed']);
  await spawn('stuck', { kind: 'stuck', sessionId: 'p1' });
  await spawn('running', { kind: 'held', sessionId: 'p2', callerSessionId: 'p1', parentMessageId: 'm' });
  await spawn('queued', { kind: 'held', sessionId: 'other' });
  await spawn('child', { kind: 'echo', sessionId: 'p1', parentJobId: 'stuck', parentMessageId: 'm' });
  await spawn('dropped', { kind: 'held', sessionId: 'p1' });
  await offstage.cancel('dropped');
  await clock.settle();
  return { engine, held, stuck };
}

const ALL = ['dropped', 'child', 'queued', 'running', 'stuck', 'failed', 'done'];

describe('list', () => {
  it('is newest first, whatever became of the jobs', async () => {
    const { engine, held, stuck } = await mixedJobs();
    await using _ = engine;
    const ids = async (query: ListQuery = {}) => (await engine.offstage.list(query)).map(({ jobId }) => jobId);
    expect(await ids()).toEqual(ALL);
    const cases: readonly [ListQuery, readonly string[]][] = [
      [{ sessionId: 'p1' }, ['dropped', 'child', 'stuck', 'done']],
      [{ sessionId: 'p2' }, ['running', 'failed']],
      [{ sessionId: 'nowhere' }, []],
      [{ callerSessionId: 'p1' }, ['running', 'failed']],
      [{ callerSessionId: 'p1', sessionId: 'p1' }, []],
      [{ taskId: 't' }, ['dropped', 'child', 'running', 'stuck', 'failed', 'done']],
      [{ parentJobId: 'stuck' }, ['child']],
      [{ parentMessageId: 'm' }, ['child', 'running', 'done']],
      [{ kind: 'echo' }, ['child', 'done']],
      [{ status: 'running' }, ['running', 'stuck']],
      [{ status: 'queued' }, ['child', 'queued']],
      [{ status: ['completed', 'errored'] }, ['failed', 'done']],
      [{ status: ['queued', 'cancelled'], sessionId: 'p1' }, ['dropped', 'child']],
      [{ status: [] }, []],
      [{ status: 'pending' }, []],
      [{ limit: 3 }, ['dropped', 'child', 'queued']],
      [{ limit: 3, before: 'queued' }, ['running', 'stuck', 'failed']],
      [{ limit: 3, before: 'failed' }, ['done']],
      [{ before: 'done' }, []],
      [{ before: 'running', sessionId: 'p1' }, ['stuck', 'done']],
      [{ before: 'running', status: 'errored' }, ['failed']],
    ];
    for (const [query, expected] of cases) expect([query, await ids(query)]).toEqual([query, expected]);
    // Every entry is the record that get answers.
    for (const job of await engine.offstage.list()) expect(await engine.offstage.get(job.jobId)).toEqual(job);
    await stuck.release('stuck');
    await held.release('running');
    await held.release('queued');
  });

  it('shows a job whose record has ended and whose body has not once, as get does', async () => {
    const stuck = stubborn();
    await using engine = await testEngine({ executors: { stuck, echo }, cancelGraceMs: 10 });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'stuck' });
    await stuck.started(jobId);
    await offstage.cancel(jobId);
    await clock.advance(10);
    const record = await offstage.get(jobId);
    expect(record).toMatchObject({ status: 'cancelled', bodyLive: true });
    for (const query of [{}, { sessionId: 'default' }, { status: 'cancelled' } as const])
      expect(await offstage.list(query)).toEqual([record]);
    await stuck.release(jobId);
    await clock.settle();
    expect(await offstage.list()).toEqual([{ ...record, bodyLive: false }]);
  });

  it('refuses what is no query', async () => {
    await using engine = await testEngine({ executors: { echo } });
    const { offstage } = engine;
    const bad: readonly ListQuery[] = [
      { status: 'done' as JobStatus },
      { status: ['running', 'gone' as JobStatus] },
      { limit: 0 },
      { limit: 1_001 },
      { limit: 1.5 },
      { limit: Number.NaN },
      { sessionId: '' },
      { kind: 7 as unknown as string },
    ];
    for (const query of bad) await expect(offstage.list(query)).rejects.toMatchObject({ code: 'input.invalid' });
    await expect(offstage.list({ before: 'nobody' })).rejects.toMatchObject({ code: 'job.not_found' });
  });

  it('in pages of any size is the whole list, each job once, also while jobs end and others come', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held, echo }, workers: null });
    const { offstage } = engine;
    const spawned: string[] = [];
    for (let index = 0; index < 40; index++) {
      spawned.unshift((await offstage.spawn({ kind: index % 3 === 0 ? 'held' : 'echo' })).jobId);
    }
    await engine.clock.settle();
    for (const limit of [1, 7, 39, 40]) {
      const seen: string[] = [];
      for (let before: string | undefined; ; before = seen.at(-1)) {
        const page = await offstage.list({ limit, ...(before === undefined ? {} : { before }) });
        seen.push(...page.map(({ jobId }) => jobId));
        if (page.length < limit) break;
        // Meanwhile one ends and one comes.
        const [live] = held.live;
        if (live !== undefined) await held.release(live);
        await offstage.spawn({ kind: 'echo' });
      }
      // Whatever came after the first page was asked for is newer than all of it.
      expect(seen.slice(-40)).toEqual(spawned);
      expect(new Set(seen).size).toBe(seen.length);
    }
  });

  it('never shows a job twice or not at all while its end is being stored', async () => {
    const store = controlledStore(memoryStore());
    const held = gate();
    await using engine = await testEngine({ executors: { held }, store });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'held' });
    await held.started(jobId);
    await clock.settle();
    const lists: Promise<readonly { readonly status: string }[]>[] = [];
    const byStatus: Promise<number>[] = [];
    store.hold();
    await held.release(jobId);
    const ending = offstage.wait(jobId);
    for (let turn = 0; turn < 20; turn++) {
      if (turn === 8) store.release();
      lists.push(offstage.list());
      byStatus.push(
        Promise.all([offstage.list({ status: 'running' }), offstage.list({ status: 'completed' })]).then(
          ([running, completed]) => running.length + completed.length,
        ),
      );
      await new Promise((resolve) => setImmediate(resolve));
    }
    await ending;
    const seen = (await Promise.all(lists)).map((list) => list.map(({ status }) => status).join());
    expect(new Set(seen)).toEqual(new Set(['running', 'completed']));
    expect(seen).toEqual(seen.toSorted().reverse());
    expect(new Set(await Promise.all(byStatus))).toEqual(new Set([1]));
  });
});

describe('a list that is read from disk meanwhile', () => {
  it('is of the tick in which it was asked for: every job of then, once, and none that came later', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { echo, held }, workers: 4, store: slowReads(memoryStore()) });
    const { offstage, clock } = engine;
    const accepted: string[] = [];
    offstage.onEvent((event) => {
      if (event.type === 'job.created') accepted.push(event.jobId);
    });
    await offstage.spawn({ kind: 'held', jobId: 'held' });
    await clock.settle();
    const working = Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
        for (let turn = 0; turn < index; turn++) await new Promise((resolve) => setImmediate(resolve));
        const { jobId } = await offstage.spawn({ kind: index % 10 === 0 ? 'held' : 'echo' });
        if (index % 10 === 0) await held.release(jobId);
        await offstage.wait(jobId);
      }),
    );
    const asked: { readonly known: readonly string[]; readonly all: Promise<readonly { readonly jobId: string }[]> }[] = [];
    const unfinished: Promise<readonly { readonly status: string }[]>[] = [];
    for (let turn = 0; turn < 60; turn++) {
      // Once through all rows, once through the index of the session, whose rows are read later.
      for (const query of [{}, { sessionId: 'default' }]) {
        asked.push({ known: [...accepted], all: offstage.list({ limit: 1_000, ...query }) });
      }
      unfinished.push(offstage.list({ status: ['running', 'queued'], limit: 1_000 }));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await working;
    for (const { known, all } of asked) {
      expect((await all).map(({ jobId }) => jobId)).toEqual(known.toReversed());
    }
    for (const list of await Promise.all(unfinished))
      expect(list.every(({ status }) => status === 'running' || status === 'queued')).toBe(true);
    expect(new Set(asked.map(({ known }) => known.length)).size).toBeGreaterThan(3);
    await held.release('held');
  });
});

describe('snapshot', () => {
  it('is of one instant: what it does not show yet comes as an event after its seq', async () => {
    await using engine = await testEngine({ executors: { echo }, workers: 4, store: slowReads(memoryStore()) });
    const { offstage } = engine;
    const spawning = Promise.all(
      Array.from({ length: 200 }, async () => {
        const { jobId } = await offstage.spawn({ kind: 'echo' });
        await offstage.wait(jobId);
      }),
    );
    const snapshots = [];
    for (let index = 0; index < 20; index++) {
      snapshots.push(await offstage.snapshot());
      await new Promise((resolve) => setImmediate(resolve));
    }
    await spawning;
    for (const { seq, jobs, counts } of snapshots) {
      const upTo = engine.events.filter((event) => event.seq <= seq && event.type === 'job.status');
      const last = new Map(upTo.map((event) => [(event as { jobId: string }).jobId, (event as { status: string }).status]));
      for (const job of jobs) expect([job.jobId, job.status]).toEqual([job.jobId, last.get(job.jobId)]);
      const running = [...last.values()].filter((status) => status === 'running').length;
      const queued = [...last.values()].filter((status) => status === 'queued').length;
      expect({ running: counts.running, queued: counts.queued, pending: counts.pending }).toEqual({
        running,
        queued,
        pending: 0,
      });
    }
    const { tasks, sessions, jobs } = await offstage.snapshot();
    expect(tasks.map(({ taskId }) => taskId)).toEqual(['default']);
    expect(sessions.map(({ sessionId }) => sessionId)).toEqual(['default']);
    expect(jobs).toHaveLength(50);
  });
});

describe('read models', () => {
  it('show what is committed, before it is told', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held }, workers: 1 });
    const { offstage } = engine;
    const wrong: string[] = [];
    offstage.onEvent((event) => {
      const { seq, live } = offstage.jobsModel.get();
      if (seq < event.seq) wrong.push(`the model is at ${seq}, behind the event ${event.seq}`);
      if (event.type !== 'job.status' || event.seq !== seq) return;
      const row = live.get(event.jobId);
      if ((row?.status ?? 'gone') !== (event.completedAt === null ? event.status : 'gone'))
        wrong.push(`${event.jobId} ${row?.status}`);
    });
    const jobs = await Promise.all([1, 2, 3].map(() => offstage.spawn({ kind: 'held' })));
    await engine.clock.settle();
    expect([...offstage.jobsModel.get().live.keys()]).toEqual(jobs.map(({ jobId }) => jobId));
    expect(offstage.poolModel.get()).toEqual({ workers: 1, running: 1, waiting: 0, queued: 2, detached: 0 });
    for (const { jobId } of jobs) {
      expect(offstage.jobsModel.get().live.get(jobId)?.view()).toEqual(await offstage.get(jobId));
      await held.release(jobId);
    }
    await offstage.waitMany(jobs.map(({ jobId }) => jobId));
    await engine.clock.settle();
    expect(offstage.jobsModel.get().live.size).toBe(0);
    expect(offstage.poolModel.get()).toEqual(offstage.health().pool);
    expect(wrong).toEqual([]);
  });
});
