/** Rows of sessions and tasks whose write is refused, or not answered yet: nobody sees them, and what they would have replaced stays to be seen. */
import { describe, expect, it } from 'vitest';
import type { OffstageEvent } from '../../src/model/events.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import type { Store } from '../../src/persistence/store.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { codeOf } from '../support/removing.ts';
import { testEngine } from '../support/test-engine.ts';

/** After `deny` writes are done, their answers wait for `answer`, and then say that they failed. */
function lateDenials() {
  const inner = memoryStore();
  let denial: Promise<void> | null = null;
  let answer = (): void => {};
  const store: Store = {
    get: (key) => inner.get(key),
    getMany: (keys) => inner.getMany(keys),
    range: (options) => inner.range(options),
    close: () => inner.close(),
    async batch(operations, options) {
      await inner.batch(operations, options);
      if (denial === null) return;
      await denial;
      throw new Error('denied');
    },
  };
  return {
    store,
    deny(): void {
      denial = new Promise((resolve) => {
        answer = () => {
          denial = null;
          resolve();
        };
      });
    },
    answer: (): void => answer(),
  };
}

describe('a creation that the store has, and has not answered for', () => {
  it('is seen by nobody; when it is denied, the next one who needs it makes it anew', async () => {
    const { store, deny, answer } = lateDenials();
    await using engine = await testEngine({ store, executors: { plain: async () => 'done' } });
    const { offstage, clock, events } = engine;
    deny();
    const first = codeOf(offstage.spawn({ kind: 'plain' }));
    await clock.settle();
    expect(await codeOf(offstage.sessions.get('default'))).toBe('session.not_found');
    expect(await codeOf(offstage.tasks.get('default'))).toBe('task.not_found');
    expect(await offstage.sessions.list()).toEqual([]);
    const meanwhile = codeOf(offstage.spawn({ kind: 'plain' }));
    await clock.settle();
    answer();
    expect(await first).toBe('store.failed');
    await meanwhile;
    await clock.advance(60_000);
    const job = await offstage.spawn({ kind: 'plain' });
    await offstage.wait(job.jobId);
    expect(await offstage.sessions.get('default')).toMatchObject({ state: 'created' });
    expect(await offstage.tasks.get('default')).toMatchObject({ taskId: 'default' });
    const told = events.filter(
      (event): event is Extract<OffstageEvent, { type: 'session.state_changed' }> => event.type === 'session.state_changed',
    );
    expect(told.map(({ sessionId, oldState }) => [sessionId, oldState])).toEqual([['default', null]]);
  });
});

describe('an acceptance that the store has, and has not answered for', () => {
  it('is seen by nobody, also where the job was cancelled before it was born', async () => {
    const { store, deny, answer } = lateDenials();
    await using engine = await testEngine({ store, executors: { plain: async () => 'done' } });
    const { offstage, clock } = engine;
    await offstage.sessions.create({ sessionId: 's' });
    deny();
    const spawning = codeOf(offstage.spawn({ kind: 'plain', sessionId: 's', jobId: 'born-ended' }));
    const cancelling = codeOf(offstage.cancel('born-ended'));
    await clock.settle();
    expect(await codeOf(offstage.get('born-ended'))).toBe('job.not_found');
    expect(await offstage.list()).toEqual([]);
    expect(await offstage.cards.list({ sessionId: 's' })).toEqual([]);
    answer();
    expect([await spawning, await cancelling]).toEqual(['store.failed', 'job.not_found']);
    expect(await codeOf(offstage.get('born-ended'))).toBe('job.not_found');
  });
});

describe('a read that began while a refused row lay in the store, and goes on when it was taken back', () => {
  it('shows it to nobody', async () => {
    const inner = controlledStore(memoryStore());
    let opened = Promise.resolve();
    let open = (): void => {};
    const slow: Store = {
      get: (key) => inner.get(key),
      getMany: (keys) => inner.getMany(keys),
      batch: (operations, options) => inner.batch(operations, options),
      close: () => inner.close(),
      range(options) {
        const entries = inner.range(options);
        const mayGoOn = opened;
        return (async function* () {
          await mayGoOn;
          yield* entries;
        })();
      },
    };
    await using engine = await testEngine({ store: slow, executors: { plain: async () => 'done' } });
    const { offstage, clock } = engine;
    await offstage.sessions.create({ sessionId: 's' });
    inner.failNext({ when: 'after' });
    const refused = [
      codeOf(offstage.spawn({ kind: 'plain', sessionId: 's', jobId: 'x' })),
      codeOf(offstage.cancel('x')),
      codeOf(offstage.sessions.create({ sessionId: 'other' })),
    ];
    expect(await Promise.all(refused)).toEqual(['store.failed', 'job.not_found', 'store.failed']);
    opened = new Promise((resolve) => {
      open = resolve;
    });
    const reading = Promise.all([offstage.list(), offstage.sessions.list(), offstage.tasks.list()]);
    await clock.advance(60_000);
    open();
    const [jobs, sessions, tasks] = await reading;
    expect([jobs, sessions.map(({ sessionId }) => sessionId), tasks.length]).toEqual([[], ['s'], 1]);
  });
});

describe('a change of a task that was refused', () => {
  it.each(['before', 'after'] as const)('leaves the task to be seen as it was (the write fails %s it is done)', async (when) => {
    const store = controlledStore(memoryStore());
    await using engine = await testEngine({ store });
    const { offstage } = engine;
    const { taskId } = await offstage.tasks.create({ title: 'Paint it' });
    store.failNext({ when });
    expect(await codeOf(offstage.tasks.setState(taskId, 'done'))).toBe('store.failed');
    expect(await offstage.tasks.get(taskId)).toMatchObject({ taskId, state: 'open' });
    expect((await offstage.tasks.list()).map(({ state }) => state)).toEqual(['open']);
  });
});
