/**
 * Seed 000, scenario D: a long-running task and its cancel. The agent spawns a 30-minute deep research task; 10 minutes in, the user
 * clicks Stop, or the agent decides to abort.
 *
 * Row by row of its table. Left out: the rows of D9 and D11 that speak of WebSocket actions and panels (seed-lifecycle-sockets.test.ts, test/browser).
 * Instead of commits to git there is the history, and instead of a thread that is kept there is a body that is detached.
 */
import { describe, expect, it } from 'vitest';
import { open } from '../../src/open.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { gate, stubborn } from '../support/executors.ts';
import { cardOf, chunkAgent, statusEvents, transitionsOf } from '../support/seed-lifecycle.ts';
import { type SessionLabOptions, sessionLab } from '../support/sessions.ts';
import { testEngine } from '../support/test-engine.ts';
import { inBackground, toolsOf, watched } from '../support/tools.ts';

const MINUTE = 60_000;

/** Ten minutes into the research of a session's agent. */
async function researching(options: SessionLabOptions) {
  const lab = await sessionLab(options);
  const session = await lab.running('s');
  const call = toolsOf(lab.offstage, { sessionId: 's' });
  const jobId = await inBackground(call, 'deep research');
  await lab.settled();
  await lab.clock.advance(10 * MINUTE);
  return { lab, session, call, jobId };
}

describe('Scenario D: a long-running task + cancel', () => {
  it('D1 entity: on cancel, cancel_requested_at is filled', async () => {
    const stuck = stubborn();
    const { lab, call, jobId } = await researching({ executors: { agent: stuck } });
    await using _ = lab;
    const { createdAt } = await lab.offstage.get(jobId);
    expect((await lab.offstage.get(jobId)).cancelRequestedAt).toBe(null);
    await call('job_stop', { job_id: jobId, reason: 'enough' });
    expect(await lab.offstage.get(jobId)).toMatchObject({
      status: 'running',
      cancelRequestedAt: createdAt + 10 * MINUTE,
      cancelReason: 'enough',
    });
    await stuck.release(jobId);
  });

  it('D2 state machine: running → cancelled', async () => {
    const held = gate();
    const { lab, call, jobId } = await researching({ executors: { agent: held } });
    await using _ = lab;
    await call('job_stop', { job_id: jobId });
    await lab.settled();
    expect((await transitionsOf(lab.offstage, jobId)).at(-1)).toBe('running → cancelled');
    expect(await lab.offstage.get(jobId)).toMatchObject({ status: 'cancelled', reasonCode: 'cancel.user', detached: false });
  });

  it('D3 worker pool: the slot stays taken until the worker really exits, and is released then', async () => {
    const stuck = stubborn();
    const { lab, call, jobId } = await researching({ executors: { agent: stuck }, workers: 1 });
    await using _ = lab;
    const next = await inBackground(call, 'the next one');
    await call('job_stop', { job_id: jobId });
    await lab.clock.advance(20_000);
    expect((await lab.offstage.get(next)).status).toBe('queued');
    await stuck.release(jobId);
    await lab.settled();
    expect((await lab.offstage.get(next)).status).toBe('running');
    await stuck.release(next);
  });

  it('D4 persistence: the cancel request is stored when cancel answers; the final state after the worker has exited', async () => {
    const store = controlledStore(memoryStore());
    const stuck = stubborn();
    const engine = await testEngine({ executors: { agent: stuck }, store });
    const call = toolsOf(engine.offstage);
    const jobId = await inBackground(call, 'deep research');
    await stuck.started(jobId);
    await engine.clock.settle();
    await call('job_stop', { job_id: jobId, reason: 'enough' });
    const meanwhile = await store.tear(0);
    await stuck.release(jobId);
    await engine.offstage.wait(jobId);
    const afterwards = await store.crash(0);
    await using first = await testEngine({ store: meanwhile, clock: engine.clock });
    expect(await first.offstage.get(jobId)).toMatchObject({ cancelReason: 'enough', cancelRequestedAt: expect.any(Number) });
    expect((await first.offstage.history(jobId)).map(({ type }) => type)).toContain('cancel_requested');
    await using second = await testEngine({ store: afterwards, clock: engine.clock });
    expect(await second.offstage.get(jobId)).toMatchObject({ status: 'cancelled', error: { message: 'enough' } });
  });

  it('D5 cancel (a): the agent loop breaks on the next stream chunk, and the model call is aborted', async () => {
    const agent = chunkAgent();
    const { lab, call, jobId } = await researching({ executors: { agent } });
    await using _ = lab;
    const [loop] = agent.loops;
    for (const chunk of ['one ', 'two ']) loop?.chunk(chunk);
    await lab.settled();
    await call('job_stop', { job_id: jobId });
    loop?.chunk('three ');
    expect(await call('job_output', { job_id: jobId })).toBe(`[task ${jobId} cancelled] cancelled`);
    expect(loop?.said).toBe('one two ');
    expect(loop?.context.signal.reason).toMatchObject({ name: 'AbortError', code: 'job.cancelled' });
  });

  it('D5 cancel (b): the next tool call of the sub-agent raises; what it had begun is not interrupted', async () => {
    const written: string[] = [];
    let finishWrite = (): void => {};
    const agent = async (_: unknown, { jobId, signal }: { jobId: string; signal: AbortSignal }): Promise<void> => {
      // An atomic operation of a tool.
      await new Promise<void>((resolve) => {
        finishWrite = () => {
          written.push('the whole file');
          resolve();
        };
      });
      await toolsOf(lab.offstage, { jobId, signal })('agent', { prompt: 'one more', description: 'one more' });
      written.push('never');
    };
    const { lab, call, jobId } = await researching({ executors: { agent } });
    await using _ = lab;
    await call('job_stop', { job_id: jobId });
    await lab.settled();
    expect((await lab.offstage.get(jobId)).status).toBe('running');
    finishWrite();
    expect((await lab.offstage.wait(jobId)).status).toBe('cancelled');
    expect(written).toEqual(['the whole file']);
    expect(await lab.offstage.list()).toHaveLength(1);
  });

  it('D5 cancel (c): the commands that its tools run are killed', async () => {
    await using offstage = await open({
      store: memoryStore(),
      killAfterMs: 500,
      executors: {
        agent: async (_, context) => {
          const bash = await context.run({ kind: 'command', input: { command: 'sh', args: ['-c', 'echo $$; exec sleep 600'] } });
          return bash.status;
        },
      },
    });
    const printed = new Promise<number>((resolve) => {
      offstage.onEvent((event) => void (event.type === 'job.output' && resolve(Number(event.text))));
    });
    const call = toolsOf(offstage);
    const jobId = await inBackground(call, 'deep research');
    const pid = await printed;
    expect(() => process.kill(pid, 0)).not.toThrow();
    await call('job_stop', { job_id: jobId });
    expect(await call('job_output', { job_id: jobId })).toBe(`[task ${jobId} cancelled] cancelled`);
    const [command] = await offstage.list({ kind: 'command' });
    await offstage.wait(command?.jobId as string);
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });

  it('D5 cancel (d), D12, D13: a worker that ignores it for 30 seconds is forced: cancelled, and kept as detached', async () => {
    const stuck = stubborn();
    const { lab, call, jobId } = await researching({ executors: { agent: stuck } });
    await using _ = lab;
    await call('job_stop', { job_id: jobId });
    const output = watched(call('job_output', { job_id: jobId, timeout: 600_000 }));
    await lab.clock.advance(29_999);
    expect(output.isSettled).toBe(false);
    expect((await lab.offstage.get(jobId)).status).toBe('running');
    await lab.clock.advance(1);
    expect(await output.promise).toBe(`[task ${jobId} cancelled] cancel timed out, worker may be stuck`);
    // What the user is told: it may still be running in the background.
    expect(await lab.offstage.get(jobId)).toMatchObject({
      status: 'cancelled',
      reasonCode: 'cancel.timed_out',
      detached: true,
      bodyLive: true,
    });
    expect(lab.offstage.health().pool.detached).toBe(1);
    expect(lab.engine.log.filter(({ level }) => level === 'warn')).not.toEqual([]);
    await stuck.release(jobId, 'too late');
    await lab.settled();
    expect(await lab.offstage.get(jobId)).toMatchObject({ status: 'cancelled', resultText: null, bodyLive: false });
    expect(lab.offstage.health().pool.detached).toBe(0);
  });

  it('D6 session binding: unchanged', async () => {
    const held = gate();
    const { lab, call, jobId } = await researching({ executors: { agent: held } });
    await using _ = lab;
    const before = await lab.offstage.get(jobId);
    await call('job_stop', { job_id: jobId });
    await lab.settled();
    const after = await lab.offstage.get(jobId);
    expect([after.sessionId, after.callerSessionId]).toEqual([before.sessionId, before.callerSessionId]);
  });

  it('D7, D8: partial output lands in the record and on the card, with the time of the cancel; a context gets only the mark', async () => {
    const agent = chunkAgent();
    const { lab, call, jobId } = await researching({ executors: { agent } });
    await using _ = lab;
    agent.loops[0]?.chunk('half of the research');
    await lab.settled();
    expect(await cardOf(lab.offstage, jobId)).toMatchObject({ content: '(running)', attach: { status: 'running' } });
    await call('job_stop', { job_id: jobId });
    await lab.settled();
    const job = await lab.offstage.get(jobId);
    expect(job.resultText).toBe('half of the research');
    const mark = `[cancelled at ${new Date(job.completedAt as number).toISOString()}]`;
    const card = await cardOf(lab.offstage, jobId);
    expect(card).toMatchObject({ content: `half of the research\n${mark}`, attach: { status: 'cancelled' } });
    expect(await lab.offstage.context.expand('s', [card])).toMatchObject([{ status: 'cancelled', text: mark }]);
  });

  it('D9: cancel returns at once; one job_status tells of the request, another one goes out when the worker exits', async () => {
    const stuck = stubborn();
    const { lab, jobId } = await researching({ executors: { agent: stuck } });
    await using _ = lab;
    const before = lab.clock.monotonic();
    expect((await lab.offstage.cancel(jobId)).status).toBe('running');
    expect(lab.clock.monotonic()).toBe(before);
    expect(statusEvents(lab.engine, jobId)).toEqual(['queued', 'running', 'running (cancel requested)']);
    await stuck.release(jobId);
    await lab.settled();
    expect(statusEvents(lab.engine, jobId).slice(3)).toEqual(['cancelled']);
  });

  it('D10 agent tool: job_stop(id); a subsequent job_output(id) returns the cancelled terminal state immediately', async () => {
    const held = gate();
    const { lab, call, jobId } = await researching({ executors: { agent: held } });
    await using _ = lab;
    expect(await call('job_stop', { job_id: jobId, reason: 'enough' })).toEqual({ ok: true, status: 'running' });
    await lab.settled();
    const before = lab.clock.monotonic();
    expect(await call('job_output', { job_id: jobId })).toBe(`[task ${jobId} cancelled] enough`);
    expect(lab.clock.monotonic()).toBe(before);
  });

  it('D14 plan mode: on partial completion the plan agent cancels what is still queued, to save budget', async () => {
    const stuck = stubborn();
    await using lab = await sessionLab({ executors: { agent: stuck }, workers: 2 });
    await lab.running('s');
    const call = toolsOf(lab.offstage, { sessionId: 's', parentMessageId: 'm1' });
    const ids: string[] = [];
    for (let index = 0; index < 5; index += 1) ids.push(await inBackground(call, `step ${index}`));
    await lab.settled();
    await stuck.release(ids[0] as string, 'enough for an answer');
    expect(await call('await_tasks', { ids, mode: 'any' })).toMatchObject([{ status: 'completed' }, {}, {}, {}, {}]);
    await lab.settled();
    const queued = ((await call('list_jobs')) as readonly { id: string; status: string }[]).filter(
      ({ status }) => status === 'queued',
    );
    for (const { id } of queued) expect(await call('job_stop', { job_id: id })).toEqual({ ok: true, status: 'cancelled' });
    const statuses = (await Promise.all(ids.map((id) => lab.offstage.get(id)))).map(({ status }) => status);
    expect(statuses).toEqual(['completed', 'running', 'running', 'cancelled', 'cancelled']);
    for (const id of stuck.calls) await stuck.release(id);
  });

  it('D15 compatibility: under the foreground default, the user stopping the session cancels sub-agent and parent turn', async () => {
    const held = gate();
    await using lab = await sessionLab({ executors: { agent: held } });
    const session = await lab.running('s');
    const answer = toolsOf(lab.offstage, { sessionId: 's' })('agent', { prompt: 'deep research' });
    await lab.settled();
    const [job] = await lab.offstage.list({ sessionId: 's' });
    const { agent, prompt } = session;
    await lab.offstage.sessions.stop('s');
    await lab.settled();
    expect(await answer).toBe('[cancelled]');
    expect((await lab.offstage.get(job?.jobId as string)).status).toBe('cancelled');
    expect([agent.isClosed, agent.context.signal.aborted, prompt.isOpen]).toEqual([true, true, false]);
    expect(await session.tier()).toBe(null);
  });
});
