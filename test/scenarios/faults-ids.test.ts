/** Reported faults, B73: ids are data, whatever stands in them. The parts with doors and folders are elsewhere. */
import { describe, expect, it } from 'vitest';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { counting, echo } from '../support/executors.ts';
import { keptStore } from '../support/kept-store.ts';
import { testEngine } from '../support/test-engine.ts';

const STORED = [
  '../../x',
  '/etc/x',
  'a/../../b',
  '..',
  '.',
  ' ',
  '\n',
  '~',
  '~/.ssh',
  '%2e%2e%2f',
  'C:\\x',
  'l/0000000001',
  '!head',
  '__proto__',
  'constructor',
  'default',
  'ünï😀\u2028',
  'a',
  'A',
  'x'.repeat(512),
  'é'.repeat(256),
];
const REFUSED: readonly unknown[] = [
  '',
  'a\0b',
  '\0',
  'x'.repeat(513),
  'é'.repeat(257),
  'x'.repeat(10_240),
  '\ud800',
  7,
  {},
  [],
  true,
];

describe('ids', () => {
  it('B73: an id is stored and listed back exactly as it was given', async () => {
    const store = keptStore(memoryStore());
    const engine = await testEngine({ executors: { echo }, store: store.open() });
    const { offstage } = engine;
    await offstage.tasks.create({ taskId: 't' });
    for (const id of STORED) {
      if (id !== 'default') await offstage.sessions.create({ sessionId: id, taskId: 't' });
      const job = await offstage.spawn({ kind: 'echo', jobId: id, sessionId: id, parentMessageId: id, agentId: id, input: id });
      expect(job).toMatchObject({ jobId: id, sessionId: id, parentMessageId: id, agentId: id });
      expect((await offstage.wait(id)).resultText).toBe(id);
    }
    const check = async (from: typeof offstage): Promise<void> => {
      expect((await from.list({ limit: 1_000 })).map(({ jobId }) => jobId).reverse()).toEqual(STORED);
      const sessions = (await from.sessions.list({ limit: 1_000 })).map(({ sessionId }) => sessionId);
      expect([...sessions].sort()).toEqual([...STORED].sort());
      for (const id of STORED) {
        expect((await from.get(id)).jobId).toBe(id);
        expect((await from.list({ sessionId: id })).map(({ jobId }) => jobId)).toEqual([id]);
        expect((await from.list({ parentMessageId: id })).map(({ jobId }) => jobId)).toEqual([id]);
        expect((await from.history(id)).length).toBeGreaterThan(3);
        expect(await from.output(id)).toBe('');
      }
    };
    await check(offstage);
    await engine[Symbol.asyncDispose]();
    await using again = await testEngine({ executors: { echo }, store: store.open(), clock: engine.clock });
    await check(again.offstage);
  });

  it('B73: what is no id is refused by every verb that takes one, and nothing is stored', async () => {
    const count = counting();
    await using engine = await testEngine({ executors: { count } });
    const { offstage } = engine;
    for (const bad of REFUSED) {
      const id = bad as string;
      const verbs: Readonly<Record<string, () => unknown>> = {
        'spawn jobId': () => offstage.spawn({ kind: 'count', jobId: id }),
        'spawn kind': () => offstage.spawn({ kind: id }),
        'spawn sessionId': () => offstage.spawn({ kind: 'count', sessionId: id }),
        'spawn callerSessionId': () => offstage.spawn({ kind: 'count', callerSessionId: id }),
        'spawn parentJobId': () => offstage.spawn({ kind: 'count', parentJobId: id }),
        'spawn parentMessageId': () => offstage.spawn({ kind: 'count', parentMessageId: id }),
        'spawn agentId': () => offstage.spawn({ kind: 'count', agentId: id }),
        get: () => offstage.get(id),
        history: () => offstage.history(id),
        output: () => offstage.output(id),
        wait: () => offstage.wait(id),
        waitMany: () => offstage.waitMany([id]),
        cancel: () => offstage.cancel(id),
        cancelMany: () => offstage.cancelMany({ sessionId: id }),
        'list sessionId': () => offstage.list({ sessionId: id }),
        'list before': () => offstage.list({ before: id }),
        'sessions.create': () => offstage.sessions.create({ sessionId: id }),
        'sessions.create taskId': () => offstage.sessions.create({ taskId: id }),
        'sessions.get': () => offstage.sessions.get(id),
        'tasks.create': () => offstage.tasks.create({ taskId: id }),
        'tasks.get': () => offstage.tasks.get(id),
        'plan.run': () => offstage.plan.run([{ description: 'x', kind: 'count' }], { sessionId: id }),
        'plan.run parentJobId': () => offstage.plan.run([{ description: 'x', kind: 'count' }], { parentJobId: id }),
      };
      for (const [name, verb] of Object.entries(verbs)) {
        const answer = await Promise.resolve()
          .then(verb)
          .then(
            (value) => ({ value }),
            (error: { code?: string }) => error.code,
          );
        expect([name, bad, answer]).toEqual([name, bad, 'input.invalid']);
      }
    }
    expect(await offstage.list()).toEqual([]);
    expect(await offstage.sessions.list()).toEqual([]);
    expect(await offstage.tasks.list()).toEqual([]);
    expect(count.calls).toEqual([]);
  });
});
