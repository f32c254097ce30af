/** Waits inside bodies that could never end are refused, and no others (spec 5). */
import { describe, expect, it } from 'vitest';
import type { Body } from '../support/executors.ts';
import { withFamily } from '../support/family.ts';

describe('waits that cannot end', () => {
  it('for itself, an ancestor, or somebody who waits for it, are refused at once', async () => {
    const codes: Record<string, string> = {};
    const attempt = async (name: string, wait: Promise<unknown>): Promise<void> => {
      await wait.then(
        () => (codes[name] = 'settled'),
        (error: { code: string }) => (codes[name] = error.code),
      );
    };
    const { engine, start } = await withFamily(
      {
        root: async (context) => {
          await attempt('itself', context.wait('root'));
          await attempt('itself among many', context.waitMany(['root', 'nobody']));
          await context.run({ kind: 'family', subject: 'child', jobId: 'child' });
        },
        child: async (context) => {
          await attempt('its parent', context.wait('root'));
          await context.run({ kind: 'family', subject: 'grandchild', jobId: 'grandchild' });
        },
        grandchild: async (context) => {
          await attempt('its grandparent', context.wait('root'));
          await attempt('its grandparent, with a limit', context.wait('root', { timeoutMs: 5 }));
        },
        left: async (context) => {
          await context.wait('right');
        },
        right: async (context) => {
          await attempt('who waits for it', context.wait('left'));
        },
      },
      4,
    );
    await using _ = engine;
    const { offstage } = engine;
    await start('root');
    await offstage.wait('root');
    await Promise.all([start('right', { description: 'second' }), start('left')]).catch(() => {});
    await offstage.waitMany(['left', 'right']);
    expect(codes).toEqual({
      itself: 'job.wait_cycle',
      'itself among many': 'job.wait_cycle',
      'its parent': 'job.wait_cycle',
      'its grandparent': 'job.wait_cycle',
      'its grandparent, with a limit': 'job.wait_cycle',
      // `right` may have been faster than `left`: then `left` found it ended.
      'who waits for it': expect.stringMatching(/^(job\.wait_cycle|settled)$/),
    });
  });

  it('is nothing that stays: who has given up waiting may be waited for', async () => {
    const outcomes: unknown[] = [];
    const { engine, held, start } = await withFamily(
      {
        left: async (context) => {
          await context.wait('start');
          outcomes.push((await context.wait('right', { timeoutMs: 10 })).timedOut);
          await context.wait('end');
        },
        right: async (context) => {
          await context.wait('middle');
          const wait = context.wait('left').then(({ status }) => status);
          outcomes.push(await wait.catch(({ code }: { code: string }) => code));
        },
      },
      8,
    );
    await using _ = engine;
    const { offstage, clock } = engine;
    for (const jobId of ['start', 'middle', 'end']) await offstage.spawn({ kind: 'held', jobId });
    await start('left');
    await start('right');
    await clock.settle();
    await held.release('start');
    await clock.advance(10);
    await held.release('middle');
    await clock.settle();
    await held.release('end');
    await offstage.waitMany(['left', 'right']);
    expect(outcomes).toEqual([true, 'completed']);
  });

  it('a cycle over three jobs is seen by the one that would close it', async () => {
    const outcomes: string[] = [];
    const next: Readonly<Record<string, string>> = { a: 'b', b: 'c', c: 'a' };
    const hop: Body = async (context, job) => {
      await context.wait('start').catch(() => {});
      await context.wait(next[job.subject] as string).then(
        () => outcomes.push('settled'),
        (error: { code: string }) => outcomes.push(error.code),
      );
    };
    const { engine, held, start } = await withFamily({ a: hop, b: hop, c: hop }, 4);
    await using _ = engine;
    const { offstage, clock } = engine;
    await offstage.spawn({ kind: 'held', jobId: 'start' });
    for (const subject of ['a', 'b', 'c']) await start(subject);
    await clock.settle();
    await held.release('start');
    await offstage.waitMany(['a', 'b', 'c'], { timeoutMs: null });
    expect(outcomes.toSorted()).toEqual(['job.wait_cycle', 'settled', 'settled']);
  });
});
