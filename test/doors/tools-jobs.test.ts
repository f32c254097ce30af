/** Tools called by the bodies of jobs: their children, their slots, and what is left of them when they are told to end (spec 3, 4.8, 4.9, 10). */
import { describe, expect, it } from 'vitest';
import type { JobContext, JobOf } from '../../src/model/executor.ts';
import { type Body, gate, scripted, stubborn } from '../support/executors.ts';
import { type TestEngine, type TestEngineOptions, testEngine } from '../support/test-engine.ts';
import { type CallTool, inBackground, toolsOf } from '../support/tools.ts';

type Loop = (call: CallTool, context: JobContext, job: JobOf) => unknown;

/** An engine whose jobs of kind agent are loops that call tools on behalf of themselves; which loop, says their subject. */
async function loops(bodies: Readonly<Record<string, Loop>>, options: TestEngineOptions = {}): Promise<TestEngine> {
  let engine: TestEngine | null = null;
  const of =
    (loop: Loop): Body =>
    (context, job) =>
      loop(toolsOf((engine as TestEngine).offstage, { jobId: context.jobId, signal: context.signal }), context, job);
  const agent = scripted(Object.fromEntries(Object.entries(bodies).map(([name, loop]) => [name, of(loop)])));
  engine = await testEngine({ ...options, executors: { agent, ...options.executors } });
  return engine;
}

const start = (engine: TestEngine, subject: string) => engine.offstage.spawn({ kind: 'agent', subject });

const resultOf = async (engine: TestEngine, subject: string): Promise<unknown> => {
  const { jobId } = await start(engine, subject);
  const job = await engine.offstage.wait(jobId);
  return job.resultText ?? job.result ?? job.error?.message;
};

describe('with a single worker', () => {
  it('agent in the foreground, nested twice, does not deadlock; what it starts are children of its job', async () => {
    await using engine = await loops(
      {
        top: async (call) => `top(${await call('agent', { prompt: 'go', description: 'middle' })})`,
        middle: async (call) => `middle(${await call('agent', { prompt: 'go', description: 'leaf' })})`,
        leaf: () => 'leaf',
      },
      { workers: 1 },
    );
    const { offstage } = engine;
    await offstage.sessions.create({ sessionId: 's' });
    const { jobId } = await offstage.spawn({ kind: 'agent', subject: 'top', sessionId: 's' });
    expect((await offstage.wait(jobId)).resultText).toBe('top(middle(leaf))');
    const [leaf, middle, top] = await offstage.list();
    expect(top?.jobId).toBe(jobId);
    expect(middle).toMatchObject({ parentJobId: top?.jobId, wait: true, sessionId: 's', callerSessionId: null });
    expect(leaf).toMatchObject({ parentJobId: middle?.jobId, wait: true, sessionId: 's' });
    expect(offstage.health().pool).toMatchObject({ running: 0, waiting: 0, queued: 0 });
  });

  it('job_output and await_tasks give up the slot of their body', async () => {
    await using engine = await loops(
      {
        output: async (call) => {
          const jobId = await inBackground(call, 'a', { description: 'leaf' });
          return (await call('job_output', { job_id: jobId })) === `leaf\n[task ${jobId} status=completed]`;
        },
        await: async (call) => {
          const ids = [
            await inBackground(call, 'a', { description: 'leaf' }),
            await inBackground(call, 'b', { description: 'leaf' }),
          ];
          return call('await_tasks', { ids });
        },
        leaf: () => 'leaf',
      },
      { workers: 1 },
    );
    expect(await resultOf(engine, 'output')).toBe(true);
    expect(await resultOf(engine, 'await')).toMatchObject([{ status: 'completed', text: 'leaf' }, { status: 'completed' }]);
  });

  it('a wait that could never end is answered, and the body goes on', async () => {
    await using engine = await loops(
      {
        itself: async (call, { jobId }) => [
          await call('job_output', { job_id: jobId }),
          await call('await_tasks', { ids: [jobId] }),
        ],
      },
      { workers: 1 },
    );
    const { jobId } = await start(engine, 'itself');
    const { result } = await engine.offstage.wait(jobId);
    expect(result).toEqual([
      expect.stringMatching(/^\[job_output error\] Waiting for .+ would never end/),
      expect.stringMatching(/^\[await_tasks error\] Waiting for .+ would never end/),
    ]);
  });
});

describe('CLR3: a body', () => {
  it('calls as the session it runs on: it lists and reaches that session’s jobs, and not those of others', async () => {
    const held = gate();
    await using engine = await loops(
      {
        looks: async (call, _, job) => {
          const { prompt } = job.input as { prompt: { mine: string; other: string } };
          return [
            ((await call('list_jobs')) as readonly { subject: string }[]).map(({ subject }) => subject),
            await call('job_output', { job_id: prompt.mine, block: false }),
            await call('job_output', { job_id: prompt.other, block: false }),
          ];
        },
      },
      { executors: { held } },
    );
    const { offstage } = engine;
    for (const sessionId of ['s', 'o']) await offstage.sessions.create({ sessionId });
    const mine = await offstage.spawn({ kind: 'held', subject: 'mine', sessionId: 's' });
    const other = await offstage.spawn({ kind: 'held', subject: 'other', sessionId: 'o' });
    for (const { jobId } of [mine, other]) await held.started(jobId);
    await engine.clock.settle();
    const input = { prompt: { mine: mine.jobId, other: other.jobId } };
    const { jobId } = await offstage.spawn({ kind: 'agent', subject: 'looks', sessionId: 's', input });
    const [listed, ...outputs] = (await offstage.wait(jobId)).result as readonly unknown[];
    expect([...(listed as string[])].sort()).toEqual(['looks', 'mine']);
    expect(outputs).toEqual([
      `[task ${mine.jobId} status=running, not finished]`,
      `[job_output error] unknown job_id='${other.jobId}'`,
    ]);
    for (const { jobId: id } of [mine, other]) await held.release(id);
  });

  it('that was told to end calls nothing any more: every tool rejects, so that it unwinds, and nothing is started', async () => {
    const thrown: unknown[] = [];
    await using engine = await loops({
      late: async (call, { signal }) => {
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        for (const [name, args] of [
          ['agent', { prompt: 'a' }],
          ['agent', { prompt: 'a', run_in_background: true }],
          ['job_output', { job_id: 'x' }],
          ['job_stop', { job_id: 'x' }],
          ['list_jobs', {}],
          ['await_tasks', { ids: [] }],
          ['agent', 'not even an object'],
        ] as const) {
          await call(name, args).catch((error: unknown) => thrown.push(error));
        }
      },
    });
    const { offstage, clock } = engine;
    const { jobId } = await start(engine, 'late');
    await clock.settle();
    await offstage.cancel(jobId, { reason: 'enough' });
    expect((await offstage.wait(jobId)).status).toBe('cancelled');
    expect(thrown).toHaveLength(7);
    for (const error of thrown) expect(error).toMatchObject({ code: 'job.cancelled', name: 'AbortError', message: 'enough' });
    expect(await offstage.list()).toHaveLength(1);
  });

  it.each(['agent', 'job_output', 'await_tasks'])(
    'that is told to end while it waits in %s is woken, with a rejection',
    async (name) => {
      const stuck = stubborn();
      let thrown: unknown = null;
      await using engine = await loops(
        {
          waits: async (call, context) => {
            const { jobId } = await context.spawn({ kind: 'stuck' });
            const args = {
              agent: { prompt: 'a', description: 'stuck' },
              job_output: { job_id: jobId },
              await_tasks: { ids: [jobId] },
            };
            await call(name, args[name as keyof typeof args]).catch((error: unknown) => {
              thrown = error;
              throw error;
            });
          },
          stuck: (_, { signal }) =>
            new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
        },
        { executors: { stuck }, workers: 1 },
      );
      const { offstage, clock } = engine;
      const { jobId } = await start(engine, 'waits');
      await clock.settle();
      await offstage.cancel(jobId);
      expect((await offstage.wait(jobId)).status).toBe('cancelled');
      expect(thrown).toMatchObject({ code: 'job.cancelled', name: 'AbortError' });
      for (const id of stuck.calls) await stuck.release(id);
      await clock.settle();
      expect(await offstage.list({ status: ['queued', 'running'] })).toEqual([]);
    },
  );

  it('that is told to end by its time limit is not told otherwise: an AbortError by name', async () => {
    const held = gate();
    let thrown: unknown = null;
    await using engine = await loops(
      {
        waits: (call) =>
          call('agent', { prompt: 'a', description: 'held' }).catch((error: unknown) => {
            thrown = error;
            throw error;
          }),
        held: (_, { signal }) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      },
      { executors: { held } },
    );
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'agent', subject: 'waits', timeoutMs: 50 });
    await clock.settle();
    await clock.advance(50);
    expect((await offstage.wait(jobId)).reasonCode).toBe('timed_out');
    expect(thrown).toMatchObject({ name: 'AbortError' });
    // Its foreground child ended with it.
    expect(await offstage.list({ status: ['queued', 'running'] })).toEqual([]);
  });

  it('that is not running, or has returned, has no tools any more', async () => {
    await using engine = await loops({ returns: () => 'done' });
    const { offstage } = engine;
    const { jobId } = await start(engine, 'returns');
    await offstage.wait(jobId);
    for (const body of [jobId, 'nobody']) {
      await expect(toolsOf(offstage, { jobId: body })('list_jobs')).rejects.toMatchObject({ code: 'job.not_found' });
    }
  });

  it('ends: its jobs in the foreground end with it, those in the background go on', async () => {
    const held = gate();
    const bodies: Record<string, Loop> = {
      leaves: async (call) => {
        // Nobody waits for the answer.
        void call('agent', { prompt: 'a', description: 'foreground' }).catch(() => {});
        await inBackground(call, 'b', { description: 'background' });
        return 'gone';
      },
      foreground: (_, context, job) => held.run(job, context),
      background: (_, context, job) => held.run(job, context),
    };
    await using engine = await loops(bodies);
    const { offstage, clock } = engine;
    expect(await resultOf(engine, 'leaves')).toBe('gone');
    await clock.settle();
    const [background, foreground] = (await offstage.list()).toSorted((a, b) => a.subject.localeCompare(b.subject));
    expect(foreground).toMatchObject({ subject: 'foreground', status: 'cancelled', reasonCode: 'cancel.caller_gone' });
    expect(background).toMatchObject({ subject: 'background', status: 'running', parentJobId: foreground?.parentJobId });
    expect(background?.parentJobId).toMatch(/^job_/);
    await held.release(background?.jobId as string);
  });
});
