/** Plans as they go on: progress, how they stand, and their end by somebody else (spec 7; seed 000 D14, scenario C D5, scenario D D14). */
import { describe, expect, it } from 'vitest';
import { LIMITS } from '../../src/model/limits.ts';
import type { PlanStatus, WaitManyEntry } from '../../src/model/requests.ts';
import { echo, gate, stubborn, throwing } from '../support/executors.ts';
import { testEngine } from '../support/test-engine.ts';

const steps = (count: number, kind = 'agent') =>
  Array.from({ length: count }, (_, index) => ({ description: `step ${index}`, kind }));

/** `2q 1r 3d`: two queued, one running, three ended. */
const shown = ({ counts, ended, total }: PlanStatus): string => `${counts.queued}q ${counts.running}r ${ended}d of ${total}`;

const statusesOf = (entries: readonly WaitManyEntry[]): readonly unknown[] =>
  entries.map((entry) => ('status' in entry ? entry.status : entry.error.code));

describe('onProgress', () => {
  it('PPR1: is told how the whole plan stands, in the order of the plan, when it is accepted and whenever a job has moved', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { agent: held }, workers: 2 });
    const { offstage, clock } = engine;
    const told: PlanStatus[] = [];
    const running = offstage.plan.run(steps(3), { parentMessageId: 'm', onProgress: (status) => void told.push(status) });
    await clock.settle();
    expect(told.map(shown)).toEqual(['3q 0r 0d of 3', '2q 1r 0d of 3', '1q 2r 0d of 3']);
    const [first, second, third] = (told[0] as PlanStatus).jobs.map(({ jobId }) => jobId) as [string, string, string];
    await held.release(second);
    await clock.settle();
    await held.fail(third, new Error('no'));
    await clock.settle();
    await offstage.cancel(first);
    await running;
    expect(told.slice(3).map(shown)).toEqual([
      '1q 1r 1d of 3',
      '0q 2r 1d of 3',
      '0q 1r 2d of 3',
      '0q 1r 2d of 3',
      '0q 0r 3d of 3',
    ]);
    expect(told.at(-1)?.counts).toEqual({ queued: 0, running: 0, completed: 1, cancelled: 1, errored: 1 });
    // The cancel that was asked for is told too; it is no transition.
    expect(told.at(-2)?.jobs[0]).toMatchObject({ status: 'running', cancelRequestedAt: expect.any(Number) });
    for (const { jobs, parentMessageId } of told) {
      expect(parentMessageId).toBe('m');
      expect(jobs.map(({ subject }) => subject)).toEqual(['step 0', 'step 1', 'step 2']);
    }
    expect(await offstage.plan.get('m')).toEqual(told.at(-1));
  });

  it('PPR1: the last thing told is what the plan answers, and after its answer nothing is told', async () => {
    await using engine = await testEngine({ executors: { agent: echo } });
    const { offstage, clock } = engine;
    const told: PlanStatus[] = [];
    const entries = await offstage.plan.run(steps(2), { onProgress: (status) => void told.push(status) });
    expect(told.at(-1)?.jobs).toEqual(entries);
    // Two steps that were stored together are one thing to tell.
    expect(new Set(told.map((status) => JSON.stringify(status))).size).toBe(told.length);
    const count = told.length;
    await offstage.spawn({ kind: 'agent', parentMessageId: told[0]?.parentMessageId as string });
    await clock.settle();
    expect(told).toHaveLength(count);
  });

  it('PPR2: of a plan whose first jobs end before the last one is accepted, all are told of', async () => {
    await using engine = await testEngine({ executors: { agent: echo }, workers: 8 });
    const told: PlanStatus[] = [];
    await engine.offstage.plan.run(steps(400), { onProgress: (status) => void told.push(status) });
    expect(told[0]?.total).toBe(400);
    // Otherwise this test shows nothing.
    expect(told[0]?.ended).toBeGreaterThan(0);
    expect(told.at(-1)?.counts.completed).toBe(400);
    const ended = told.map((status) => status.ended);
    expect(ended).toEqual(ended.toSorted((a, b) => a - b));
  });

  it('PPR1: of another plan under the same name nothing is told', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { agent: echo, held } });
    const { offstage, clock } = engine;
    const told: PlanStatus[] = [];
    const options = { parentMessageId: 'm', onProgress: (status: PlanStatus) => void told.push(status) };
    const first = offstage.plan.run(steps(1, 'held'), options);
    await clock.settle();
    await offstage.plan.run(steps(2), { parentMessageId: 'm' });
    await held.release(held.calls[0] as string);
    await first;
    expect(told.map(shown)).toEqual(['1q 0r 0d of 1', '0q 1r 0d of 1', '0q 0r 1d of 1']);
    expect((await offstage.plan.get('m')).total).toBe(3);
  });

  it.each<[string, () => unknown]>([
    ['throws', throwing(new Error('observer'))],
    ['rejects', async () => throwing(new Error('observer'))()],
    ['throws what is no error', throwing(undefined)],
  ])('PPR3: one that %s harms nobody', async (_, onProgress) => {
    await using engine = await testEngine({ executors: { agent: echo } });
    const { offstage, clock, log } = engine;
    const entries = await offstage.plan.run(steps(2), { onProgress });
    await clock.settle();
    expect(statusesOf(entries)).toEqual(['completed', 'completed']);
    const failures = log.filter(({ event }) => event === 'plan.observer_failed');
    expect(failures.length).toBeGreaterThan(1);
    expect(failures[0]?.level).toBe('error');
  });

  it('that is no function is refused before anything is started', async () => {
    await using engine = await testEngine({ executors: { agent: echo } });
    const { offstage } = engine;
    await expect(offstage.plan.run(steps(1), { onProgress: 'tell me' as never })).rejects.toMatchObject({
      code: 'input.invalid',
    });
    expect(await offstage.list()).toEqual([]);
  });
});

describe('a plan that nobody waits for any more', () => {
  it('because its signal fired while it was being accepted, is cancelled when it is', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { agent: held } });
    const controller = new AbortController();
    const running = engine.offstage.plan.run(steps(2), { signal: controller.signal });
    controller.abort();
    expect(statusesOf(await running)).toEqual(['cancelled', 'cancelled']);
  });

  it('because too many wait already, is cancelled: its jobs would run for nobody', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { agent: held } });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'agent' });
    const waits = Array.from({ length: LIMITS.waiters }, () => offstage.wait(jobId, { timeoutMs: null }));
    await expect(offstage.plan.run(steps(2), { parentMessageId: 'm' })).rejects.toMatchObject({ code: 'limit.waiters' });
    await clock.settle();
    expect((await offstage.plan.get('m')).counts.cancelled).toBe(2);
    await held.release(jobId);
    await Promise.all(waits);
  });
});

describe('plan.get', () => {
  it('answers the whole plan in its order, also one that is longer than a page, live and ended jobs alike', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { agent: echo, held } });
    const { offstage } = engine;
    let running: Promise<unknown> = Promise.resolve();
    await new Promise<void>((resolve) => {
      running = offstage.plan.run([...steps(1_200), ...steps(1, 'held')], {
        parentMessageId: 'm',
        onProgress: ({ ended, counts }) => ended === 1_200 && counts.running === 1 && resolve(),
      });
    });
    const status = await offstage.plan.get('m');
    expect(shown(status)).toBe('0q 1r 1200d of 1201');
    expect(status.jobs.map(({ subject }) => subject)).toEqual(
      [...steps(1_200), ...steps(1)].map(({ description }) => description),
    );
    await held.release(held.calls[0] as string);
    await running;
  });

  it('of a plan that is unknown or has been pruned is plan.not_found', async () => {
    await using engine = await testEngine({ executors: { agent: echo } });
    const { offstage } = engine;
    await offstage.plan.run(steps(1), { parentMessageId: 'm' });
    await offstage.prune({ maxJobs: 0 });
    for (const unknown of ['m', 'never']) {
      await expect(offstage.plan.get(unknown)).rejects.toMatchObject({ code: 'plan.not_found' });
      await expect(offstage.plan.cancel(unknown)).rejects.toMatchObject({ code: 'plan.not_found' });
    }
    for (const bad of ['', 7, null, undefined]) {
      await expect(offstage.plan.get(bad as never)).rejects.toMatchObject({ code: 'input.invalid' });
    }
  });
});

describe('plan.cancel', () => {
  it('ends all of the plan, and nothing else', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { agent: held, held, echo }, workers: 3 });
    const { offstage, clock } = engine;
    const other = await offstage.spawn({ kind: 'held' });
    const running = offstage.plan.run([...steps(1, 'echo'), ...steps(3)], { parentMessageId: 'm' });
    await clock.settle();
    const [done, ...rest] = (await offstage.plan.get('m')).jobs.map(({ jobId }) => jobId);
    const answer = await offstage.plan.cancel('m', { reason: 'enough' });
    expect([...answer.cancelled, ...answer.cancelling].sort()).toEqual(rest.sort());
    expect(answer.cancelled).toHaveLength(1);
    expect(answer.cancelling).toHaveLength(2);
    expect(statusesOf(await running)).toEqual(['completed', 'cancelled', 'cancelled', 'cancelled']);
    expect((await offstage.plan.get('m')).jobs.slice(1).map(({ error }) => error?.message)).toEqual([
      'enough',
      'enough',
      'enough',
    ]);
    expect((await offstage.get(other.jobId)).status).toBe('running');
    // All of it has ended: there is nothing left to cancel, which is no error.
    expect(await offstage.plan.cancel('m')).toEqual({ cancelled: [], cancelling: [], alreadyTerminal: [], notFound: [] });
    expect((await offstage.get(done as string)).status).toBe('completed');
    await held.release(other.jobId);
  });

  it('with onlyQueued leaves what has started', async () => {
    const stuck = stubborn();
    await using engine = await testEngine({ executors: { agent: stuck }, workers: 2 });
    const { offstage, clock } = engine;
    const running = offstage.plan.run(steps(5), { parentMessageId: 'm' });
    await clock.settle();
    const answer = await offstage.plan.cancel('m', { onlyQueued: true });
    expect(answer.cancelled).toHaveLength(3);
    expect(answer.cancelling).toEqual([]);
    expect(await offstage.plan.cancel('m', { onlyQueued: true })).toMatchObject({ cancelled: [], cancelling: [] });
    for (const jobId of stuck.calls) await stuck.release(jobId, 'done');
    const entries = await running;
    expect(statusesOf(entries)).toEqual(['completed', 'completed', 'cancelled', 'cancelled', 'cancelled']);
    expect(entries[2]).toMatchObject({ error: { message: 'cancelled before pickup' }, startedAt: null });
    await expect(offstage.plan.cancel('m', { onlyQueued: 'yes' as never })).rejects.toMatchObject({ code: 'input.invalid' });
  });

  it('of a plan that is still being accepted finds its jobs', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { agent: held }, workers: 1 });
    const { offstage } = engine;
    const running = offstage.plan.run(steps(300), { parentMessageId: 'm' });
    const { cancelled } = await offstage.plan.cancel('m', { reason: 'changed my mind' });
    expect(cancelled.length).toBeGreaterThan(0);
    expect(new Set(statusesOf(await running))).toEqual(new Set(['cancelled']));
    expect(held.calls).toEqual([]);
  });
});

describe('a plan within a job', () => {
  it('counts as one wait of its body, whatever it is told of on the way, and does not deadlock with a single worker', async () => {
    const told: string[] = [];
    await using engine = await testEngine({
      workers: 1,
      executors: {
        agent: echo,
        planner: async ({ jobId }) =>
          statusesOf(
            await engine.offstage.plan.run(steps(3), {
              parentJobId: jobId,
              onProgress: (status) => void told.push(`${shown(status)}, ${engine.offstage.health().pool.waiting} waiting`),
            }),
          ),
      },
    });
    const { offstage } = engine;
    const { jobId } = await offstage.spawn({ kind: 'planner' });
    expect((await offstage.wait(jobId)).result).toEqual(['completed', 'completed', 'completed']);
    expect(told.at(-1)).toBe('0q 0r 3d of 3, 1 waiting');
    expect(offstage.health().pool).toMatchObject({ running: 0, waiting: 0, queued: 0 });
  });

  it('whose wait fails cancels its jobs: nobody waits for them any more', async () => {
    const held = gate();
    await using engine = await testEngine({
      executors: {
        agent: held,
        // A body that plans and returns: the plan goes on without it, until the body's end ends what it waited for.
        planner: ({ jobId }) => void engine.offstage.plan.run(steps(2), { parentJobId: jobId }).catch(() => {}),
      },
    });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'planner' });
    await offstage.wait(jobId);
    await clock.settle();
    expect(await offstage.list({ status: ['queued', 'running'] })).toEqual([]);
  });

  it('that is refused for one of its jobs is refused whole: too deep, or too large', async () => {
    const started: string[] = [];
    const held = gate();
    await using engine = await testEngine({
      executors: {
        agent: held,
        // Plans below plans, as deep as a tree may be.
        planner: async ({ jobId }) => {
          started.push(jobId);
          const [entry] = await engine.offstage.plan.run(steps(1, 'planner'), { parentJobId: jobId });
          if (entry !== undefined && 'status' in entry && entry.error !== null) throw new Error(entry.error.message);
        },
      },
    });
    const { offstage } = engine;
    const { jobId } = await offstage.spawn({ kind: 'planner' });
    expect((await offstage.wait(jobId)).error?.message).toContain('64');
    expect(started).toHaveLength(65);
    const large = [...steps(1), { description: 'large', prompt: 'x'.repeat(1024 * 1024) }];
    await expect(offstage.plan.run(large, { parentMessageId: 'm' })).rejects.toMatchObject({ code: 'limit.input_bytes' });
    const [first] = await offstage.list({ parentMessageId: 'm' });
    expect((await offstage.wait(first?.jobId as string)).status).toBe('cancelled');
    expect(started).toHaveLength(65);
  });
});
