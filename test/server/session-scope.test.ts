/** SVB1–SVB3, SUB7, SNW1, RCH1: what the token of a session reaches, and that the rest is not there for it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ACTION_SCHEMAS, type ActionSchema } from '../../src/doors/requests/action-schemas.ts';
import type { WireFields } from '../../src/doors/wire/rename.ts';
import { type Client, type Lab, serverLab } from './lab.ts';

let lab: Lab;
let client: Client;
/** What session `mine` hosts, asked for, and what is below both; the others are none of its business. */
beforeAll(async () => {
  lab = await serverLab();
  const { offstage, gate, engine } = lab;
  await offstage.tasks.create({ taskId: 't' });
  for (const sessionId of ['mine', 'other', 'third']) await offstage.sessions.create({ sessionId, taskId: 't' });
  const spawn = (jobId: string, more: object) => offstage.spawn({ kind: 'gate', jobId, ...more });
  await spawn('hosted', { sessionId: 'mine' });
  await spawn('asked', { sessionId: 'other', callerSessionId: 'mine' });
  await spawn('below', { sessionId: 'third', parentJobId: 'asked' });
  await spawn('foreign', { sessionId: 'other' });
  for (const jobId of ['hosted', 'asked', 'below', 'foreign']) await gate.started(jobId);
  await engine.eventOf((event) => event.type === 'job.status' && event.jobId === 'foreign' && event.status === 'running');
  client = await lab.client({ token: lab.server.issueToken('session:mine') });
});
afterAll(() => lab[Symbol.asyncDispose]());

const idsOf = ({ tasks }: WireFields): readonly unknown[] => (tasks as readonly WireFields[]).map(({ job_id: id }) => id);

describe('SVB1: jobs', () => {
  it.each(['hosted', 'asked', 'below'])('%s is there', async (jobId) => {
    expect(await client.ask('get_job', { job_id: jobId })).toMatchObject({ type: 'result', job_id: jobId });
    expect(await client.ask('get_history', { job_id: jobId })).toMatchObject({ type: 'result' });
    expect(await client.ask('get_output', { job_id: jobId })).toMatchObject({ type: 'result' });
  });

  it.each(['foreign', 'unknown'])('%s is not', async (jobId) => {
    for (const action of ['get_job', 'get_history', 'get_output', 'cancel_job']) {
      expect(await client.ask(action, { job_id: jobId })).toMatchObject({
        type: 'error',
        error_code: 'job.not_found',
        details: { job_id: jobId },
      });
    }
    expect((await client.ask('await_jobs', { job_ids: [jobId, 'below'], timeout: 0 })).tasks).toMatchObject([
      { job_id: jobId, error_code: 'job.not_found' },
      { job_id: 'below', status: 'running' },
    ]);
    expect(await client.ask('cancel_jobs', { job_ids: [jobId] })).toMatchObject({ not_found: [jobId], cancelling: [] });
    expect(await client.ask('list_jobs', { before: jobId })).toMatchObject({ error_code: 'job.not_found' });
    expect(await client.ask('subscribe', { job_id: jobId })).toMatchObject({ error_code: 'job.not_found' });
    expect((await lab.offstage.get('foreign')).cancelRequestedAt).toBeNull();
  });

  it('an id that is none says so', async () => {
    expect(await client.ask('get_job', { job_id: '' })).toMatchObject({ error_code: 'input.invalid' });
  });

  it('lists what it hosts and what it asked for, newest first, a page at a time', async () => {
    expect(idsOf(await client.ask('list_jobs'))).toEqual(['asked', 'hosted']);
    const first = await client.ask('list_jobs', { limit: 1 });
    expect([idsOf(first), first.next_before]).toEqual([['asked'], 'asked']);
    expect(idsOf(await client.ask('list_jobs', { limit: 1, before: 'asked' }))).toEqual(['hosted']);
    expect(idsOf(await client.ask('list_jobs', { session_id: 'mine' }))).toEqual(['hosted']);
    expect(idsOf(await client.ask('list_jobs', { caller_session_id: 'mine' }))).toEqual(['asked']);
    expect(idsOf(await client.ask('list_jobs', { parent_job_id: 'asked' }))).toEqual(['below']);
    expect(await client.ask('list_jobs', { session_id: 'other' })).toMatchObject({ error_code: 'session.not_found' });
    expect(await client.ask('list_jobs', { caller_session_id: 'other' })).toMatchObject({ error_code: 'session.not_found' });
    expect(await client.ask('list_jobs', { parent_job_id: 'foreign' })).toMatchObject({ error_code: 'job.not_found' });
    expect(await client.ask('list_jobs', { task_id: 't' })).toMatchObject({ error_code: 'access.forbidden' });
  });

  it('cancels by ids, by its session, below a job of its own; and nothing else', async () => {
    expect(await client.ask('cancel_jobs', { session_id: 'other' })).toMatchObject({ error_code: 'session.not_found' });
    expect(await client.ask('cancel_jobs', { parent_job_id: 'foreign' })).toMatchObject({ error_code: 'job.not_found' });
    expect(await client.ask('cancel_jobs', { task_id: 't' })).toMatchObject({ error_code: 'access.forbidden' });
    expect(await client.ask('cancel_jobs', { parent_msg_id: 'm' })).toMatchObject({ error_code: 'access.forbidden' });
    expect((await lab.offstage.get('foreign')).cancelRequestedAt).toBeNull();
  });
});

describe('SVB2: it acts as itself', () => {
  it('starts jobs of kind agent, on its own session', async () => {
    expect(await client.ask('spawn_job', { prompt: 'p', job_id: 'started', parent_job_id: 'below' })).toMatchObject({
      type: 'result',
    });
    expect(await lab.offstage.get('started')).toMatchObject({ kind: 'agent', sessionId: 'mine', parentJobId: 'below' });
    for (const [fields, code] of [
      [{ kind: 'echo' }, 'access.forbidden'],
      [{ kind: 'command', input: { command: 'id' } }, 'access.forbidden'],
      [{ prompt: 'p', session_id: 'other' }, 'session.not_found'],
      [{ prompt: 'p', parent_session_id: 'other' }, 'session.not_found'],
      [{ prompt: 'p', caller_session_id: 'other' }, 'session.not_found'],
      [{ prompt: 'p', parent_job_id: 'foreign' }, 'job.not_found'],
    ] as const) {
      expect(await client.ask('spawn_job', fields)).toMatchObject({ type: 'error', error_code: code });
    }
  });
});

describe('SVB1: sessions, cards, tickets', () => {
  it('there is its own, and no other', async () => {
    expect(await client.ask('get_session', { session_id: 'mine' })).toMatchObject({ session_id: 'mine' });
    expect((await client.ask('list_sessions')).sessions).toMatchObject([{ session_id: 'mine' }]);
    expect((await client.ask('list_sessions', { before: 'mine' })).sessions).toEqual([]);
    for (const action of ['get_session', 'list_tickets', 'list_workloads', 'list_cards']) {
      expect(await client.ask(action, { session_id: 'mine' })).toMatchObject({ type: 'result' });
      expect(await client.ask(action, { session_id: 'other' })).toMatchObject({ error_code: 'session.not_found' });
    }
    expect(await client.ask('submit_prompt', { session_id: 'other', prompt: 'x' })).toMatchObject({
      error_code: 'session.not_found',
    });
    expect(await client.ask('cancel_ticket', { ticket_id: 'k' })).toMatchObject({ error_code: 'ticket.not_found' });
    expect(await client.ask('get_card', { card_id: 'card_below' })).toMatchObject({ type: 'result' });
    expect(await client.ask('get_card', { card_id: 'card_foreign' })).toMatchObject({ error_code: 'card.not_found' });
    expect(await client.ask('subscribe', { session_id: 'other' })).toMatchObject({ error_code: 'session.not_found' });
    expect(await client.ask('subscribe', { job_id: 'hosted', hold: true })).toMatchObject({ error_code: 'access.forbidden' });
  });
});

describe('SVB3: what is not for sessions', () => {
  const others = Object.entries(ACTION_SCHEMAS as Record<string, ActionSchema>).filter(([, { isForSessions }]) => !isForSessions);

  it.each(others)('%s is access.forbidden', async (action, { example }) => {
    expect(await client.ask(action, example)).toMatchObject({ type: 'error', error_code: 'access.forbidden' });
  });

  it('are all that touch tasks, other sessions, or questions of its own agent', () => {
    expect(others.map(([action]) => action).sort()).toEqual(
      [
        'answer_request',
        'archive_task',
        'create_session',
        'create_task',
        'dismiss_workload',
        'get_server',
        'get_task',
        'health',
        'interrupt_session',
        'list_processes',
        'list_tasks',
        'remove_session',
        'remove_task',
        'set_task_state',
        'stop_session',
        'stop_task',
      ].sort(),
    );
  });

  it('nor are the figures of everybody', async () => {
    const headers = { authorization: `Bearer ${lab.server.issueToken('session:mine')}` };
    expect((await lab.fetch('/metrics', { headers })).status).toBe(403);
    expect((await lab.fetch('/api/jobs/foreign', { headers })).status).toBe(404);
    expect((await lab.fetch('/api/jobs/below', { headers })).status).toBe(200);
  });
});

describe('SUB7, SNW1: what it is told', () => {
  it('its own session, the jobs it reaches, and nothing else; the snapshot likewise', async () => {
    await using own = await serverLab();
    const { offstage, gate } = own;
    await offstage.tasks.create({ taskId: 't' });
    for (const sessionId of ['mine', 'other']) await offstage.sessions.create({ sessionId, taskId: 't' });
    await offstage.spawn({ kind: 'gate', jobId: 'asked', sessionId: 'other', callerSessionId: 'mine' });
    await offstage.spawn({ kind: 'gate', jobId: 'foreign', sessionId: 'other' });
    await gate.started('foreign');
    const mine = await own.client({ token: own.server.issueToken('session:mine') });
    const snapshot = await mine.ask('subscribe', { after: 0 });
    expect(snapshot).toMatchObject({ tasks: [], sessions: [{ session_id: 'mine' }], jobs: [{ job_id: 'asked' }] });
    expect(await mine.ask('get_snapshot')).toMatchObject({
      tasks: [],
      counts: { running: 1, queued: 0 },
      jobs: [{ job_id: 'asked' }],
    });
    await offstage.spawn({ kind: 'gate', jobId: 'below', sessionId: 'other', parentJobId: 'asked' });
    await offstage.spawn({ kind: 'gate', jobId: 'beside', sessionId: 'other', parentJobId: 'foreign' });
    await offstage.sessions.create({ sessionId: 'new' });
    await offstage.tasks.create({ taskId: 'task' });
    for (const jobId of ['below', 'beside']) {
      (await gate.started(jobId)).context.output(jobId);
      await gate.release(jobId);
    }
    await gate.release('foreign');
    await gate.release('asked');
    await mine.frameOf((frame) => frame.type === 'card_updated' && frame.job_id === 'asked' && frame.status !== 'running');
    const about = (name: string) => new Set(mine.frames.map((frame) => frame[name]).filter((id) => id !== undefined));
    expect(about('job_id')).toEqual(new Set(['asked', 'below']));
    expect(mine.frames.filter(({ type }) => type.startsWith('task.'))).toEqual([]);
    expect(new Set(mine.frames.filter(({ type }) => type.startsWith('session.')).map((frame) => frame.session_id))).toEqual(
      new Set(['mine']),
    );
    expect(mine.frames.some(({ type, text }) => type === 'job_output' && text === 'below')).toBe(true);
  });
});
