/** RMC1, RMC2: a store that refuses a removal, and one on disk. */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { JobContext, JobOf } from '../../src/model/executor.ts';
import { open } from '../../src/open.ts';
import { levelStore } from '../../src/persistence/level-store.ts';
import { KEYS } from '../../src/persistence/row-keys.ts';
import { codeOf, detachedBody, findingsOf, heldRemovals, removalLab, resting, rowsLeft } from '../support/removing.ts';
import { slowReads } from '../support/slow-reads.ts';

const CONFIRMED = { confirm: true } as const;
const DONE = { done: true } as const;

describe('a store that refuses', () => {
  const failing = { code: 'store.failed' };

  it.each(['session', 'task'] as const)(
    'and writes nothing: removal of a %s rejects, nothing is removed, and later it can be',
    async (what) => {
      const { store, answer } = heldRemovals();
      await using lab = await removalLab({ store });
      const { offstage } = lab;
      const s = await lab.running('s', 't');
      await detachedBody(lab, 'stubborn');
      const remove = () => (what === 'task' ? offstage.tasks.remove('t', CONFIRMED) : offstage.sessions.remove('s', CONFIRMED));
      answer('fails');
      await expect(remove()).rejects.toMatchObject(failing);
      const events = lab.engine.events.length;
      const before = await rowsLeft(store);
      expect([(await s.view()).state, (await offstage.tasks.get('t')).sessions]).toEqual(['cancelled', ['s']]);
      // While nobody knows, nobody is let in, and a body that ends is not written down.
      expect(await codeOf(remove())).toBe('engine.degraded');
      await lab.stubborns.release('late', 'too late');
      await lab.clock.advance(1_000);
      expect(await rowsLeft(store)).toEqual(before);
      expect(await findingsOf(store)).toEqual([]);
      expect(lab.engine.events.length).toBe(events);
      expect(await offstage.get('late')).toMatchObject({ status: 'cancelled', bodyLive: false });
      // As if nothing had been.
      await offstage.wait((await offstage.spawn({ kind: 'echo', sessionId: 's' })).jobId);
      expect((await offstage.sessions.create({ sessionId: 'new', taskId: 't' })).taskId).toBe('t');
      expect(await remove()).toEqual(DONE);
      expect(await findingsOf(store)).toEqual([]);
      expect(await codeOf(s.view())).toBe('session.not_found');
    },
  );

  it.each(['session', 'task'] as const)(
    'and has written it all the same: it rejects, and the %s is removed once the store is well',
    async (what) => {
      const { store, answer } = heldRemovals();
      await using lab = await removalLab({ store });
      const { offstage } = lab;
      const s = await lab.running('s', 't');
      await detachedBody(lab, 'stubborn');
      answer('is written and fails');
      const remove = () => (what === 'task' ? offstage.tasks.remove('t', CONFIRMED) : offstage.sessions.remove('s', CONFIRMED));
      await expect(remove()).rejects.toMatchObject(failing);
      const events = lab.engine.events.length;
      await lab.stubborns.release('late', 'too late');
      await lab.clock.advance(1_000);
      const told = what === 'task' ? ['session.removed', 'task.removed'] : ['session.removed'];
      expect(lab.engine.events.slice(events).map(({ type }) => type)).toEqual(told);
      expect([await codeOf(s.view()), await codeOf(offstage.get('late'))]).toEqual(['session.not_found', 'job.expired']);
      expect(await codeOf(offstage.spawn({ kind: 'echo', sessionId: 's' }))).toBe('session.not_found');
      expect(await codeOf(remove())).toBe(what === 'task' ? 'task.not_found' : 'session.not_found');
      expect(await codeOf(offstage.sessions.create({ sessionId: 'new', taskId: 't' }))).toBe(
        what === 'task' ? 'task.not_found' : 'done',
      );
      expect((await rowsLeft(store)).filter((key) => key !== KEYS.task('t') && !key.includes('new'))).toEqual([]);
      expect(await findingsOf(store)).toEqual([]);
    },
  );

  it('and writes nothing: a body that has settled meanwhile, whenever that was, is noted all the same', async () => {
    for (let turnsLate = 0; turnsLate < 16; turnsLate++) {
      const { store, answer } = heldRemovals();
      await using lab = await removalLab({ store: slowReads(store, 1) });
      await lab.create('s', 't');
      await detachedBody(lab, 'stubborn');
      answer('fails');
      const removing = codeOf(lab.offstage.sessions.remove('s', CONFIRMED));
      for (let turn = 0; turn < turnsLate; turn++) await new Promise((resolve) => setImmediate(resolve));
      await lab.stubborns.release('late');
      expect(await removing).toBe('store.failed');
      await lab.clock.advance(1_000);
      expect((await lab.offstage.history('late')).at(-1)).toMatchObject({ type: 'detached_settled' });
      expect(lab.engine.log.flatMap(({ event }) => (event === 'effect.failed' ? [event] : []))).toEqual([]);
      expect(await lab.offstage.sessions.remove('s')).toEqual(DONE);
      expect([await rowsLeft(store), await findingsOf(store)]).toEqual([[KEYS.task('t')], []]);
    }
  });

  it('and a second removal before it is known what came of the first: it is refused, and may be tried again', async () => {
    const { store, answer } = heldRemovals();
    const early: Promise<string>[] = [];
    const again = { remove: (): Promise<unknown> => Promise.resolve() };
    await using lab = await removalLab({
      store,
      log: (_, event) => {
        if (event === 'store.recovered') early.push(codeOf(again.remove()));
      },
    });
    again.remove = () => lab.offstage.tasks.remove('t');
    answer('is written and fails');
    expect(await codeOf(again.remove())).toBe('store.failed');
    await lab.clock.advance(1_000);
    expect(await Promise.all(early)).toEqual(['engine.degraded']);
    expect(await codeOf(again.remove())).toBe('task.not_found');
  });

  it('while it stops: it rejects, and everything was told to end; with the store refusing before, nothing was', async () => {
    const { store, breakDown, heal } = heldRemovals();
    await using lab = await removalLab({ store });
    const s = await lab.running('s', 't');
    breakDown();
    expect(await codeOf(lab.offstage.sessions.remove('s', CONFIRMED))).toBe('engine.degraded');
    expect(s.agent.isClosed).toBe(true);
    const other = codeOf(lab.offstage.tasks.remove('t', CONFIRMED));
    expect(await other).toBe('engine.degraded');
    heal();
    await lab.clock.advance(1_000);
    expect(await s.view()).toMatchObject({ state: 'cancelled' });
    expect(await lab.offstage.sessions.remove('s')).toEqual(DONE);
  });

  it('and an engine that closes meanwhile: the removal is answered', async () => {
    const { store, answer } = heldRemovals();
    const lab = await removalLab({ store, script: { ignoreClose: true } });
    await resting(lab);
    await lab.create('other', 't');
    answer('fails');
    const [removing, doubtful] = [codeOf(lab.offstage.sessions.remove('s')), codeOf(lab.offstage.sessions.remove('other'))];
    expect(await doubtful).toBe('store.failed');
    await lab[Symbol.asyncDispose]();
    expect(await removing).toBe('engine.closing');
  });
});

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

it('on disk: after a restart it is still removed, its ids are spent, its output is gone, and doctor finds nothing', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'offstage-removal-'));
  folders.push(dataDir);
  const loud = async (_: JobOf, context: JobContext) => context.output('line\n'.repeat(100_000));
  const options = { dataDir, executors: { loud } } as const;
  const first = await open(options);
  await first.tasks.create({ taskId: 't', title: 'T' });
  await first.sessions.create({ sessionId: 's', taskId: 't' });
  await first.wait((await first.spawn({ kind: 'loud', jobId: 'j', sessionId: 's' })).jobId);
  const files = async (): Promise<readonly string[]> =>
    (await readdir(dataDir, { recursive: true })).filter((name) => name.endsWith('.log') && !name.startsWith('store'));
  expect((await files()).length).toBe(1);
  expect(await first.tasks.remove('t')).toEqual(DONE);
  expect(await files()).toEqual([]);
  await first.close();

  const second = await open(options);
  expect(await codeOf(second.tasks.get('t'))).toBe('task.not_found');
  expect(await codeOf(second.sessions.create({ sessionId: 's' }))).toBe('session.expired');
  expect(await codeOf(second.tasks.create({ taskId: 't' }))).toBe('task.expired');
  expect(await codeOf(second.get('j'))).toBe('job.expired');
  const replayed: string[] = [];
  for await (const event of second.events({ after: 0 })) {
    replayed.push(event.type);
    if (event.type === 'task.removed') break;
  }
  expect(replayed.slice(-2)).toEqual(['session.removed', 'task.removed']);
  await second.close();
  const store = await levelStore(dataDir);
  expect([await rowsLeft(store), await findingsOf(store)]).toEqual([[], []]);
  await store.close();
});
