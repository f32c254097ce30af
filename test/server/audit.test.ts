/** HND3, CAL1, CAL2: what is told of requests, whatever door they came through. B33 over sockets. */
import { describe, expect, it } from 'vitest';
import { CONTROL_CALLER } from '../../src/doors/requests/caller-identity.ts';
import { handle } from '../../src/doors/requests/handler.ts';
import type { Call } from '../../src/doors/server/index.ts';
import { serve } from '../../src/doors/server/index.ts';
import { recordingConnection } from '../doors/recording-connection.ts';
import { sessionLab } from '../support/sessions.ts';
import { connect, serverLab } from './lab.ts';

describe('HND3: the audit', () => {
  it('tells who did what to what, and how it came out; never a text', async () => {
    const told: Call[] = [];
    await using lab = await serverLab({}, { onAudit: (entry) => told.push(entry) });
    const client = await lab.client({ token: lab.server.issueToken('operate') });
    await client.ask('spawn_job', { prompt: 'a secret prompt', description: 'a secret subject', parent_msg_id: 'm' });
    await client.ask('cancel_job', { job_id: 'none', reason: 'a secret reason' });
    await client.ask('cancel_jobs', { job_ids: ['x', 'y'] });
    await client.ask('create_task', { task_id: 't', title: 'a secret title' });
    await client.ask('list_jobs');
    await lab.post('/api/tasks/t/state', { state: 'review' });
    await handle(lab.offstage, { action: 'set_task_state', task_id: 't', state: 'done' }, recordingConnection(CONTROL_CALLER));
    const observer = await lab.client({ token: lab.server.issueToken('observe') });
    await observer.ask('remove_task', { task_id: 't' });
    expect(told.map(({ action, outcome, scope, ids }) => [action, outcome, scope, ids])).toEqual([
      ['spawn_job', 'ok', 'operate', { job_id: expect.any(String), parent_msg_id: 'm' }],
      ['cancel_job', 'job.not_found', 'operate', { job_id: 'none' }],
      ['cancel_jobs', 'ok', 'operate', { job_ids: ['x', 'y'] }],
      ['create_task', 'ok', 'operate', { task_id: 't' }],
      ['set_task_state', 'ok', 'operate', { task_id: 't' }],
      ['set_task_state', 'ok', 'operate', { task_id: 't' }],
      ['remove_task', 'access.forbidden', 'observe', { task_id: 't' }],
    ]);
    expect(told.map(({ caller }) => caller.replace(/:.*/, ''))).toEqual([
      'token',
      'token',
      'token',
      'token',
      'folder',
      'control',
      'token',
    ]);
    expect(told.map(({ remote }) => remote)).toEqual([...Array(5).fill('127.0.0.1'), null, '127.0.0.1']);
    for (const { at, durationMs } of told) expect([at > 0, durationMs >= 0]).toEqual([true, true]);
    expect(JSON.stringify([told, lab.engine.log])).not.toContain('secret');
    const logged = lab.engine.log.filter(({ event }) => event === 'audit.call');
    expect(logged.map(({ level, fields }) => [level, fields])).toEqual(told.map((entry) => ['info', { ...entry }]));
  });

  it('CAL2: an onAudit that throws or rejects harms nobody, and is logged', async () => {
    let calls = 0;
    await using lab = await serverLab(
      {},
      {
        onAudit: () => {
          calls += 1;
          if (calls % 2 === 1) throw new Error('no');
          return Promise.reject(new Error('no'));
        },
      },
    );
    const client = await lab.client();
    for (const title of ['a', 'b', 'c']) expect(await client.ask('create_task', { title })).toMatchObject({ type: 'result' });
    expect(await client.ask('whoami')).toMatchObject({ type: 'result' });
    expect(lab.engine.log.filter(({ event }) => event === 'audit.observer_failed')).toHaveLength(3);
  });
});

describe('B33: prompts of several clients', () => {
  it('50 in one tick over 5 connections to an idle session: one is accepted, 49 are answered, the agent is called once', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    await session.done();
    await using server = await serve(lab.offstage);
    const clients = await Promise.all(Array.from({ length: 5 }, () => connect(server)));
    const before = session.prompts.length;
    const answers = Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        clients[index % 5]?.ask('submit_prompt', { session_id: session.sessionId, prompt: `p${index}` }),
      ),
    );
    const all = await answers;
    expect(all.filter((answer) => answer?.type === 'result' && answer.accepted === true)).toHaveLength(1);
    expect(all.filter((answer) => answer?.error_code === 'prompt.busy' && answer.retryable === true)).toHaveLength(49);
    expect(session.prompts).toHaveLength(before + 1);
    for (const { socket } of clients) socket.terminate();
  });
});
