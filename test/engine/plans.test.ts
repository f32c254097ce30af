/** Plans and waits for many (spec 5, 7; seed 000 D14, scenario C). */
import { describe, expect, it } from 'vitest';
import type { JobContext } from '../../src/model/executor.ts';
import type { JobView } from '../../src/model/records.ts';
import type { WaitManyEntry } from '../../src/model/requests.ts';
import { echo, gate, scripted, stubborn } from '../support/executors.ts';
import { testEngine } from '../support/test-engine.ts';

const records = (entries: readonly WaitManyEntry[]): readonly JobView[] =>
  entries.map((entry) => {
    if (!('status' in entry)) throw new Error(`${entry.jobId} is missing`);
    return entry;
  });

describe('plan.run', () => {
  it('spawns foreground jobs of one group and answers in order, failures included', async () => {
    const agent = async (job: { readonly input: unknown }): Promise<string> => {
      const { prompt } = job.input as { prompt: string };
      if (prompt === 'fail') throw new Error('could not');
      return `did ${prompt}`;
    };
    await using engine = await testEngine({ executors: { agent, echo } });
    const { offstage } = engine;
    await offstage.sessions.create({ sessionId: 's' });
    const entries = records(
      await offstage.plan.run(
        [
          { description: 'first' },
          { description: 'second', prompt: 'fail' },
          { description: 'third', prompt: 'the long prompt', agentId: 'planner' },
          { description: 'fourth', kind: 'echo', input: 'as it is' },
          { description: 'fifth', input: { depth: 2 } },
          { description: 'sixth', kind: 'echo', input: { prompt: 'mine' }, prompt: 'not mine' },
        ],
        { sessionId: 's' },
      ),
    );
    expect(entries.map(({ status, resultText, result }) => [status, resultText ?? result])).toEqual([
      ['completed', 'did first'],
      ['errored', null],
      ['completed', 'did the long prompt'],
      ['completed', 'as it is'],
      ['completed', 'did fifth'],
      ['completed', { prompt: 'mine' }],
    ]);
    expect(entries.map(({ subject, description }) => [subject, description])).toEqual([
      ['first', 'first'],
      ['second', 'fail'],
      ['third', 'the long prompt'],
      ['fourth', 'fourth'],
      ['fifth', 'fifth'],
      ['sixth', 'not mine'],
    ]);
    expect(entries[4]?.input).toEqual({ depth: 2, prompt: 'fifth' });
    expect(entries[2]?.agentId).toBe('planner');
    expect(entries.every(({ wait, sessionId }) => wait && sessionId === 's')).toBe(true);
    const groups = new Set(entries.map(({ parentMessageId }) => parentMessageId));
    expect(groups.size).toBe(1);
    const [group] = groups;
    expect(group).toMatch(/^plan_/);
    expect(await offstage.list({ parentMessageId: group as string })).toHaveLength(6);
  });

  it('seed scenario C: more jobs than workers run in turn, and the group is the one that was given', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { agent: held }, workers: 2 });
    const { offstage, clock } = engine;
    const running = offstage.plan.run(
      Array.from({ length: 6 }, (_, index) => ({ description: `step ${index}` })),
      { parentMessageId: 'm1' },
    );
    await clock.settle();
    const jobs = [...(await offstage.list({ parentMessageId: 'm1' }))].reverse();
    expect(jobs.map(({ status }) => status)).toEqual(['running', 'running', 'queued', 'queued', 'queued', 'queued']);
    for (const { jobId } of jobs) await held.release(jobId, jobId);
    expect(records(await running).map(({ resultText }) => resultText)).toEqual(jobs.map(({ jobId }) => jobId));
  });

  it('waits without limit', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { agent: held } });
    const { offstage, clock } = engine;
    let isDone = false;
    const running = offstage.plan.run([{ description: 'long' }]).finally(() => {
      isDone = true;
    });
    await clock.settle();
    await clock.advance(48 * 60 * 60 * 1000);
    expect(isDone).toBe(false);
    await held.release(held.calls[0] as string, 'at last');
    expect(records(await running)[0]?.resultText).toBe('at last');
  });

  it('whose signal fires cancels its jobs and answers with them', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { agent: held }, workers: 1 });
    const { offstage, clock } = engine;
    const controller = new AbortController();
    const running = offstage.plan.run([{ description: 'a' }, { description: 'b' }], { signal: controller.signal });
    await clock.settle();
    controller.abort();
    expect(records(await running)).toMatchObject([
      { status: 'cancelled', reasonCode: 'cancel.caller_gone' },
      { status: 'cancelled', reasonCode: 'cancel.caller_gone', startedAt: null },
    ]);
    await expect(offstage.plan.run([{ description: 'c' }], { signal: controller.signal })).rejects.toMatchObject({
      name: 'AbortError',
    });
    expect(await offstage.list()).toHaveLength(2);
  });

  it('is accepted whole or not at all', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { agent: held } });
    const { offstage, clock } = engine;
    await expect(offstage.plan.run([{ description: 'a' }, { description: 'b', kind: 'unheard of' }])).rejects.toMatchObject({
      code: 'executor.unknown',
    });
    await clock.settle();
    expect(await offstage.list({ status: ['running', 'queued'] })).toEqual([]);
    for (const bad of ['no array', [null], [{}], [{ description: 7 }]]) {
      await expect(offstage.plan.run(bad as never)).rejects.toMatchObject({ code: 'input.invalid' });
    }
    expect(await offstage.plan.run([])).toEqual([]);
  });

  it("of a body gives up the body's slot, and ends with the body", async () => {
    const held = gate();
    const stuck = stubborn();
    const planners = scripted({
      planner: async (_context: JobContext, job) => {
        const entries = await engine.offstage.plan.run([{ description: 'a' }, { description: 'b' }], { parentJobId: job.jobId });
        return records(entries).length;
      },
    });
    await using engine = await testEngine({ executors: { planners, agent: held, stuck }, workers: 1 });
    const { offstage, clock } = engine;
    const planner = await offstage.spawn({ kind: 'planners', subject: 'planner' });
    await clock.settle();
    expect(offstage.health().pool).toMatchObject({ running: 1, waiting: 1, queued: 1 });
    const [b, a] = await offstage.list({ parentJobId: planner.jobId });
    await held.release(a?.jobId as string);
    await held.release(b?.jobId as string);
    expect((await offstage.wait(planner.jobId)).result).toBe(2);
    const second = await offstage.spawn({ kind: 'planners', subject: 'planner' });
    await clock.settle();
    await offstage.cancel(second.jobId);
    expect((await offstage.wait(second.jobId)).status).toBe('cancelled');
    for (const child of await offstage.list({ parentJobId: second.jobId })) {
      expect(child).toMatchObject({ status: 'cancelled', reasonCode: 'cancel.parent' });
    }
    await expect(offstage.plan.run([{ description: 'late' }], { parentJobId: planner.jobId })).rejects.toMatchObject({
      code: 'job.not_found',
    });
  });
});

describe('waitMany', () => {
  it('answers an entry per id, in order, duplicates kept, unknown and pruned ones marked', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held, echo } });
    const { offstage } = engine;
    const pruned = await offstage.spawn({ kind: 'echo' });
    await offstage.wait(pruned.jobId);
    await offstage.prune({ maxJobs: 0 });
    const a = await offstage.spawn({ kind: 'held' });
    const b = await offstage.spawn({ kind: 'echo', input: 'b' });
    const waiting = offstage.waitMany([b.jobId, 'nobody', a.jobId, pruned.jobId, b.jobId, a.jobId]);
    await held.release(a.jobId, 'a');
    const entries = await waiting;
    expect(entries).toMatchObject([
      { jobId: b.jobId, resultText: 'b' },
      { jobId: 'nobody', error: { code: 'job.not_found' } },
      { jobId: a.jobId, resultText: 'a' },
      { jobId: pruned.jobId, error: { code: 'job.expired' } },
      { jobId: b.jobId, resultText: 'b' },
      { jobId: a.jobId, resultText: 'a' },
    ]);
    expect(await offstage.waitMany([])).toEqual([]);
    expect(await offstage.waitMany([], { mode: 'any' })).toEqual([]);
  });

  it('any settles with the first end; unknown ids do not count unless nothing else is left', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held } });
    const { offstage, clock } = engine;
    const [a, b] = await Promise.all([offstage.spawn({ kind: 'held' }), offstage.spawn({ kind: 'held' })]);
    await held.started(b.jobId);
    await clock.settle();
    let isSettled = false;
    const waiting = offstage.waitMany(['nobody', a.jobId, b.jobId], { mode: 'any', timeoutMs: null }).finally(() => {
      isSettled = true;
    });
    await clock.settle();
    expect(isSettled).toBe(false);
    await held.release(b.jobId, 'b');
    expect(await waiting).toMatchObject([
      { jobId: 'nobody', error: { code: 'job.not_found' } },
      { jobId: a.jobId, status: 'running' },
      { jobId: b.jobId, status: 'completed', resultText: 'b' },
    ]);
    expect((await waiting)[1]).not.toHaveProperty('timedOut');
    expect(await offstage.waitMany(['nobody', 'no one'], { mode: 'any' })).toMatchObject([
      { error: { code: 'job.not_found' } },
      { error: { code: 'job.not_found' } },
    ]);
    // One that has ended before settles it at once.
    expect(await offstage.waitMany([a.jobId, b.jobId], { mode: 'any' })).toMatchObject([
      { status: 'running' },
      { status: 'completed' },
    ]);
    await held.release(a.jobId);
  });

  it('all, timed out, marks those that are not done, and only those', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held, echo } });
    const { offstage, clock } = engine;
    const a = await offstage.spawn({ kind: 'echo' });
    const b = await offstage.spawn({ kind: 'held' });
    const c = await offstage.spawn({ kind: 'held' });
    const waiting = offstage.waitMany([a.jobId, b.jobId, c.jobId], { timeoutMs: 100 });
    await held.release(c.jobId);
    await clock.advance(100);
    const entries = await waiting;
    expect(entries.map((entry) => 'status' in entry && [entry.status, entry.timedOut])).toEqual([
      ['completed', undefined],
      ['running', true],
      ['completed', undefined],
    ]);
    await held.release(b.jobId);
  });

  it('does not wait for the default limit longer than 30 s', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held } });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'held' });
    await held.started(jobId);
    await clock.settle();
    const waits = Promise.all([offstage.wait(jobId), offstage.waitMany([jobId])]);
    let isSettled = false;
    void waits.then(() => {
      isSettled = true;
    });
    await clock.advance(29_999);
    expect(isSettled).toBe(false);
    await clock.advance(1);
    const [one, [many]] = await waits;
    expect(one).toMatchObject({ status: 'running', timedOut: true });
    expect(many).toEqual(one);
    await held.release(jobId);
  });
});

describe('cancelMany', () => {
  it('names what it did to whom, by every selector', async () => {
    const held = gate();
    const stuck = stubborn();
    await using engine = await testEngine({ executors: { held, stuck, echo }, workers: 2 });
    const { offstage, clock } = engine;
    await offstage.tasks.create({ taskId: 't' });
    for (const sessionId of ['s', 's2']) await offstage.sessions.create({ sessionId, taskId: 't' });
    const where = { sessionId: 's', parentMessageId: 'm' } as const;
    const done = await offstage.spawn({ kind: 'echo', ...where });
    await offstage.wait(done.jobId);
    const running = await offstage.spawn({ kind: 'stuck', ...where });
    const other = await offstage.spawn({ kind: 'held', sessionId: 's2' });
    const queued = await offstage.spawn({ kind: 'held', ...where });
    await stuck.started(running.jobId);
    await held.started(other.jobId);
    await clock.settle();
    expect(await offstage.cancelMany({ ids: [done.jobId, 'nobody', queued.jobId, running.jobId] }, { reason: 'all' })).toEqual({
      cancelled: [queued.jobId],
      cancelling: [running.jobId],
      alreadyTerminal: [done.jobId],
      notFound: ['nobody'],
    });
    expect((await offstage.get(queued.jobId)).error?.message).toBe('all');
    const nothing = { cancelled: [], cancelling: [], alreadyTerminal: [], notFound: [] };
    expect(await offstage.cancelMany({ sessionId: 's', status: 'queued' })).toEqual(nothing);
    expect(await offstage.cancelMany({ parentMessageId: 'm', status: 'running' })).toEqual({
      ...nothing,
      cancelling: [running.jobId],
    });
    expect(await offstage.cancelMany({ parentMessageId: 'm', status: ['completed'] })).toEqual({
      ...nothing,
      alreadyTerminal: [done.jobId],
    });
    expect(await offstage.cancelMany({ taskId: 'elsewhere' })).toEqual(nothing);
    expect(await offstage.cancelMany({ taskId: 't' })).toEqual({ ...nothing, cancelling: [other.jobId, running.jobId] });
    expect(await offstage.cancelMany({ parentJobId: 'nobody' })).toEqual(nothing);
    for (const bad of [{}, { ids: ['a'], sessionId: 's' }, { ids: 'a' }, { sessionId: 's', status: 'gone' }]) {
      await expect(offstage.cancelMany(bad as never)).rejects.toMatchObject({ code: 'input.invalid' });
    }
    await stuck.release(running.jobId);
  });

  it('reaches more jobs than one page holds', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held }, workers: 1 });
    const { offstage } = engine;
    await Promise.all(Array.from({ length: 2_100 }, () => offstage.spawn({ kind: 'held' })));
    const { cancelled, cancelling } = await offstage.cancelMany({ sessionId: 'default' });
    expect([cancelled.length, cancelling.length]).toEqual([2_099, 1]);
    await engine.clock.settle();
    expect(await offstage.list({ status: ['queued', 'running'] })).toEqual([]);
  });
});
