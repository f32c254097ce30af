/** The verb `inspect` of the engine, without any relay. */
import { describe, expect, it } from 'vitest';
import { mockAgent } from '../../src/adapters/mock-agent.ts';
import type { InspectedActor, InspectedChange, InspectionObserver } from '../../src/engine/inspection.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { controlledExecutor } from '../../src/testing/controlled-executor.ts';
import { keptStore } from '../support/kept-store.ts';
import { testEngine } from '../support/test-engine.ts';

function notes() {
  const actors: InspectedActor[] = [];
  const changes: InspectedChange[] = [];
  const observer: InspectionObserver = {
    actor: (actor) => void actors.push(actor),
    change: (change) => void changes.push(change),
  };
  return { actors, changes, observer };
}

describe('INS2: owners', () => {
  it('of all that live are told at once, and of those that start before their first event', async () => {
    const gate = controlledExecutor();
    const mock = mockAgent();
    await using engine = await testEngine({ executors: { gate }, agents: { default: mock.factory } });
    const { offstage } = engine;
    const { taskId } = await offstage.sessions.create({ sessionId: 's' });
    await offstage.spawn({ kind: 'gate', jobId: 'early', sessionId: 's', subject: 'first' });
    await gate.started('early');
    const { actors, changes, observer } = notes();
    const stop = offstage.inspect(observer);
    expect(actors.map(({ machine, jobId }) => [machine, jobId])).toEqual([
      ['supervisor', null],
      ['roster', null],
      ['roster', null],
      ['roster', null],
      ['task', null],
      ['job', 'early'],
    ]);
    expect(actors.at(-1)).toMatchObject({ sessionId: 's', callerSessionId: null, taskId, subject: 'first' });
    expect(changes).toEqual([]);

    await offstage.spawn({ kind: 'gate', jobId: 'late', sessionId: 's' });
    await gate.started('late');
    await offstage.sessions.prompt('s', { content: 'hi' });
    expect(actors.slice(6).map(({ machine, jobId, sessionId }) => [machine, jobId, sessionId])).toEqual([
      ['job', 'late', 's'],
      ['activity', null, 's'],
    ]);
    const late = actors[6]?.actorRef;
    expect(changes.filter(({ actorRef }) => actorRef === late).map(({ type, event }) => [type, event.type])).toEqual([
      ['@xstate.event', 'job.start'],
      ['@xstate.snapshot', 'job.start'],
    ]);
    stop();
    const count = changes.length;
    await gate.release('late');
    await offstage.wait('late');
    await offstage.spawn({ kind: 'gate', jobId: 'unseen' });
    await gate.started('unseen');
    expect([actors.length, changes.length]).toEqual([8, count]);
    (await mock.nextPrompt()).end();
  });

  it.each(['before', 'after'])(
    'a task is in the state that its row says, also one that woke %s somebody watched',
    async (when) => {
      const gate = controlledExecutor();
      const store = memoryStore();
      const first = await testEngine({ executors: { gate }, store: keptStore(store).open() });
      const { taskId } = await first.offstage.sessions.create({ sessionId: 's' });
      await first.offstage.tasks.setState(taskId, 'in_progress');
      await first[Symbol.asyncDispose]();
      // Of this process nobody has moved it.
      await using engine = await testEngine({ executors: { gate }, store, clock: first.clock });
      const { offstage, clock } = engine;
      const { actors, observer } = notes();
      if (when === 'after') offstage.inspect(observer);
      await offstage.spawn({ kind: 'gate', jobId: 'j', sessionId: 's' });
      await gate.started('j');
      if (when === 'before') offstage.inspect(observer);
      await clock.settle();
      const task = actors.find((actor) => actor.machine === 'task');
      expect(task?.actorRef.getSnapshot()).toMatchObject({
        value: 'in_progress',
        context: { told: { foregroundActivity: 'background' } },
      });
      await offstage.tasks.setState(taskId, 'review');
      expect(task?.actorRef.getSnapshot()).toMatchObject({ value: 'review' });
    },
  );

  it('tells no actor twice, although the observer acts on the engine meanwhile', async () => {
    const gate = controlledExecutor();
    await using engine = await testEngine({ executors: { gate }, workers: null });
    const { offstage } = engine;
    for (const jobId of ['a', 'b']) await offstage.spawn({ kind: 'gate', jobId });
    for (const jobId of ['a', 'b']) await gate.started(jobId);
    const told: (string | null)[] = [];
    const cancels: Promise<unknown>[] = [];
    const stop = offstage.inspect({
      actor: ({ jobId, machine }) => {
        if (machine === 'job') told.push(jobId);
        if (jobId === 'a') cancels.push(offstage.cancel('b'));
      },
      change: () => {},
    });
    await Promise.all(cancels);
    await offstage.wait('b');
    stop();
    expect(told).toEqual(['a', 'b']);
  });
});

describe('INS3: observers that misbehave', () => {
  it.each([
    [
      'throw',
      () => {
        throw new Error('bad day');
      },
    ],
    ['reject', () => Promise.reject(new Error('bad day'))],
  ])('and %s harm nobody, and are reported', async (_, misbehave) => {
    await using engine = await testEngine({ executors: { noop: () => 'done' } });
    const { offstage } = engine;
    offstage.inspect({ actor: misbehave as never, change: misbehave as never });
    const { actors, changes, observer } = notes();
    offstage.inspect(observer);
    const { jobId } = await offstage.spawn({ kind: 'noop' });
    expect(await offstage.wait(jobId)).toMatchObject({ status: 'completed', resultText: 'done' });
    expect(actors.filter((actor) => actor.jobId === jobId)).toHaveLength(1);
    expect(changes.filter(({ event }) => event.type === 'body.returned')).toHaveLength(2);
    expect(engine.log.filter(({ event }) => event === 'inspector.failed').length).toBeGreaterThan(6);
  });

  it('and are none are refused', async () => {
    await using engine = await testEngine();
    for (const observer of [undefined, {}, { actor: () => {} }, () => {}]) {
      expect(() => engine.offstage.inspect(observer as never)).toThrow(expect.objectContaining({ code: 'input.invalid' }));
    }
  });
});
