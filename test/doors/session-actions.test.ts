/** SAC1, SAC2: sessions, prompts, tickets, questions and work, as requests. */
import { describe, expect, it } from 'vitest';
import { handle, isWaitingRequest } from '../../src/doors/requests/handler.ts';
import type { WireFields } from '../../src/doors/wire/rename.ts';
import { eventFromWire } from '../../src/doors/wire/wire-events.ts';
import { LIMITS } from '../../src/model/limits.ts';
import { controlledExecutor } from '../../src/testing/controlled-executor.ts';
import { session, storeWith } from '../support/left-behind.ts';
import { FULL, type SessionLab, type SessionLabOptions, sessionLab } from '../support/sessions.ts';
import { testEngine } from '../support/test-engine.ts';
import { recordingConnection } from './recording-connection.ts';

/** Asks, and answers with the answer. */
async function ask({ offstage }: Pick<SessionLab, 'offstage'>, action: string, fields: WireFields = {}): Promise<WireFields> {
  const connection = recordingConnection();
  await handle(offstage, { ...fields, action, request_id: 7 }, connection);
  expect(connection.listeners).toBe(0);
  const answer = connection.frames.at(-1) as WireFields;
  expect(answer.request_id).toBe(7);
  return answer;
}

const rows = (answer: WireFields, name: string): readonly WireFields[] => answer[name] as readonly WireFields[];

describe('prompts', () => {
  it('submit_prompt: accepted with its generation; content passes unchanged, prompt is short for a text', async () => {
    await using lab = await sessionLab();
    await ask(lab, 'create_session', { session_id: 's' });
    const content = [{ type: 'text', fooBar: 1 }];
    const answer = await ask(lab, 'submit_prompt', { session_id: 's', content, prompt_id: 'p', origin: 'synthetic' });
    expect(answer).toEqual({ type: 'result', request_id: 7, accepted: true, prompt_id: 'p', generation: expect.any(Number) });
    expect(lab.mock.prompts[0]).toMatchObject({ content, origin: 'synthetic', generation: answer.generation });
    lab.mock.prompts[0]?.end();
    await lab.settled();
    await ask(lab, 'submit_prompt', { session_id: 's', prompt: 'a text' });
    expect(lab.mock.prompts[1]).toMatchObject({ content: 'a text', origin: 'human' });
  });

  it('the same prompt_id gets the same answer', async () => {
    await using lab = await sessionLab();
    await lab.create();
    const fields = { session_id: 's', prompt: 'once', prompt_id: 'p' };
    expect(await ask(lab, 'submit_prompt', fields)).toEqual(await ask(lab, 'submit_prompt', fields));
    expect(lab.mock.prompts).toHaveLength(1);
  });

  it('when busy: refused, or queued as a ticket, which is listed and cancelled', async () => {
    await using lab = await sessionLab();
    await lab.running();
    const again = { session_id: 's', prompt: 'and now?' };
    expect(await ask(lab, 'submit_prompt', again)).toMatchObject({ type: 'error', error_code: 'prompt.busy', retryable: true });
    const first = await ask(lab, 'submit_prompt', { ...again, when_busy: 'queue', prompt_id: 'p' });
    expect(first).toEqual({
      type: 'result',
      request_id: 7,
      queued: true,
      prompt_id: 'p',
      ticket_id: expect.any(String),
      position: 1,
    });
    const second = await ask(lab, 'submit_prompt', { ...again, when_busy: 'queue', origin: 'synthetic' });
    expect(second).toMatchObject({ queued: true, position: 2 });
    expect(await ask(lab, 'get_session', { session_id: 's' })).toMatchObject({ queued_prompts: 2 });
    const listed = await ask(lab, 'list_tickets', { session_id: 's' });
    expect(listed).toMatchObject({
      cut: false,
      tickets: [
        { ticket_id: first.ticket_id, prompt_id: 'p', session_id: 's', origin: 'human', position: 1 },
        { ticket_id: second.ticket_id, origin: 'synthetic', position: 2, created_at: expect.any(Number) },
      ],
    });
    expect(await ask(lab, 'cancel_ticket', { ticket_id: first.ticket_id as string })).toMatchObject({ changed: true });
    expect(rows(await ask(lab, 'list_tickets', { session_id: 's' }), 'tickets')).toMatchObject([{ position: 1 }]);
    expect(await ask(lab, 'cancel_ticket', { ticket_id: first.ticket_id as string })).toMatchObject({
      error_code: 'ticket.not_found',
    });
  });

  it('PAG1: many tickets come in an answer of bounded size, which says that it is cut', async () => {
    await using lab = await sessionLab();
    const sessionId = 's'.repeat(500);
    await lab.running(sessionId);
    for (let number = 0; number < LIMITS.ticketsPerSession; number++) {
      const promptId = String(number).padEnd(500, 'x');
      await lab.offstage.sessions.prompt(sessionId, { content: 'x', promptId, whenBusy: 'queue' });
    }
    const answer = await ask(lab, 'list_tickets', { session_id: sessionId });
    expect(answer.cut).toBe(true);
    expect(rows(answer, 'tickets').length).toBeGreaterThan(100);
    expect(JSON.stringify(answer).length).toBeLessThan(LIMITS.frameBytes);
    const more = { session_id: sessionId, prompt: 'one more', when_busy: 'queue' };
    expect(await ask(lab, 'submit_prompt', more)).toMatchObject({ error_code: 'limit.tickets' });
  });

  it('interrupt_session says whether anything was changed, and with prompt_id ends only that turn', async () => {
    await using lab = await sessionLab();
    const s = await lab.create();
    expect(await ask(lab, 'interrupt_session', { session_id: 's' })).toEqual({ type: 'result', request_id: 7, changed: false });
    await s.ask('go', { promptId: 'p' });
    expect(await ask(lab, 'interrupt_session', { session_id: 's', prompt_id: 'q' })).toMatchObject({ changed: false });
    expect(await ask(lab, 'interrupt_session', { session_id: 's', prompt_id: 'p' })).toMatchObject({ changed: true });
    expect(s.prompt.signal.aborted).toBe(true);
    expect(await ask(lab, 'interrupt_session', { session_id: 'x' })).toMatchObject({ error_code: 'session.not_found' });
  });

  it('what waits for an agent does not take the place of what is answered at once', () => {
    expect(['submit_prompt', 'answer_request', 'get_session'].map((action) => isWaitingRequest({ action }))).toEqual([
      true,
      true,
      false,
    ]);
  });
});

describe('questions of the agent', () => {
  it('SAC2: pending tells its request_id; answer_request names it pending_request_id, beside its own request_id', async () => {
    await using lab = await sessionLab();
    const s = await lab.running();
    const question = { requestId: 'r', kind: 'permission', title: 'May I?', options: [{ optionId: 'yes' }] } as const;
    await s.tell({ type: 'permission.request', generation: s.generation, ...question });
    expect(await ask(lab, 'get_session', { session_id: 's' })).toMatchObject({
      request_id: 7,
      pending: { kind: 'permission', request_id: 'r', title: 'May I?', options: [{ optionId: 'yes' }] },
    });
    expect(await ask(lab, 'get_task', { task_id: s.taskId })).toMatchObject({ pending: 'permission' });
    expect(await ask(lab, 'answer_request', { session_id: 's', pending_request_id: 'r', choice: { optionId: 'yes' } })).toEqual({
      type: 'result',
      request_id: 7,
      answered: true,
    });
    expect(s.agent.answers).toEqual([{ requestId: 'r', choice: { optionId: 'yes' } }]);
    await lab.settled();
    expect(await ask(lab, 'get_session', { session_id: 's' })).toMatchObject({ pending: null });
    const again = { session_id: 's', pending_request_id: 'r', choice: 'yes' };
    expect(await ask(lab, 'answer_request', again)).toMatchObject({ error_code: 'request.not_found' });
  });

  it('null is an answer; none is not', async () => {
    await using lab = await sessionLab();
    const s = await lab.running();
    await s.tell({ type: 'permission.request', generation: s.generation, requestId: 'r', kind: 'clarification', options: [] });
    const fields = { session_id: 's', pending_request_id: 'r' };
    expect(await ask(lab, 'answer_request', fields)).toMatchObject({ error: 'choice is not valid: it is missing.' });
    expect(await ask(lab, 'answer_request', { ...fields, choice: null })).toMatchObject({ answered: true });
    expect(s.agent.answers).toEqual([{ requestId: 'r', choice: null }]);
  });
});

describe('work', () => {
  it('list_workloads: that of the agent and jobs; dismiss_workload takes one of the agent away', async () => {
    const gate = controlledExecutor();
    await using lab = await sessionLab({ executors: { gate } });
    const s = await lab.running();
    await s.reg('w', 'monitor', 'tool');
    await lab.offstage.spawn({ kind: 'gate', jobId: 'j', sessionId: 's' });
    await gate.started('j');
    await lab.settled();
    const answer = await ask(lab, 'list_workloads', { session_id: 's' });
    expect(answer.cut).toBe(false);
    expect(rows(answer, 'workloads')).toMatchObject([
      { workload_id: 'w', source: 'provider', kind: 'monitor', tool_call_id: 'tool', execution_id: s.executionId },
      { workload_id: 'j', source: 'engine', kind: 'subagent', phase: 'live', execution_id: null, hosted: false, quiet: false },
    ]);
    expect(await ask(lab, 'get_session', { session_id: 's' })).toMatchObject({
      foreground_activity: 'generating',
      active_subagent_count: 1,
      execution_id: s.executionId,
      turn: { generation: s.generation, origin: 'prompt', quiet: false },
    });
    expect(await ask(lab, 'dismiss_workload', { session_id: 's', workload_id: 'w' })).toMatchObject({ changed: true });
    for (const workloadId of ['w', 'j', 'unknown']) {
      expect(await ask(lab, 'dismiss_workload', { session_id: 's', workload_id: workloadId })).toMatchObject({
        error_code: 'workload.not_found',
      });
    }
    expect(rows(await ask(lab, 'list_workloads', { session_id: 's' }), 'workloads')).toHaveLength(1);
    await gate.release('j');
  });

  it('spawn_job takes tool_call_id: what the agent tells of that call is the job', async () => {
    const gate = controlledExecutor();
    await using lab = await sessionLab({ executors: { gate } });
    const s = await lab.running();
    await ask(lab, 'spawn_job', { kind: 'gate', job_id: 'j', session_id: 's', tool_call_id: 'tool' });
    await s.reg('w', 'subagent', 'tool');
    expect(await s.works()).toEqual(['j']);
    await gate.release('j');
  });
});

describe('tasks', () => {
  it('carry activity and count, null and 0 included, in every answer', async () => {
    await using lab = await sessionLab();
    const nothing = { foreground_activity: null, active_subagent_count: 0 };
    expect(await ask(lab, 'create_task', { task_id: 't', title: 'T' })).toMatchObject({
      ...nothing,
      pending: null,
      sessions: [],
      running_jobs: 0,
    });
    const session = await ask(lab, 'create_session', { session_id: 's', task_id: 't' });
    expect(session).toMatchObject({ ...nothing, turn: null, execution_id: null, queued_prompts: 0, usage: {} });
    expect(rows(await ask(lab, 'list_sessions'), 'sessions')).toMatchObject([nothing]);
    expect(rows(await ask(lab, 'list_tasks'), 'tasks')).toMatchObject([{ ...nothing, sessions: ['s'] }]);
    await ask(lab, 'submit_prompt', { session_id: 's', prompt: 'go' });
    const generating = { foreground_activity: 'generating', active_subagent_count: 0 };
    expect(await ask(lab, 'get_task', { task_id: 't' })).toMatchObject({ ...generating, pending: 'work' });
    expect(rows(await ask(lab, 'list_tasks'), 'tasks')).toMatchObject([generating]);
  });

  it('set_task_state says where the task stands', async () => {
    await using lab = await sessionLab();
    await lab.create('s', (await lab.offstage.tasks.create({ taskId: 't' })).taskId);
    expect(await ask(lab, 'set_task_state', { task_id: 't', state: 'in_progress' })).toMatchObject({
      task_id: 't',
      state: 'in_progress',
      revision: 2,
      active_subagent_count: 0,
    });
    expect((await lab.offstage.tasks.get('t')).state).toBe('in_progress');
  });
});

describe('B55: what is wrong is said by name, and nothing is done', () => {
  const REQUESTS: readonly (readonly [string, WireFields, string, RegExp?])[] = [
    ['submit_prompt', {}, 'input.invalid', /^session_id /],
    ['submit_prompt', { session_id: 's' }, 'input.invalid', /^content .+ missing/],
    ['submit_prompt', { session_id: 's', content: null }, 'input.invalid', /^content .+ missing/],
    ['submit_prompt', { session_id: 's', content: 'a', prompt: 'b' }, 'input.invalid', /either content or prompt/],
    ['submit_prompt', { session_id: 's', prompt: { text: 'a' } }, 'input.invalid', /^prompt /],
    ['submit_prompt', { session_id: 's', prompt: 'a', origin: 'robot' }, 'input.invalid', /^origin .+human, synthetic/],
    ['submit_prompt', { session_id: 's', prompt: 'a', when_busy: true }, 'input.invalid', /^when_busy /],
    ['submit_prompt', { session_id: 's', prompt: 'a', when_busy: 'wait' }, 'input.invalid', /^when_busy .+reject, queue/],
    ['submit_prompt', { session_id: 's', prompt: 'a', prompt_id: '' }, 'input.invalid', /^promptId /],
    ['submit_prompt', { session_id: 'x', prompt: 'a' }, 'session.not_found'],
    ['submit_prompt', { session_id: 's', prompt: 'x'.repeat(LIMITS.inputBytes) }, 'limit.input_bytes'],
    ['interrupt_session', {}, 'input.invalid', /^session_id /],
    ['interrupt_session', { session_id: 's', prompt_id: 7 }, 'input.invalid', /^prompt_id /],
    ['interrupt_session', { session_id: 'x' }, 'session.not_found'],
    ['answer_request', { session_id: 's', choice: 1 }, 'input.invalid', /^pending_request_id /],
    ['answer_request', { session_id: 's', pending_request_id: 'r', choice: 1 }, 'request.not_found'],
    ['list_tickets', { session_id: 'x' }, 'session.not_found'],
    ['list_tickets', { session_id: 7 }, 'input.invalid', /^session_id /],
    ['cancel_ticket', {}, 'input.invalid', /^ticket_id /],
    ['cancel_ticket', { ticket_id: 'x' }, 'ticket.not_found'],
    ['list_workloads', { session_id: 'x' }, 'session.not_found'],
    ['dismiss_workload', { session_id: 's' }, 'input.invalid', /^workload_id /],
    ['dismiss_workload', { session_id: 's', workload_id: 'x' }, 'workload.not_found'],
    ['dismiss_workload', { session_id: 'x', workload_id: 'x' }, 'session.not_found'],
    ['set_task_state', { task_id: 'default' }, 'input.invalid', /^state /],
    ['set_task_state', { task_id: 'x', state: 'open' }, 'task.not_found'],
    ['set_task_state', { task_id: 'x', state: 'finished' }, 'input.invalid', /^state .+in_progress/],
    ['stop_task', { task_id: 'x' }, 'task.not_found'],
    ['stop_session', { session_id: 'x' }, 'session.not_found'],
    ['stop_session', { session_id: 's' }, 'stop.nothing_running'],
    ['stop_session', { session_id: 's', wait: 'yes' }, 'input.invalid', /^wait /],
    ['remove_task', { task_id: 'x', confirm: true }, 'task.not_found'],
    ['remove_session', { session_id: 'x', confirm: true }, 'session.not_found'],
    ['archive_task', { task_id: 'x' }, 'task.not_found'],
    ['create_session', { agent_id: 'nobody' }, 'agent.unknown'],
    ['list_sessions', { before: 'x' }, 'session.not_found'],
    ['list_tasks', { before: 'x' }, 'task.not_found'],
    ['subscribe', { session_id: 's', job_id: 'j' }, 'input.invalid', /^session_id /],
    ['subscribe', { session_id: 's', hold: true }, 'input.invalid', /^hold /],
  ];
  it.each(
    REQUESTS.map(([action, fields, code, sentence]) => {
      return [`${action} ${JSON.stringify(fields).slice(0, 80)}`, action, fields, code, sentence ?? /\S/] as const;
    }),
  )('%s', async (_, action, fields, code, sentence) => {
    await using lab = await sessionLab();
    await lab.create();
    const before = await lab.offstage.snapshot();
    expect(await ask(lab, action, fields)).toMatchObject({
      type: 'error',
      error_code: code,
      error: expect.stringMatching(sentence),
    });
    const { sessions, tasks } = await lab.offstage.snapshot();
    expect([sessions, tasks]).toEqual([before.sessions, before.tasks]);
    expect(lab.mock.starts).toEqual([]);
  });

  const STRAY: Readonly<Record<string, WireFields>> = {
    submit_prompt: { session_id: 's', prompt: 'p' },
    interrupt_session: { session_id: 's' },
    answer_request: { session_id: 's', pending_request_id: 'r', choice: 1 },
    list_tickets: { session_id: 's' },
    cancel_ticket: { ticket_id: 'k' },
    list_workloads: { session_id: 's' },
    dismiss_workload: { session_id: 's', workload_id: 'w' },
    set_task_state: { task_id: 't', state: 'done' },
    stop_task: { task_id: 't' },
    stop_session: { session_id: 's' },
    remove_task: { task_id: 't' },
    remove_session: { session_id: 's' },
    archive_task: { task_id: 't' },
  };
  it.each(Object.entries(STRAY))('FLD2: a field that %s does not know is refused by name', async (action, good) => {
    await using lab = await sessionLab();
    await lab.create('s', (await lab.offstage.tasks.create({ taskId: 't' })).taskId);
    expect(await ask(lab, action, { ...good, sesion_id: 's' })).toMatchObject({
      error_code: 'input.invalid',
      error: 'sesion_id is not valid: this action has no such field.',
    });
    expect([lab.mock.starts, (await lab.offstage.tasks.get('t')).state]).toEqual([[], 'open']);
  });

  const FAILURES: readonly (readonly [string, SessionLabOptions, string, boolean])[] = [
    ['an agent that does not start', { script: { failStart: new Error('no') } }, 'agent.start_failed', true],
    [
      'an agent that refuses',
      {
        script: {
          attests: FULL,
          acceptAtOnce: false,
          onPrompt: () => {
            throw new Error('no');
          },
        },
      },
      'agent.failed',
      false,
    ],
    [
      'an agent that goes',
      { script: { attests: FULL, acceptAtOnce: false, onPrompt: (_, agent) => agent.crash() } },
      'agent.gone',
      true,
    ],
  ];
  it.each(FAILURES)('submit_prompt to %s', async (_, options, code, retryable) => {
    await using lab = await sessionLab(options);
    await lab.create();
    const answer = await ask(lab, 'submit_prompt', { session_id: 's', prompt: 'p', when_busy: 'queue' });
    expect(answer).toMatchObject({ type: 'error', error_code: code, retryable });
    expect(await ask(lab, 'list_tickets', { session_id: 's' })).toMatchObject({ tickets: [] });
  });

  it('submit_prompt where nobody gave an agent', async () => {
    await using engine = await testEngine();
    await engine.offstage.sessions.create({ sessionId: 's' });
    expect(await ask(engine, 'submit_prompt', { session_id: 's', prompt: 'p', when_busy: 'queue' })).toMatchObject({
      error_code: 'agent.unknown',
    });
  });

  it('submit_prompt to a session that has failed', async () => {
    await using lab = await sessionLab({ store: await storeWith({ sessions: [session('s', 'failed')] }) });
    expect(await ask(lab, 'submit_prompt', { session_id: 's', prompt: 'p' })).toMatchObject({
      error_code: 'session.not_promptable',
    });
  });

  it('a prompt that is interrupted on its way is told so', async () => {
    await using lab = await sessionLab({ script: { attests: FULL, hangStart: true } });
    await lab.create();
    const answer = ask(lab, 'submit_prompt', { session_id: 's', prompt: 'p' });
    await lab.settled();
    expect(await ask(lab, 'interrupt_session', { session_id: 's' })).toMatchObject({ changed: true });
    expect(await answer).toMatchObject({ error_code: 'prompt.interrupted' });
  });

  it('after close: engine.closing', async () => {
    const lab = await sessionLab();
    await lab.create();
    await lab[Symbol.asyncDispose]();
    for (const [action, good] of Object.entries(STRAY)) {
      expect(await ask(lab, action, good), action).toMatchObject({ error_code: 'engine.closing' });
    }
  });
});

describe('subscribe with session_id', () => {
  it("SUB6: brings the session's own events, and no other's; long output in frames of bounded size", async () => {
    const gate = controlledExecutor();
    await using lab = await sessionLab({ executors: { gate } });
    const s = await lab.running('s');
    const other = await lab.running('other');
    const connection = recordingConnection();
    await handle(lab.offstage, { action: 'subscribe', session_id: 's' }, connection);
    expect(await connection.frameOf(({ type }) => type === 'snapshot')).not.toHaveProperty('sessions');
    await lab.offstage.spawn({ kind: 'gate', jobId: 'j', sessionId: 's' });
    await gate.started('j');
    await gate.release('j');
    await lab.offstage.wait('j');
    await other.out('not for us', other.generation);
    const text = '😀'.repeat(200_000);
    await s.out(text);
    await s.reg('w');
    await s.ask('next', { whenBusy: 'queue', promptId: 'p' });
    await s.done(s.prompts[0]);
    await connection.frameOf((frame) => frame.type === 'session.ticket' && frame.status === 'accepted');
    const frames = connection.frames.slice(1);
    expect(frames.every((frame) => frame.type.startsWith('session.') && frame.session_id === 's')).toBe(true);
    const spoken = frames.filter(({ type }) => type === 'session.output');
    expect(spoken.every((frame) => JSON.stringify(frame).length < LIMITS.frameBytes)).toBe(true);
    expect(spoken.map((frame) => frame.text).join('')).toBe(text);
    expect(new Set(frames.map(({ type }) => type))).toEqual(
      new Set(['session.activity_changed', 'session.output', 'session.ticket', 'session.turn_ended', 'session.state_changed']),
    );
    expect(eventFromWire(frames.find(({ type }) => type === 'session.turn_ended') as WireFields)).toMatchObject({
      stopReason: 'end_turn',
      error: null,
    });
  });

  it('activity comes with the words of liveness 7, in order, null and 0 included', async () => {
    await using lab = await sessionLab();
    const connection = recordingConnection();
    await handle(lab.offstage, { action: 'subscribe' }, connection);
    const s = await lab.running();
    await s.reg('w');
    await s.done();
    await s.bgc({ workloadId: 'w' });
    const told = connection.frames.filter(({ type }) => type === 'session.activity_changed');
    expect(told.map(({ foreground_activity: tier, active_subagent_count: count }) => [tier, count])).toEqual([
      ['generating', 0],
      ['generating', 1],
      ['background', 1],
      [null, 0],
    ]);
    expect(Object.keys(told[0] as object).sort()).toEqual(
      [
        'type',
        'seq',
        'at',
        'task_id',
        'session_id',
        'foreground_activity',
        'active_subagent_count',
        'epoch',
        'activity_epoch',
        'session_seq',
      ].sort(),
    );
    const numbers = told.map(({ session_seq: seq }) => seq as number);
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    const aggregates = connection.frames.filter((frame) => frame.type === 'task.updated' && frame.volatile === true);
    expect(aggregates.at(-1)).toMatchObject({ foreground_activity: null, active_subagent_count: 0 });
  });
});
