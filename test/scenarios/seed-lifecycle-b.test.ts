/**
 * Seed 000, scenario B: a single async task. The model decides to do a long job, first spawns to get an id, then awaits or cancels later.
 *
 * Row by row of its table. Left out: the rows of D9 and D11 that speak of WebSocket actions and panels (seed-lifecycle-sockets.test.ts, test/browser). Instead
 * of commits to git there is the history, and instead of `jobs.json` the store.
 */
import { describe, expect, it } from 'vitest';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { echo, gate } from '../support/executors.ts';
import { cardOf, chunkAgent, transitionsOf } from '../support/seed-lifecycle.ts';
import { type SessionLab, sessionLab } from '../support/sessions.ts';
import { testEngine } from '../support/test-engine.ts';
import { inBackground, toolsOf } from '../support/tools.ts';

/** A session in its turn, whose model has called `agent(…, run_in_background=True)`. */
async function spawned(lab: SessionLab) {
  const session = await lab.running('s');
  const call = toolsOf(lab.offstage, { sessionId: 's' });
  const jobId = await inBackground(call, 'a long research');
  return { session, call, jobId };
}

describe('Scenario B: a single async task', () => {
  it('D1 entity: created on spawn in the background; it is on disk when the model has the id', async () => {
    const store = controlledStore(memoryStore());
    const held = gate();
    const engine = await testEngine({ executors: { agent: held }, store });
    const jobId = await inBackground(toolsOf(engine.offstage), 'a long research');
    // The worst power loss: nothing but what was synced.
    await using next = await testEngine({ store: await store.crash(0), clock: engine.clock });
    expect(await next.offstage.get(jobId)).toMatchObject({ description: 'a long research', wait: false });
  });

  it('D2 state machine: when spawn returns, it is queued or running, transparent to the model', async () => {
    const held = gate();
    await using lab = await sessionLab({ executors: { agent: held } });
    const { jobId, call } = await spawned(lab);
    expect((await lab.offstage.get(jobId)).status).toMatch(/^(queued|running)$/);
    await lab.settled();
    expect((await lab.offstage.get(jobId)).status).toBe('running');
    await held.release(jobId, 'found');
    await call('job_output', { job_id: jobId });
    expect(await transitionsOf(lab.offstage, jobId)).toEqual([
      '- → pending',
      'pending → queued',
      'queued → running',
      'running → completed',
    ]);
  });

  it('D3 worker pool: submit does not block the caller, also when the pool is full; it continues to its next tool call', async () => {
    const held = gate();
    await using lab = await sessionLab({ executors: { agent: held }, workers: 1 });
    const { call, jobId } = await spawned(lab);
    const second = await inBackground(call, 'another one');
    await lab.settled();
    expect(await call('list_jobs')).toEqual(
      expect.arrayContaining([
        { id: jobId, status: 'running', subject: 'a long research' },
        { id: second, status: 'queued', subject: 'another one' },
      ]),
    );
    for (const id of [jobId, second]) await held.release(id);
  });

  it('D4 persistence: of a process that dies meanwhile, the next one finds the task errored, and never runs it again', async () => {
    const store = controlledStore(memoryStore());
    const held = gate();
    const engine = await testEngine({ executors: { agent: held }, store });
    const jobId = await inBackground(toolsOf(engine.offstage), 'a long research');
    await held.started(jobId);
    await engine.clock.settle();
    await using next = await testEngine({ executors: { agent: held }, store: await store.crash(), clock: engine.clock });
    const call = toolsOf(next.offstage);
    expect(await call('job_output', { job_id: jobId })).toBe(`[task ${jobId} error] worker died before completion`);
    expect(held.calls).toEqual([jobId]);
    expect((await transitionsOf(next.offstage, jobId)).at(-1)).toBe('running → errored');
  });

  it.each<[string, (lab: SessionLab, jobId: string) => Promise<unknown>]>([
    ['the model calls job_stop(id)', (lab, jobId) => toolsOf(lab.offstage, { sessionId: 's' })('job_stop', { job_id: jobId })],
    ['the user cancels', (lab, jobId) => lab.offstage.cancel(jobId)],
  ])('D5 cancel: %s: both paths are the same', async (_, cancel) => {
    const agent = chunkAgent();
    await using lab = await sessionLab({ executors: { agent } });
    const { jobId, call } = await spawned(lab);
    await lab.settled();
    agent.loops[0]?.chunk('so far');
    await lab.settled();
    await cancel(lab, jobId);
    expect(await call('job_output', { job_id: jobId })).toBe(`[task ${jobId} cancelled] cancelled`);
    expect(await lab.offstage.get(jobId)).toMatchObject({ status: 'cancelled', reasonCode: 'cancel.user', resultText: 'so far' });
  });

  it('D6 session binding: parent_session = the session of the caller', async () => {
    await using lab = await sessionLab({ executors: { agent: echo } });
    const { jobId } = await spawned(lab);
    expect(await lab.offstage.get(jobId)).toMatchObject({ sessionId: 's', callerSessionId: null, parentJobId: null });
  });

  it('D7 sub-agent: spawn and await are decoupled: between the two calls the model does other things, and its turns go on', async () => {
    const held = gate();
    await using lab = await sessionLab({ executors: { agent: held, command: echo } });
    const { session, jobId, call } = await spawned(lab);
    // Reading files, searching code.
    const search = await lab.offstage.run({ kind: 'command', input: 'grep', sessionId: 's' });
    expect(search.status).toBe('completed');
    await lab.settled();
    await session.done();
    // The person goes on talking, while the sub-agent is at work.
    expect(await session.attempt()).toBe('accepted');
    await held.release(jobId, 'found');
    expect(await call('job_output', { job_id: jobId })).toBe(`found\n[task ${jobId} status=completed]`);
  });

  it('D8 ContextCommit: the placeholder is written with the spawn; on later turns it is skipped as long as it is running', async () => {
    const held = gate();
    await using lab = await sessionLab({ executors: { agent: held } });
    const { jobId } = await spawned(lab);
    const card = await cardOf(lab.offstage, jobId);
    expect(card).toMatchObject({ content: '(running)', attach: { status: 'running', job_id: jobId } });
    const items = [{ role: 'user', text: 'hi' }, card];
    for (let turn = 0; turn < 2; turn += 1) {
      await lab.settled();
      expect(await lab.offstage.context.expand('s', items)).toEqual([{ role: 'user', text: 'hi' }]);
    }
    await held.release(jobId, 'found');
    await lab.offstage.wait(jobId);
    expect(await lab.offstage.context.expand('s', items)).toMatchObject([{ role: 'user' }, { text: 'found' }]);
  });

  it('D9: whoever follows the events sees the new task at once', async () => {
    const held = gate();
    await using lab = await sessionLab({ executors: { agent: held } });
    const { jobId } = await spawned(lab);
    expect(lab.engine.events).toContainEqual(expect.objectContaining({ type: 'job.created', jobId, sessionId: 's' }));
    await held.release(jobId);
  });

  it('D10 agent tool: returns job_id; a subsequent job_output(job_id) retrieves the result', async () => {
    await using lab = await sessionLab({ executors: { agent: () => 'found' } });
    const { jobId, call } = await spawned(lab);
    expect(jobId).toMatch(/^job_/);
    expect(await call('job_output', { job_id: jobId })).toBe(`found\n[task ${jobId} status=completed]`);
  });

  it('D12 error: perceived at await time, or earlier by a look', async () => {
    const held = gate();
    await using lab = await sessionLab({ executors: { agent: held } });
    const { jobId, call } = await spawned(lab);
    await held.fail(jobId, new Error('no key'));
    await lab.settled();
    expect(await call('list_jobs')).toEqual([{ id: jobId, status: 'errored', subject: 'a long research' }]);
    expect(await call('job_output', { job_id: jobId, block: false })).toBe(`[task ${jobId} error] Error: no key`);
    expect(await call('job_output', { job_id: jobId })).toBe(`[task ${jobId} error] Error: no key`);
  });

  it('D14 plan mode: is its building block: many of these, and one await_tasks', async () => {
    await using lab = await sessionLab({ executors: { agent: () => 'found' } });
    const { jobId, call } = await spawned(lab);
    const second = await inBackground(call, 'another one');
    expect(await call('await_tasks', { ids: [jobId, second] })).toMatchObject([{ text: 'found' }, { text: 'found' }]);
  });

  it('D15 compatibility: nothing that does not ask for it gets it', async () => {
    await using lab = await sessionLab({ executors: { agent: () => 'found' } });
    await lab.running('s');
    expect(await toolsOf(lab.offstage, { sessionId: 's' })('agent', { prompt: 'a long research' })).toBe('found');
  });
});
