/**
 * Seed 000, scenario A: a single sync `/task`. The model calls `agent(prompt="probe X")` and expects to block and get the result.
 *
 * Row by row of its table. Left out: the rows of D9 and D11 that speak of WebSocket actions and panels (seed-lifecycle-sockets.test.ts, test/browser), D14
 * (not applicable, says the seed). Instead of commits to git there is the history, and instead of `jobs.json` the store.
 */
import { describe, expect, it } from 'vitest';
import { mockAgent } from '../../src/adapters/mock-agent.ts';
import { agentTools } from '../../src/doors/tools/index.ts';
import { agentExecutor } from '../../src/executors/agent.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { virtualClock } from '../../src/testing/virtual-clock.ts';
import { gate, throwing } from '../support/executors.ts';
import { cardOf, chunkAgent, transitionsOf } from '../support/seed-lifecycle.ts';
import { sessionLab } from '../support/sessions.ts';
import { testEngine } from '../support/test-engine.ts';
import { toolsOf, watched } from '../support/tools.ts';

const FULL_LIFE = ['- → pending', 'pending → queued', 'queued → running', 'running → completed'];

/** A session in its turn, whose model has called `agent(prompt="probe X")`. */
async function called(held = gate(), workers = 4) {
  const lab = await sessionLab({ executors: { agent: held }, workers });
  await lab.running('s');
  const call = toolsOf(lab.offstage, { sessionId: 's' });
  const answer = watched(call('agent', { prompt: 'probe X' }));
  await lab.settled();
  const [job] = await lab.offstage.list({ sessionId: 's' });
  return { lab, held, answer, jobId: job?.jobId as string, call };
}

describe('Scenario A: a single sync /task', () => {
  it('D1 entity: created on spawn, with prompt, agent_id, context_mode = inherit; parent_job_id = None, foreground', async () => {
    const { lab, held, answer, jobId } = await called();
    await using _ = lab;
    expect(await lab.offstage.get(jobId)).toMatchObject({
      description: 'probe X',
      input: { prompt: 'probe X' },
      agentId: null,
      contextMode: 'inherit',
      parentJobId: null,
      wait: true,
      attempt: 0,
      headId: null,
      resultText: null,
      error: null,
    });
    await held.release(jobId);
    await answer.promise;
  });

  it('D2 state machine: still goes through the full pending → queued → running → completed', async () => {
    const { lab, held, answer, jobId } = await called();
    await using _ = lab;
    await held.release(jobId, 'found');
    await answer.promise;
    expect(await transitionsOf(lab.offstage, jobId)).toEqual(FULL_LIFE);
    const { createdAt, queuedAt, startedAt, completedAt } = await lab.offstage.get(jobId);
    const times = [createdAt, queuedAt, startedAt, completedAt] as number[];
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  });

  it('D3 worker pool: if the pool is full, it waits queued; a little latency, and the result is unchanged', async () => {
    const held = gate();
    await using lab = await sessionLab({ executors: { agent: held, other: held }, workers: 1 });
    await lab.running('s');
    const first = await lab.offstage.spawn({ kind: 'other' });
    await held.started(first.jobId);
    const answer = watched(toolsOf(lab.offstage, { sessionId: 's' })('agent', { prompt: 'probe X' }));
    await lab.settled();
    const [job] = await lab.offstage.list({ sessionId: 's' });
    expect(job?.status).toBe('queued');
    expect(answer.isSettled).toBe(false);
    await held.release(first.jobId);
    await held.release(job?.jobId as string, 'found');
    expect(await answer.promise).toBe('found');
  });

  it('D4 persistence: every state transition is stored; whoever opens the store next finds record and history', async () => {
    const store = controlledStore(memoryStore());
    const engine = await testEngine({ executors: { agent: () => 'found' }, store });
    await toolsOf(engine.offstage)('agent', { prompt: 'probe X' });
    const [job] = await engine.offstage.list();
    const jobId = job?.jobId as string;
    await using next = await testEngine({ store: await store.crash(), clock: engine.clock });
    expect(await next.offstage.get(jobId)).toEqual(job);
    expect(await transitionsOf(next.offstage, jobId)).toEqual(FULL_LIFE);
    expect(next.recovery.abandoned).toEqual([]);
  });

  it('D5 cancel: the user stops the session → the sub-agent loop breaks → cancelled; the tool answers partial output + [cancelled]', async () => {
    const agent = chunkAgent();
    await using lab = await sessionLab({ executors: { agent } });
    await lab.running('s');
    const answer = toolsOf(lab.offstage, { sessionId: 's' })('agent', { prompt: 'probe X' });
    await lab.settled();
    const [loop] = agent.loops;
    loop?.chunk('X is ');
    loop?.chunk('a library');
    await lab.settled();
    await lab.offstage.sessions.stop('s');
    expect(await answer).toBe('X is a library\n[cancelled]');
    const [job] = await lab.offstage.list({ sessionId: 's' });
    expect(job).toMatchObject({ status: 'cancelled', resultText: 'X is a library' });
  });

  it('D6 session binding: parent_session = the session of the caller', async () => {
    const { lab, held, answer, jobId } = await called();
    await using _ = lab;
    expect(await lab.offstage.get(jobId)).toMatchObject({ sessionId: 's', callerSessionId: null });
    await held.release(jobId);
    await answer.promise;
    expect(await lab.offstage.get(jobId)).toMatchObject({ sessionId: 's', callerSessionId: null });
  });

  it('D7 sub-agent: the tool spawns and awaits inside; the call site does not change', async () => {
    const { lab, held, answer, jobId } = await called();
    await using _ = lab;
    // It has spawned, and it awaits, for as long as it takes.
    expect((await lab.offstage.get(jobId)).status).toBe('running');
    await lab.clock.advance(24 * 60 * 60 * 1000);
    expect(answer.isSettled).toBe(false);
    await held.release(jobId, 'found');
    expect(await answer.promise).toBe('found');
  });

  it('D8 ContextCommit: the placeholder card stands there while the result is waited for, and is updated with completion', async () => {
    const { lab, held, answer, jobId } = await called();
    await using _ = lab;
    const placeholder = await cardOf(lab.offstage, jobId);
    expect(placeholder).toMatchObject({
      sessionId: 's',
      function: 'attach',
      content: '(running)',
      attach: { job_id: jobId, session_id: 's', status: 'running', source_commit_id: null, head_id: null },
    });
    expect(await lab.offstage.context.expand('s', [placeholder])).toEqual([]);
    await held.release(jobId, 'found');
    await answer.promise;
    expect(await cardOf(lab.offstage, jobId)).toMatchObject({ content: 'found', attach: { status: 'completed' } });
    // The card that the conversation has kept expands to what has become of it.
    expect(await lab.offstage.context.expand('s', [placeholder])).toMatchObject([{ status: 'completed', text: 'found', jobId }]);
  });

  it('D9: the call goes through the in-process API, and is still seen via list_jobs', async () => {
    const { lab, held, answer, jobId, call } = await called();
    await using _ = lab;
    expect(await call('list_jobs')).toEqual([{ id: jobId, status: 'running', subject: 'probe X' }]);
    await held.release(jobId);
    await answer.promise;
    expect(await call('list_jobs')).toEqual([{ id: jobId, status: 'completed', subject: 'probe X' }]);
  });

  it('D10 agent tool: agent(...) defaults to foreground', async () => {
    await using engine = await testEngine({ executors: { agent: () => 'found' } });
    const call = toolsOf(engine.offstage);
    expect(await call('agent', { prompt: 'probe X' })).toBe('found');
    expect(await call('agent', { prompt: 'probe X', run_in_background: false })).toBe('found');
    expect((await engine.offstage.list()).map(({ wait }) => wait)).toEqual([true, true]);
  });

  it('D12 error: the worker throws → status = errored → the tool gets a [task error] … string, and the card says it too', async () => {
    await using engine = await testEngine({ executors: { agent: throwing(new RangeError('context window exceeded')) } });
    const { offstage } = engine;
    expect(await toolsOf(offstage)('agent', { prompt: 'probe X' })).toBe('[task error] RangeError: context window exceeded');
    const [job] = await offstage.list();
    expect(job).toMatchObject({ status: 'errored', error: { message: 'RangeError: context window exceeded' } });
    expect(await cardOf(offstage, job?.jobId as string)).toMatchObject({
      content: '[task error] RangeError: context window exceeded',
      attach: { status: 'errored' },
    });
  });

  it('D13 test, integration: actually runs a trivial agent', async () => {
    const clock = virtualClock();
    const mock = mockAgent({
      onPrompt: (prompt, agent) => {
        agent.emit({ type: 'output', generation: prompt.generation, text: `X is fine, and you asked: ${prompt.content}` });
        prompt.end();
      },
    });
    const agents = { default: mock.factory };
    await using engine = await testEngine({ clock, agents, executors: { agent: agentExecutor({ agents, clock }) } });
    expect(await toolsOf(engine.offstage)('agent', { prompt: 'probe X' })).toBe('X is fine, and you asked: probe X');
    expect(mock.closed).toBe(1);
  });

  it('D15 compatibility: prompts written against the synchronous tool run unchanged', async () => {
    await using engine = await testEngine({ executors: { agent: () => 'found' } });
    const [agent] = agentTools(engine.offstage);
    expect(Object.keys(agent?.parameters.properties ?? {})).toEqual([
      'prompt',
      'description',
      'agent_id',
      'context',
      'run_in_background',
    ]);
    expect(await agent?.execute({ prompt: 'probe X' })).toBe('found');
    expect(await agent?.execute({ prompt: 'probe X', description: 'probe', context: 'inherit' })).toBe('found');
  });
});
