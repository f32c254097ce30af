/** Acceptance scenarios of jobs, "State machine": J1 to J16 at the engine's verbs. */
import { describe, expect, it } from 'vitest';
import { decide, startJobActor, statusOf } from '../../src/actors/job-actor.ts';
import { startActorSystem } from '../../src/actors/supervisor-actor.ts';
import { NEW_JOB } from '../../src/machines/job.ts';
import type { JobContext } from '../../src/model/executor.ts';
import { outcome } from '../../src/model/executor.ts';
import { controlledExecutor } from '../../src/testing/controlled-executor.ts';
import { echo, gate, stubborn } from '../support/executors.ts';
import { pastOf } from '../support/past.ts';
import { testEngine } from '../support/test-engine.ts';

describe('the life of one job', () => {
  it('J1: a new job is announced pending and answers queued, with no field of an outcome set', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held } });
    const job = await engine.offstage.spawn({ kind: 'held' });
    expect(JSON.parse(JSON.stringify(job))).toEqual({
      jobId: expect.stringMatching(/^job_[0-9A-Z]{20,}$/),
      kind: 'held',
      subject: 'job',
      description: '',
      agentId: null,
      input: null,
      status: 'queued',
      createdAt: engine.clock.now(),
      queuedAt: engine.clock.now(),
      startedAt: null,
      completedAt: null,
      lastActivityAt: null,
      sessionId: 'default',
      callerSessionId: null,
      taskId: 'default',
      parentJobId: null,
      parentMessageId: null,
      contextMode: 'inherit',
      wait: false,
      headId: null,
      sourceCommitId: null,
      resultText: null,
      result: null,
      error: null,
      reasonCode: null,
      cancelRequestedAt: null,
      cancelReason: null,
      detached: false,
      attempt: 0,
      timeoutMs: null,
      idleTimeoutMs: null,
      cardId: `card_${job.jobId}`,
      revision: 1,
      bodyLive: false,
      progress: null,
      partialText: null,
    });
    expect(engine.statuses(job.jobId).slice(0, 2)).toEqual(['pending', 'queued']);
    expect(engine.events.find(({ type }) => type === 'job.created')).toMatchObject({ jobId: job.jobId, status: 'pending' });
  });

  it('J3: startedAt is set when the body starts, and never again', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held } });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'held' });
    await held.started(jobId);
    await clock.settle();
    const { startedAt } = await offstage.get(jobId);
    expect(startedAt).toBe(clock.now());
    await clock.advance(5_000);
    await offstage.cancel(jobId);
    expect((await offstage.wait(jobId)).startedAt).toBe(startedAt);
  });

  it('J4: a completed job has its text, its head, the time of its end and no cancel', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held } });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'held' });
    await held.started(jobId);
    await clock.advance(70);
    await held.release(jobId, outcome({ text: 'hello', headId: 'h1' }));
    expect(await offstage.wait(jobId)).toMatchObject({
      status: 'completed',
      resultText: 'hello',
      headId: 'h1',
      completedAt: clock.now(),
      cancelRequestedAt: null,
      error: null,
    });
  });

  it('J6: a job can be cancelled before it was handed to the pool, and never started', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held } });
    const { offstage } = engine;
    const spawned = offstage.spawn({ kind: 'held', jobId: 'a' });
    const cancelled = await offstage.cancel('a');
    expect(cancelled).toMatchObject({ status: 'cancelled', startedAt: null });
    expect(await spawned).toEqual(cancelled);
    await engine.clock.settle();
    expect(held.calls).toEqual([]);
  });

  it('J7: a pending job cannot complete: the chart refuses the event and keeps its state', () => {
    const system = startActorSystem({ workers: 1, perSessionLimit: null, onInspectError: () => {} });
    const actor = startJobActor(system.jobs, 'pending', NEW_JOB);
    const result = { text: 'hello', value: null, headId: null, sourceCommitId: null };
    expect(decide(actor, { type: 'body.returned', at: 1, result })).toBeNull();
    expect(statusOf(actor)).toBe('pending');
    expect(actor.getSnapshot().context).toEqual(NEW_JOB);
    system.stop();
  });

  it('J9: a cancelled job does not start when the slot comes free', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held }, workers: 1 });
    const { offstage, clock } = engine;
    const first = await offstage.spawn({ kind: 'held' });
    const second = await offstage.spawn({ kind: 'held' });
    const cancelled = await offstage.cancel(second.jobId);
    expect(cancelled.status).toBe('cancelled');
    await held.release(first.jobId);
    await offstage.wait(first.jobId);
    await clock.settle();
    expect(await offstage.get(second.jobId)).toEqual(cancelled);
    expect(held.calls).toEqual([first.jobId]);
    expect(engine.statuses(second.jobId)).toEqual(['pending', 'queued', 'cancelled']);
  });

  it('J10: an errored job does not complete, whatever its body returns later', async () => {
    const stuck = stubborn();
    await using engine = await testEngine({ executors: { stuck }, cancelGraceMs: 100 });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'stuck', timeoutMs: 50 });
    await clock.advance(150);
    const errored = await offstage.get(jobId);
    expect(errored).toMatchObject({ status: 'errored', reasonCode: 'timed_out', detached: true });
    await stuck.release(jobId, 'late');
    await clock.settle();
    expect(await offstage.get(jobId)).toEqual({ ...errored, bodyLive: false });
    expect(engine.statuses(jobId)).toEqual(['pending', 'queued', 'running', 'errored']);
  });

  it('J12: a cancel of a running job is one announcement and no transition', async () => {
    const stuck = stubborn();
    await using engine = await testEngine({ executors: { stuck } });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'stuck' });
    await stuck.started(jobId);
    await clock.advance(10);
    const before = await pastOf(offstage, jobId);
    const answer = await offstage.cancel(jobId, { reason: 'enough' });
    expect(answer).toMatchObject({ status: 'running', cancelRequestedAt: clock.now(), cancelReason: 'enough' });
    await clock.settle();
    const announced = engine.events.filter((event) => event.type === 'job.status' && event.jobId === jobId);
    expect(announced.at(-1)).toMatchObject({ status: 'running', cancelRequestedAt: clock.now(), completedAt: null });
    expect(engine.statuses(jobId)).toEqual(['pending', 'queued', 'running', 'running']);
    const added = (await pastOf(offstage, jobId)).slice(before.length);
    expect(added).toEqual([{ at: clock.now(), type: 'cancel_requested', detail: 'enough' }]);
    await stuck.release(jobId);
  });

  it('J13: what a body does after its end changes no field', async () => {
    let kept: JobContext | null = null;
    const talkative = async (_: unknown, context: JobContext) => {
      kept = context;
      return 'a';
    };
    await using engine = await testEngine({ executors: { talkative } });
    const { offstage } = engine;
    const { jobId } = await offstage.spawn({ kind: 'talkative' });
    const done = await offstage.wait(jobId);
    expect(done.resultText).toBe('a');
    expect(() => (kept as unknown as JobContext).partial('b')).toThrow(expect.objectContaining({ code: 'job.context_closed' }));
    await engine.clock.settle();
    expect(await offstage.get(jobId)).toEqual(done);
  });

  it('J16: the subject is the first 60 characters of the description, and job without one', async () => {
    await using engine = await testEngine({ executors: { echo } });
    const { offstage } = engine;
    const prompt = 'abcdefghij'.repeat(20);
    expect((await offstage.spawn({ kind: 'echo', description: prompt })).subject).toBe(prompt.slice(0, 60));
    expect((await offstage.spawn({ kind: 'echo', description: prompt })).description).toBe(prompt);
    expect((await offstage.spawn({ kind: 'echo' })).subject).toBe('job');
    expect((await offstage.spawn({ kind: 'echo', description: '' })).subject).toBe('job');
    expect((await offstage.spawn({ kind: 'echo', description: prompt, subject: 'mine' })).subject).toBe('mine');
    const emoji = '😀'.repeat(70);
    expect((await offstage.spawn({ kind: 'echo', description: emoji })).subject).toBe('😀'.repeat(60));
  });
});

describe('who runs it', () => {
  it('J1: a job runs in the session it names, and remembers who asked', async () => {
    const held = controlledExecutor();
    await using engine = await testEngine({ executors: { held } });
    const { offstage } = engine;
    await offstage.tasks.create({ taskId: 't' });
    for (const sessionId of ['p1', 'p2']) await offstage.sessions.create({ sessionId, taskId: 't' });
    const job = await offstage.spawn({ kind: 'held', sessionId: 'p2', callerSessionId: 'p1', contextMode: 'clean', wait: true });
    expect(job).toMatchObject({ sessionId: 'p2', callerSessionId: 'p1', taskId: 't', contextMode: 'clean', wait: true });
    const own = await offstage.spawn({ kind: 'held', sessionId: 'p2', callerSessionId: 'p2' });
    expect(own.callerSessionId).toBeNull();
    await offstage.cancelMany({ ids: [job.jobId, own.jobId] });
  });
});
