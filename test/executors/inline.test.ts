import { describe, expect, it } from 'vitest';
import { resolveExecutor } from '../../src/executors/inline.ts';
import type { AnyExecutor } from '../../src/model/executor.ts';
import { fakeContext, fakeJob } from './fake-context.ts';

const DEFAULTS = { abortable: true, killable: false, workload: 'subagent', strictStart: false };

describe('executors as hosts write them', () => {
  it('a function is short for an executor with the defaults', async () => {
    const executor = resolveExecutor('echo', async (job) => job.input);
    expect(executor.capabilities).toEqual(DEFAULTS);
    expect(await executor.run(fakeJob('hi', 'echo'), fakeContext().context)).toBe('hi');
  });

  it('an object keeps what it says, and its `this`', async () => {
    class Greeter {
      greeting = 'hello';
      capabilities = { workload: 'monitor' as const };
      run() {
        return this.greeting;
      }
      redact() {
        return this.greeting;
      }
    }
    const executor = resolveExecutor('greet', new Greeter());
    expect(executor.capabilities).toEqual({ ...DEFAULTS, workload: 'monitor' });
    expect(await executor.run(fakeJob(null), fakeContext().context)).toBe('hello');
    expect(executor.redact?.(null)).toBe('hello');
    expect(executor.cancel).toBeUndefined();
  });

  const run = () => null;
  const odd: unknown[] = [null, undefined, 'run', {}, { run: 1 }, { run, cancel: 1 }, { run, close: {} }, { run, redact: 'x' }];
  for (const shape of [...odd, { run, capabilities: { workload: 'x' } }]) {
    it(`INL1: ${JSON.stringify(shape)} is config.invalid`, () => {
      expect(() => resolveExecutor('odd', shape as AnyExecutor)).toThrow(expect.objectContaining({ code: 'config.invalid' }));
    });
  }
});
