/** CHO1–CHO3, WTG4 and the engine's last word: what the verbs answer to what is none of their options, to fired signals, and after close. */
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { describe, expect, it } from 'vitest';
import type { Offstage } from '../../src/engine/offstage.ts';
import type { JobContext } from '../../src/model/executor.ts';
import { isTerminal } from '../../src/model/records.ts';
import { echo, gate } from '../support/executors.ts';
import { testEngine } from '../support/test-engine.ts';

const revoked = (target: object = {}): object => {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
};
const fail = (): never => {
  throw new RangeError('do not look at me');
};
const hostile = (): object => new Proxy({}, { get: fail, has: fail, ownKeys: fail, getPrototypeOf: fail });
const trap = (name: string): object => Object.defineProperty({}, name, { get: fail, enumerable: true });

type Verb = (engine: Offstage, given: never) => unknown;

/** Every verb with options, by its name; `job` exists. */
const WITH_OPTIONS: Readonly<Record<string, Verb>> = {
  spawn: (engine, given) => engine.spawn(given),
  wait: (engine, given) => engine.wait('job', given),
  waitMany: (engine, given) => engine.waitMany(['job'], given),
  list: (engine, given) => engine.list(given),
  events: (engine, given) => engine.events(given),
  output: (engine, given) => engine.output('job', given),
  printed: (engine, given) => engine.printed('job', given),
  cancel: (engine, given) => engine.cancel('job', given),
  cancelMany: (engine, given) => engine.cancelMany(given),
  'cancelMany (reason)': (engine, given) => engine.cancelMany({ ids: ['job'] }, given),
  prune: (engine, given) => engine.prune(given),
  'sessions.create': (engine, given) => engine.sessions.create(given),
  'sessions.list': (engine, given) => engine.sessions.list(given),
  'tasks.create': (engine, given) => engine.tasks.create(given),
  'tasks.list': (engine, given) => engine.tasks.list(given),
  'plan.run': (engine, given) => engine.plan.run([], given),
  'plan.run (spec)': (engine, given) => engine.plan.run([given]),
  'plan.cancel': (engine, given) => engine.plan.cancel('m', given),
  run: (engine, given) => engine.run(given),
  'run (more)': (engine, given) => engine.run({ kind: 'echo' }, given),
};

const errorOf = async (work: () => unknown): Promise<{ code?: string; message: string }> => {
  try {
    await work();
  } catch (error) {
    return error as { code?: string; message: string };
  }
  return { message: 'it was accepted' };
};

const withJob = async () => {
  const engine = await testEngine({ executors: { echo, agent: echo } });
  await engine.offstage.spawn({ kind: 'echo', jobId: 'job' });
  await engine.offstage.wait('job');
  return engine;
};

describe('options that are none', () => {
  for (const [name, verb] of Object.entries(WITH_OPTIONS)) {
    it(`CHO1: ${name} refuses null, values, arrays and what throws when it is looked at`, async () => {
      await using engine = await withJob();
      for (const given of [null, 5, 'x', true, [], () => {}, revoked(), hostile()]) {
        expect((await errorOf(() => verb(engine.offstage, given as never))).code).toBe('input.invalid');
      }
    });

    it(`CHO2: ${name} refuses a name that it does not know, and says it`, async () => {
      await using engine = await withJob();
      for (const value of [1, undefined]) {
        const error = await errorOf(() => verb(engine.offstage, { timeoutMillis: value } as never));
        expect([error.code, error.message]).toEqual(['input.invalid', expect.stringContaining('timeoutMillis')]);
      }
    });
  }

  it('CHO1: what stands in the options may be as hostile', async () => {
    await using engine = await withJob();
    const { offstage } = engine;
    const brand = Object.create(AbortSignal.prototype);
    const verbs: readonly (() => unknown)[] = [
      () => offstage.spawn(trap('kind') as never),
      () => offstage.spawn({ kind: 'echo', input: hostile() }),
      () => offstage.list(trap('limit')),
      ...[5, revoked([]), [{}], [10n], [Symbol('x')], [hostile()]].flatMap((status) => [
        () => offstage.list({ status: status as never }),
        () => offstage.cancelMany({ sessionId: 's', status: status as never }),
      ]),
      ...[{}, 5, brand, revoked(new AbortController().signal)].flatMap((signal) => [
        () => offstage.wait('job', { signal: signal as never }),
        () => offstage.waitMany(['job'], { signal: signal as never }),
        () => offstage.events({ signal: signal as never }),
        () => offstage.plan.run([], { signal: signal as never }),
      ]),
      ...[5, new Array(1), Object.assign(new Array(3), { 0: 'job', 2: 'job' }), revoked([]), [revoked()]].flatMap((ids) => [
        () => offstage.waitMany(ids as never),
        () => offstage.cancelMany({ ids: ids as never }),
        () => offstage.plan.run(ids as never),
      ]),
      () => offstage.plan.run([{ description: 'x', input: hostile() }]),
      () => offstage.prune(trap('maxJobs')),
      () => offstage.onEvent(5 as never),
      () => offstage.onEvent(undefined as never),
    ];
    for (const verb of verbs) expect([`${verb}`, (await errorOf(verb)).code]).toEqual([`${verb}`, 'input.invalid']);
    expect((await offstage.get('job')).status).toBe('completed');
    expect(await offstage.list()).toHaveLength(1);
  });

  it('CHO1: the verbs of a body refuse the same', async () => {
    const asked = async (_: unknown, ctx: JobContext): Promise<readonly string[]> => {
      const codes: string[] = [];
      const given = [null, 5, revoked(), hostile(), { timeoutMillis: 1 }] as never[];
      for (const options of given) {
        const verbs = [
          () => ctx.spawn(options),
          () => ctx.run(options),
          () => ctx.run({ kind: 'echo' }, options),
          () => ctx.run({ kind: 'echo' }, { signal: options }),
          () => ctx.wait('job', options),
          () => ctx.waitMany(['job'], options),
          () => ctx.waitMany(options),
        ];
        for (const verb of verbs) codes.push((await errorOf(verb)).code ?? 'none');
      }
      return [...new Set(codes)];
    };
    await using engine = await testEngine({ executors: { echo, asked } });
    const { offstage } = engine;
    await offstage.spawn({ kind: 'echo', jobId: 'job' });
    const { jobId } = await offstage.spawn({ kind: 'asked' });
    expect((await offstage.wait(jobId)).result).toEqual(['input.invalid']);
    expect(await offstage.list()).toHaveLength(2);
  });

  it('CHO3: a property is read once', async () => {
    await using engine = await withJob();
    let reads = 0;
    const options = {
      kind: 'echo' as const,
      get wait() {
        reads += 1;
        return reads > 1 ? ('changed' as never) : false;
      },
    };
    expect((await engine.offstage.spawn(options)).wait).toBe(false);
    expect(reads).toBe(1);
  });

  it('a spawn refused for another reason leaves no schema unheard', async () => {
    const input: StandardSchemaV1<unknown, never> = {
      '~standard': { version: 1, vendor: 'test', validate: () => Promise.reject(new Error('nobody listens')) },
    };
    await using engine = await testEngine({ executors: { late: { run: () => null, input } } });
    const unheard: unknown[] = [];
    const onUnheard = (error: unknown): void => void unheard.push(error);
    process.on('unhandledRejection', onUnheard);
    try {
      const error = await errorOf(() => engine.offstage.spawn({ kind: 'late', input: 1 as never, timeoutMs: -1 }));
      expect(error.message).toContain('timeoutMs');
      await new Promise((resolve) => setImmediate(resolve));
      expect(unheard).toEqual([]);
    } finally {
      process.off('unhandledRejection', onUnheard);
    }
  });
});

describe('WTG4: a signal that has fired', () => {
  it('rejects every wait with its reason, whatever it is for; bad input is said first', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held, echo } });
    const { offstage } = engine;
    await offstage.spawn({ kind: 'echo', jobId: 'ended' });
    await offstage.wait('ended');
    await offstage.spawn({ kind: 'held', jobId: 'live' });
    const reason = new Error('gone');
    const signal = AbortSignal.abort(reason);
    for (const jobId of ['ended', 'live', 'unknown']) {
      await expect(offstage.wait(jobId, { signal })).rejects.toBe(reason);
      await expect(offstage.wait(jobId, { signal, timeoutMs: 0 })).rejects.toBe(reason);
      for (const mode of ['all', 'any'] as const) {
        await expect(offstage.waitMany([jobId], { signal, mode })).rejects.toBe(reason);
      }
    }
    await expect(offstage.waitMany([], { signal })).rejects.toBe(reason);
    await expect(offstage.wait('', { signal })).rejects.toMatchObject({ code: 'input.invalid' });
    await expect(offstage.waitMany([''], { signal })).rejects.toMatchObject({ code: 'input.invalid' });
    await expect(offstage.waitMany(['x'], { signal, mode: 'some' as never })).rejects.toMatchObject({ code: 'input.invalid' });
    await held.release('live', null);
  });

  it('while the store is asked for unknown jobs counts too', async () => {
    await using engine = await testEngine();
    const controller = new AbortController();
    const waits = [
      engine.offstage.wait('unknown', { signal: controller.signal }),
      engine.offstage.waitMany(['unknown'], { signal: controller.signal }),
    ];
    const reason = new Error('gone');
    controller.abort(reason);
    expect(await Promise.allSettled(waits)).toEqual(waits.map(() => ({ status: 'rejected', reason })));
  });
});

describe('close', () => {
  const verbs: Readonly<Record<string, (engine: Offstage) => unknown>> = {
    ...Object.fromEntries(
      ['ended', 'unknown'].flatMap((jobId) => [
        [`get ${jobId}`, (engine: Offstage) => engine.get(jobId)],
        [`wait ${jobId}`, (engine: Offstage) => engine.wait(jobId)],
        [`waitMany ${jobId}`, (engine: Offstage) => engine.waitMany([jobId])],
        [`history ${jobId}`, (engine: Offstage) => engine.history(jobId)],
        [`output ${jobId}`, (engine: Offstage) => engine.output(jobId)],
        [`printed ${jobId}`, (engine: Offstage) => engine.printed(jobId)],
        [`cancel ${jobId}`, (engine: Offstage) => engine.cancel(jobId)],
        [`cards.get ${jobId}`, (engine: Offstage) => engine.cards.get(`card_${jobId}`)],
        [`notices.received ${jobId}`, async (engine: Offstage) => engine.notices.received('default', jobId)],
        [`cancelMany ${jobId}`, (engine: Offstage) => engine.cancelMany({ ids: [jobId] })],
      ]),
    ),
    'cancelMany of nothing': (engine) => engine.cancelMany({ ids: [] }),
    'waitMany of nothing': (engine) => engine.waitMany([]),
    spawn: (engine) => engine.spawn({ kind: 'echo' }),
    list: (engine) => engine.list(),
    'list of live jobs': (engine) => engine.list({ status: 'running' }),
    'cards.list': (engine) => engine.cards.list({ sessionId: 'default' }),
    'context.expand': (engine) => engine.context.expand('default', []),
    snapshot: (engine) => engine.snapshot(),
    processes: (engine) => engine.processes(),
    prune: (engine) => engine.prune(),
    'plan.run': (engine) => engine.plan.run([{ description: 'x', kind: 'echo' }]),
    'plan.run of nothing': (engine) => engine.plan.run([]),
    'plan.get': (engine) => engine.plan.get('m'),
    'plan.cancel': (engine) => engine.plan.cancel('m'),
    run: (engine) => engine.run({ kind: 'echo' }),
    'sessions.create': (engine) => engine.sessions.create(),
    'sessions.get': (engine) => engine.sessions.get('default'),
    'sessions.list': (engine) => engine.sessions.list(),
    'tasks.create': (engine) => engine.tasks.create(),
    'tasks.get': (engine) => engine.tasks.get('default'),
    'tasks.list': (engine) => engine.tasks.list(),
  };

  it('is the last word: every verb answers engine.closing, and health says closing', async () => {
    await using engine = await testEngine({ executors: { echo } });
    const { offstage } = engine;
    await offstage.spawn({ kind: 'echo', jobId: 'ended' });
    await offstage.wait('ended');
    await offstage.close();
    for (const [name, verb] of Object.entries(verbs)) {
      expect([name, (await errorOf(() => verb(offstage))).code]).toEqual([name, 'engine.closing']);
    }
    expect(offstage.health().status).toBe('closing');
  });

  it('while it is under way writes are refused, and reads still answer', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { echo, held } });
    const { offstage } = engine;
    await offstage.spawn({ kind: 'echo', jobId: 'ended' });
    await offstage.wait('ended');
    await offstage.spawn({ kind: 'held', jobId: 'live' });
    await engine.eventOf((event) => event.type === 'job.status' && event.jobId === 'live' && event.status === 'running');
    const closing = offstage.close();
    expect((await offstage.get('ended')).status).toBe('completed');
    expect((await offstage.get('live')).status).toBe('running');
    expect(await offstage.list()).toHaveLength(2);
    expect((await offstage.snapshot()).jobs).toHaveLength(2);
    expect(await offstage.tasks.list()).toHaveLength(1);
    for (const name of ['spawn', 'cancel ended', 'cancelMany ended', 'cancelMany of nothing', 'prune', 'sessions.create']) {
      expect([name, (await errorOf(() => verbs[name]?.(offstage))).code]).toEqual([name, 'engine.closing']);
    }
    await held.release('live', null);
    expect(isTerminal((await offstage.wait('live')).status)).toBe(true);
    await closing;
  });
});
