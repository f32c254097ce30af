/** ASC1, ASC2: what is declared of an action is what it asks for, takes and refuses. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ACTION_SCHEMAS, type ActionName, type ActionSchema, requestSchema } from '../../src/doors/requests/action-schemas.ts';
import { ACTIONS } from '../../src/doors/requests/actions.ts';
import { COMPONENT_SCHEMAS } from '../../src/doors/requests/answer-schemas.ts';
import { handle } from '../../src/doors/requests/handler.ts';
import type { Request } from '../../src/doors/requests/request.ts';
import { RequestFields } from '../../src/doors/requests/request-fields.ts';
import type { Verbs } from '../../src/doors/requests/session-verbs.ts';
import type { WireFields } from '../../src/doors/wire/rename.ts';
import { type TestEngine, testEngine } from '../support/test-engine.ts';
import { recordingConnection } from './recording-connection.ts';

const NAMES = Object.keys(ACTION_SCHEMAS) as ActionName[];
const declared = (name: ActionName): ActionSchema => ACTION_SCHEMAS[name];

const ajv = new Ajv2020({ strict: false, allErrors: false });
const isAccepted = (name: ActionName, fields: WireFields): boolean =>
  ajv.validate(requestSchema(declared(name)), fields) as boolean;

/** Remembers what an action asks for. */
class AskedFields extends RequestFields {
  readonly asked = new Set<string>();
  isComplete = false;
  override get(name: string) {
    this.asked?.add(name);
    return super.get(name);
  }
  override isNull(name: string) {
    this.asked?.add(name);
    return super.isNull(name);
  }
  override refuseRest(): void {
    this.isComplete = true;
    super.refuseRest();
  }
}

/** Whatever an action does, it is not done. */
const nothing: object = new Proxy(() => {}, {
  get: () => nothing,
  apply: () => {
    throw new Error('not here');
  },
});

async function ask(engine: TestEngine, action: string, fields: WireFields): Promise<WireFields> {
  const connection = recordingConnection();
  await handle(engine.offstage, { ...fields, action, request_id: 1 }, connection);
  const answer = await connection.frameOf(({ request_id: id }) => id === 1);
  connection.goAway();
  return answer;
}

describe('every action', () => {
  it.each(NAMES)('%s asks for exactly the fields that are declared', async (name) => {
    const fields = new AskedFields({ ...declared(name).example, action: name });
    const request: Request = {
      offstage: nothing as Verbs,
      engine: nothing as Request['engine'],
      fields,
      connection: recordingConnection(),
      requestId: null,
      signal: new AbortController().signal,
    };
    await ACTIONS[name](request).catch(() => {});
    expect(fields.isComplete).toBe(true);
    expect([...fields.asked].sort()).toEqual(Object.keys(declared(name).fields).sort());
  });

  it.each(NAMES)('%s: its example is what its schema accepts, and is not refused for its form', async (name) => {
    expect(isAccepted(name, declared(name).example)).toBe(true);
    await using engine = await testEngine({ executors: { agent: async () => 'done' } });
    const answer = await ask(engine, name, declared(name).example);
    expect(answer.error_code).not.toBe('input.invalid');
    expect(answer.error_code).not.toBe('control.protocol');
  });
});

/** Values that are easily taken for something else. */
const odd = fc.constantFrom<WireFields[string]>(
  null,
  true,
  false,
  0,
  1,
  -1,
  1.5,
  1e300,
  1001,
  '',
  'x',
  'all',
  'ours',
  'true',
  '5',
  [],
  ['x'],
  [1],
  [null],
  {},
  { a: 1 },
  'x'.repeat(600),
  'completed',
  ['completed', 'done'],
);

describe('ASC2: the schema and the code', () => {
  it.each(NAMES)('%s: what its schema refuses it refuses', async (name) => {
    await using engine = await testEngine({ executors: { agent: async () => 'done' } });
    const { fields, example } = declared(name);
    // Names that only this engine knows: a wrong one has an error of its own, and may be said first.
    const unnamed = odd.filter((value) => typeof value !== 'string');
    const valuesOf = (field: string) => (['agent_id', 'kind'].includes(field) ? unnamed : odd);
    const changed = fc.record(
      Object.fromEntries([...Object.keys(fields), 'sesion_id'].map((field) => [field, valuesOf(field)])),
      { requiredKeys: [] },
    );
    const requests = fc.tuple(changed, fc.array(fc.constantFrom(...Object.keys(fields), 'none'), { maxLength: 2 }));
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(requests, async ([more, left]) => {
        const request: Record<string, unknown> = { ...example, ...more };
        for (const field of left) delete request[field];
        if (isAccepted(name, request as WireFields)) return;
        refused += 1;
        const answer = await ask(engine, name, request as WireFields);
        expect(answer, JSON.stringify(request)).toMatchObject({ type: 'error', error_code: 'input.invalid' });
      }),
      { numRuns: 60 },
    );
    expect(refused).toBeGreaterThan(5);
  });
});

describe('answers', () => {
  const answerOf = (schema: WireFields) =>
    ajv.compile({ $id: `a${Math.random()}`, ...schema, components: { schemas: COMPONENT_SCHEMAS } });

  it('are as declared, and declare all that is in them', async () => {
    await using engine = await testEngine({ executors: { agent: async () => 'done', echo: async (job) => job.input } });
    const { offstage } = engine;
    await offstage.tasks.create({ taskId: 't1' });
    await offstage.sessions.create({ sessionId: 's1', taskId: 't1' });
    await offstage.spawn({ kind: 'echo', jobId: 'j1', sessionId: 's1', input: { a: 1 } });
    await offstage.wait('j1');
    const asked: readonly (readonly [ActionName, WireFields])[] = [
      ['get_job', { job_id: 'j1' }],
      ['list_jobs', {}],
      ['list_jobs', { brief: true }],
      ['await_jobs', { job_ids: ['j1', 'x'], timeout: 0 }],
      ['get_history', { job_id: 'j1' }],
      ['get_output', { job_id: 'j1' }],
      ['get_card', { card_id: 'card_j1' }],
      ['list_cards', { session_id: 's1' }],
      ['get_snapshot', {}],
      ['cancel_jobs', { job_ids: ['j1'] }],
      ['cancel_job', { job_id: 'j1' }],
      ['spawn_job', { prompt: 'p' }],
      ['get_session', { session_id: 's1' }],
      ['list_sessions', {}],
      ['list_tickets', { session_id: 's1' }],
      ['list_workloads', { session_id: 's1' }],
      ['get_task', { task_id: 't1' }],
      ['list_tasks', {}],
      ['set_task_state', { task_id: 't1', state: 'review' }],
      ['list_processes', {}],
      ['health', {}],
      ['whoami', {}],
      ['get_server', {}],
      ['remove_session', { session_id: 's1' }],
    ];
    for (const [name, fields] of asked) {
      const { type, request_id: _, ...answer } = await ask(engine, name, fields);
      expect(type, name).toBe('result');
      const validate = answerOf(declared(name).answer);
      expect(validate(answer), `${name} ${JSON.stringify(validate.errors)} ${JSON.stringify(answer)}`).toBe(true);
      expect(undeclared(declared(name).answer, answer), name).toEqual([]);
    }
  });

  /** Paths of what is in an answer and not in its schema. */
  function undeclared(schema: WireFields, value: unknown, path = ''): readonly string[] {
    if (typeof schema.$ref === 'string')
      return undeclared(COMPONENT_SCHEMAS[schema.$ref.split('/').at(-1) as string] as WireFields, value, path);
    if (Array.isArray(schema.anyOf)) {
      const all = (schema.anyOf as unknown as WireFields[]).map((one) => undeclared(one, value, path));
      return all.reduce((best, one) => (one.length < best.length ? one : best));
    }
    if (Array.isArray(value))
      return value.flatMap((item, index) => undeclared((schema.items ?? {}) as WireFields, item, `${path}[${index}]`));
    if (typeof value !== 'object' || value === null || schema.properties === undefined) return [];
    return Object.entries(value).flatMap(([name, part]) => {
      const known = (schema.properties as WireFields)[name] as WireFields | undefined;
      return known === undefined ? [`${path}.${name}`] : undeclared(known, part, `${path}.${name}`);
    });
  }
});
