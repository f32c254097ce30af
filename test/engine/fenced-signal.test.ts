/** SIG1, SIG2: signals whose listeners may throw, and that are ordinary signals otherwise. */
import { describe, expect, it } from 'vitest';
import { fencedController } from '../../src/engine/fenced-signal.ts';

const refuse = (): never => {
  throw new Error('no');
};

describe('a fenced signal', () => {
  it('reports each failure of a listener to its own signal, also where signals share the listener', async () => {
    const failed: string[] = [];
    const [a, b] = ['a', 'b'].map((name) => fencedController(() => failed.push(name)));
    const reject = () => Promise.reject(new Error('no'));
    for (const controller of [a, b]) {
      controller?.signal.addEventListener('abort', refuse);
      controller?.signal.addEventListener('abort', reject);
      controller?.signal.addEventListener('abort', { handleEvent: refuse });
    }
    a?.abort();
    await new Promise(setImmediate);
    expect(failed).toEqual(['a', 'a', 'a']);
    b?.abort();
    await new Promise(setImmediate);
    expect(failed.slice(3)).toEqual(['b', 'b', 'b']);
  });

  it('calls a listener once however often it is added, and not when it was taken away', () => {
    const { signal, abort } = bound(fencedController(refuse));
    const calls: string[] = [];
    const one = () => calls.push('one');
    const two = () => calls.push('two');
    signal.addEventListener('abort', one);
    signal.addEventListener('abort', one);
    signal.addEventListener('abort', two);
    signal.removeEventListener('abort', two);
    signal.onabort = refuse;
    signal.onabort = () => calls.push('last');
    expect(signal.onabort).toBeTypeOf('function');
    abort();
    expect(calls).toEqual(['one', 'last']);
  });

  it('is an AbortSignal to everybody else', () => {
    const { signal, abort } = bound(fencedController(refuse));
    const any = AbortSignal.any([signal]);
    expect(signal).toBeInstanceOf(AbortSignal);
    abort();
    expect([signal.aborted, any.aborted, any.reason]).toEqual([true, true, signal.reason]);
    expect(() => signal.throwIfAborted()).toThrow(signal.reason);
  });
});

const bound = (controller: AbortController) => ({ signal: controller.signal, abort: () => controller.abort() });
