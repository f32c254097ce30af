/** HND1, HND2, FLD1, PAG1: requests and answers, without a transport. */
import { describe, expect, it } from 'vitest';
import { handle, parseRequest } from '../../src/doors/requests/handler.ts';
import type { WireFields } from '../../src/doors/wire/rename.ts';
import { controlledExecutor } from '../../src/testing/controlled-executor.ts';
import { type TestEngine, testEngine } from '../support/test-engine.ts';
import { recordingConnection } from './recording-connection.ts';

/** Asks, and answers with the answer. */
async function ask({ offstage }: TestEngine, action: string, fields: WireFields = {}): Promise<WireFields> {
  const connection = recordingConnection();
  await handle(offstage, { ...fields, action, request_id: 7 }, connection);
  expect(connection.listeners).toBe(0);
  const answer = connection.frames.at(-1) as WireFields;
  expect(answer.request_id).toBe(7);
  return answer;
}

/** A job is shown as running one commit after its body was called. */
const running = (engine: TestEngine, jobId: string) =>
  engine.eventOf((event) => event.type === 'job.status' && event.jobId === jobId && event.status === 'running');

const withGate = async () => {
  const gate = controlledExecutor();
  const engine = await testEngine({ executors: { gate, agent: gate, echo: async (job) => job.input } });
  return { gate, engine };
};

describe('jobs over the wire', () => {
  it('spawn_job answers at once; prompt becomes input.prompt and description, description the subject', async () => {
    const { gate, engine } = await withGate();
    await using _ = engine;
    const answer = await ask(engine, 'spawn_job', {
      prompt: 'look at everything',
      description: 'look',
      context: 'clean',
      parent_msg_id: 'm1',
      job_id: 'mine',
    });
    expect(answer).toEqual({ type: 'result', request_id: 7, job_id: 'mine', status: 'queued', parent_msg_id: 'm1' });
    const { job } = await gate.started('mine');
    expect(job).toMatchObject({
      kind: 'agent',
      input: { prompt: 'look at everything', context: 'clean' },
      description: 'look at everything',
      subject: 'look',
      contextMode: 'clean',
    });
    await gate.release('mine', 'seen');
    await engine.offstage.wait('mine');
    expect(await ask(engine, 'get_job', { job_id: 'mine' })).toMatchObject({
      type: 'result',
      job_id: 'mine',
      parent_session_id: 'default',
      status: 'completed',
      result_text: 'seen',
      partial_result: null,
      error: null,
      error_code: null,
    });
  });

  it('another kind takes its own input; without a description the engine chooses the subject', async () => {
    const { engine } = await withGate();
    await using _ = engine;
    const { job_id: jobId } = await ask(engine, 'spawn_job', { kind: 'echo', input: { a: 1 }, prompt: 'why' });
    await engine.offstage.wait(jobId as string);
    expect(await ask(engine, 'get_job', { job_id: jobId as string })).toMatchObject({
      result: { a: 1 },
      input: { a: 1 },
      subject: 'why',
      description: 'why',
    });
  });

  it('takes session_id and parent_session_id, and refuses two different ones', async () => {
    const { engine } = await withGate();
    await using _ = engine;
    const { session_id: sessionId } = await ask(engine, 'create_session', {});
    for (const name of ['session_id', 'parent_session_id']) {
      await ask(engine, 'spawn_job', { kind: 'echo', job_id: name, [name]: sessionId as string });
      expect(await ask(engine, 'get_job', { job_id: name })).toMatchObject({ parent_session_id: sessionId });
    }
    const both = { kind: 'echo', session_id: 'a', parent_session_id: 'b' };
    expect(await ask(engine, 'spawn_job', both)).toMatchObject({ type: 'error', error_code: 'input.invalid' });
  });

  it('list_jobs: newest first under the key tasks, filtered and paged', async () => {
    const { engine } = await withGate();
    await using _ = engine;
    for (const id of ['a', 'b', 'c']) await ask(engine, 'spawn_job', { kind: 'echo', job_id: id });
    await engine.offstage.waitMany(['a', 'b', 'c']);
    const ids = ({ tasks }: WireFields): unknown => (tasks as readonly WireFields[]).map((row) => row.job_id);
    expect(ids(await ask(engine, 'list_jobs'))).toEqual(['c', 'b', 'a']);
    const first = await ask(engine, 'list_jobs', { limit: 2, status_filter: 'completed' });
    expect([ids(first), first.next_before]).toEqual([['c', 'b'], 'b']);
    const second = await ask(engine, 'list_jobs', { limit: 2, before: 'b' });
    expect([ids(second), second.next_before]).toEqual([['a'], null]);
    expect(ids(await ask(engine, 'list_jobs', { status_filter: ['running', 'queued'] }))).toEqual([]);
    expect(await ask(engine, 'list_jobs', { status_filter: 'done' })).toMatchObject({ error_code: 'input.invalid' });
    expect(await ask(engine, 'list_jobs', { session_id: 'default' })).toMatchObject({ next_before: null });
  });

  it('PAG1: large records come in answers of bounded size, none is left out', async () => {
    const { engine } = await withGate();
    await using _ = engine;
    const input = 'x'.repeat(200_000);
    for (let number = 0; number < 7; number++) await ask(engine, 'spawn_job', { kind: 'echo', job_id: `j${number}`, input });
    const seen: unknown[] = [];
    let before: WireFields = {};
    for (;;) {
      const answer = await ask(engine, 'list_jobs', before);
      expect(JSON.stringify(answer).length).toBeLessThan(1024 * 1024);
      seen.push(...(answer.tasks as readonly WireFields[]).map((row) => row.job_id));
      if (answer.next_before === null) break;
      before = { before: answer.next_before as string };
    }
    expect(seen).toEqual(['j6', 'j5', 'j4', 'j3', 'j2', 'j1', 'j0']);
  });

  it('cancel_job answers with the current state; cancel_jobs sorts its ids', async () => {
    const { gate, engine } = await withGate();
    await using _ = engine;
    await ask(engine, 'spawn_job', { kind: 'gate', job_id: 'g', parent_msg_id: 'm' });
    await ask(engine, 'spawn_job', { kind: 'echo', job_id: 'e' });
    await gate.started('g');
    await engine.offstage.wait('e');
    expect(await ask(engine, 'cancel_jobs', { job_ids: ['g', 'e', 'x'], reason: 'why' })).toMatchObject({
      cancelling: ['g'],
      already_terminal: ['e'],
      not_found: ['x'],
    });
    expect(await ask(engine, 'cancel_job', { job_id: 'g' })).toMatchObject({
      job_id: 'g',
      cancel_requested_at: expect.any(Number),
    });
    expect(await engine.offstage.wait('g')).toMatchObject({ status: 'cancelled', cancelReason: 'why' });
    expect(await ask(engine, 'cancel_job', { job_id: 'x' })).toMatchObject({ type: 'error', error_code: 'job.not_found' });
  });

  it('await_jobs: an entry per id, in order; the time is in milliseconds', async () => {
    const { gate, engine } = await withGate();
    await using _ = engine;
    await ask(engine, 'spawn_job', { kind: 'gate', job_id: 'g' });
    await running(engine, 'g');
    const peek = await ask(engine, 'await_jobs', { job_ids: ['g', 'x'], timeout: 0 });
    expect(peek.tasks).toMatchObject([
      { job_id: 'g', status: 'running', timed_out: true },
      { job_id: 'x', error_code: 'job.not_found' },
    ]);
    const waiting = ask(engine, 'await_jobs', { job_ids: ['g'], mode: 'any', timeout: null });
    await engine.clock.advance(40_000);
    await gate.fail('g', new Error('no'));
    expect((await waiting).tasks).toMatchObject([
      { status: 'errored', error: 'Error: no', error_code: 'job.failed', reason_code: 'failed' },
    ]);
  });

  it('get_output: the whole in parts, or the end in one answer; get_history', async () => {
    const { gate, engine } = await withGate();
    await using _ = engine;
    await ask(engine, 'spawn_job', { kind: 'gate', job_id: 'g' });
    const { context } = await gate.started('g');
    await running(engine, 'g');
    const lines = Array.from({ length: 40_000 }, (__, number) => `line ${number} 😀`);
    context.output(`${lines.join('\n')}\n`);
    // In memory only the end of so much is kept.
    const whole = `${lines.join('\n')}\n`;
    const { pieces, end } = await engine.offstage.printed('g');
    expect([end, pieces.length]).toEqual([whole.length, 1]);
    const connection = recordingConnection();
    await handle(engine.offstage, { action: 'get_output', job_id: 'g', parts: true }, connection);
    const parts = connection.frames.filter(({ type }) => type === 'part');
    expect(parts.length).toBeGreaterThan(1);
    expect(parts.every(({ text }) => (text as string).isWellFormed())).toBe(true);
    expect(parts[0]?.offset).toBeGreaterThan(0);
    for (const { offset, text } of parts) {
      expect(whole.slice(offset as number, (offset as number) + (text as string).length)).toBe(text);
    }
    expect(parts.map(({ text }) => text).join('')).toBe(whole.slice(parts[0]?.offset as number));
    expect(connection.frames.at(-1)).toMatchObject({ type: 'result', job_id: 'g', end });
    const short = await ask(engine, 'get_output', { job_id: 'g' });
    expect(short).toMatchObject({ cut: true, end });
    expect(whole.endsWith(short.output as string)).toBe(true);
    expect(await ask(engine, 'get_output', { job_id: 'g', tail: 2 })).toMatchObject({
      output: `${lines.slice(-2).join('\n')}\n`,
      cut: false,
    });
    expect((await ask(engine, 'get_history', { job_id: 'g' })).history).toMatchObject([
      { to: 'pending' },
      { from: 'pending', to: 'queued' },
      { from: 'queued', to: 'running' },
      { type: 'now' },
    ]);
  });
});

describe('sessions, tasks, health', () => {
  it('are created, read and listed', async () => {
    const { engine } = await withGate();
    await using _ = engine;
    expect(await ask(engine, 'create_task', { task_id: 't', title: 'T' })).toMatchObject({ task_id: 't', state: 'open' });
    expect(await ask(engine, 'create_session', { session_id: 's', task_id: 't' })).toMatchObject({
      session_id: 's',
      pending: null,
    });
    expect(await ask(engine, 'get_session', { session_id: 's' })).toMatchObject({ task_id: 't' });
    expect(await ask(engine, 'get_task', { task_id: 't' })).toMatchObject({ title: 'T' });
    expect(await ask(engine, 'list_sessions')).toMatchObject({ sessions: [{ session_id: 's' }], next_before: null });
    expect(await ask(engine, 'list_tasks', { limit: 1 })).toMatchObject({ tasks: [{ task_id: 't' }], next_before: 't' });
    expect(await ask(engine, 'get_session', { session_id: 'x' })).toMatchObject({ error_code: 'session.not_found' });
    expect(await ask(engine, 'get_task', { task_id: 'x' })).toMatchObject({ error_code: 'task.not_found' });
    expect(await ask(engine, 'health')).toMatchObject({ status: 'ok', pool: { workers: 4 }, store: { pending_writes: 0 } });
    expect(await ask(engine, 'list_processes')).toMatchObject({ processes: [] });
  });
});

describe('B55: whatever comes in is answered', () => {
  const TEXTS = ['null', '[]', '123', '"x"', '{', '', 'undefined', '{}', 'true', '{"action":7}', '{"action":"__proto__"}'];
  it.each(TEXTS)('%s', async (text) => {
    const { engine } = await withGate();
    await using _ = engine;
    const connection = recordingConnection();
    await handle(engine.offstage, parseRequest(text), connection);
    expect(connection.frames).toMatchObject([{ type: 'error', request_id: null, error_code: 'control.protocol' }]);
    expect(connection.frames[0]?.error).toMatch(/^What was sent is not understood: .+\.$/);
  });

  const REQUESTS: readonly (readonly [string, WireFields, string])[] = [
    ['no_such_action', {}, 'control.protocol'],
    ['constructor', {}, 'control.protocol'],
    ['get_job', {}, 'input.invalid'],
    ['get_job', { job_id: 7 }, 'input.invalid'],
    ['get_job', { job_id: '' }, 'input.invalid'],
    ['get_job', { job_id: 'x'.repeat(10_000) }, 'input.invalid'],
    ['get_job', { job_id: '../../etc/passwd' }, 'job.not_found'],
    ['spawn_job', {}, 'input.invalid'],
    ['spawn_job', { prompt: 'p', wait: 'yes' }, 'input.invalid'],
    ['spawn_job', { prompt: 'p', context: 'none' }, 'input.invalid'],
    ['spawn_job', { prompt: 'p', timeout_ms: -1 }, 'input.invalid'],
    ['spawn_job', { prompt: 'p', session_id: {} }, 'input.invalid'],
    ['spawn_job', { prompt: 'p', session_id: 'unknown' }, 'session.not_found'],
    ['spawn_job', { kind: 'nobody' }, 'executor.unknown'],
    ['list_jobs', { limit: '5' }, 'input.invalid'],
    ['list_jobs', { limit: 0 }, 'input.invalid'],
    ['list_jobs', { before: 'unknown' }, 'job.not_found'],
    ['await_jobs', {}, 'input.invalid'],
    ['await_jobs', { job_ids: [1] }, 'input.invalid'],
    ['await_jobs', { job_ids: [], timeout: -5 }, 'input.invalid'],
    ['await_jobs', { job_ids: [], mode: 'some' }, 'input.invalid'],
    ['cancel_jobs', { job_ids: 'x' }, 'input.invalid'],
    ['get_output', { job_id: 'x', tail: 1.5 }, 'input.invalid'],
    ['get_output', { job_id: 'x' }, 'job.not_found'],
    ['subscribe', { after: -1 }, 'input.invalid'],
    ['subscribe', { after: 'x' }, 'input.invalid'],
    ['subscribe', { names: 'other' }, 'input.invalid'],
  ];
  it.each(REQUESTS)('%s %j', async (action, fields, code) => {
    const { engine } = await withGate();
    await using _ = engine;
    expect(await ask(engine, action, fields)).toMatchObject({
      type: 'error',
      request_id: 7,
      error_code: code,
      error: expect.stringMatching(/\S/),
    });
    expect(await ask(engine, 'list_jobs')).toMatchObject({ type: 'result' });
  });

  const STRAY: Readonly<Record<string, WireFields>> = {
    cancel_jobs: { session_id: 'default', caller_session_id: 'x' },
    cancel_job: { job_id: 'j' },
    spawn_job: { prompt: 'p', kind: 'echo' },
    create_task: {},
    create_session: {},
    list_jobs: {},
    get_job: { job_id: 'j' },
    get_history: { job_id: 'j' },
    get_output: { job_id: 'j' },
    await_jobs: { job_ids: [] },
    list_tasks: {},
    list_sessions: {},
    get_task: { task_id: 'default' },
    get_session: { session_id: 'default' },
    list_processes: {},
    health: {},
    subscribe: {},
  };
  it.each(Object.entries(STRAY))(
    'FLD2: a field that %s does not know is refused by name, and nothing is done',
    async (action, good) => {
      const { engine } = await withGate();
      await using _ = engine;
      const { offstage } = engine;
      await offstage.spawn({ kind: 'agent', jobId: 'j' });
      const before = await offstage.snapshot();
      const stray = 'caller_session_id' in good ? 'caller_session_id' : 'sesion_id';
      expect(await ask(engine, action, { ...good, [stray]: 'x' })).toMatchObject({
        type: 'error',
        error_code: 'input.invalid',
        error: `${stray} is not valid: this action has no such field.`,
      });
      expect((await offstage.get('j')).cancelRequestedAt).toBeNull();
      expect(await offstage.list()).toHaveLength(1);
      expect((await offstage.snapshot()).tasks).toEqual(before.tasks);
      // What cancel_jobs knows would cancel, and a subscription stays.
      if (action !== 'cancel_jobs' && action !== 'subscribe') expect((await ask(engine, action, good)).type).not.toBe('error');
    },
  );

  it('a request_id that is none is refused; strings and numbers come back', async () => {
    const { engine } = await withGate();
    await using _ = engine;
    const connection = recordingConnection();
    await handle(engine.offstage, { action: 'health', request_id: {} }, connection);
    await handle(engine.offstage, { action: 'health', request_id: 'r-1' }, connection);
    expect(connection.frames).toMatchObject([
      { type: 'error', error_code: 'control.protocol', request_id: null },
      { type: 'result', request_id: 'r-1' },
    ]);
  });

  it('HND2: a wait whose client has closed its side ends with a code that says so', async () => {
    const { engine, gate } = await withGate();
    await using _ = engine;
    await engine.offstage.spawn({ kind: 'gate', jobId: 'held' });
    await gate.started('held');
    const connection = recordingConnection();
    const handled = handle(
      engine.offstage,
      { action: 'await_jobs', request_id: 1, job_ids: ['held'], timeout: null },
      connection,
    );
    connection.goAway();
    await handled;
    expect(connection.frames).toMatchObject([{ type: 'error', request_id: 1, error_code: 'control.protocol' }]);
  });

  it('what nobody foresaw is control.failed, not a crash', async () => {
    const { engine } = await withGate();
    await using _ = engine;
    const connection = recordingConnection();
    const broken = Object.assign(Object.create(engine.offstage), {
      health() {
        throw new TypeError('a defect');
      },
    });
    await handle(broken, { action: 'health', request_id: 1 }, connection);
    expect(connection.frames).toMatchObject([{ type: 'error', request_id: 1, error_code: 'control.failed' }]);
  });
});

describe('HND2: an abandoned connection', () => {
  it('ends what waits for it, never the job', async () => {
    const { gate, engine } = await withGate();
    await using _ = engine;
    await ask(engine, 'spawn_job', { kind: 'gate', job_id: 'g' });
    await running(engine, 'g');
    const connection = recordingConnection();
    const handled = handle(engine.offstage, { action: 'await_jobs', job_ids: ['g'], timeout: null }, connection);
    connection.goAway();
    await handled;
    expect(connection.listeners).toBe(0);
    expect((await engine.offstage.get('g')).status).toBe('running');
    await gate.release('g');
    expect((await engine.offstage.wait('g')).status).toBe('completed');
  });
});
