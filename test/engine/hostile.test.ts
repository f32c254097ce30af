/** Executors, schemas, hooks and callers that do what nobody should: the engine and everybody else go on (G16). */
import { describe, expect, it } from 'vitest';
import { offstageError } from '../../src/model/errors.ts';
import type { JobContext } from '../../src/model/executor.ts';
import { outcome } from '../../src/model/executor.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import type { Store } from '../../src/persistence/store.ts';
import { controlledExecutor } from '../../src/testing/controlled-executor.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { testEngine } from '../support/test-engine.ts';

const echo = async (job: { readonly input: unknown }) => job.input;

describe('G16: a body that hands in what cannot be stored', () => {
  it.each([
    ['a headId that is no string', () => outcome({ headId: 5n as never })],
    ['a sourceCommitId that is an object', () => outcome({ sourceCommitId: { toJSON: () => 'x' } as never })],
    [
      'a text that throws',
      () =>
        outcome({
          text: {
            toString: () => {
              throw new Error('no');
            },
          } as never,
        }),
    ],
    [
      'an error of ours with a message that is no text',
      () => {
        throw Object.assign(offstageError('job.failed', { message: 'x' }), { message: 5n });
      },
    ],
    [
      'an error of ours with a code that is none',
      () => {
        throw Object.assign(offstageError('job.failed', { message: 'x' }), { code: 'no.such.code' });
      },
    ],
  ])('%s ends errored, alone', async (_, run) => {
    await using engine = await testEngine({ executors: { odd: async () => run(), echo } });
    const { offstage } = engine;
    const [odd, fine] = await Promise.all([offstage.spawn({ kind: 'odd' }), offstage.spawn({ kind: 'echo', input: 'fine' })]);
    const ended = await offstage.wait(odd.jobId);
    expect(ended).toMatchObject({ status: 'errored', reasonCode: 'failed' });
    expect(ended.error?.message).toMatch(/./);
    expect(await offstage.wait(fine.jobId)).toMatchObject({ status: 'completed', resultText: 'fine' });
    expect(engine.log.filter(({ event }) => event === 'effect.failed')).toEqual([]);
  });

  it('an endless error message is cut', async () => {
    await using engine = await testEngine({
      executors: {
        loud: async () => {
          throw offstageError('job.failed', { message: 'x'.repeat(5_000_000) });
        },
      },
    });
    const job = await engine.offstage.spawn({ kind: 'loud' });
    expect((await engine.offstage.wait(job.jobId)).error?.message.length).toBeLessThan(20_000);
  });
});

describe('ctx.run with a signal', () => {
  it.each([
    ['one worker', { workers: 1 }],
    ['one place per session', { workers: 2, perSessionLimit: 1 }],
  ])('4.8: the child ends at once when it fires, although it holds the last slot: %s', async (_, limits) => {
    const hang = controlledExecutor();
    const controller = new AbortController();
    let told: unknown = null;
    await using engine = await testEngine({
      ...limits,
      executors: {
        hang,
        parent: async (_job: unknown, context: JobContext) => {
          await context.run({ kind: 'hang', jobId: 'child' }, { signal: controller.signal }).catch((error) => {
            told = error;
          });
          return 'went on';
        },
      },
    });
    const parent = await engine.offstage.spawn({ kind: 'parent' });
    await hang.started('child');
    await engine.clock.settle();
    const why = new Error('long enough');
    controller.abort(why);
    expect(await engine.offstage.wait(parent.jobId)).toMatchObject({ status: 'completed', resultText: 'went on' });
    expect(told).toBe(why);
    expect(await engine.offstage.get('child')).toMatchObject({ status: 'cancelled', reasonCode: 'cancel.caller_gone' });
  });
});

describe('a schema that never answers', () => {
  it('holds up its own spawn only, and close refuses it', async () => {
    const never = { '~standard': { version: 1, vendor: 'test', validate: () => new Promise<never>(() => {}) } } as const;
    const engine = await testEngine({ executors: { stuck: { run: echo, input: never }, echo } });
    const { offstage } = engine;
    const stuck = offstage.spawn({ kind: 'stuck', input: 1 });
    const named = offstage.spawn({ kind: 'stuck', input: 1, jobId: 'named' });
    const cancelled = offstage.cancel('named');
    const after = await offstage.spawn({ kind: 'echo', input: 'after' });
    expect(await offstage.wait(after.jobId)).toMatchObject({ status: 'completed' });
    const refused = Promise.allSettled([stuck, named, cancelled]);
    await engine[Symbol.asyncDispose]();
    expect((await refused).map((result) => result.status === 'rejected' && result.reason.code)).toEqual([
      'engine.closing',
      'engine.closing',
      'job.not_found',
    ]);
  });
});

describe('close', () => {
  it('waits for an executor that does not close no longer than the grace, and says so', async () => {
    const engine = await testEngine({
      shutdownGraceMs: 500,
      executors: { echo: { run: echo, close: () => new Promise<never>(() => {}) } },
    });
    let isClosed = false;
    const closing = engine.offstage.close().then(() => {
      isClosed = true;
    });
    await engine.clock.advance(499);
    expect(isClosed).toBe(false);
    await engine.clock.advance(1);
    await closing;
    expect(engine.log.map(({ event }) => event)).toContain('close.failed');
  });
});

describe('cancelMany', () => {
  it('in the tick of spawn finds what was spawned, by id and by session', async () => {
    const gate = controlledExecutor();
    await using engine = await testEngine({ executors: { gate } });
    const { offstage } = engine;
    await offstage.sessions.create({ sessionId: 's' });
    const named = offstage.spawn({ kind: 'gate', jobId: 'a' });
    expect(await offstage.cancelMany({ ids: ['a', 'b'] })).toEqual({
      cancelled: ['a'],
      cancelling: [],
      alreadyTerminal: [],
      notFound: ['b'],
    });
    expect((await named).status).toBe('cancelled');
    // The first look-up of the session: the spawns wait undecided meanwhile.
    const spawns = Promise.all([
      offstage.spawn({ kind: 'gate', sessionId: 's' }),
      offstage.spawn({ kind: 'gate', sessionId: 's' }),
    ]);
    const { cancelled } = await offstage.cancelMany({ sessionId: 's' });
    const jobs = await spawns;
    expect([...cancelled].sort()).toEqual(jobs.map(({ jobId }) => jobId).sort());
    expect(jobs.map(({ status }) => status)).toEqual(['cancelled', 'cancelled']);
    expect(gate.calls).toEqual([]);
  });

  it('calls no job ended before its end is stored', async () => {
    const gate = controlledExecutor();
    const store = controlledStore(memoryStore());
    await using engine = await testEngine({ executors: { gate }, store });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'gate' });
    await clock.settle();
    store.hold();
    await gate.release(jobId);
    await clock.settle();
    let answer: unknown = null;
    const asked = offstage.cancelMany({ ids: [jobId] }).then((result) => {
      answer = result;
    });
    await clock.settle();
    expect((await offstage.get(jobId)).status).toBe('running');
    expect(answer).toBeNull();
    store.release();
    await asked;
    expect(answer).toMatchObject({ alreadyTerminal: [jobId] });
    expect((await offstage.get(jobId)).status).toBe('completed');
  });

  it('checks all ids before it touches one', async () => {
    const gate = controlledExecutor();
    await using engine = await testEngine({ executors: { gate } });
    const job = await engine.offstage.spawn({ kind: 'gate' });
    await expect(engine.offstage.cancelMany({ ids: [job.jobId, 5 as never] })).rejects.toMatchObject({ code: 'input.invalid' });
    expect((await engine.offstage.get(job.jobId)).cancelRequestedAt).toBeNull();
    await gate.release(job.jobId);
  });
});

describe('texts', () => {
  it('a subject, a title or a reason of more than 16 KiB is refused', async () => {
    const gate = controlledExecutor();
    await using engine = await testEngine({ executors: { gate } });
    const { offstage } = engine;
    const long = 'é'.repeat(10_000);
    const job = await offstage.spawn({ kind: 'gate' });
    for (const attempt of [
      () => offstage.spawn({ kind: 'gate', subject: long }),
      () => offstage.tasks.create({ title: long }),
      () => offstage.cancel(job.jobId, { reason: long }),
      () => offstage.cancelMany({ ids: [job.jobId] }, { reason: long }),
    ]) {
      await expect(attempt()).rejects.toMatchObject({ code: 'input.invalid' });
    }
    expect((await offstage.get(job.jobId)).cancelRequestedAt).toBeNull();
    await gate.release(job.jobId);
  });
});

describe('prune', () => {
  it('with limits of its own is not swallowed by a sweep that runs already', async () => {
    await using engine = await testEngine({ executors: { echo } });
    const { offstage } = engine;
    const job = await offstage.spawn({ kind: 'echo' });
    await offstage.wait(job.jobId);
    const [first, second] = await Promise.all([offstage.prune(), offstage.prune({ maxJobs: 0 })]);
    expect([first.jobs, second.jobs]).toEqual([0, 1]);
    await expect(offstage.get(job.jobId)).rejects.toMatchObject({ code: 'job.expired' });
  });
});

describe('a row that a hook cannot make', () => {
  it('takes its own transaction along, and no other', async () => {
    const gate = controlledExecutor();
    await using engine = await testEngine({
      executors: { gate },
      hooks: [
        (_, change) => {
          if (change.job.base.subject === 'poison' && change.after.state !== 'queued') throw new Error('the hook failed');
          return [];
        },
      ],
    });
    const { offstage, clock } = engine;
    const [poison, fine] = await Promise.all([
      offstage.spawn({ kind: 'gate', subject: 'poison' }),
      offstage.spawn({ kind: 'gate' }),
    ]);
    await gate.release(poison.jobId);
    await gate.release(fine.jobId);
    expect(await offstage.wait(fine.jobId)).toMatchObject({ status: 'completed' });
    await clock.settle();
    expect(engine.log.some(({ event }) => event === 'effect.failed')).toBe(true);
    expect(await offstage.wait(poison.jobId)).toMatchObject({ status: 'completed', durable: false });
    const next = await offstage.spawn({ kind: 'gate' });
    await gate.release(next.jobId);
    expect(await offstage.wait(next.jobId)).toMatchObject({ status: 'completed' });
  });
});

describe('close with a store that hangs', () => {
  it('SHD2: waits for the write no longer than the shutdown grace', async () => {
    const inner = memoryStore();
    let open = (): void => {};
    let isHanging = false;
    const store: Store = {
      get: (key) => inner.get(key),
      getMany: (keys) => inner.getMany(keys),
      range: (options) => inner.range(options),
      close: () => inner.close(),
      async batch(operations, options) {
        if (isHanging) {
          await new Promise<void>((resolve) => {
            open = resolve;
          });
        }
        return inner.batch(operations, options);
      },
    };
    const gate = controlledExecutor();
    const engine = await testEngine({ store, executors: { gate }, shutdownGraceMs: 100 });
    const { offstage, clock } = engine;
    const job = await offstage.spawn({ kind: 'gate' });
    await gate.started(job.jobId);
    await clock.settle();
    isHanging = true;
    const waiting = offstage.wait(job.jobId, { timeoutMs: null });
    let isClosed = false;
    const closing = offstage.close().then(() => {
      isClosed = true;
    });
    await clock.advance(99);
    expect(isClosed).toBe(false);
    await clock.advance(101);
    expect(await waiting).toMatchObject({ status: 'errored', durable: false });
    await closing;
    expect(isClosed).toBe(true);
    isHanging = false;
    open();
    await clock.settle();
  });
});
