/**
 * Liveness 9: the batch that decides an end says so in the process record, which stays until what was launched is gone. Agents' intents are
 * part of their sessions' endings (session-endings.test.ts).
 */
import { describe, expect, it } from 'vitest';
import type { Offstage } from '../../src/engine/offstage.ts';
import type { Executors } from '../../src/model/executor.ts';
import type { ProcessRecord } from '../../src/model/records.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import type { StoreOperation } from '../../src/persistence/store.ts';
import { controlledExecutor } from '../../src/testing/controlled-executor.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { bareAgent } from '../support/bare-agent.ts';
import { gate } from '../support/executors.ts';
import { contentOf } from '../support/store-content.ts';
import { testEngine } from '../support/test-engine.ts';

/** Launches something, which ends only when the test says so. */
const launching = () => controlledExecutor({ stubborn: true, capabilities: { strictStart: true, killable: true } });

const recordsIn = (operations: readonly StoreOperation[]): readonly ProcessRecord[] =>
  operations.flatMap((one) => (one.type === 'put' && one.key.startsWith('x/') ? [JSON.parse(one.value) as ProcessRecord] : []));

async function launched(more: { readonly timeoutMs?: number } = {}) {
  const store = controlledStore(memoryStore());
  const launch = launching();
  const engine = await testEngine({ executors: { launch, held: gate() }, store, cancelGraceMs: 1_000 });
  const { offstage, clock } = engine;
  await offstage.tasks.create({ taskId: 't' });
  await offstage.sessions.create({ sessionId: 's', taskId: 't' });
  await offstage.spawn({ kind: 'held', sessionId: 's', jobId: 'root' });
  await offstage.spawn({ kind: 'launch', sessionId: 's', jobId: 'j', parentJobId: 'root', ...more });
  const { context } = await launch.started('j');
  await context.execution.launched({ pid: 4711, startTime: '99', bootId: 'boot' });
  const records = async (): Promise<readonly ProcessRecord[]> =>
    Object.entries(await contentOf(store)).flatMap(([key, value]) => recordsIn([{ type: 'put', key, value }]));
  return { store, launch, engine, offstage, clock, context, records };
}

type Ending = readonly [string, { readonly timeoutMs?: number }, (offstage: Offstage<Executors>) => unknown];

const ENDINGS: readonly Ending[] = [
  ['its cancel', {}, (offstage) => offstage.cancel('j')],
  ['the cancel of its parent', {}, (offstage) => offstage.cancel('root')],
  ['a stop of its task', {}, (offstage) => offstage.tasks.stop('t')],
  ['its timeout', { timeoutMs: 500 }, () => null],
  ['a shutdown', {}, (offstage) => offstage.close()],
];

describe('REG6: the end of a body with a process', () => {
  it.each(ENDINGS)('by %s is in its process record before the body hears of it', async (_, more, end) => {
    const { store, launch, engine, offstage, clock, context, records } = await launched(more);
    await using _engine = engine;
    const wanted = await records();
    expect(wanted).toMatchObject([{ jobId: 'j', pid: 4711, teardownAt: null }]);
    const from = store.writes.length;
    const told = new Promise<readonly ProcessRecord[]>((resolve) => {
      context.signal.addEventListener('abort', () =>
        resolve(
          store.writes.slice(from).flatMap(({ outcome, operations }) => (outcome === 'written' ? recordsIn(operations) : [])),
        ),
      );
    });
    const ended = end(offstage);
    await clock.advance(500);
    const { at, teardownAt, ...same } = (await told)[0] as ProcessRecord;
    expect(wanted).toMatchObject([same]);
    expect(teardownAt).toBe(at);
    expect(await told).toHaveLength(1);
    await launch.release('j');
    await ended;
    await clock.settle();
    const last = store.writes.flatMap(({ operations }) => operations.filter(({ key }) => key.startsWith('x/'))).at(-1);
    expect(last).toMatchObject({ type: 'del' });
  });

  it('that outlives its record leaves it, with when that was decided, until it has settled', async () => {
    const { launch, engine, offstage, clock, records } = await launched();
    await using _engine = engine;
    const decidedAt = clock.now();
    await offstage.cancel('j');
    await clock.advance(1_000);
    expect(await offstage.get('j')).toMatchObject({ status: 'cancelled', detached: true });
    expect(await records()).toMatchObject([{ jobId: 'j', pid: 4711, teardownAt: decidedAt }]);
    expect(await offstage.processes()).toEqual(await records());
    await launch.release('j');
    await clock.settle();
    expect(await records()).toEqual([]);
  });

  it('that had launched nothing when it was decided notes both at once', async () => {
    const store = controlledStore(memoryStore());
    const late = controlledExecutor({ stubborn: true });
    await using engine = await testEngine({ executors: { late }, store });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'late' });
    const { context } = await late.started(jobId);
    const decidedAt = clock.now();
    await offstage.cancel(jobId);
    expect(await offstage.processes()).toEqual([]);
    await clock.advance(10);
    await context.execution.launched({ pid: 4711, startTime: '99', bootId: 'boot' });
    expect(await offstage.processes()).toMatchObject([{ pid: 4711, at: decidedAt + 10, teardownAt: decidedAt }]);
    await late.release(jobId);
    await clock.settle();
    expect(await offstage.processes()).toEqual([]);
  });

  it('by itself writes nothing of the kind', async () => {
    const { store, launch, engine, offstage, records } = await launched();
    await using _engine = engine;
    const from = store.writes.length;
    await launch.release('j', 'done');
    expect(await offstage.wait('j')).toMatchObject({ status: 'completed' });
    expect(store.writes.slice(from).flatMap(({ operations }) => recordsIn(operations))).toEqual([]);
    expect(await records()).toEqual([]);
  });
});

describe('REG6: the end of an agent with a process', () => {
  it.each<[string, (offstage: Offstage<Executors>) => unknown]>([
    ['a stop of its session', ({ sessions }) => sessions.stop('s')],
    ['a stop of its task', ({ tasks }) => tasks.stop('t')],
  ])('by %s is in its process record before the agent hears of it, and when it was decided', async (_, end) => {
    const store = controlledStore(memoryStore());
    const told: (readonly ProcessRecord[])[] = [];
    await using engine = await testEngine({
      store,
      agents: {
        default: async ({ execution, signal }) => {
          await execution.launched({ pid: 4711, startTime: '99', bootId: 'boot' });
          const from = store.writes.length;
          signal.addEventListener('abort', () => {
            const written = store.writes.slice(from).filter(({ outcome }) => outcome === 'written');
            told.push(written.flatMap(({ operations }) => recordsIn(operations)));
          });
          return bareAgent();
        },
      },
    });
    const { offstage, clock } = engine;
    await offstage.tasks.create({ taskId: 't' });
    await offstage.sessions.create({ sessionId: 's', taskId: 't' });
    offstage.sessions.prompt('s', { content: 'go' }).catch(() => {});
    await clock.settle();
    await clock.advance(10);
    const decidedAt = clock.now();
    await end(offstage);
    expect(told).toMatchObject([[{ sessionId: 's', pid: 4711, teardownAt: decidedAt }]]);
  });
});
