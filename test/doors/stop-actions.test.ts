/** SAR1: stop, removal and archive as requests; the engine's part is played. */
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { handle, isWaitingRequest } from '../../src/doors/requests/handler.ts';
import type { WireFields } from '../../src/doors/wire/rename.ts';
import type { Offstage } from '../../src/engine/offstage.ts';
import { offstageError } from '../../src/model/errors.ts';
import type { ConfirmedAnswer, StopReport, StopResult } from '../../src/model/stop.ts';
import { controlledExecutor } from '../../src/testing/controlled-executor.ts';
import { sessionLab } from '../support/sessions.ts';
import { recordingConnection } from './recording-connection.ts';

const report = (lists: Partial<StopReport>): StopReport => ({
  stopped: [],
  recovered: [],
  alreadyStopping: [],
  detached: [],
  absent: [],
  failed: [],
  loadErrors: [],
  sourceError: null,
  durable: true,
  ...lists,
});
const SCHEDULED = report({
  stopped: [
    { sessionId: 's', executionId: 'e' },
    { sessionId: 's', jobId: 'j' },
  ],
});
const SETTLED = report({ stopped: [{ sessionId: 's', executionId: 'e' }], detached: [{ sessionId: 's', jobId: 'j' }] });

/** An engine that answers as told, and remembers what it was asked. */
function played(
  answers: { readonly settled?: Promise<StopReport>; readonly confirmed?: ConfirmedAnswer; readonly error?: unknown } = {},
) {
  const calls: unknown[][] = [];
  const { settled = Promise.resolve(SETTLED), confirmed = { done: true }, error } = answers;
  const verb =
    <Answer>(name: string, answer: Answer) =>
    async (...given: unknown[]): Promise<Answer> => {
      calls.push([name, ...given]);
      if (error !== undefined) throw error;
      return answer;
    };
  const stop: StopResult = { ...SCHEDULED, settled };
  const verbs = (name: string) => ({
    stop: verb(`${name}.stop`, stop),
    remove: verb(`${name}.remove`, confirmed),
    archive: verb(`${name}.archive`, confirmed),
    list: verb(`${name}.list`, []),
  });
  const doors = { log: () => {} };
  return { calls, offstage: { doors, tasks: verbs('tasks'), sessions: verbs('sessions') } as unknown as Offstage };
}

async function ask({ offstage }: { readonly offstage: Offstage }, action: string, fields: WireFields): Promise<WireFields> {
  const connection = recordingConnection();
  await handle(offstage, { ...fields, action, request_id: 7 }, connection);
  expect(connection.listeners).toBe(0);
  const { request_id: requestId, ...answer } = connection.frames.at(-1) as WireFields;
  expect(requestId).toBe(7);
  return answer;
}

const SCOPES = [
  ['task', 'tasks'],
  ['session', 'sessions'],
] as const;

describe.each(SCOPES)('stop_%s', (one, rows) => {
  it('answers as of the scheduling; reason and force are passed on', async () => {
    const engine = played({ settled: new Promise(() => {}) });
    const fields = { [`${one}_id`]: 'x', reason: 'enough', force: true };
    expect(await ask(engine, `stop_${one}`, fields)).toEqual({
      type: 'result',
      stopped: [
        { session_id: 's', execution_id: 'e' },
        { session_id: 's', job_id: 'j' },
      ],
      recovered: [],
      already_stopping: [],
      detached: [],
      absent: [],
      failed: [],
      load_errors: [],
      source_error: null,
      durable: true,
    });
    expect(await ask(engine, `stop_${one}`, { [`${one}_id`]: 'x', wait: false })).toMatchObject({ type: 'result' });
    expect(engine.calls).toEqual([
      [`${rows}.stop`, 'x', { reason: 'enough', force: true }],
      [`${rows}.stop`, 'x', {}],
    ]);
  });

  it('SAR1: with wait it answers what came of it', async () => {
    let resolve: (last: StopReport) => void = () => {};
    const settled = new Promise<StopReport>((settle) => {
      resolve = settle;
    });
    const engine = played({ settled });
    const answer = ask(engine, `stop_${one}`, { [`${one}_id`]: 'x', wait: true });
    resolve(SETTLED);
    expect(await answer).toMatchObject({
      stopped: [{ session_id: 's', execution_id: 'e' }],
      detached: [{ session_id: 's', job_id: 'j' }],
    });
  });

  it('SAR1, HND2: nothing waits for somebody who has gone', async () => {
    const connection = recordingConnection();
    const engine = played({ settled: new Promise(() => {}) });
    const handled = handle(engine.offstage, { action: `stop_${one}`, [`${one}_id`]: 'x', wait: true }, connection);
    await new Promise((resolve) => setImmediate(resolve));
    expect(connection.frames).toEqual([]);
    connection.goAway();
    await handled;
    expect(connection.listeners).toBe(0);
    expect(connection.frames).toMatchObject([{ type: 'result', stopped: [{}, {}] }]);
  });

  it('an error comes with its details', async () => {
    const failed = [{ sessionId: 's', executionId: 'e', error: { code: 'agent.failed', message: 'no' } }];
    const error = offstageError('stop.failed', { id: 'x', message: 'no', failed, loadErrors: [] });
    expect(await ask(played({ error }), `stop_${one}`, { [`${one}_id`]: 'x' })).toEqual({
      type: 'error',
      error: error.message,
      error_code: 'stop.failed',
      retryable: true,
      details: {
        id: 'x',
        message: 'no',
        failed: [{ session_id: 's', execution_id: 'e', error: 'no', error_code: 'agent.failed' }],
        load_errors: [],
      },
    });
    const nothing = offstageError('stop.nothing_running', { id: 'x', detached: [{ sessionId: 's', jobId: 'j' }] });
    expect(await ask(played({ error: nothing }), `stop_${one}`, { [`${one}_id`]: 'x' })).toMatchObject({
      error_code: 'stop.nothing_running',
      details: { detached: [{ session_id: 's', job_id: 'j' }] },
    });
  });
});

describe.each(SCOPES)('remove_%s', (one, rows) => {
  it('answers done, or what has to be confirmed', async () => {
    const engine = played();
    expect(await ask(engine, `remove_${one}`, { [`${one}_id`]: 'x' })).toEqual({ type: 'result', done: true });
    const fields = { [`${one}_id`]: 'x', confirm: true, force: true, reason: 'enough' };
    expect(await ask(engine, `remove_${one}`, fields)).toEqual({ type: 'result', done: true });
    expect(engine.calls).toEqual([
      [`${rows}.remove`, 'x', {}],
      [`${rows}.remove`, 'x', { confirm: true, force: true, reason: 'enough' }],
    ]);
    const warning = { generating: 1, background: 0, activeSubagentCount: 2, jobs: 3 };
    expect(await ask(played({ confirmed: { done: false, warning } }), `remove_${one}`, { [`${one}_id`]: 'x' })).toEqual({
      type: 'result',
      done: false,
      warning: { generating: 1, background: 0, active_subagent_count: 2, jobs: 3 },
    });
  });
});

it('archive_task answers done, or what has to be confirmed', async () => {
  const engine = played();
  expect(await ask(engine, 'archive_task', { task_id: 'x', confirm: true })).toEqual({ type: 'result', done: true });
  const warning = { generating: 0, background: 1, activeSubagentCount: 0, jobs: 0 };
  const warned = played({ confirmed: { done: false, warning } });
  expect(await ask(warned, 'archive_task', { task_id: 'x' })).toMatchObject({ done: false, warning: { background: 1 } });
  expect([engine.calls, warned.calls]).toEqual([[['tasks.archive', 'x', { confirm: true }]], [['tasks.archive', 'x', {}]]]);
});

it('list_tasks: archived ones as well, when asked for; sessions know no such field', async () => {
  const engine = played();
  await ask(engine, 'list_tasks', { archived: true, limit: 5 });
  await ask(engine, 'list_tasks', {});
  expect(engine.calls).toEqual([
    ['tasks.list', { archived: true, limit: 5 }],
    ['tasks.list', {}],
  ]);
  expect(await ask(engine, 'list_tasks', { archived: 'yes' })).toMatchObject({ error_code: 'input.invalid' });
  expect(await ask(engine, 'list_sessions', { archived: true })).toMatchObject({ error_code: 'input.invalid' });
});

describe('B55: what is wrong is said by name, and nothing is done', () => {
  const REQUESTS: readonly (readonly [string, WireFields, RegExp])[] = [
    ['stop_task', {}, /^task_id .+ missing/],
    ['stop_task', { task_id: 7 }, /^task_id /],
    ['stop_task', { task_id: 't', wait: 'yes' }, /^wait /],
    ['stop_task', { task_id: 't', force: 1 }, /^force /],
    ['stop_task', { task_id: 't', reason: {} }, /^reason /],
    ['stop_task', { task_id: 't', confirm: true }, /^confirm .+ no such field/],
    ['stop_session', { task_id: 't' }, /^session_id .+ missing/],
    ['remove_task', { task_id: 't', confirm: 'yes' }, /^confirm /],
    ['remove_task', { task_id: 't', wait: true }, /^wait .+ no such field/],
    ['remove_session', {}, /^session_id .+ missing/],
    ['archive_task', { task_id: 't', force: true }, /^force .+ no such field/],
    ['archive_task', { task_id: 't', confirm: 1 }, /^confirm /],
  ];
  it.each(REQUESTS)('%s %j', async (action, fields, sentence) => {
    const engine = played();
    expect(await ask(engine, action, fields)).toMatchObject({
      type: 'error',
      error_code: 'input.invalid',
      error: expect.stringMatching(sentence),
    });
    expect(engine.calls).toEqual([]);
  });
});

it('SCN2: stops and removals may wait as long as a job does', () => {
  const waiting = ['stop_task', 'stop_session', 'remove_task', 'remove_session', 'archive_task', 'list_tasks'].map((action) =>
    isWaitingRequest({ action }),
  );
  expect(waiting).toEqual([true, true, true, true, false, false]);
});

describe('with a real engine', () => {
  it('a task is warned of, archived, stopped, removed; whoever looks sees each of it', async () => {
    const gate = controlledExecutor();
    await using lab = await sessionLab({ executors: { gate } });
    await lab.offstage.tasks.create({ taskId: 't', title: 'T' });
    const s = await lab.running('s', 't');
    await lab.offstage.spawn({ kind: 'gate', jobId: 'j', sessionId: 's' });
    const { context } = await gate.started('j');
    await lab.settled();
    const live = { generating: 1, background: 0, active_subagent_count: 1, jobs: 1 };
    expect(await ask(lab, 'remove_task', { task_id: 't' })).toEqual({ type: 'result', done: false, warning: live });
    expect(await ask(lab, 'archive_task', { task_id: 't' })).toEqual({ type: 'result', done: false, warning: live });
    expect(await ask(lab, 'archive_task', { task_id: 't', confirm: true })).toMatchObject({ done: true });
    expect(await ask(lab, 'list_tasks', {})).toMatchObject({ tasks: [{ task_id: 't', state: 'archived' }] });
    const stop = ask(lab, 'stop_task', { task_id: 't', reason: 'enough', wait: true });
    await once(context.signal, 'abort');
    await gate.release('j');
    expect(await stop).toMatchObject({
      type: 'result',
      stopped: expect.arrayContaining([
        { session_id: 's', execution_id: s.executionId },
        expect.objectContaining({ session_id: 's', job_id: 'j' }),
      ]),
      detached: [],
      failed: [],
      durable: true,
    });
    expect(await ask(lab, 'get_job', { job_id: 'j' })).toMatchObject({ status: 'cancelled', cancel_reason: 'enough' });
    expect(await ask(lab, 'get_session', { session_id: 's' })).toMatchObject({ state: 'cancelled', execution_id: null });
    expect(await ask(lab, 'stop_task', { task_id: 't' })).toMatchObject({
      error_code: 'stop.nothing_running',
      details: { id: 't', detached: [] },
    });
    expect(await ask(lab, 'list_tasks', {})).toMatchObject({ tasks: [] });
    expect(await ask(lab, 'list_tasks', { archived: true })).toMatchObject({ tasks: [{ task_id: 't' }] });
    expect(await ask(lab, 'remove_task', { task_id: 't' })).toEqual({ type: 'result', done: true });
    expect(await ask(lab, 'get_task', { task_id: 't' })).toMatchObject({
      error_code: 'task.not_found',
      details: { task_id: 't' },
    });
    expect(await ask(lab, 'get_job', { job_id: 'j' })).toMatchObject({ error_code: 'job.expired' });
    expect(await ask(lab, 'create_task', { task_id: 't' })).toMatchObject({ error_code: 'task.expired' });
  });
});
