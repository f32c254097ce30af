/** What each tool answers (spec 10), with the acceptance rows J78 to J88 of "Await and tools". */
import { describe, expect, it } from 'vitest';
import { agentTools, plannerTools } from '../../src/doors/tools/index.ts';
import { outcome } from '../../src/model/executor.ts';
import { gate, scripted, stubborn, throwing } from '../support/executors.ts';
import { testEngine } from '../support/test-engine.ts';
import { inBackground, toolsOf, watched } from '../support/tools.ts';

/** An agent that answers by its prompt. */
const agent = async (job: { readonly input: unknown }): Promise<unknown> => {
  const { prompt } = job.input as { readonly prompt: string };
  if (prompt === 'fail') throw new Error('could not');
  if (prompt === 'silent') return undefined;
  if (prompt === 'value') return { found: 3 };
  return `did ${prompt}`;
};

describe('the tools', () => {
  it('are those of an agent, and one more for planners', async () => {
    await using engine = await testEngine();
    const names = (tools: readonly { readonly name: string }[]) => tools.map(({ name }) => name);
    expect(names(agentTools(engine.offstage))).toEqual(['agent', 'job_output', 'job_stop', 'list_jobs']);
    expect(names(plannerTools(engine.offstage))).toEqual(['agent', 'job_output', 'job_stop', 'list_jobs', 'await_tasks']);
  });

  it('TOL2: are plain objects that survive JSON but for their function; their schemas close their arguments', async () => {
    await using engine = await testEngine();
    for (const tool of plannerTools(engine.offstage)) {
      expect(Object.getPrototypeOf(tool)).toBe(Object.prototype);
      const { execute, ...rest } = tool;
      expect(execute).toBeTypeOf('function');
      expect(JSON.parse(JSON.stringify(rest))).toEqual(rest);
      expect(tool.parameters).toMatchObject({ type: 'object', additionalProperties: false });
      const names = Object.keys(tool.parameters.properties);
      expect(names).toEqual(expect.arrayContaining([...tool.parameters.required]));
      for (const property of Object.values(tool.parameters.properties)) expect(property.description).toBeTypeOf('string');
    }
  });

  it('say what a model has to know: both modes, that a job_id is no result, the limits', async () => {
    await using engine = await testEngine();
    const [handOff, output, stop, list, wait] = plannerTools(engine.offstage).map(({ description }) => description);
    expect(handOff).toMatch(/Foreground \(default\)/);
    expect(handOff).toMatch(/Background \(run_in_background: true\)/);
    expect(handOff).toMatch(/A job_id is not a result/);
    expect(output).toContain('[task ID status=running, not finished]');
    expect(stop).toContain('{ok, status}');
    expect(list).toContain('at most 50');
    expect(wait).toContain('one entry per id');
    const limits = plannerTools(engine.offstage).flatMap(({ parameters }) => parameters.properties.timeout?.description ?? []);
    expect(limits).toEqual(Array(2).fill('Milliseconds to wait at most. Default 30000, at most 600000.'));
  });
});

describe('agent', () => {
  it('in the foreground answers the final text', async () => {
    await using engine = await testEngine({ executors: { agent } });
    const { offstage } = engine;
    await offstage.sessions.create({ sessionId: 's' });
    const call = toolsOf(offstage, { sessionId: 's' });
    expect(await call('agent', { prompt: 'probe X', description: 'probe' })).toBe('did probe X');
    const [job] = await offstage.list();
    expect(job).toMatchObject({
      kind: 'agent',
      subject: 'probe',
      description: 'probe X',
      input: { prompt: 'probe X', context: 'inherit' },
      contextMode: 'inherit',
      agentId: null,
      sessionId: 's',
      callerSessionId: null,
      parentJobId: null,
      parentMessageId: null,
      wait: true,
    });
  });

  it('passes on what it was given, and leaves out what is empty', async () => {
    await using engine = await testEngine({ executors: { agent } });
    const { offstage } = engine;
    const call = toolsOf(offstage);
    await call('agent', { prompt: 'a', description: 'b', agent_id: 'reviewer', context: 'clean' }, { parentMessageId: 'm1' });
    await call('agent', { prompt: 'the whole prompt', description: '', agent_id: null, context: null, run_in_background: null });
    const [second, first] = await offstage.list();
    expect(first).toMatchObject({
      agentId: 'reviewer',
      contextMode: 'clean',
      input: { prompt: 'a', context: 'clean' },
      parentMessageId: 'm1',
    });
    expect(second).toMatchObject({
      subject: 'the whole prompt',
      agentId: null,
      contextMode: 'inherit',
      wait: true,
      sessionId: 'default',
    });
  });

  it('answers what has no text as JSON, and nothing as nothing', async () => {
    await using engine = await testEngine({ executors: { agent } });
    const call = toolsOf(engine.offstage);
    expect(await call('agent', { prompt: 'value' })).toBe('{"found":3}');
    expect(await call('agent', { prompt: 'silent' })).toBe('');
  });

  it('whose agent fails answers [task error] and the message', async () => {
    await using engine = await testEngine({ executors: { agent } });
    expect(await toolsOf(engine.offstage)('agent', { prompt: 'fail' })).toBe('[task error] Error: could not');
  });

  it('that is cancelled answers the partial text and [cancelled], or [cancelled] alone', async () => {
    const bodies = scripted({
      talks: async (context) => {
        context.partial('half of it');
        const { signal } = context;
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      },
      returns: ({ signal }) =>
        new Promise((resolve) => signal.addEventListener('abort', () => resolve(outcome({ text: 'a last word' })))),
      silent: ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      empty: ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve(outcome({ text: '' })))),
    });
    await using engine = await testEngine({ executors: { agent: bodies } });
    const { offstage, clock } = engine;
    const answers: unknown[] = [];
    for (const description of ['talks', 'returns', 'silent', 'empty']) {
      const answer = toolsOf(offstage)('agent', { prompt: 'go', description });
      await clock.settle();
      const [job] = await offstage.list();
      await offstage.cancel(job?.jobId as string);
      answers.push(await answer);
    }
    expect(answers).toEqual(['half of it\n[cancelled]', 'a last word\n[cancelled]', '[cancelled]', '[cancelled]']);
  });

  it('in the background answers the job_id at once, whatever the agent does', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { agent: held }, workers: 1 });
    const { offstage } = engine;
    const call = toolsOf(offstage);
    const first = await inBackground(call, 'one');
    const second = await call('agent', { prompt: 'two', description: 'two', run_in_background: true });
    const [job] = await offstage.list();
    expect(second).toEqual({ job_id: job?.jobId });
    expect(job).toMatchObject({ wait: false, status: 'queued' });
    for (const jobId of [first, job?.jobId as string]) await held.release(jobId);
  });

  it('says what was refused, in either mode: no such kind, agent, session; too large', async () => {
    await using engine = await testEngine({ executors: { agent: { needsAgent: true, run: agent } } });
    await using bare = await testEngine();
    for (const run_in_background of [false, true]) {
      const args = { prompt: 'a', description: 'a', run_in_background };
      expect(await toolsOf(bare.offstage)('agent', args)).toBe('[task error] No executor is registered for the kind "agent".');
      const call = toolsOf(engine.offstage);
      expect(await call('agent', args)).toBe('[task error] No agent is registered under the name "default".');
      expect(await call('agent', { ...args, agent_id: 'x' })).toBe('[task error] No agent is registered under the name "x".');
      expect(await toolsOf(bare.offstage, { sessionId: 'gone' })('agent', args)).toContain('[task error] ');
    }
    await using open = await testEngine({ executors: { agent } });
    const large = await toolsOf(open.offstage)('agent', { prompt: 'x'.repeat(1024 * 1024 + 1) });
    expect(large).toMatch(/^\[task error\] The input has \d+ bytes; at most 1048576 are accepted\.$/);
    expect(await toolsOf(open.offstage, { sessionId: 'gone' })('agent', { prompt: 'a' })).toBe(
      '[task error] No session has the id "gone".',
    );
    expect(await open.offstage.list()).toEqual([]);
  });
});

describe('job_output', () => {
  it('J81: of a job that ends meanwhile is the text, and then the line', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { agent: held } });
    const call = toolsOf(engine.offstage);
    const jobId = await inBackground(call, 'a');
    const answer = watched(call('job_output', { job_id: jobId }));
    await engine.clock.settle();
    expect(answer.isSettled).toBe(false);
    await held.release(jobId, 'found it\nreally');
    expect(await answer.promise).toBe(`found it\nreally\n[task ${jobId} status=completed]`);
  });

  it('without a text is the line alone; a value is JSON', async () => {
    await using engine = await testEngine({ executors: { agent } });
    const call = toolsOf(engine.offstage);
    const silent = await inBackground(call, 'silent');
    const value = await inBackground(call, 'value');
    expect(await call('job_output', { job_id: silent })).toBe(`[task ${silent} status=completed]`);
    expect(await call('job_output', { job_id: value })).toBe(`{"found":3}\n[task ${value} status=completed]`);
  });

  it('J82: of a cancelled one is its reason, of a failed one its error', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { agent: held }, workers: 2 });
    const { offstage } = engine;
    const call = toolsOf(offstage);
    const [a, b, c] = [await inBackground(call, 'a'), await inBackground(call, 'b'), await inBackground(call, 'c')];
    await held.started(b);
    await engine.clock.settle();
    await offstage.cancel(a, { reason: 'x' });
    await offstage.cancel(c);
    await held.fail(b, new TypeError('no such file'));
    expect(await call('job_output', { job_id: a })).toBe(`[task ${a} cancelled] x`);
    expect(await call('job_output', { job_id: b })).toBe(`[task ${b} error] TypeError: no such file`);
    expect(await call('job_output', { job_id: c })).toBe(`[task ${c} cancelled] cancelled before pickup`);
  });

  it('J82: of a record that failed without a message is "unknown error"', async () => {
    const record = (error: object | null) => ({ jobId: 'j', status: 'errored', error, sessionId: 's', callerSessionId: null });
    for (const error of [null, { code: 'x', message: '' }]) {
      const offstage = {
        get: async () => record(error),
        waitMany: async () => [record(error)],
        run: async () => record(error),
        notices: { received: () => {} },
      };
      const call = toolsOf(offstage as never);
      expect(await call('job_output', { job_id: 'j' })).toBe('[task j error] unknown error');
      expect(await call('await_tasks', { ids: ['j'] })).toEqual([{ job_id: 'j', status: 'errored', error: 'unknown error' }]);
      expect(await call('agent', { prompt: 'a' })).toBe('[task error] unknown error');
    }
  });

  it('J84: of an unknown id says so; without an id it is asked for', async () => {
    await using engine = await testEngine();
    const call = toolsOf(engine.offstage);
    expect(await call('job_output', { job_id: 'nope' })).toBe("[job_output error] unknown job_id='nope'");
    expect(await call('job_output', { job_id: '' })).toBe('[job_output error] job_id required');
    expect(await call('job_output', {})).toBe('[job_output error] job_id required');
    // No id at all, to the engine; to a model it is as unknown as any other.
    const long = 'x'.repeat(600);
    expect(await call('job_output', { job_id: long })).toBe(`[job_output error] unknown job_id='${long}'`);
    expect(await call('job_output', { job_id: 'a\0b' })).toBe("[job_output error] unknown job_id='a\0b'");
  });

  it('of one that was pruned says that it is gone', async () => {
    await using engine = await testEngine({ executors: { agent } });
    const call = toolsOf(engine.offstage);
    const jobId = await inBackground(call, 'a');
    await engine.offstage.wait(jobId);
    await engine.offstage.prune({ maxJobs: 0 });
    expect(await call('job_output', { job_id: jobId })).toBe(
      `[job_output error] job_id='${jobId}' ended long ago, and its result is gone`,
    );
    expect(await call('await_tasks', { ids: [jobId] })).toEqual([{ job_id: jobId, status: 'expired' }]);
    expect(await call('job_stop', { job_id: jobId })).toEqual({ ok: false, status: 'expired' });
  });

  it('with block: false tells at once how the job stands', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { agent: held }, workers: 1 });
    const call = toolsOf(engine.offstage);
    const first = await inBackground(call, 'a');
    const second = await inBackground(call, 'b');
    await held.started(first);
    await engine.clock.settle();
    const before = engine.clock.monotonic();
    expect(await call('job_output', { job_id: first, block: false })).toBe(`[task ${first} status=running, not finished]`);
    expect(await call('job_output', { job_id: second, block: false })).toBe(`[task ${second} status=queued, not finished]`);
    expect(await call('job_output', { job_id: first, timeout: 0 })).toBe(`[task ${first} status=running, not finished]`);
    expect(engine.clock.monotonic()).toBe(before);
    await held.release(first, 'done');
    await engine.offstage.wait(first);
    expect(await call('job_output', { job_id: first, block: false })).toBe(`done\n[task ${first} status=completed]`);
    await held.release(second);
  });

  it.each<[string, object, number]>([
    ['J78: a timeout of 5,000,000 is 600,000', { timeout: 5_000_000 }, 600_000],
    ['J78: so is one without end', { timeout: Number.POSITIVE_INFINITY }, 600_000],
    ['J79: none is 30,000', {}, 30_000],
    ['J79: null is 30,000', { timeout: null }, 30_000],
    ['a short one is as given', { timeout: 1 }, 1],
  ])('%s', async (_, given, effectiveMs) => {
    const held = gate();
    await using engine = await testEngine({ executors: { agent: held } });
    const { clock } = engine;
    const call = toolsOf(engine.offstage);
    const jobId = await inBackground(call, 'a');
    await held.started(jobId);
    await clock.settle();
    const one = watched(call('job_output', { job_id: jobId, ...given }));
    const many = watched(call('await_tasks', { ids: [jobId], ...given }));
    await clock.advance(effectiveMs - 1);
    expect([one.isSettled, many.isSettled]).toEqual([false, false]);
    await clock.advance(1);
    expect(await one.promise).toBe(`[task ${jobId} status=running, not finished]`);
    expect(await many.promise).toEqual([{ job_id: jobId, status: 'running' }]);
    await held.release(jobId);
  });

  it('J85: of one that ended long ago answers at once', async () => {
    await using engine = await testEngine({ executors: { agent } });
    const { clock } = engine;
    const call = toolsOf(engine.offstage);
    const jobId = await inBackground(call, 'a');
    await engine.offstage.wait(jobId);
    await clock.advance(24 * 60 * 60 * 1000);
    const before = clock.monotonic();
    expect(await call('job_output', { job_id: jobId, timeout: 5_000 })).toBe(`did a\n[task ${jobId} status=completed]`);
    expect(clock.monotonic()).toBe(before);
  });

  it('J88: three that wait for one job get the same', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { agent: held } });
    const call = toolsOf(engine.offstage);
    const jobId = await inBackground(call, 'a');
    const waits = Promise.all([1, 2, 3].map(() => call('job_output', { job_id: jobId })));
    await engine.clock.settle();
    await held.release(jobId, 'done');
    expect(await waits).toEqual(Array(3).fill(`done\n[task ${jobId} status=completed]`));
  });
});

describe('job_stop', () => {
  it('answers ok and the status; the reason is kept', async () => {
    const stuck = stubborn();
    await using engine = await testEngine({ executors: { agent: stuck }, workers: 1 });
    const { offstage } = engine;
    const call = toolsOf(offstage);
    const running = await inBackground(call, 'a');
    const queued = await inBackground(call, 'b');
    await stuck.started(running);
    await engine.clock.settle();
    expect(await call('job_stop', { job_id: queued, reason: 'not needed' })).toEqual({ ok: true, status: 'cancelled' });
    expect(await call('job_stop', { job_id: running, reason: 'too slow' })).toEqual({ ok: true, status: 'running' });
    expect(await call('job_stop', { job_id: running })).toEqual({ ok: true, status: 'running' });
    await stuck.release(running);
    await offstage.wait(running);
    expect(await call('job_stop', { job_id: running })).toEqual({ ok: true, status: 'cancelled' });
    expect(await call('job_output', { job_id: queued })).toBe(`[task ${queued} cancelled] not needed`);
    expect(await call('job_output', { job_id: running })).toBe(`[task ${running} cancelled] too slow`);
  });

  it('of a job that is ending by itself, by its time limit, is ok', async () => {
    const stuck = stubborn();
    await using engine = await testEngine({ executors: { agent: stuck } });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'agent', timeoutMs: 10 });
    await stuck.started(jobId);
    await clock.advance(10);
    expect(await toolsOf(offstage)('job_stop', { job_id: jobId })).toEqual({ ok: true, status: 'running' });
    await stuck.release(jobId);
    expect((await offstage.wait(jobId)).reasonCode).toBe('timed_out');
  });

  it('of a job that has ended changes nothing, and of an unknown one is not ok', async () => {
    await using engine = await testEngine({ executors: { agent } });
    const { offstage } = engine;
    const call = toolsOf(offstage);
    const jobId = await inBackground(call, 'a');
    const done = await offstage.wait(jobId);
    expect(await call('job_stop', { job_id: jobId, reason: 'late' })).toEqual({ ok: true, status: 'completed' });
    expect(await offstage.get(jobId)).toEqual(done);
    expect(await call('job_stop', { job_id: 'nope' })).toEqual({ ok: false, status: 'unknown' });
    expect(await call('job_stop', {})).toEqual({ ok: false, status: 'unknown', error: 'job_id required' });
  });

  it('whose reason is longer than the engine takes says so, and stops nothing', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { agent: held } });
    const call = toolsOf(engine.offstage);
    const jobId = await inBackground(call, 'a');
    const answer = await call('job_stop', { job_id: jobId, reason: 'x'.repeat(20_000) });
    expect(answer).toMatchObject({ ok: false, error: expect.stringContaining('reason') });
    await held.release(jobId, 'went on');
    expect((await engine.offstage.wait(jobId)).resultText).toBe('went on');
  });
});

describe('list_jobs', () => {
  it('tells id, status and subject, the newest first; without jobs nothing', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { agent: held, broken: throwing(new Error('x')) }, workers: 1 });
    const { offstage, clock } = engine;
    const call = toolsOf(offstage);
    expect(await call('list_jobs')).toEqual([]);
    const broken = await offstage.spawn({ kind: 'broken', subject: 'breaks' });
    await offstage.wait(broken.jobId);
    await clock.advance(1);
    const first = await inBackground(call, 'first');
    await clock.advance(1);
    const second = await inBackground(call, 'second');
    await held.started(first);
    await clock.settle();
    expect(await call('list_jobs', {})).toEqual([
      { id: second, status: 'queued', subject: 'second' },
      { id: first, status: 'running', subject: 'first' },
      { id: broken.jobId, status: 'errored', subject: 'breaks' },
    ]);
    for (const jobId of [first, second]) await held.release(jobId);
  });

  it('tells at most 50, and clips long subjects at 80 characters, never in the middle of one', async () => {
    await using engine = await testEngine({ executors: { agent } });
    const { offstage, clock } = engine;
    const call = toolsOf(offstage);
    for (let index = 0; index < 55; index += 1) await inBackground(call, `number ${index}`);
    await clock.advance(1);
    await inBackground(call, '🦉'.repeat(81));
    await clock.advance(1);
    await inBackground(call, 'x'.repeat(80));
    const listed = (await call('list_jobs')) as readonly { readonly subject: string }[];
    expect(listed).toHaveLength(50);
    expect(listed[0]?.subject).toBe('x'.repeat(80));
    expect(listed[1]?.subject).toBe(`${'🦉'.repeat(79)}…`);
    expect(listed[2]?.subject).toBe('number 54');
  });
});

describe('await_tasks', () => {
  it('J87: all: one entry per id, in order, duplicates kept, failures among them, unknown ones marked', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { agent: held } });
    const { offstage, clock } = engine;
    const call = toolsOf(offstage);
    const [a, b, c] = [await inBackground(call, 'a'), await inBackground(call, 'b'), await inBackground(call, 'c')];
    const answer = watched(call('await_tasks', { ids: [a, 'nope', b, c, a, ''] }));
    await held.fail(a, new Error('x'));
    await held.release(c, { found: 1 });
    await clock.settle();
    expect(answer.isSettled).toBe(false);
    await held.release(b, 'done');
    const failed = { job_id: a, status: 'errored', error: 'Error: x' };
    expect(await answer.promise).toEqual([
      failed,
      { job_id: 'nope', status: 'unknown' },
      { job_id: b, status: 'completed', text: 'done' },
      { job_id: c, status: 'completed', text: '{"found":1}' },
      failed,
      { job_id: '', status: 'unknown' },
    ]);
  });

  it('J87: any: the first end settles it; unknown ones do not count unless nothing else is left', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { agent: held }, workers: 2 });
    const { offstage, clock } = engine;
    const call = toolsOf(offstage);
    const [a, b, c] = [await inBackground(call, 'a'), await inBackground(call, 'b'), await inBackground(call, 'c')];
    await held.started(b);
    await clock.settle();
    const answer = watched(call('await_tasks', { ids: ['nope', a, b, c], mode: 'any' }));
    await clock.settle();
    expect(answer.isSettled).toBe(false);
    await offstage.cancel(b, { reason: 'enough' });
    expect(await answer.promise).toEqual([
      { job_id: 'nope', status: 'unknown' },
      { job_id: a, status: 'running' },
      { job_id: b, status: 'cancelled', error: 'enough' },
      { job_id: c, status: expect.stringMatching('queued|running') },
    ]);
    expect(await call('await_tasks', { ids: ['nope', 'no'], mode: 'any' })).toEqual([
      { job_id: 'nope', status: 'unknown' },
      { job_id: 'no', status: 'unknown' },
    ]);
    for (const jobId of [a, c]) await held.release(jobId);
  });

  it('J87: when the time is over, the entries tell how each stands', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { agent: held }, workers: 2 });
    const call = toolsOf(engine.offstage);
    const [a, b, c] = [await inBackground(call, 'a'), await inBackground(call, 'b'), await inBackground(call, 'c')];
    await held.started(b);
    const answer = call('await_tasks', { ids: [a, b, c], timeout: 100 });
    await held.release(a, 'done');
    await held.started(c);
    await engine.clock.advance(100);
    expect(await answer).toEqual([
      { job_id: a, status: 'completed', text: 'done' },
      { job_id: b, status: 'running' },
      { job_id: c, status: 'running' },
    ]);
    for (const jobId of [b, c]) await held.release(jobId);
  });

  it('of nothing answers nothing, at once', async () => {
    await using engine = await testEngine();
    expect(await toolsOf(engine.offstage)('await_tasks', { ids: [] })).toEqual([]);
  });
});
