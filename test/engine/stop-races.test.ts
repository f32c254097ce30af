/** What the property of stop races has found, each as one fixed example (`property-tests/stop-races.test.ts`). */
import { describe, expect, it } from 'vitest';
import { offstageError } from '../../src/model/errors.ts';
import type { JobContext } from '../../src/model/executor.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { controlledExecutor } from '../../src/testing/controlled-executor.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { pausePoints } from '../../src/testing/pause-at.ts';
import { closesOf, orphan, taskLab } from '../support/stopping.ts';
import { testEngine } from '../support/test-engine.ts';

/** Whether it has settled by now. */
function watch(promise: Promise<unknown>): { isOver: boolean } {
  const seen = { isOver: false };
  const end = (): void => {
    seen.isOver = true;
  };
  promise.then(end, end);
  return seen;
}

const never = new Promise<void>(() => {});

describe('two stops at once', () => {
  it('nobody is told that nothing runs while a job that the other one has ended is still shown as queued', async () => {
    const store = controlledStore(memoryStore());
    await using lab = await taskLab({ store, executors: { gate: controlledExecutor() }, workers: 1 });
    await lab.offstage.tasks.create({ taskId: 'u' });
    await lab.create('busy', 'u');
    await lab.create('s', 't');
    await lab.offstage.spawn({ kind: 'gate', sessionId: 'busy' });
    const { jobId } = await lab.offstage.spawn({ kind: 'gate', sessionId: 's' });
    store.hold();
    const first = lab.offstage.tasks.stop('t');
    await lab.settled();
    const second = lab.offstage.tasks.stop('t');
    const seen = watch(second);
    await lab.settled();
    expect(seen.isOver).toBe(false);
    expect((await lab.offstage.get(jobId)).status).toBe('queued');
    store.release();
    await first;
    await expect(second).rejects.toMatchObject({ code: 'stop.nothing_running' });
    expect((await lab.offstage.get(jobId)).status).toBe('cancelled');
  });

  it('who joins a stop that is not stored yet is answered when its agents were told to end, not before', async () => {
    const store = controlledStore(memoryStore());
    await using lab = await taskLab({ store });
    const closes = closesOf((await lab.running('s', 't')).agent);
    store.hold();
    const first = lab.offstage.tasks.stop('t');
    await lab.settled();
    const second = lab.offstage.sessions.stop('s');
    const seen = watch(second);
    await lab.settled();
    expect([seen.isOver, closes.count]).toEqual([false, 0]);
    store.release();
    expect((await second).alreadyStopping).toHaveLength(1);
    expect(closes.count).toBe(1);
    await first;
  });

  it('what is below a job of the session is told of, forced and waited for, also where an earlier stop has told it to end', async () => {
    const deaf = controlledExecutor({ stubborn: true });
    const parent = async (_: unknown, context: JobContext): Promise<void> => {
      await context.spawn({ kind: 'deaf', sessionId: 'host' });
      await never;
    };
    await using lab = await taskLab({ executors: { deaf, parent } });
    await lab.create('caller', 't');
    await lab.create('host', 't');
    const job = await lab.offstage.spawn({ kind: 'parent', sessionId: 'host', callerSessionId: 'caller' });
    await lab.settled();
    const [child] = await lab.offstage.list({ parentJobId: job.jobId });
    await lab.offstage.sessions.stop('caller');
    const again = await lab.offstage.sessions.stop('caller', { force: true });
    const told = again.alreadyStopping.map(({ jobId }) => jobId);
    expect(told.toSorted()).toEqual([job.jobId, child?.jobId].toSorted());
    const seen = watch(again.settled);
    await lab.clock.advance(0);
    expect(seen.isOver).toBe(true);
    expect((await again.settled).detached.map(({ jobId }) => jobId).toSorted()).toEqual(told.toSorted());
    await deaf.release(child?.jobId ?? '');
  });

  it.each([false, true])(
    'an agent that could not be started is not counted as detached by a stop that meets it (by force: %s)',
    async (force) => {
      const store = controlledStore(memoryStore());
      let fail = (): void => {};
      const starting = new Promise<never>((_, reject) => {
        fail = () => reject(new Error('it does not start'));
      });
      await using engine = await testEngine({ store, agents: { default: () => starting } });
      const { offstage, clock } = engine;
      const { sessionId } = await offstage.sessions.create();
      const asked = offstage.sessions.prompt(sessionId, { content: 'hello' }).catch(() => {});
      await clock.settle();
      store.hold();
      const stopped = offstage.sessions.stop(sessionId, { force });
      await clock.settle();
      fail();
      await clock.settle();
      store.release();
      await Promise.all([asked, stopped]);
      await clock.advance(60_000);
      expect(offstage.health().agents).toEqual({ live: 0, ending: 0, detached: 0 });
    },
  );

  it('the grace that a stop by force has taken away is not given back by a later one', async () => {
    await using lab = await taskLab();
    await orphan(lab, 'orphan', 't', ['rejects', 'rejects', 'rejects']);
    await lab.running('s', 't');
    const first = await lab.offstage.tasks.stop('t', { force: true });
    await lab.offstage.tasks.stop('t').catch(() => {});
    const seen = watch(first.settled);
    await lab.clock.advance(0);
    expect(seen.isOver).toBe(true);
    expect((await first.settled).failed).toMatchObject([{ sessionId: 'orphan' }]);
  });

  it('the same where the agent was about to close by itself when it was stopped by force', async () => {
    await using lab = await taskLab();
    const s = await lab.running('s', 't');
    await s.done();
    let fail = (): void => {};
    const closing = new Promise<void>((_, reject) => {
      fail = () => reject(new Error('it does not let go'));
    });
    closesOf(s.agent, [closing, 'rejects']);
    s.agent.crash();
    await lab.settled();
    const first = await lab.offstage.tasks.stop('t', { force: true });
    fail();
    await lab.settled();
    await lab.offstage.tasks.stop('t').catch(() => {});
    const seen = watch(first.settled);
    await lab.clock.advance(0);
    expect(seen.isOver).toBe(true);
  });

  it('who waits for an agent to end does not wait for a later try of somebody else', async () => {
    const { points, pauseAt } = pausePoints();
    await using lab = await taskLab({ points });
    const { executionId } = await orphan(lab, 'orphan', 't', ['rejects', 'rejects', never]);
    await lab.running('s', 't');
    const held = pauseAt('terminal_write');
    const first = lab.offstage.tasks.stop('t', { force: true });
    await lab.settled();
    // Its grace is over, and it has not answered yet.
    await lab.clock.advance(0);
    await lab.offstage.sessions.stop('orphan');
    held.release();
    const seen = watch((await first).settled);
    await lab.clock.advance(0);
    expect(seen.isOver).toBe(true);
    expect((await (await first).settled).failed).toMatchObject([{ executionId }]);
  });
});

describe('between the decision and its storing', () => {
  it('a prompt that comes after the decision takes the foreground, and keeps it', async () => {
    const store = controlledStore(memoryStore());
    await using lab = await taskLab({ store });
    const s = await lab.running('s', 't');
    store.hold();
    const waiting = s.ask('waits', { whenBusy: 'queue' });
    await lab.settled();
    s.prompt.end();
    await lab.settled();
    s.agent.crash();
    await lab.settled();
    const stopping = lab.offstage.tasks.stop('t');
    await lab.settled();
    const later = s.ask('later');
    await lab.settled();
    store.release();
    await stopping;
    await lab.settled();
    expect(await waiting).toMatchObject({ queued: true });
    expect(await later).toMatchObject({ accepted: true });
    expect(s.prompts.map(({ content }) => content)).not.toContain('waits');
    expect((await s.view()).state).toBe('running');
  });

  it('a session that shows itself coarse is generating until its end is stored, and then nothing', async () => {
    const store = controlledStore(memoryStore());
    await using lab = await taskLab({ store, display: 'coarse' });
    const s = await lab.running('s', 't');
    await s.reg('w', 'shell');
    // Its foreground is free, and its turn is open.
    await s.idle();
    expect(await s.tier()).toBe('generating');
    const since = lab.engine.events.length;
    store.hold();
    const stopping = lab.offstage.sessions.stop('s');
    await lab.settled();
    expect(await s.tier()).toBe('generating');
    store.release();
    await stopping;
    await lab.settled();
    expect(lab.publications('s', since)).toEqual([[null, 0]]);
  });

  it('a report says that it is not stored when an end of it is not', async () => {
    const deaf = controlledExecutor({ stubborn: true });
    const store = controlledStore(memoryStore());
    await using lab = await taskLab({ store, executors: { deaf } });
    await lab.create('s', 't');
    const { jobId } = await lab.offstage.spawn({ kind: 'deaf', sessionId: 's' });
    await deaf.started(jobId);
    const result = await lab.offstage.tasks.stop('t');
    expect(result.durable).toBe(true);
    store.failAll(offstageError('store.failed', { message: 'full' }));
    await deaf.release(jobId);
    expect((await result.settled).durable).toBe(false);
    store.failAll(null);
  });
});
