/** ROB1, RMC3: what is still ending, and which of it refuses a removal. */
import { describe, expect, it } from 'vitest';
import { SessionStates } from '../../src/engine/session-states.ts';
import { Sessions } from '../../src/engine/sessions.ts';
import type { JobContext, JobOf } from '../../src/model/executor.ts';
import type { Inspect } from '../../src/model/options.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { KEYS, RANGES } from '../../src/persistence/row-keys.ts';
import { pausePoints } from '../../src/testing/pause-at.ts';
import { bareAgent, held } from '../support/bare-agent.ts';
import { bareLiveness } from '../support/bare-liveness.ts';
import { keptStore } from '../support/kept-store.ts';
import { agentProcess, session as leftRow } from '../support/left-behind.ts';
import { codeOf, detachedBody, findingsOf, heldRemovals, removalLab, resting, rowsLeft } from '../support/removing.ts';
import { slowReads } from '../support/slow-reads.ts';
import { failingReads } from '../support/stopping.ts';
import { contentOf } from '../support/store-content.ts';

const CONFIRMED = { confirm: true } as const;
const DONE = { done: true } as const;

describe('what is still ending', () => {
  it('a body that could be killed refuses it; when it has ended, nothing does', async () => {
    await using lab = await removalLab();
    await lab.create('s', 't');
    await detachedBody(lab, 'killable');
    const before = await contentOf(lab.engine.store);
    for (const remove of [() => lab.offstage.sessions.remove('s', CONFIRMED), () => lab.offstage.tasks.remove('t', CONFIRMED)]) {
      await expect(remove()).rejects.toMatchObject({ code: 'remove.refused', message: expect.stringContaining('job late') });
    }
    expect(await contentOf(lab.engine.store)).toEqual(before);
    expect(await lab.offstage.get('late')).toMatchObject({ status: 'cancelled', detached: true, bodyLive: true });
    await lab.killables.release('late');
    await lab.settled();
    expect(await lab.offstage.sessions.remove('s')).toEqual(DONE);
  });

  it('the words of whoever tried to end it are in the refusal', async () => {
    const body = held();
    const stuck = async (_: JobOf, { execution }: JobContext) => {
      execution.survivors('Process 42 does not die.');
      await body.promise;
    };
    const executor = { run: stuck, capabilities: { killable: true } };
    await using lab = await removalLab({ executors: { stuck: executor } });
    await lab.create('s', 't');
    await lab.offstage.spawn({ kind: 'stuck', sessionId: 's' });
    const removing = expect(lab.offstage.sessions.remove('s', CONFIRMED)).rejects.toMatchObject({
      details: { id: 's', message: 'Process 42 does not die.' },
    });
    await lab.clock.advance(60_000);
    await removing;
    body.resolve();
  });

  it.each(['before', 'while it is written', 'after'] as const)(
    'a body inside this process does not refuse it; when it settles %s, nothing is written of it',
    async (when) => {
      const { store, answer, hasCome } = heldRemovals();
      await using lab = await removalLab({ store });
      await lab.create('s', 't');
      await detachedBody(lab, 'stubborn');
      expect(lab.offstage.health().pool.detached).toBe(1);
      const events = lab.engine.events.length;
      const writing = held();
      answer(writing.promise);
      const removing = lab.offstage.sessions.remove('s', CONFIRMED);
      if (when === 'before') await lab.stubborns.release('late', 'too late');
      await hasCome;
      if (when === 'while it is written') await lab.stubborns.release('late', 'too late');
      await lab.settled();
      writing.resolve();
      expect(await removing).toEqual(DONE);
      const content = await contentOf(store);
      await lab.stubborns.release('late', 'too late');
      await lab.settled();
      expect(await contentOf(store)).toEqual(content);
      expect(lab.engine.events.slice(events).map(({ type }) => type)).toEqual(['session.removed']);
      expect(lab.offstage.health().pool).toMatchObject({ detached: 0, running: 0 });
      expect([await rowsLeft(store), await findingsOf(store)]).toEqual([[KEYS.task('t')], []]);
      expect(await codeOf(lab.offstage.get('late'))).toBe('job.expired');
    },
  );

  it('a process of an agent that was not seen to end refuses it', async () => {
    const closing = held();
    let launched = true;
    await using lab = await removalLab({
      agents: {
        default: async ({ execution }) => {
          if (launched) await execution.launched({ pid: 4_000_000, startTime: '1', bootId: 'b' });
          return bareAgent({ prompt: async () => ({ stopReason: 'end_turn' }), close: () => closing.promise });
        },
      },
    });
    const { offstage } = lab;
    for (const sessionId of ['with', 'without']) {
      launched = sessionId === 'with';
      await lab.create(sessionId, 't');
      await offstage.sessions.prompt(sessionId, { content: 'go' });
      await lab.settled();
    }
    const refused = expect(offstage.sessions.remove('with')).rejects.toMatchObject({
      code: 'remove.refused',
      message: expect.stringContaining('process 4000000'),
    });
    const without = offstage.sessions.remove('without');
    await lab.clock.advance(60_000);
    await refused;
    expect(await without).toEqual(DONE);
    // Its launch is on record until it has gone, and nothing else of it.
    expect(await offstage.processes()).toHaveLength(2);
    await expect(offstage.tasks.remove('t', CONFIRMED)).rejects.toMatchObject({ code: 'remove.refused' });
    expect((await offstage.tasks.get('t')).sessions).toEqual(['with']);
    closing.resolve();
    await lab.settled();
    expect([await offstage.processes(), await offstage.tasks.remove('t')]).toEqual([[], DONE]);
    expect(await rowsLeft(lab.engine.store)).toEqual([]);
  });

  it('an agent that has ended at last is no obstacle, wherever that falls', async () => {
    for (let turnsLate = 0; turnsLate < 20; turnsLate++) {
      const closing = held();
      const agent = bareAgent({ prompt: async () => ({ stopReason: 'end_turn' }), close: () => closing.promise });
      await using lab = await removalLab({ store: slowReads(memoryStore(), 1), agents: { default: async () => agent } });
      await lab.create('s', 't');
      await lab.offstage.sessions.prompt('s', { content: 'go' });
      await lab.offstage.sessions.stop('s', { force: true });
      await lab.clock.advance(1);
      expect(lab.offstage.health().agents).toMatchObject({ ending: 1, detached: 1 });
      const removing = lab.offstage.sessions.remove('s', CONFIRMED);
      for (let turn = 0; turn < turnsLate; turn++) await new Promise((resolve) => setImmediate(resolve));
      closing.resolve();
      expect(await removing).toEqual(DONE);
      await lab.settled();
      expect([await rowsLeft(lab.engine.store), await lab.offstage.processes()]).toEqual([[KEYS.task('t')], []]);
    }
  });

  it('a record that cannot be read refuses the removal of its task, and nothing was stopped for it', async () => {
    const reads = failingReads();
    await using lab = await removalLab({ store: reads.store });
    const s = await resting(lab);
    await lab.offstage.sessions.create({ sessionId: 'cold', taskId: 't' });
    reads.fail(RANGES.taskSessions('t').gte);
    expect(await codeOf(lab.offstage.tasks.remove('t', CONFIRMED))).toBe('store.failed');
    reads.heal();
    expect(s.agent.isClosed).toBe(false);
  });

  it('a record of an earlier process that cannot be read does the same', async () => {
    const inner = memoryStore();
    const kept = keptStore(inner);
    const first = await removalLab({ store: kept.open() });
    await first.create('s', 't');
    await first[Symbol.asyncDispose]();
    const reads = failingReads(kept.open());
    await using lab = await removalLab({ store: reads.store });
    reads.fail(KEYS.session('s'));
    await expect(lab.offstage.tasks.remove('t', CONFIRMED)).rejects.toMatchObject({
      code: 'remove.refused',
      message: expect.stringContaining('session s cannot be read'),
    });
    reads.heal();
    expect(await lab.offstage.tasks.remove('t')).toEqual(DONE);
  });

  it('a record of an earlier process that could not be looked at refuses it, although all else was stopped', async () => {
    const kept = keptStore(memoryStore());
    const first = await removalLab({ store: kept.open() });
    await first.create('s', 't');
    await first.offstage.wait((await first.offstage.spawn({ kind: 'echo', jobId: 'old', sessionId: 's' })).jobId);
    await first[Symbol.asyncDispose]();
    const reads = failingReads(kept.open());
    const record = { ...agentProcess('old-execution', 's'), sessionId: null, jobId: 'old' };
    await reads.store.batch([{ type: 'put', key: KEYS.process('old-execution'), value: JSON.stringify(record) }], { sync: true });
    let verdict: 'unverified' | 'gone' = 'unverified';
    await using lab = await removalLab({ store: reads.store, reap: async () => ({ verdict, detail: 'nobody knows.' }) });
    await lab.offstage.spawn({ kind: 'gate', jobId: 'live', sessionId: 's' });
    reads.fail(KEYS.id('old'));
    const unproven = { code: 'remove.refused', message: expect.stringContaining('old-execution') };
    await expect(lab.offstage.sessions.remove('s', CONFIRMED)).rejects.toMatchObject(unproven);
    expect(await codeOf(lab.offstage.tasks.remove('t', CONFIRMED))).toBe('remove.refused');
    expect(lab.engine.statuses('live').at(-1)).toBe('cancelled');
    reads.heal();
    await expect(lab.offstage.sessions.remove('s')).rejects.toMatchObject({ message: expect.stringContaining('nobody knows') });
    verdict = 'gone';
    expect(await lab.offstage.sessions.remove('s')).toEqual(DONE);
    expect([await lab.offstage.processes(), await findingsOf(reads.store)]).toEqual([[], []]);
  });

  it('whoever still holds on to a removed session changes nothing, and tells nothing of it', () => {
    const { core, events, session } = bareLiveness();
    session('s').claim();
    const live = core.liveness.at('s', 'task');
    live.row = leftRow('s', 'running');
    core.liveness.sessionRemoved('s', 'task');
    core.liveness.settle();
    const told = events.length;
    const states = new SessionStates(core, new Sessions(core));
    expect([states.change(live, { type: 'session.cancel' }), core.loop.pendingCount, live.unstored]).toEqual([false, 0, 0]);
    // What it would tell now differs from what it has told.
    live.row = leftRow('s', 'cancelled');
    core.liveness.touch(live);
    core.liveness.settle();
    core.liveness.workChanged(live);
    core.liveness.settle();
    expect([events.length, core.liveness.find('s')]).toEqual([told, null]);
  });

  it('the chart of a removed task ends, and none is begun anew for it', async () => {
    const sent: string[] = [];
    const inspect: Inspect = (inspected) => {
      const { type, event } = inspected as { readonly type: string; readonly event?: { readonly type: string } };
      if (type === '@xstate.event' && event?.type.startsWith('task.') === true) sent.push(event.type);
    };
    await using lab = await removalLab({ inspect });
    await resting(lab);
    sent.length = 0;
    await lab.offstage.tasks.remove('t', CONFIRMED);
    await lab.settled();
    expect(sent).toEqual(['task.stop', 'task.remove']);
  });

  it('nobody waits for silence of what was removed, not even where its last activity was held back', async () => {
    const { points, pauseAt } = pausePoints();
    await using lab = await removalLab({ points });
    const { pending } = lab.clock;
    await lab.running('s', 't');
    expect(lab.clock.pending).toBeGreaterThan(pending);
    const paused = pauseAt('publish');
    await lab.offstage.sessions.remove('s', CONFIRMED);
    expect(lab.clock.pending).toBe(pending);
    paused.release();
    expect(lab.clock.pending).toBe(pending);
  });
});
