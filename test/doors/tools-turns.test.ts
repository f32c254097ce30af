/** Tools called in the turn of a session: what ends with the turn and what outlives it, and who is told of an end (spec 4.8, 9, 10). */
import { describe, expect, it } from 'vitest';
import { mockAgent } from '../../src/adapters/mock-agent.ts';
import { agentExecutor } from '../../src/executors/agent.ts';
import type { Agents } from '../../src/model/agent.ts';
import type { JobContext } from '../../src/model/executor.ts';
import { virtualClock } from '../../src/testing/virtual-clock.ts';
import { gate, stubborn } from '../support/executors.ts';
import { type SessionLab, sessionLab } from '../support/sessions.ts';
import { testEngine } from '../support/test-engine.ts';
import { type CallTool, inBackground, toolsOf, watched } from '../support/tools.ts';

/** A session in the middle of a turn, with a job in the foreground that has said something, and one in the background. */
async function inTurn(lab: SessionLab, held: ReturnType<typeof gate>, signal?: AbortSignal) {
  const session = await lab.running('s');
  const call = toolsOf(lab.offstage, { sessionId: 's', ...(signal === undefined ? {} : { signal }) });
  const background = await inBackground(call, 'background');
  const answer = watched(call('agent', { prompt: 'foreground', description: 'foreground' }));
  await lab.settled();
  const [foreground] = (await lab.offstage.list({ sessionId: 's' })).filter(({ wait }) => wait);
  const { context } = await held.started(foreground?.jobId as string);
  context.partial('half of it');
  return { session, call, background, foreground: foreground?.jobId as string, answer };
}

describe('a job in the foreground', () => {
  it('ends with the interrupt of its turn, and the tool answers what it had; the background goes on', async () => {
    const held = gate();
    await using lab = await sessionLab({ executors: { agent: held } });
    const { background, foreground, answer } = await inTurn(lab, held);
    expect(await lab.offstage.sessions.interrupt('s')).toEqual({ changed: true });
    expect(await answer.promise).toBe('half of it\n[cancelled]');
    expect(await lab.offstage.get(foreground)).toMatchObject({ status: 'cancelled', reasonCode: 'cancel.caller_gone' });
    expect((await lab.offstage.get(background)).status).toBe('running');
    await held.release(background);
  });

  it('ends with the stop of its session, and so does the background', async () => {
    const held = gate();
    await using lab = await sessionLab({ executors: { agent: held } });
    const { background, foreground, answer } = await inTurn(lab, held);
    await lab.offstage.sessions.stop('s');
    expect(await answer.promise).toBe('half of it\n[cancelled]');
    for (const jobId of [foreground, background]) {
      expect(await lab.offstage.get(jobId)).toMatchObject({ status: 'cancelled', reasonCode: 'cancel.stop' });
    }
  });

  it('ends with the signal of its call; the background goes on', async () => {
    const held = gate();
    await using lab = await sessionLab({ executors: { agent: held } });
    const controller = new AbortController();
    const { background, foreground, answer } = await inTurn(lab, held, controller.signal);
    controller.abort();
    expect(await answer.promise).toBe('half of it\n[cancelled]');
    expect(await lab.offstage.get(foreground)).toMatchObject({ status: 'cancelled', reasonCode: 'cancel.caller_gone' });
    expect((await lab.offstage.get(background)).status).toBe('running');
    await held.release(background);
  });

  it('that does not listen to the signal is waited for one second, for its last words', async () => {
    const stuck = stubborn();
    await using lab = await sessionLab({ executors: { agent: stuck } });
    const controller = new AbortController();
    const { background, foreground, answer } = await inTurn(lab, stuck, controller.signal);
    controller.abort();
    await lab.clock.advance(999);
    expect(answer.isSettled).toBe(false);
    await lab.clock.advance(1);
    expect(await answer.promise).toBe('half of it\n[cancelled]');
    expect(await lab.offstage.get(foreground)).toMatchObject({ status: 'running', cancelRequestedAt: expect.any(Number) });
    for (const jobId of [foreground, background]) await stuck.release(jobId);
  });

  it('whose call nobody waits for before it begins is not started, in either mode', async () => {
    const held = gate();
    await using lab = await sessionLab({ executors: { agent: held } });
    await lab.running('s');
    const call = toolsOf(lab.offstage, { sessionId: 's', signal: AbortSignal.abort() });
    expect(await call('agent', { prompt: 'a', description: 'a' })).toBe('[cancelled]');
    expect(await call('agent', { prompt: 'a', description: 'a', run_in_background: true })).toBe('[cancelled]');
    expect(await lab.offstage.list()).toEqual([]);
  });

  it('whose call is given up while it is being accepted is cancelled all the same', async () => {
    const held = gate();
    await using lab = await sessionLab({ executors: { agent: held } });
    await lab.running('s');
    const controller = new AbortController();
    const answer = toolsOf(lab.offstage, { sessionId: 's', signal: controller.signal })('agent', {
      prompt: 'a',
      description: 'a',
    });
    controller.abort();
    expect(await answer).toBe('[cancelled]');
    await lab.settled();
    expect((await lab.offstage.list()).map(({ status }) => status)).toEqual(['cancelled']);
  });
});

describe('a job in the background', () => {
  it('outlives the end of its turn, and makes the session background, not generating', async () => {
    const held = gate();
    await using lab = await sessionLab({ executors: { agent: held } });
    const session = await lab.running('s');
    const jobId = await inBackground(toolsOf(lab.offstage, { sessionId: 's' }), 'a');
    await lab.settled();
    await session.done();
    expect(await session.view()).toMatchObject({
      state: 'waiting_for_input',
      foregroundActivity: 'background',
      activeSubagentCount: 1,
    });
    await held.release(jobId, 'done');
    await lab.settled();
    expect(await session.tier()).toBe(null);
    expect((await lab.offstage.get(jobId)).resultText).toBe('done');
  });

  it.each<[string, object, (jobId: string) => unknown]>([
    ['job_output', { block: true }, (jobId) => `[task ${jobId} status=running, not finished]`],
    ['await_tasks', { mode: 'all' }, (jobId) => [{ job_id: jobId, status: 'running' }]],
    ['await_tasks', { mode: 'any' }, (jobId) => [{ job_id: jobId, status: 'running' }]],
  ])('B18: does not mind that whoever waited in %s %j has left', async (name, more, expected) => {
    const held = gate();
    await using lab = await sessionLab({ executors: { agent: held } });
    await lab.running('s');
    const call = toolsOf(lab.offstage, { sessionId: 's' });
    const jobId = await inBackground(call, 'a');
    const args = { ...(name === 'job_output' ? { job_id: jobId } : { ids: [jobId] }), ...more };
    const controller = new AbortController();
    const waiting = watched(call(name, args, { signal: controller.signal }));
    await held.started(jobId);
    await lab.settled();
    expect(waiting.isSettled).toBe(false);
    controller.abort();
    expect(await waiting.promise).toEqual(expected(jobId));
    // Nor one whose signal had fired before.
    expect(await call(name, args, { signal: controller.signal })).toEqual(expected(jobId));
    expect(await lab.offstage.get(jobId)).toMatchObject({ status: 'running', cancelRequestedAt: null });
    await held.release(jobId, 'done');
    expect((await lab.offstage.wait(jobId)).resultText).toBe('done');
  });
});

describe('the notice of an end', () => {
  /** What the session’s agent was told without having been asked to. */
  const told = (lab: SessionLab): readonly unknown[] =>
    lab.mock.prompts.filter(({ origin }) => origin === 'synthetic').map(({ content }) => content);

  /** A session between two turns, whose job in the background is at work. */
  async function between(lab: SessionLab): Promise<{ call: CallTool; jobId: string }> {
    const session = await lab.running('s');
    const call = toolsOf(lab.offstage, { sessionId: 's' });
    const jobId = await inBackground(call, 'a');
    await lab.settled();
    await session.done();
    return { call, jobId };
  }

  it('comes when nobody has asked, once; a look at a job that is not finished is not its end', async () => {
    const held = gate();
    await using lab = await sessionLab({ executors: { agent: held }, notices: true });
    const { call, jobId } = await between(lab);
    expect(await call('job_output', { job_id: jobId, block: false })).toContain('not finished');
    await call('await_tasks', { ids: [jobId], timeout: 0 });
    await call('list_jobs');
    await held.release(jobId, 'done');
    await lab.settled();
    expect(told(lab)).toEqual([`[task ${jobId} completed] a\ndone`]);
  });

  it.each<[string, (call: CallTool, jobId: string) => Promise<unknown>]>([
    ['job_output has answered it', (call, jobId) => call('job_output', { job_id: jobId })],
    ['await_tasks has answered it', (call, jobId) => call('await_tasks', { ids: [jobId] })],
  ])('does not come when %s', async (_, ask) => {
    const held = gate();
    await using lab = await sessionLab({ executors: { agent: held }, notices: true });
    const { call, jobId } = await between(lab);
    const answer = ask(call, jobId);
    await lab.settled();
    await held.release(jobId, 'done');
    expect(JSON.stringify(await answer)).toContain('done');
    await lab.settled();
    expect(told(lab)).toEqual([]);
  });

  it.each<[string, ReturnType<typeof gate>]>([
    ['that ends at once', gate()],
    ['that takes its time', stubborn()],
  ])('does not come when the session itself has stopped it with job_stop, a job %s', async (_, held) => {
    await using lab = await sessionLab({ executors: { agent: held }, notices: true });
    const { call, jobId } = await between(lab);
    expect(await call('job_stop', { job_id: jobId })).toMatchObject({ ok: true });
    await lab.settled();
    await held.release(jobId);
    await lab.settled();
    expect((await lab.offstage.get(jobId)).status).toBe('cancelled');
    expect(told(lab)).toEqual([]);
  });

  it('comes when a person has stopped it, or has read its end: that is not the session', async () => {
    const held = gate();
    await using lab = await sessionLab({ executors: { agent: held }, notices: true });
    const { jobId } = await between(lab);
    const person = toolsOf(lab.offstage);
    await person('job_stop', { job_id: jobId, reason: 'the person says so' });
    await person('job_output', { job_id: jobId });
    await lab.settled();
    expect(told(lab)).toEqual([`[task ${jobId} cancelled] a\nthe person says so`]);
  });

  it('does not come to the session that hosts a job and stops it, of what that job had started', async () => {
    const held = gate();
    const parent = async (_: unknown, context: JobContext): Promise<void> => {
      await context.spawn({ kind: 'held', subject: 'child' });
      await new Promise((_resolve, reject) => context.signal.addEventListener('abort', () => reject(context.signal.reason)));
    };
    await using lab = await sessionLab({ executors: { parent, held }, notices: true });
    await lab.offstage.tasks.create({ taskId: 't' });
    const host = await lab.running('s', 't');
    const asker = await lab.running('asker', 't');
    const job = await lab.offstage.spawn({ kind: 'parent', subject: 'parent', sessionId: 's', callerSessionId: 'asker' });
    await lab.settled();
    for (const session of [host, asker]) await session.done();
    await toolsOf(lab.offstage, { sessionId: 's' })('job_stop', { job_id: job.jobId });
    await lab.settled();
    expect((await lab.offstage.list()).map(({ status }) => status)).toEqual(['cancelled', 'cancelled']);
    // The asker is told, of the job that it asked for.
    expect(told(lab)).toEqual([`[task ${job.jobId} cancelled] parent\ncancelled`]);
    expect(asker.prompts.at(-1)?.origin).toBe('synthetic');
  });

  it('comes when job_stop came too late: the session has not got the result', async () => {
    const held = gate();
    await using lab = await sessionLab({ executors: { agent: held }, notices: true });
    const session = await lab.running('s');
    const call = toolsOf(lab.offstage, { sessionId: 's' });
    const jobId = await inBackground(call, 'a');
    await held.release(jobId, 'done');
    await lab.settled();
    expect(await call('job_stop', { job_id: jobId })).toEqual({ ok: true, status: 'completed' });
    await session.done();
    expect(told(lab)).toEqual([`[task ${jobId} completed] a\ndone`]);
  });

  it('of a job in the foreground never comes', async () => {
    const held = gate();
    await using lab = await sessionLab({ executors: { agent: held }, notices: true });
    const session = await lab.running('s');
    const answer = toolsOf(lab.offstage, { sessionId: 's' })('agent', { prompt: 'a', description: 'a' });
    await lab.settled();
    await held.release(held.calls[0] as string, 'done');
    expect(await answer).toBe('done');
    await session.done();
    await lab.settled();
    expect(told(lab)).toEqual([]);
  });
});

describe('profiles: an agentId is an entry of the option agents', () => {
  const lab = async (names: readonly string[]) => {
    const clock = virtualClock();
    const mocks = new Map(
      names.map((name) => [
        name,
        mockAgent({
          onPrompt: (prompt, agent) => {
            agent.emit({ type: 'output', generation: prompt.generation, text: `${name}: ${JSON.stringify(prompt.content)}` });
            prompt.end();
          },
        }),
      ]),
    );
    const agents: Agents = Object.fromEntries([...mocks].map(([name, { factory }]) => [name, factory]));
    const engine = await testEngine({ clock, agents, executors: { agent: agentExecutor({ agents, clock }) }, notices: false });
    return { engine, mocks };
  };

  it('for sessions and for jobs of kind agent alike; without one it is the entry named default', async () => {
    const { engine, mocks } = await lab(['default', 'reviewer']);
    await using _ = engine;
    const { offstage } = engine;
    const session = await offstage.sessions.create({ agentId: 'reviewer' });
    await offstage.sessions.prompt(session.sessionId, { content: 'hello' });
    expect(mocks.get('reviewer')?.starts).toMatchObject([{ agentId: 'reviewer', jobId: null, contextMode: null }]);
    const call = toolsOf(offstage, { sessionId: session.sessionId });
    // The agent of the job is its own, not that of the session.
    expect(await call('agent', { prompt: 'probe', description: 'p' })).toBe('default: "probe"');
    expect(await call('agent', { prompt: 'probe', description: 'p', agent_id: 'reviewer', context: 'clean' })).toBe(
      'reviewer: "probe"',
    );
    expect(mocks.get('default')?.starts).toMatchObject([{ agentId: 'default', contextMode: 'inherit' }]);
    expect(mocks.get('reviewer')?.starts[1]).toMatchObject({
      agentId: 'reviewer',
      contextMode: 'clean',
      jobId: expect.any(String),
    });
  });

  it('and a name that is none is refused for both, before anything is stored', async () => {
    const { engine } = await lab(['reviewer']);
    await using _ = engine;
    const { offstage } = engine;
    await expect(offstage.sessions.create({ agentId: 'planner' })).rejects.toMatchObject({ code: 'agent.unknown' });
    const call = toolsOf(offstage);
    expect(await call('agent', { prompt: 'a', agent_id: 'planner' })).toBe(
      '[task error] No agent is registered under the name "planner".',
    );
    expect(await call('agent', { prompt: 'a' })).toBe('[task error] No agent is registered under the name "default".');
    expect(await offstage.list()).toEqual([]);
  });
});
