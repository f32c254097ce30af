import { describe, expect, it, vi } from 'vitest';
import { createActor } from 'xstate';
import { crashedContext, decide, queuedContext, startJobActor } from '../../src/actors/job-actor.ts';
import { fenceInspect, startActorSystem } from '../../src/actors/supervisor-actor.ts';
import { jobMachine, NEW_JOB } from '../../src/machines/job.ts';
import { controlledExecutor } from '../../src/testing/controlled-executor.ts';
import { testEngine } from '../support/test-engine.ts';

describe('job actors', () => {
  it('ACT1: the template of a queued job is what the chart itself decides', () => {
    const actor = createActor(jobMachine).start();
    actor.send({ type: 'job.queue', at: 7 });
    expect(actor.getSnapshot().value).toBe('queued');
    expect(actor.getSnapshot().context).toEqual(queuedContext(7));
    expect(createActor(jobMachine).start().getSnapshot().context).toEqual(NEW_JOB);
  });

  it.each([
    ['pending', []],
    ['queued', [{ type: 'job.queue', at: 1 }]],
    [
      'active',
      [
        { type: 'job.queue', at: 1 },
        { type: 'job.start', at: 2 },
      ],
    ],
    [
      'ending',
      [
        { type: 'job.queue', at: 1 },
        { type: 'job.start', at: 2 },
        { type: 'job.cancel', at: 3, code: 'cancel.user', reason: 'why' },
      ],
    ],
  ] as const)('ACT1: what a dead process left %s is errored as the chart itself decides', (_, path) => {
    for (const detail of [null, 'pid 7 may still be at work']) {
      const actor = createActor(jobMachine).start();
      for (const event of path) actor.send(event);
      const before = actor.getSnapshot().context;
      actor.send({ type: 'job.abandon', at: 9, detail });
      expect(actor.getSnapshot().value).toBe('errored');
      expect(crashedContext(before, 9, detail)).toEqual(actor.getSnapshot().context);
    }
  });

  it('ACT4: the roster keeps nothing per job, and a job costs the same after ten thousand others', () => {
    const system = startActorSystem({ workers: 4, perSessionLimit: null, onInspectError: () => {} });
    for (let index = 0; index < 10_000; index++) {
      const actor = startJobActor(system.jobs, 'queued', queuedContext(index));
      decide(actor, { type: 'job.cancel', at: index, code: 'cancel.user', reason: null });
    }
    expect(Object.keys((system.supervisor.getSnapshot() as { children?: object }).children ?? {})).toEqual([]);
    expect(JSON.stringify(system.jobs.getSnapshot())).not.toContain('job');
    system.stop();
  });

  it('two jobs from one template share no state', () => {
    const system = startActorSystem({ workers: 4, perSessionLimit: null, onInspectError: () => {} });
    const [a, b] = [
      startJobActor(system.jobs, 'queued', queuedContext(1)),
      startJobActor(system.jobs, 'queued', queuedContext(2)),
    ];
    decide(a, { type: 'job.start', at: 3 });
    expect(b.getSnapshot().value).toBe('queued');
    expect(b.getSnapshot().context.queuedAt).toBe(2);
    system.stop();
  });
});

describe('ACT5: what is told after the close', () => {
  it.each([
    ['closed', 'done'],
    ['stopped', 'stopped'],
  ])('is nothing, and nobody complains: the supervisor has %s', (how, status) => {
    const warn = vi.spyOn(console, 'warn').mockReturnValue(undefined);
    const system = startActorSystem({ workers: 4, perSessionLimit: null, onInspectError: () => {} });
    system.tell({ type: 'body.detached' });
    if (how === 'closed') for (const type of ['engine.drain', 'engine.closed'] as const) system.tell({ type });
    else system.stop();
    const before = system.supervisor.getSnapshot();
    for (const type of ['body.reclaimed', 'store.recovered', 'engine.closed'] as const) system.tell({ type });
    system.tell({ type: 'store.failed', message: 'late' });
    expect([system.supervisor.getSnapshot(), before.status, warn.mock.calls]).toEqual([before, status, []]);
    warn.mockRestore();
  });
});

describe('inspection', () => {
  it('ACT3: an inspector that throws, rejects or comes back into the engine harms nothing', async () => {
    const gate = controlledExecutor();
    const seen = new Set<string>();
    let reenter: () => void = () => {};
    await using engine = await testEngine({
      executors: { gate },
      inspect: (event) => {
        seen.add(event.type);
        reenter();
        if (seen.size % 2 === 0) return Promise.reject(new Error('rejected')) as never;
        throw new Error('thrown');
      },
    });
    const { offstage } = engine;
    const first = await offstage.spawn({ kind: 'gate' });
    reenter = () => {
      reenter = () => {};
      void offstage.spawn({ kind: 'gate', jobId: 'from the inspector' });
    };
    await gate.release(first.jobId, 'done');
    expect(await offstage.wait(first.jobId)).toMatchObject({ status: 'completed', resultText: 'done' });
    await gate.release('from the inspector', 'too');
    expect(await offstage.wait('from the inspector')).toMatchObject({ status: 'completed' });
    expect([...seen]).toEqual(expect.arrayContaining(['@xstate.actor', '@xstate.event', '@xstate.snapshot']));
    expect(engine.log.some(({ event }) => event === 'inspector.failed')).toBe(true);
  });

  it('fenceInspect passes the event on and reports what it throws', () => {
    const errors: unknown[] = [];
    const events: unknown[] = [];
    fenceInspect(
      (event) => {
        events.push(event);
        throw new Error('no');
      },
      (error) => errors.push(error),
    )({ type: '@xstate.snapshot' });
    expect(events).toEqual([{ type: '@xstate.snapshot' }]);
    expect(errors).toHaveLength(1);
  });
});
