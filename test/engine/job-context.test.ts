/** What a body is handed (spec 2, 4.8, 4.9, 18): verbs that know their job and die with it; output, partial text, progress. */
import { describe, expect, it } from 'vitest';
import type { OffstageEvent } from '../../src/model/events.ts';
import type { JobContext } from '../../src/model/executor.ts';
import { echo, gate, scripted, stubborn } from '../support/executors.ts';
import { testEngine } from '../support/test-engine.ts';

const VERBS: Readonly<Record<string, (context: JobContext) => unknown>> = {
  spawn: (context) => context.spawn({ kind: 'echo' }),
  run: (context) => context.run({ kind: 'echo' }),
  wait: (context) => context.wait('x'),
  waitMany: (context) => context.waitMany(['x']),
  progress: (context) => context.progress(1),
  output: (context) => context.output('late'),
  partial: (context) => context.partial('late'),
};

const codeOf = async (verb: (context: JobContext) => unknown, context: JobContext): Promise<string> =>
  Promise.resolve()
    .then(() => verb(context))
    .then(
      () => 'worked',
      (error: { code?: string; name: string }) => error.code ?? error.name,
    );

const codesOf = async (context: JobContext): Promise<Readonly<Record<string, string>>> =>
  Object.fromEntries(await Promise.all(Object.entries(VERBS).map(async ([name, verb]) => [name, await codeOf(verb, context)])));

const ALL_CLOSED = Object.fromEntries(Object.keys(VERBS).map((name) => [name, 'job.context_closed']));

describe('the verbs of a context', () => {
  it('say who calls', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held } });
    const { offstage } = engine;
    await offstage.tasks.create({ taskId: 't' });
    for (const sessionId of ['p1', 'p2']) await offstage.sessions.create({ sessionId, taskId: 't' });
    const parent = await offstage.spawn({ kind: 'held', sessionId: 'p2', callerSessionId: 'p1', contextMode: 'clean' });
    const { context, job } = await held.started(parent.jobId);
    expect(context).toMatchObject({
      jobId: parent.jobId,
      sessionId: 'p2',
      callerSessionId: 'p1',
      taskId: 't',
      contextMode: 'clean',
    });
    expect(job).toMatchObject({ jobId: parent.jobId, status: 'running', startedAt: expect.any(Number) });
    const here = await context.spawn({ kind: 'held' });
    expect(here).toMatchObject({ parentJobId: parent.jobId, sessionId: 'p2', callerSessionId: null, wait: false });
    const there = await context.spawn({ kind: 'held', sessionId: 'p1' });
    expect(there).toMatchObject({ parentJobId: parent.jobId, sessionId: 'p1', callerSessionId: 'p2' });
    await offstage.cancel(parent.jobId);
    await offstage.waitMany([here.jobId, there.jobId]);
  });

  it('work taken out of the context, and of the handle of its execution', async () => {
    const seen: Record<string, unknown> = {};
    const body = async (
      _: unknown,
      { jobId, signal, execution, spawn, run, wait, waitMany, progress, output, partial }: JobContext,
    ) => {
      const { executionId, graceMs, killAfterMs, launched, onForce, survivors } = execution;
      progress({ step: 1 });
      output('printed');
      partial('so far');
      const child = await spawn({ kind: 'echo', input: 'a' });
      const ended = await Promise.all([run({ kind: 'echo', input: 'b' }), wait(child.jobId)]);
      const again = await waitMany([child.jobId]);
      onForce(() => {});
      survivors('');
      await expect(launched({ pid: 0, startTime: null, bootId: null })).rejects.toMatchObject({ code: 'input.invalid' });
      Object.assign(seen, { jobId, parents: [...ended, ...again].map((job) => 'parentJobId' in job && job.parentJobId) });
      Object.assign(seen, { isAborted: signal.aborted, handle: [typeof executionId, typeof graceMs, typeof killAfterMs] });
      return undefined;
    };
    await using engine = await testEngine({ executors: { body, echo } });
    const { offstage } = engine;
    const { jobId } = await offstage.spawn({ kind: 'body' });
    expect(await offstage.wait(jobId)).toMatchObject({ status: 'completed', error: null });
    expect(seen).toEqual({ jobId, parents: [jobId, jobId, jobId], isAborted: false, handle: ['string', 'number', 'number'] });
    expect(await offstage.output(jobId)).toBe('printed');
  });

  it('are dead once the body has returned, also taken out before', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held, echo } });
    const { offstage } = engine;
    const { jobId } = await offstage.spawn({ kind: 'held' });
    const { context } = await held.started(jobId);
    expect(await codeOf((known) => known.spawn({ kind: 'echo' }), context)).toBe('worked');
    const { spawn, run, wait, waitMany, progress, output, partial } = context;
    const takenOut = { ...context, spawn, run, wait, waitMany, progress, output, partial } as JobContext;
    await held.release(jobId, 'done');
    const done = await offstage.wait(jobId);
    expect(await codesOf(context)).toEqual(ALL_CLOSED);
    expect(await codesOf(takenOut)).toEqual(ALL_CLOSED);
    expect(await offstage.get(jobId)).toEqual(done);
    expect(await offstage.list({ parentJobId: jobId })).toHaveLength(1);
  });

  it('are dead once the record has ended, although the body lives on', async () => {
    const stuck = stubborn();
    await using engine = await testEngine({ executors: { stuck, echo }, cancelGraceMs: 50 });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'stuck' });
    const { context } = await stuck.started(jobId);
    await offstage.cancel(jobId);
    await clock.advance(50);
    expect(await offstage.get(jobId)).toMatchObject({ status: 'cancelled', bodyLive: true });
    expect(await codesOf(context)).toEqual(ALL_CLOSED);
    await stuck.release(jobId);
  });

  it('check the signal first: under a cancel they refuse, output and partial text are still kept', async () => {
    const stuck = stubborn();
    await using engine = await testEngine({ executors: { stuck, echo } });
    const { offstage } = engine;
    const { jobId } = await offstage.spawn({ kind: 'stuck' });
    const { context } = await stuck.started(jobId);
    await offstage.cancel(jobId);
    expect(await codesOf(context)).toEqual({
      spawn: 'job.parent_cancelled',
      run: 'job.parent_cancelled',
      wait: 'job.cancelled',
      waitMany: 'job.cancelled',
      progress: 'job.cancelled',
      output: 'worked',
      partial: 'worked',
    });
    await expect(context.wait('x')).rejects.toMatchObject({ name: 'AbortError' });
    await stuck.fail(jobId, context.signal.reason);
    expect(await offstage.wait(jobId)).toMatchObject({ status: 'cancelled', resultText: 'late' });
  });

  it('refuse under a time limit as well, always as an AbortError', async () => {
    const stuck = stubborn();
    await using engine = await testEngine({ executors: { stuck, echo } });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'stuck', timeoutMs: 10 });
    const { context } = await stuck.started(jobId);
    await clock.advance(10);
    for (const verb of ['spawn', 'run', 'wait', 'waitMany', 'progress'] as const) {
      const failed = await Promise.resolve()
        .then(() => VERBS[verb]?.(context))
        .catch((error: unknown) => error);
      expect([verb, failed]).toMatchObject([verb, { name: 'AbortError', code: 'job.cancelled' }]);
    }
    await stuck.release(jobId);
    await offstage.wait(jobId);
  });

  it('a signal asked for after the abort has fired already', async () => {
    const late = scripted({
      late: async (context: JobContext) => {
        await engine.offstage.cancel(context.jobId);
        const { signal } = context;
        return `${signal.aborted} ${(signal.reason as Error).message}`;
      },
    });
    await using engine = await testEngine({ executors: { late } });
    const { jobId } = await engine.offstage.spawn({ kind: 'late', subject: 'late' });
    expect((await engine.offstage.wait(jobId)).resultText).toBe('true cancelled');
  });
});

describe('what a body reports', () => {
  it('is partial text while it runs, and the text of a job that did not complete', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held } });
    const { offstage } = engine;
    const jobs = await Promise.all(
      ['cancel', 'fail', 'complete', 'complete with text'].map(() => offstage.spawn({ kind: 'held' })),
    );
    const [cancelled, failed, completed, told] = jobs.map(({ jobId }) => jobId) as [string, string, string, string];
    for (const { jobId } of jobs) {
      const { context } = await held.started(jobId);
      context.partial('first');
      context.partial('so far');
      await engine.clock.settle();
      expect(await offstage.get(jobId)).toMatchObject({ partialText: 'so far', resultText: null });
    }
    await offstage.cancel(cancelled);
    await held.fail(failed, new Error('x'));
    await held.release(completed, undefined);
    await held.release(told, 'the text');
    const ended = await offstage.waitMany([cancelled, failed, completed, told]);
    expect(ended).toMatchObject([
      { status: 'cancelled', resultText: 'so far', partialText: null },
      { status: 'errored', resultText: 'so far', partialText: null },
      { status: 'completed', resultText: null, partialText: null },
      { status: 'completed', resultText: 'the text', partialText: null },
    ]);
  });

  it('as output is kept, its tail can be read, and it stands in for partial text', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held } });
    const { offstage } = engine;
    const { jobId } = await offstage.spawn({ kind: 'held' });
    const { context } = await held.started(jobId);
    expect(await offstage.output(jobId)).toBe('');
    context.output('one\ntwo\nth');
    context.output('ree\n');
    context.output('');
    const reads = async () => [
      await offstage.output(jobId),
      await offstage.output(jobId, { tail: 0 }),
      await offstage.output(jobId, { tail: 1 }),
      await offstage.output(jobId, { tail: 2 }),
      await offstage.output(jobId, { tail: 99 }),
    ];
    const expected = ['one\ntwo\nthree\n', '', 'three\n', 'two\nthree\n', 'one\ntwo\nthree\n'];
    await engine.clock.settle();
    expect(await reads()).toEqual(expected);
    expect((await offstage.get(jobId)).partialText).toBe('one\ntwo\nthree\n');
    await offstage.cancel(jobId);
    expect((await offstage.wait(jobId)).resultText).toBe('one\ntwo\nthree\n');
    expect(await reads()).toEqual(expected);
    for (const tail of [-1, 1.5, Number.NaN]) {
      await expect(offstage.output(jobId, { tail })).rejects.toMatchObject({ code: 'input.invalid' });
    }
    await expect(offstage.output('nobody')).rejects.toMatchObject({ code: 'job.not_found' });
    await offstage.prune({ maxJobs: 0 });
    await expect(offstage.output(jobId)).rejects.toMatchObject({ code: 'job.expired' });
  });

  it('as progress is the latest, coalesced for observers, the last one never lost', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held } });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'held' });
    const { context } = await held.started(jobId);
    await clock.settle();
    const told = (): readonly unknown[] =>
      engine.events.flatMap((event: OffstageEvent) => (event.type === 'job.progress' ? [event.progress] : []));
    for (let percent = 0; percent <= 100; percent++) context.progress({ percent });
    expect((await offstage.get(jobId)).progress).toEqual({ percent: 100 });
    await clock.settle();
    expect(told()).toEqual([{ percent: 0 }]);
    await clock.advance(250);
    expect(told()).toEqual([{ percent: 0 }, { percent: 100 }]);
    await clock.advance(1_000);
    expect(told()).toHaveLength(2);
    for (let ms = 0; ms < 1_000; ms += 10) {
      context.progress(ms);
      await clock.advance(10);
    }
    // At most a few per second.
    expect(told().length).toBeLessThanOrEqual(2 + 6);
    context.progress('the end');
    await held.release(jobId);
    const done = await offstage.wait(jobId);
    await clock.advance(1_000);
    expect(done.progress).toBeNull();
    expect(told()).not.toContain('the end');
    const last = engine.events.findLastIndex((event) => event.type === 'card.updated' && event.jobId === jobId);
    // Nothing of the job; that its session and task rest is told after its end.
    expect(engine.events.slice(last + 1).map(({ type }) => type)).toEqual(['session.activity_changed', 'task.updated']);
  });

  it('is refused when it is no JSON, or too much', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held } });
    const { offstage } = engine;
    const { jobId } = await offstage.spawn({ kind: 'held' });
    const { context } = await held.started(jobId);
    const invalid = expect.objectContaining({ code: 'input.invalid' });
    for (const bad of [1n, () => 1, 'x'.repeat(17 * 1024), Number.NaN]) expect(() => context.progress(bad)).toThrow(invalid);
    expect(() => context.output(7 as unknown as string)).toThrow(invalid);
    expect(() => context.partial({} as unknown as string)).toThrow(invalid);
    expect(await offstage.get(jobId)).toMatchObject({ progress: null, partialText: null });
    await held.release(jobId, 'fine');
    expect((await offstage.wait(jobId)).status).toBe('completed');
  });

  it('moves lastActivityAt with every sign of life', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held } });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'held' });
    const { context } = await held.started(jobId);
    await clock.advance(100);
    context.output('x');
    const heardAt = clock.now();
    await clock.advance(100);
    await offstage.cancel(jobId);
    const { lastActivityAt, startedAt, completedAt } = await offstage.wait(jobId);
    expect(lastActivityAt).toBeGreaterThanOrEqual(heardAt);
    expect(startedAt).toBeLessThan(heardAt);
    expect(completedAt).toBeGreaterThan(heardAt);
  });
});
