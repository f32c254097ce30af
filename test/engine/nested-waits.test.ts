/** Bodies that wait inside the engine (spec 3, 4.8, 5, 7): slots, resumes, cycles, foreground children. */
import { describe, expect, it } from 'vitest';
import type { JobContext } from '../../src/model/executor.ts';
import { echo, gate, scripted } from '../support/executors.ts';
import { withFamily } from '../support/family.ts';
import { type TestEngine, testEngine } from '../support/test-engine.ts';

const aborted = (context: JobContext): Promise<never> =>
  new Promise((_, reject) => context.signal.addEventListener('abort', () => reject(context.signal.reason)));

const pool = ({ offstage }: TestEngine) => offstage.health().pool;

describe('slots', () => {
  it('a tree of waits as deep as allowed runs with one worker, and a deeper one is refused', async () => {
    const refused: unknown[] = [];
    const { engine, start } = await withFamily({
      level: async (context, job) => {
        const n = job.input as number;
        try {
          const child = await context.run({ kind: 'family', subject: 'level', input: n + 1 });
          return `${child.resultText}.${n}`;
        } catch (error) {
          refused.push(error);
          return `${n}`;
        }
      },
    });
    await using _ = engine;
    await start('level', { input: 0 });
    const done = await engine.offstage.wait('level', { timeoutMs: null });
    expect(done.resultText).toBe(Array.from({ length: 65 }, (_, index) => 64 - index).join('.'));
    expect(refused).toMatchObject([{ code: 'limit.tree_depth' }]);
    expect(pool(engine)).toEqual({ workers: 1, running: 0, waiting: 0, queued: 0, detached: 0 });
  });

  it('a waiting body is counted as waiting, its slot goes to others, and it resumes before anything starts', async () => {
    const order: string[] = [];
    const { engine, held, start } = await withFamily({
      parent: async (context) => {
        await context.run({ kind: 'held', jobId: 'child' });
        order.push('parent resumed');
      },
      last: async () => void order.push('last started'),
    });
    await using _ = engine;
    const { offstage, clock } = engine;
    await start('parent');
    await offstage.spawn({ kind: 'held', jobId: 'next' });
    await start('last');
    await held.started('child');
    await clock.settle();
    // The child went before the jobs that nobody waits for.
    expect(pool(engine)).toMatchObject({ running: 1, waiting: 1, queued: 2 });
    expect(held.calls).toEqual(['child']);
    // Its slot is taken at once; its end is known to the parent only when it is stored.
    await held.release('child');
    await held.started('next');
    await clock.settle();
    expect(pool(engine)).toMatchObject({ running: 1, waiting: 1, queued: 1 });
    expect(order).toEqual([]);
    await held.release('next');
    await offstage.waitMany(['parent', 'last']);
    expect(order).toEqual(['parent resumed', 'last started']);
  });

  it('however many waits a body has open, it gives up its slot once', async () => {
    const { engine, held, start } = await withFamily({
      parent: async (context) => {
        for (const jobId of ['a', 'b', 'c']) await context.spawn({ kind: 'held', jobId });
        const waits = ['a', 'b', 'c'].map((jobId) => context.wait(jobId));
        waits.push(...(['a', 'b'].map((jobId) => context.wait(jobId)) as typeof waits));
        return (await Promise.all(waits)).length;
      },
    });
    await using _ = engine;
    const { offstage, clock } = engine;
    await start('parent');
    for (const jobId of ['a', 'b', 'c']) {
      await held.started(jobId);
      await clock.settle();
      expect(pool(engine)).toMatchObject({ running: 1, waiting: 1 });
      expect(held.live.size).toBe(1);
      await held.release(jobId);
    }
    expect((await offstage.wait('parent')).result).toBe(5);
    expect(pool(engine)).toEqual({ workers: 1, running: 0, waiting: 0, queued: 0, detached: 0 });
  });

  it('an abort wakes a waiting body at once, although no slot is free; an unwinding body holds none', async () => {
    const woken: unknown[] = [];
    const { engine, held, stuck, start } = await withFamily({
      parent: async (context) => {
        await context.spawn({ kind: 'stuck', jobId: 'busy' });
        await context.wait('busy').catch((error: unknown) => woken.push(error));
        // Still at work after its abort, and out of reach.
        await new Promise(() => {});
      },
    });
    await using _ = engine;
    const { offstage, clock } = engine;
    await start('parent');
    await stuck.started('busy');
    await clock.settle();
    await offstage.cancel('parent');
    await clock.settle();
    expect(woken).toMatchObject([{ name: 'AbortError', code: 'job.cancelled' }]);
    expect(pool(engine)).toMatchObject({ running: 1, waiting: 0 });
    await stuck.release('busy');
    await clock.advance(30_000);
    expect(await offstage.get('parent')).toMatchObject({ status: 'cancelled', detached: true, bodyLive: true });
    // It held no slot when it was given up, so nothing is taken from the others.
    expect(offstage.health()).toMatchObject({ status: 'ok', pool: { running: 0, detached: 1 } });
    const next = await offstage.spawn({ kind: 'held' });
    await held.started(next.jobId);
    expect(pool(engine)).toMatchObject({ running: 1, detached: 1 });
    await held.release(next.jobId);
    await offstage.wait(next.jobId);
  });

  it('what a body comes to wait for goes before what was asked for earlier', async () => {
    const { engine, held, start } = await withFamily({
      parent: async (context) => {
        for (const jobId of ['first', 'awaited']) await context.spawn({ kind: 'held', jobId });
        await context.wait('awaited');
      },
    });
    await using _ = engine;
    await start('parent');
    await held.started('awaited');
    expect(held.calls).toEqual(['awaited']);
    await held.release('awaited');
    await held.started('first');
    await held.release('first');
    await engine.offstage.waitMany(['parent', 'first']);
  });

  it("a session's place is given up with the slot", async () => {
    const held = gate();
    await using limited = await testEngine({
      executors: {
        family: scripted({ parent: async (context) => (await context.run({ kind: 'echo', input: 'child' })).resultText }),
        echo,
        held,
      },
      workers: 4,
      perSessionLimit: 1,
    });
    const { offstage } = limited;
    const jobs = await Promise.all(
      Array.from({ length: 5 }, () => offstage.spawn({ kind: 'family', subject: 'parent', sessionId: 'default' })),
    );
    const ended = await offstage.waitMany(
      jobs.map(({ jobId }) => jobId),
      { timeoutMs: null },
    );
    expect(ended.map((entry) => 'status' in entry && entry.resultText)).toEqual(['child', 'child', 'child', 'child', 'child']);
  });
});

describe('limits of a wait inside a body', () => {
  it('end the wait and nothing else: a time-out, an unknown id, any of many', async () => {
    const seen: unknown[] = [];
    const { engine, held, start } = await withFamily(
      {
        parent: async (context) => {
          await context.spawn({ kind: 'held', jobId: 'a' });
          await context.spawn({ kind: 'held', jobId: 'b' });
          const timedOut = await context.wait('a', { timeoutMs: 100 });
          seen.push([timedOut.status, timedOut.timedOut]);
          const peek = await context.wait('a', { timeoutMs: 0 });
          seen.push([peek.status, peek.timedOut]);
          await context.wait('nobody').catch((error: { code: string }) => seen.push(error.code));
          await context.wait('a', { timeoutMs: -1 }).catch((error: { code: string }) => seen.push(error.code));
          const any = await context.waitMany(['nobody', 'b', 'a'], { mode: 'any' });
          seen.push(any.map((entry) => ('status' in entry ? entry.status : entry.error.code)));
          return 'went on';
        },
      },
      3,
    );
    await using _ = engine;
    const { offstage, clock } = engine;
    await start('parent');
    await held.started('b');
    await clock.advance(99);
    expect(seen).toEqual([]);
    expect(pool(engine)).toMatchObject({ running: 2, waiting: 1 });
    await clock.advance(1);
    const before = [['running', true], ['running', true], 'job.not_found', 'input.invalid'];
    expect(seen).toEqual(before);
    await held.release('a');
    expect(await offstage.wait('parent')).toMatchObject({ status: 'completed', resultText: 'went on' });
    expect(seen).toEqual([...before, ['job.not_found', 'running', 'completed']]);
    expect(await offstage.get('b')).toMatchObject({ status: 'running', cancelRequestedAt: null });
    await held.release('b');
  });

  it('a signal ends it at once, and the body goes on with its slot', async () => {
    const seen: unknown[] = [];
    const controller = new AbortController();
    const reason = new Error('the tool was aborted');
    const { engine, held, start } = await withFamily(
      {
        parent: async (context) => {
          await context.spawn({ kind: 'held', jobId: 'a' });
          await context.wait('a', { signal: controller.signal }).catch((error: unknown) => seen.push(error));
          return 'went on';
        },
      },
      2,
    );
    await using _ = engine;
    const { offstage } = engine;
    await start('parent');
    await held.started('a');
    await engine.clock.settle();
    controller.abort(reason);
    expect((await offstage.wait('parent')).resultText).toBe('went on');
    expect(seen).toEqual([reason]);
    expect(await offstage.get('a')).toMatchObject({ status: 'running', cancelRequestedAt: null });
    await held.release('a');
  });
});

describe('foreground children', () => {
  for (const how of ['returns', 'throws', 'is given up'] as const) {
    it(`end when their parent ${how}, with their own; background children go on`, async () => {
      const { engine, held, start } = await withFamily(
        {
          parent: async (context) => {
            await context.spawn({ kind: 'held', jobId: 'background' });
            await context.spawn({ kind: 'family', subject: 'foreground', jobId: 'foreground', wait: true });
            if (how === 'throws') throw new Error('x');
            if (how === 'is given up') await new Promise(() => {});
          },
          foreground: async (context) => {
            await context.spawn({ kind: 'held', jobId: 'below' });
            await aborted(context);
          },
        },
        null,
      );
      await using _ = engine;
      const { offstage, clock } = engine;
      await start('parent', { timeoutMs: 50 });
      await held.started('background');
      await clock.settle();
      if (how === 'is given up') {
        await clock.advance(50 + 30_000);
        expect((await offstage.get('parent')).detached).toBe(true);
      }
      expect(await offstage.wait('foreground')).toMatchObject({ status: 'cancelled', reasonCode: 'cancel.caller_gone' });
      const below = await offstage.wait('below', { timeoutMs: 0 }).catch(() => null);
      if (below !== null)
        expect(await offstage.wait('below')).toMatchObject({ status: 'cancelled', reasonCode: 'cancel.parent' });
      expect((await offstage.get('background')).status).toBe('running');
      await held.release('background', 'on its own');
      expect((await offstage.wait('background')).resultText).toBe('on its own');
    });
  }

  it('end with the signal of the one who waits for them', async () => {
    const seen: unknown[] = [];
    const controller = new AbortController();
    const { engine, held, start } = await withFamily(
      {
        parent: async (context) => {
          await context
            .run({ kind: 'held', jobId: 'child' }, { signal: controller.signal })
            .catch((error: unknown) => seen.push(error));
          return 'went on';
        },
      },
      4,
    );
    await using _ = engine;
    const { offstage } = engine;
    await start('parent');
    await held.started('child');
    const reason = new Error('the tool was aborted');
    controller.abort(reason);
    expect(await offstage.wait('child')).toMatchObject({ status: 'cancelled', reasonCode: 'cancel.caller_gone' });
    expect(await offstage.wait('parent')).toMatchObject({ status: 'completed', resultText: 'went on' });
    expect(seen).toEqual([reason]);
  });

  it('that are started by a body in its last tick, and not waited for, do not outlive it', async () => {
    const { engine, held, start } = await withFamily(
      {
        parent: async (context) => {
          // Nobody awaits these; one is known at once, the other has to be looked up.
          void context.spawn({ kind: 'held', wait: true, subject: 'quick' }).catch(() => {});
          void context.spawn({ kind: 'held', wait: true, jobId: 'slow', subject: 'slow' }).catch(() => {});
          void context.spawn({ kind: 'held', wait: false, jobId: 'background' }).catch(() => {});
        },
      },
      4,
    );
    await using _ = engine;
    const { offstage, clock } = engine;
    await start('parent');
    await offstage.wait('parent');
    await clock.settle();
    const left = await offstage.list({ status: ['running', 'queued'] });
    expect(left.map(({ jobId }) => jobId)).toEqual(['background']);
    for (const job of await offstage.list({ kind: 'held', status: 'cancelled' })) {
      expect(job.reasonCode).toBe('cancel.caller_gone');
    }
    await held.release('background');
    await offstage.wait('background');
  });

  it('that fail or are cancelled are records to their parent, never a throw', async () => {
    const { engine, start } = await withFamily({
      parent: async (context) => {
        const broken = await context.run({ kind: 'family', subject: 'broken' });
        return `${broken.status}: ${broken.error?.message}`;
      },
      broken: async () => {
        throw new TypeError('no');
      },
    });
    await using _ = engine;
    await start('parent');
    expect((await engine.offstage.wait('parent')).resultText).toBe('errored: TypeError: no');
  });
});
