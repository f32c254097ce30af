/** TAR1, TAR2: whatever a model hands in is answered, and nothing is started by it. */
import { describe, expect, it } from 'vitest';
import { plannerTools } from '../../src/doors/tools/index.ts';
import { testEngine } from '../support/test-engine.ts';
import { toolsOf } from '../support/tools.ts';

const never = (): never => {
  throw new Error('this body must not be called');
};

/** How each tool begins when it says what was wrong. */
const REFUSALS: Readonly<Record<string, (problem: string) => unknown>> = {
  agent: (problem) => `[task error] ${problem}`,
  job_output: (problem) => `[job_output error] ${problem}`,
  job_stop: (error) => ({ ok: false, status: 'unknown', error }),
  list_jobs: (problem) => `[list_jobs error] ${problem}`,
  await_tasks: (problem) => `[await_tasks error] ${problem}`,
};

const revoked = (): object => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};

describe.each(Object.keys(REFUSALS))('%s', (name) => {
  const refusal = REFUSALS[name] as (problem: string) => unknown;

  it.each<[string, unknown]>([
    ['a string', 'probe X'],
    ['a number', 7],
    ['true', true],
    ['a list', ['a']],
    ['a function', () => ({})],
    ['a symbol', Symbol('s')],
  ])('called with %s asks for an object', async (_, given) => {
    await using engine = await testEngine({ executors: { agent: never } });
    expect(await toolsOf(engine.offstage)(name, given)).toEqual(refusal('the arguments must be an object'));
  });

  it('called with what cannot be read says so', async () => {
    await using engine = await testEngine({ executors: { agent: never } });
    const throwing = {
      get prompt() {
        throw new Error('gotcha');
      },
    };
    for (const given of [throwing, new Proxy({}, { ownKeys: never })]) {
      expect(await toolsOf(engine.offstage)(name, given)).toEqual(refusal('the arguments cannot be read'));
    }
    expect(await toolsOf(engine.offstage)(name, revoked())).toEqual(refusal('the arguments cannot be read'));
  });

  it('called with an argument that it does not have names it', async () => {
    await using engine = await testEngine({ executors: { agent: never } });
    const call = toolsOf(engine.offstage);
    expect(await call(name, { jobId: 'x' })).toEqual(refusal('there is no argument "jobId"'));
    expect(await call(name, JSON.parse('{"__proto__": {"prompt": "x"}}'))).toEqual(refusal('there is no argument "__proto__"'));
    expect(await call(name, { toString: 1 })).toEqual(refusal('there is no argument "toString"'));
  });

  it('called without arguments asks for the first one that it needs', async () => {
    await using engine = await testEngine();
    const tool = plannerTools(engine.offstage).find((one) => one.name === name);
    const [first] = tool?.parameters.required ?? [];
    for (const given of [undefined, null, {}]) {
      expect(await toolsOf(engine.offstage)(name, given)).toEqual(first === undefined ? [] : refusal(`${first} required`));
    }
  });
});

describe('every argument of every type', () => {
  const VALUES: readonly unknown[] = [7, Number.NaN, -1, true, [], ['a', 7], {}, 'word', '', null, Symbol('s'), 1n, () => {}];

  const GOOD: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
    agent: { prompt: 'a', description: 'a' },
    job_output: { job_id: 'nope' },
    job_stop: { job_id: 'nope' },
    await_tasks: { ids: ['nope'] },
  };

  it('is taken or refused by name; it never makes a tool reject, and never starts anything that it should not', async () => {
    await using engine = await testEngine({ executors: { agent: () => 'done' } });
    const { offstage } = engine;
    const problems = new Set<string>();
    for (const { name, parameters, execute } of plannerTools(offstage)) {
      for (const argument of Object.keys(parameters.properties)) {
        for (const value of VALUES) {
          const before = (await offstage.list({ limit: 1_000 })).length;
          const answer = await execute({ ...GOOD[name], [argument]: value });
          const text = JSON.stringify(answer);
          if (!text.includes(argument)) continue;
          problems.add(text.replace(/.*\] |.*"error":|[}"]/g, ''));
          expect((await offstage.list({ limit: 1_000 })).length).toBe(before);
        }
      }
    }
    expect([...problems].sort()).toEqual([
      'agent_id must be a string',
      'block must be true or false',
      'context must be one of inherit, clean',
      'description must be a string',
      'ids must be a list of strings',
      'ids required',
      'job_id must be a string',
      'job_id required',
      'mode must be one of all, any',
      'prompt must be a string',
      'prompt required',
      'reason must be a string',
      'run_in_background must be true or false',
      'timeout must be a number of milliseconds, 0 or more',
      "unknown job_id='word'",
    ]);
  });

  it.each<[string, string, unknown, string]>([
    ['job_output', 'timeout', '5000', 'timeout must be a number of milliseconds, 0 or more'],
    ['job_output', 'timeout', Number.NaN, 'timeout must be a number of milliseconds, 0 or more'],
    ['job_output', 'timeout', -1, 'timeout must be a number of milliseconds, 0 or more'],
    ['job_output', 'block', 'false', 'block must be true or false'],
    ['await_tasks', 'ids', 'job_1', 'ids must be a list of strings'],
    ['await_tasks', 'ids', ['a', 7], 'ids must be a list of strings'],
    ['await_tasks', 'mode', 'both', 'mode must be one of all, any'],
    ['agent', 'context', 'fork', 'context must be one of inherit, clean'],
    ['agent', 'run_in_background', 'yes', 'run_in_background must be true or false'],
  ])('%s with %s: %j says that %s', async (name, argument, value, problem) => {
    await using engine = await testEngine({ executors: { agent: never } });
    const answer = await toolsOf(engine.offstage)(name, { ...GOOD[name], [argument]: value });
    expect(answer).toEqual(REFUSALS[name]?.(problem));
  });
});
