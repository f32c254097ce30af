import { describe, expect, it } from 'vitest';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { KEYS } from '../../src/persistence/row-keys.ts';
import { controlledExecutor } from '../../src/testing/controlled-executor.ts';
import { testEngine } from '../support/test-engine.ts';

describe('rows of sessions and tasks', () => {
  it('SES1: a session without a task gets one of its own; with one it belongs to it', async () => {
    await using engine = await testEngine();
    const { sessions, tasks } = engine.offstage;
    const task = await tasks.create({ taskId: 'T', title: 'fix the build' });
    const inTask = await sessions.create({ sessionId: 's1', taskId: 'T' });
    const alone = await sessions.create({ sessionId: 's2' });
    expect(inTask).toMatchObject({ taskId: 'T', state: 'created', interrupted: false, pending: null });
    expect(alone.taskId).not.toBe('T');
    expect(await tasks.get(alone.taskId)).toMatchObject({ state: 'open' });
    expect(await tasks.get('T')).toEqual({ ...task, sessions: ['s1'], taskSeq: expect.any(Number) });
    expect(task.sessions).toEqual([]);
    expect((await sessions.list()).map(({ sessionId }) => sessionId).sort()).toEqual(['s1', 's2']);
  });

  it('refuses unknown tasks, sessions and ids that exist, and stores nothing', async () => {
    await using engine = await testEngine();
    const { sessions, tasks } = engine.offstage;
    await expect(sessions.create({ taskId: 'nowhere' })).rejects.toMatchObject({ code: 'task.not_found' });
    await expect(sessions.get('nowhere')).rejects.toMatchObject({ code: 'session.not_found' });
    await sessions.create({ sessionId: 's' });
    await expect(sessions.create({ sessionId: 's' })).rejects.toMatchObject({ code: 'input.invalid' });
    const [first, second] = await Promise.allSettled([tasks.create({ taskId: 't' }), tasks.create({ taskId: 't' })]);
    expect([first?.status, second?.status]).toEqual(['fulfilled', 'rejected']);
    expect(await sessions.list()).toHaveLength(1);
  });

  it('SES2: the id of a removed session or task is never used again', async () => {
    const store = memoryStore();
    await store.batch(
      [
        { type: 'put', key: KEYS.session('gone'), value: '{"removed":1}' },
        { type: 'put', key: KEYS.task('gone'), value: '{"removed":1}' },
      ],
      { sync: true },
    );
    await using engine = await testEngine({ store, executors: { gate: controlledExecutor() } });
    const { sessions, tasks } = engine.offstage;
    await expect(sessions.create({ sessionId: 'gone' })).rejects.toMatchObject({ code: 'session.expired' });
    await expect(tasks.create({ taskId: 'gone' })).rejects.toMatchObject({ code: 'task.expired' });
    await expect(tasks.get('gone')).rejects.toMatchObject({ code: 'task.not_found' });
    await expect(engine.offstage.spawn({ kind: 'gate', sessionId: 'gone' })).rejects.toMatchObject({ code: 'session.not_found' });
    expect(await sessions.list()).toEqual([]);
  });

  it('SES3: the default session and task are made once, on first use, and their events are told', async () => {
    const gate = controlledExecutor();
    await using engine = await testEngine({ executors: { gate } });
    expect(await engine.offstage.sessions.list()).toEqual([]);
    const jobs = await Promise.all([engine.offstage.spawn({ kind: 'gate' }), engine.offstage.spawn({ kind: 'gate' })]);
    expect(jobs.map(({ sessionId, taskId }) => [sessionId, taskId])).toEqual([
      ['default', 'default'],
      ['default', 'default'],
    ]);
    expect(
      engine.events.filter(({ type }) => type === 'task.created' || type === 'session.state_changed').map(({ type }) => type),
    ).toEqual(['task.created', 'session.state_changed']);
    for (const { jobId } of jobs) await gate.release(jobId);
  });

  it('a job and its caller must belong to one task', async () => {
    await using engine = await testEngine({ executors: { gate: controlledExecutor() } });
    const { sessions } = engine.offstage;
    await sessions.create({ sessionId: 'a' });
    await sessions.create({ sessionId: 'b' });
    await expect(engine.offstage.spawn({ kind: 'gate', sessionId: 'a', callerSessionId: 'b' })).rejects.toMatchObject({
      code: 'job.cross_task',
    });
  });
});

describe('a store that does not answer', () => {
  it('holds up no cancel, no abort and no waiter; what it did in the end decides', async () => {
    const inner = memoryStore();
    let release: (() => void) | null = null;
    let isHanging = false;
    const store: typeof inner = {
      get: (key) => inner.get(key),
      getMany: (keys) => inner.getMany(keys),
      range: (options) => inner.range(options),
      close: () => inner.close(),
      async batch(operations, options) {
        if (isHanging) await new Promise<void>((resolve) => (release = resolve));
        return inner.batch(operations, options);
      },
    };
    const gate = controlledExecutor();
    await using engine = await testEngine({ store, executors: { gate } });
    const { offstage, clock } = engine;
    const job = await offstage.spawn({ kind: 'gate' });
    const run = await gate.started(job.jobId);
    await clock.settle();
    isHanging = true;
    const cancelled = offstage.cancel(job.jobId);
    await clock.advance(9_999);
    expect(run.context.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(await cancelled).toMatchObject({ durable: false });
    expect(run.context.signal.aborted).toBe(true);
    expect(await offstage.wait(job.jobId)).toMatchObject({ status: 'cancelled', durable: false });
    expect(offstage.health().status).toBe('degraded');
    await expect(offstage.spawn({ kind: 'gate' })).rejects.toMatchObject({ code: 'engine.degraded' });
    expect((await offstage.get(job.jobId)).status).toBe('running');
    isHanging = false;
    (release as unknown as () => void)();
    await clock.settle();
    expect(offstage.health().status).toBe('ok');
    expect((await offstage.get(job.jobId)).status).toBe('cancelled');
    expect(engine.statuses(job.jobId)).toEqual(['pending', 'queued', 'running', 'running', 'cancelled']);
  });
});
