import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { errorMessage } from '../../src/engine/outcome.ts';
import { type ThreadExecutorOptions, threadExecutor } from '../../src/executors/thread.ts';
import { isOutcome } from '../../src/model/executor.ts';
import { type FakeContext, fakeContext, fakeJob } from './fake-context.ts';

const BODIES = new URL('./thread-bodies.mjs', import.meta.url);
const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

interface Started extends FakeContext {
  readonly done: Promise<unknown>;
  readonly failure: Promise<unknown>;
}

function starter(options: Omit<ThreadExecutorOptions, 'module'> = {}) {
  const executors = new Map<string, ReturnType<typeof threadExecutor<unknown>>>();
  return (name: string, data: unknown = null, limits: Parameters<typeof fakeContext>[0] = {}): Started => {
    let executor = executors.get(name);
    if (executor === undefined) {
      executor = threadExecutor<unknown>({ ...options, module: BODIES, export: name });
      executors.set(name, executor);
      closers.push(executor.close as () => unknown);
    }
    const fake = fakeContext({ killAfterMs: 100, ...limits });
    const done = Promise.resolve(executor.run(fakeJob(data, 'thread'), fake.context));
    const failure = done.then(
      (value) => expect.fail(`expected a failure, got ${String(value)}`),
      (error: unknown) => error,
    );
    failure.catch(() => {});
    return { ...fake, done, failure };
  };
}
const start = (...args: Parameters<ReturnType<typeof starter>>): Started => starter()(...args);

describe('what a body in a thread returns', () => {
  it('data goes in, JSON comes out', async () => {
    expect(await start('default', { a: [1, 'é'] }).done).toEqual({ got: { a: [1, 'é'] } });
    expect(await start('text').done).toBe('plain text');
    expect(await start('nothing').done).toBeUndefined();
  });

  it('an outcome keeps its parts', async () => {
    const result = await start('named').done;
    expect(isOutcome(result)).toBe(true);
    expect(result).toMatchObject({ text: 'said', value: { n: 1 }, headId: 'h1' });
  });

  it('what JSON cannot hold is job.result_not_serializable, and the thread lives', async () => {
    expect(await start('returnsFunction').failure).toMatchObject({ code: 'job.result_not_serializable' });
  });

  it('a kind without a module takes it from the input', async () => {
    const executor = threadExecutor();
    closers.push(executor.close as () => unknown);
    const input = { module: fileURLToPath(BODIES), export: 'text' };
    expect(await executor.run(fakeJob(input, 'thread'), fakeContext().context)).toBe('plain text');
  });
});

describe('B04: any throw of a body is a normal end with a message', () => {
  const expected: [string, string | RegExp][] = [
    ['error', 'TypeError: x'],
    ['subclass', 'Special: x'],
    ['aggregate', 'AggregateError: two Error: a; Thrown: b'],
    ['string', 'Thrown: plain'],
    ['undefined', 'Thrown: undefined'],
    ['null', 'Thrown: null'],
    ['number', 'Thrown: 42'],
    ['bigint', 'Thrown: 7'],
    ['symbol', 'Thrown: Symbol(s)'],
    ['function', /^Thrown: .*=> 1$/],
    ['object', 'Thrown: {"code":"E1"}'],
    ['hostile', 'Thrown: a value that cannot be shown'],
    ['proxy', 'Thrown: a value that cannot be shown'],
  ];
  const run = starter();
  for (const [what, message] of expected) {
    it(`B04: a thrown ${what}`, async () => {
      const thrown = await run('odd', what).failure;
      expect(errorMessage(thrown)).toMatch(typeof message === 'string' ? new RegExp(`^${literally(message)}$`) : message);
    });
  }
});

const literally = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

describe('THR2: told to end', () => {
  it('a body that listens ends by itself; what it told arrives before its end', async () => {
    const run = start('nice');
    await run.untilOutput('started');
    run.abort();
    expect(await run.done).toBe('ended: AbortError cancelled by the test');
    expect(run.outputs).toEqual(['started\n', 'bye\n']);
    expect(run.progress).toEqual([{ step: 1 }]);
    expect(run.partials).toEqual(['half']);
    expect(run.listenerCount()).toBe(0);
  });

  it('a loop that never waits can ask', async () => {
    const run = start('blocking', null, { killAfterMs: 20_000 });
    await run.untilOutput('started');
    run.abort();
    expect(await run.done).toBe('noticed');
  });

  for (const name of ['stubborn', 'waits']) {
    it(`a body that does not end (${name}) is terminated after killAfterMs, and settles when its thread has exited`, async () => {
      const run = start(name, null, { killAfterMs: 100 });
      await run.untilOutput('started');
      const begun = performance.now();
      run.abort();
      expect(await run.failure).toBe(run.reason);
      expect(performance.now() - begun).toBeGreaterThanOrEqual(95);
      expect(run.survivors).toEqual([expect.stringMatching(/^worker thread \d+$/)]);
      expect(run.listenerCount()).toBe(0);
    });
  }

  it('half the grace is the latest moment of the kill', async () => {
    const run = start('stubborn', null, { killAfterMs: 60_000, graceMs: 200 });
    await run.untilOutput('started');
    run.abort();
    expect(await run.failure).toBe(run.reason);
  });

  it('told to end before it began, the body is not called', async () => {
    const fake = fakeContext();
    fake.abort();
    const executor = threadExecutor<unknown>({ module: BODIES, export: 'text' });
    closers.push(executor.close as () => unknown);
    await expect(executor.run(fakeJob(null), fake.context)).rejects.toBe(fake.reason);
  });

  it('the next body runs after a termination', async () => {
    const run = starter();
    const first = run('stubborn');
    await first.untilOutput('started');
    first.abort();
    await first.failure;
    expect(await run('text').done).toBe('plain text');
  });
});

describe('THR1: as many threads as bodies', () => {
  it('8 blocking bodies run at once, on 8 threads', async () => {
    const run = starter();
    const all = Array.from({ length: 8 }, () => run('blocking', null, { killAfterMs: 20_000 }));
    await Promise.all(all.map((one) => one.untilOutput('started')));
    for (const one of all) one.abort();
    expect(await Promise.all(all.map((one) => one.done))).toEqual(Array(8).fill('noticed'));
  });

  it('an idle thread is used again', async () => {
    const run = starter();
    expect(await run('whoAmI').done).toBe(await run('whoAmI').done);
  });
});

describe('THR3: a thread that dies ends its job', () => {
  it('process.exit, and errors thrown outside of the body', async () => {
    const exits = await start('exits').failure;
    expect(exits).toMatchObject({ code: 'job.worker_died' });
    expect((exits as Error).message).toContain('5');
    const late = await start('throwsLater').failure;
    expect(late).toMatchObject({ code: 'job.worker_died' });
    expect((late as Error).message).toContain('late');
    expect(await start('throwsNullLater').failure).toMatchObject({ code: 'job.worker_died' });
  });

  it('THR3: a thread that dies takes no neighbour along, and its exit code is told', async () => {
    // One executor, so that the dying and the living share a pool; many, so that some die before their first word is read.
    const executor = threadExecutor<unknown>({ module: BODIES, export: 'exitsOrAnswers' });
    closers.push(executor.close as () => unknown);
    // A busy host reads late: a death may then be heard of before the body's first word.
    let isOver = false;
    const keepBusy = (): void => {
      const until = performance.now() + 15;
      while (performance.now() < until);
      if (!isOver) setImmediate(keepBusy);
    };
    setImmediate(keepBusy);
    const outcomes = await Promise.all(
      Array.from({ length: 24 }, async (_, index) => {
        const isDying = index % 2 === 0;
        const fake = fakeContext({ killAfterMs: 100 });
        const run = Promise.resolve(executor.run(fakeJob(isDying ? 'exit' : 'answer', 'thread'), fake.context));
        return run.catch((error: unknown) => (error as Error).message);
      }),
    );
    isOver = true;
    const [dying, living] = [outcomes.filter((_, index) => index % 2 === 0), outcomes.filter((_, index) => index % 2 === 1)];
    expect(new Set(living)).toEqual(new Set(['answered']));
    for (const message of dying) expect(message).toContain('exited with code: 5');
  });

  it('THR3: a pool that closes harms no body of the one that follows it', async () => {
    const executor = threadExecutor<unknown>({ module: BODIES, export: 'exitsOrAnswers' });
    closers.push(executor.close as () => unknown);
    const answer = () => executor.run(fakeJob('answer', 'thread'), fakeContext({ killAfterMs: 100 }).context);
    for (let round = 0; round < 5; round++) {
      expect(await answer()).toBe('answered');
      const closing = executor.close?.();
      await new Promise((resolve) => setImmediate(resolve));
      expect(await answer()).toBe('answered');
      await closing;
    }
  });

  it('out of memory', async () => {
    const run = starter({ resourceLimits: { maxOldGenerationSizeMb: 24, maxYoungGenerationSizeMb: 4 } });
    const error = await run('eats').failure;
    expect(error).toMatchObject({ code: 'job.worker_died' });
    expect((error as Error).message).toContain('memory');
  });

  it('also before the body was reached: several bodies, none hangs', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'offstage-thread-'));
    const module = join(folder, 'exits.mjs');
    writeFileSync(module, 'process.exit(3);\nexport default () => 1;\n');
    const executor = threadExecutor({ module });
    const errors = await Promise.all(
      [1, 2, 3].map(() => {
        const fake = fakeContext({ executionId: 'exe' });
        return Promise.resolve(executor.run(fakeJob(null) as never, fake.context)).catch((error: unknown) => error);
      }),
    );
    for (const error of errors) expect(error).toMatchObject({ code: 'job.worker_died' });
    await executor.close?.();
    rmSync(folder, { recursive: true, force: true });
  });

  it('a heap in which no thread could start is refused: V8 would end the whole process', () => {
    expect(() => threadExecutor({ resourceLimits: { maxOldGenerationSizeMb: 1 } })).toThrow(
      expect.objectContaining({ code: 'config.invalid' }),
    );
  });
});

describe('what cannot be started', () => {
  it('a missing export, one that is no function, a missing module, a broken one: thread.start_failed', async () => {
    const missing = await start('noSuchExport').failure;
    expect(missing).toMatchObject({ code: 'thread.start_failed' });
    expect((missing as Error).message).toContain('noSuchExport');
    expect(await start('notAFunction').failure).toMatchObject({ code: 'thread.start_failed' });
    const folder = mkdtempSync(join(tmpdir(), 'offstage-thread-'));
    closers.push(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, 'broken.mjs'), 'export default (');
    const executor = threadExecutor();
    closers.push(executor.close as () => unknown);
    for (const module of [join(folder, 'broken.mjs'), '/no/such/module.mjs']) {
      await expect(executor.run(fakeJob({ module }, 'thread'), fakeContext().context)).rejects.toMatchObject({
        code: 'thread.start_failed',
        message: expect.stringContaining(module.split('/').at(-1) as string),
      });
    }
  });

  it('a module that is neither path nor file: URL is refused', async () => {
    for (const module of ['', 'data:text/javascript,1', 'https://x.test/a.mjs', 'node:fs']) {
      expect(() => threadExecutor({ module })).toThrow(expect.objectContaining({ code: 'config.invalid' }));
      const { issues } = (await threadExecutor().input?.['~standard'].validate({ module })) ?? {};
      expect(issues?.map((issue) => issue.path)).toEqual([['module']]);
    }
    for (const input of [null, [], 'x', {}, { module: '/a', export: '' }, { module: '/a', exports: 'x' }]) {
      expect(await threadExecutor().input?.['~standard'].validate(input)).toHaveProperty('issues');
    }
  });
});

describe('THR4 and memory', () => {
  it('64 MiB of output from a loop that never waits arrive, without piling up', async () => {
    const run = start('chatty', 1_000);
    await run.untilOutput('x');
    let bytes = run.outputs.join('').length;
    let highest = 0;
    const before = process.memoryUsage().rss;
    // While the host does not look, the body has to wait.
    const until = performance.now() + 500;
    while (performance.now() < until);
    run.outputs.push = (...texts) => {
      for (const text of texts) bytes += text.length;
      highest = Math.max(highest, process.memoryUsage().rss - before);
      return 0;
    };
    expect(await run.done).toBe('done');
    expect(bytes).toBe(1_000 * 64 * 1024);
    expect(highest).toBeLessThan(40 * 1024 * 1024);
  });

  it('a host exits by itself while threads are idle', () => {
    const script = `
      import { threadExecutor } from ${JSON.stringify(new URL('../../dist/executors/thread.js', import.meta.url).href)};
      const executor = threadExecutor({ module: ${JSON.stringify(BODIES.href)}, export: 'text', idleTimeoutMs: 3_600_000 });
      const execution = { killAfterMs: 1, graceMs: 1, onForce() {}, survivors() {} };
      console.log(await executor.run({ input: null }, { signal: new AbortController().signal, execution }));`;
    const host = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8', timeout: 20_000 });
    expect(host).toMatchObject({ stdout: 'plain text\n', status: 0 });
  });
});
