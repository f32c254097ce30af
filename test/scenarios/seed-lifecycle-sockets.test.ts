/**
 * Seed 000, D9 and the D9 rows of its scenarios A to D: the WebSocket actions, and what everybody who is connected is told. Beside them the
 * reported faults whose scenario speaks of a second connection: B02, B18. The rows of D11 are in test/browser.
 */
import { describe, expect, it } from 'vitest';
import type { Frame } from '../../src/doors/requests/connection.ts';
import { eventToWire } from '../../src/doors/wire/wire-events.ts';
import { type Client, type Lab, serverLab } from '../server/lab.ts';
import { echo, stubborn, throwing } from '../support/executors.ts';
import { chunkAgent } from '../support/seed-lifecycle.ts';
import { inBackground, toolsOf } from '../support/tools.ts';

/** Statuses that a connection was told of one job, in order. */
const told = (client: Client, jobId: unknown): readonly unknown[] =>
  client.frames.filter((frame) => frame.type === 'job_status' && frame.job_id === jobId).map(({ status }) => status);

const statusOf =
  (jobId: unknown, status: string) =>
  (frame: Frame): boolean =>
    frame.type === 'job_status' && frame.job_id === jobId && frame.status === status;

/** Two connections: a panel that watches, and whoever acts. */
async function panelAndActor(lab: Lab, fields: Record<string, string> = {}) {
  await lab.offstage.sessions.create({ sessionId: 's' });
  const panel = await lab.client();
  await panel.ask('subscribe', fields);
  return { panel, actor: await lab.client() };
}

describe('D9: WS API', () => {
  it('spawn_job answers {job_id, status, parent_msg_id} at once, while its body has hardly begun', async () => {
    await using lab = await serverLab({ workers: 1 });
    const { actor } = await panelAndActor(lab);
    const fields = { session_id: 's', prompt: 'probe X', description: 'a probe', context: 'clean' };
    const { type, request_id: _, ...answer } = await actor.ask('spawn_job', fields);
    expect(type).toBe('result');
    expect(Object.keys(answer).sort()).toEqual(['job_id', 'parent_msg_id', 'status']);
    expect(answer).toMatchObject({ job_id: expect.stringMatching(/^job_/), status: 'queued', parent_msg_id: null });
    const record = await actor.ask('get_job', { job_id: answer.job_id as string });
    expect(record).toMatchObject({ kind: 'agent', subject: 'a probe', input: { prompt: 'probe X', context: 'clean' } });
  });

  it('list_jobs answers {tasks: […]}, of one session, of one status, or of all', async () => {
    await using lab = await serverLab({ workers: 1 });
    const { actor } = await panelAndActor(lab);
    await lab.offstage.sessions.create({ sessionId: 'other' });
    const ids: unknown[] = [];
    for (const sessionId of ['s', 's', 'other']) {
      ids.push((await actor.ask('spawn_job', { session_id: sessionId, prompt: 'p', description: 'd' })).job_id);
    }
    await lab.gate.started(String(ids[0]));
    const listed = async (fields: Record<string, string | number>) =>
      ((await actor.ask('list_jobs', fields)).tasks as Frame[]).map((row) => row.job_id);
    expect(await listed({})).toEqual([...ids].reverse());
    expect(await listed({ session_id: 's' })).toEqual([ids[1], ids[0]]);
    expect(await listed({ session_id: 's', status_filter: 'queued' })).toEqual([ids[1]]);
    expect(await listed({ limit: 1 })).toEqual([ids[2]]);
    expect(await actor.ask('list_jobs', { status_filter: 'gone' })).toMatchObject({ type: 'error', error_code: 'input.invalid' });
  });

  it('get_job answers one entity, with its head and, while it runs, what it has said so far', async () => {
    const agent = chunkAgent();
    await using lab = await serverLab({ executors: { agent } });
    const { actor } = await panelAndActor(lab);
    const { job_id: jobId } = await actor.ask('spawn_job', { session_id: 's', prompt: 'p', description: 'd' });
    await lab.engine.eventOf((event) => event.type === 'job.status' && event.status === 'running');
    agent.loops[0]?.chunk('half of it');
    await lab.engine.clock.settle();
    const fields = { job_id: jobId as string };
    expect(await actor.ask('get_job', fields)).toMatchObject({ head_id: null, partial_result: 'half of it', result_text: null });
    agent.loops[0]?.end();
    await lab.offstage.wait(fields.job_id);
    expect(await actor.ask('get_job', fields)).toMatchObject({
      status: 'completed',
      partial_result: null,
      result_text: 'half of it',
    });
  });

  it('every connection is told: job_created, job_status of each status, job_progress, and running_task with its job_id', async () => {
    await using lab = await serverLab();
    const { panel, actor } = await panelAndActor(lab);
    const another = await lab.client();
    await another.ask('subscribe', { names: 'seed' });
    const { job_id: jobId } = await actor.ask('spawn_job', { session_id: 's', prompt: 'p', description: 'd' });
    const { context } = await lab.gate.started(String(jobId));
    context.progress({ percent: 50 });
    await lab.gate.release(String(jobId), 'found');
    for (const client of [panel, another]) {
      await client.frameOf(statusOf(jobId, 'completed'));
      expect(told(client, jobId)).toEqual(['queued', 'running', 'completed']);
      const running = client.frames.filter(({ type }) => type === 'running_task');
      expect(running.map((frame) => [frame.session_id, frame.job_id, frame.running, frame.running_count])).toEqual([
        ['s', jobId, true, 1],
        ['s', jobId, false, 0],
      ]);
    }
    const typesOf = (client: Client) => new Set(client.frames.map(({ type }) => type));
    expect([...typesOf(panel)]).toEqual(expect.arrayContaining(['job_created', 'job_progress']));
    expect([...typesOf(another)]).toEqual(expect.arrayContaining(['task_created', 'task_progress']));
    expect(typesOf(another)).not.toContain('job_created');
  });
});

describe('the D9 rows of the scenarios', () => {
  it('Scenario A: the tool goes in process, and the panel sees its job all the same', async () => {
    await using lab = await serverLab({ executors: { agent: echo } });
    const { panel, actor } = await panelAndActor(lab);
    await toolsOf(lab.offstage, { sessionId: 's' })('agent', { prompt: 'probe X', description: 'a probe' });
    const [row] = (await actor.ask('list_jobs', { session_id: 's' })).tasks as Frame[];
    expect(row).toMatchObject({ status: 'completed', wait: true, subject: 'a probe' });
    await panel.frameOf(statusOf(row?.job_id, 'completed'));
    expect(told(panel, row?.job_id)).toEqual(['queued', 'running', 'completed']);
  });

  it('Scenario B: spawn_job returns the job_id, and the panel has a new row at once', async () => {
    await using lab = await serverLab();
    const { panel, actor } = await panelAndActor(lab, {});
    const { job_id: jobId } = await actor.ask('spawn_job', { session_id: 's', prompt: 'p', description: 'd' });
    const created = await panel.frameOf((frame) => frame.type === 'job_created' && frame.job_id === jobId);
    expect(created).toMatchObject({ parent_session_id: 's', status: 'pending' });
    expect(await actor.ask('await_jobs', { job_ids: [jobId as string], mode: 'any', timeout: 0 })).toMatchObject({
      tasks: [{ job_id: jobId, subject: 'd' }],
    });
  });

  it('Scenario C: five spawns and one await_jobs: nobody polls', async () => {
    await using lab = await serverLab({ workers: 4 });
    const { panel, actor } = await panelAndActor(lab);
    const spawns = Array.from({ length: 5 }, (_, index) =>
      actor.ask('spawn_job', { session_id: 's', prompt: `step ${index}`, description: `step ${index}` }),
    );
    const ids = (await Promise.all(spawns)).map(({ job_id: jobId }) => String(jobId));
    const all = actor.ask('await_jobs', { job_ids: ids, mode: 'all', timeout: 600_000 });
    await Promise.all(ids.slice(0, 4).map((id) => lab.gate.started(id)));
    await panel.frameOf(statusOf(ids[4], 'queued'));
    expect(told(panel, ids[4])).toEqual(['queued']);
    await lab.gate.fail(String(ids[0]), new Error('no such host'));
    for (const id of ids.slice(1)) {
      await lab.gate.started(id);
      await lab.gate.release(id, `done ${id}`);
    }
    const { tasks } = await all;
    expect((tasks as Frame[]).map(({ job_id: id, status }) => [id, status])).toEqual(
      ids.map((id, index) => [id, index === 0 ? 'errored' : 'completed']),
    );
    for (const id of ids)
      expect((await panel.frameOf((frame) => frame.job_id === id && frame.completed_at !== null)).job_id).toBe(id);
  });

  it('Scenario D: cancel_job answers at once; the panel is told of the request, and once more when the worker has really gone', async () => {
    const deaf = stubborn();
    await using lab = await serverLab({ executors: { agent: deaf } });
    const { panel, actor } = await panelAndActor(lab);
    const { job_id: jobId } = await actor.ask('spawn_job', { session_id: 's', prompt: 'p', description: 'd' });
    await deaf.started(String(jobId));
    const answer = await actor.ask('cancel_job', { job_id: jobId as string, reason: 'enough' });
    expect(answer).toMatchObject({ job_id: jobId, status: 'running', cancel_requested_at: expect.any(Number) });
    const asked = await panel.frameOf((frame) => statusOf(jobId, 'running')(frame) && frame.cancel_requested_at !== null);
    expect(asked.completed_at).toBeNull();
    expect(told(panel, jobId)).toEqual(['queued', 'running', 'running']);
    await deaf.release(String(jobId), 'too late');
    expect(await panel.frameOf(statusOf(jobId, 'cancelled'))).toMatchObject({ reason_code: 'cancel.user', detached: false });
    expect(told(panel, jobId)).toEqual(['queued', 'running', 'running', 'cancelled']);
  });
});

describe('faults that need a second connection', () => {
  it('B02: when a connection is told of an end, every request on it agrees, and nothing is left to stop', async () => {
    await using lab = await serverLab({ executors: { broken: throwing('x') } });
    const client = await lab.client();
    await client.ask('subscribe');
    const jobs = await Promise.all(
      Array.from({ length: 200 }, (_, index) => lab.offstage.spawn({ kind: index % 3 === 0 ? 'broken' : 'echo', input: index })),
    );
    await Promise.all(
      jobs.map(async ({ jobId, taskId }) => {
        const end = await client.frameOf(
          (frame) => frame.type === 'job_status' && frame.job_id === jobId && frame.completed_at !== null,
        );
        const [record, cancelled, many] = await Promise.all([
          client.ask('get_job', { job_id: jobId }),
          client.ask('cancel_job', { job_id: jobId }),
          client.ask('cancel_jobs', { job_ids: [jobId] }),
        ]);
        expect(record).toMatchObject({ status: end.status, revision: end.revision, body_live: false });
        expect(cancelled).toMatchObject({ type: 'result', status: end.status, cancel_requested_at: null });
        expect(many).toMatchObject({ already_terminal: [jobId], cancelled: [], cancelling: [] });
        expect(taskId).toBe('default');
      }),
    );
    expect(await client.ask('list_jobs', { status_filter: 'running' })).toMatchObject({ tasks: [] });
    expect(await client.ask('stop_task', { task_id: 'default' })).toMatchObject({ error_code: 'stop.nothing_running' });
  });

  it('B18: a connection that goes while it waits changes nothing on the job, and holds nothing', async () => {
    await using lab = await serverLab();
    const { jobId } = await lab.offstage.spawn({ kind: 'gate' });
    await lab.gate.started(jobId);
    const client = await lab.client();
    void client.ask('await_jobs', { job_ids: [jobId], timeout: null });
    // Requests begin in the order in which they come.
    await client.ask('whoami');
    client.socket.terminate();
    const next = await lab.client();
    const peek = await next.ask('await_jobs', { job_ids: [jobId], timeout: 0 });
    expect(peek).toMatchObject({ tasks: [{ status: 'running', timed_out: true, cancel_requested_at: null }] });
    await lab.gate.release(jobId, 'the result');
    for (let reads = 0; reads < 2; reads += 1) {
      expect(await next.ask('get_job', { job_id: jobId })).toMatchObject({ status: 'completed', result_text: 'the result' });
    }
    for (const timeout of [-1, Number.MIN_SAFE_INTEGER]) {
      expect(await next.ask('await_jobs', { job_ids: [jobId], timeout })).toMatchObject({ error_code: 'input.invalid' });
    }
  });

  it('spec 13: what goes over a socket is what the table says, field by field', async () => {
    await using lab = await serverLab();
    const client = await lab.client();
    await client.ask('subscribe');
    await inBackground(toolsOf(lab.offstage), 'a long research');
    const event = await lab.engine.eventOf((one) => one.type === 'job.created');
    const frame = await client.frameOf(({ type }) => type === 'job_created');
    expect(frame).toEqual(JSON.parse(JSON.stringify(eventToWire(event))));
  });
});
