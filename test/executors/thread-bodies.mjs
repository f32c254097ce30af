/** Bodies for thread.test.ts. Plain JavaScript: worker threads load it as it is. */
import { threadId } from 'node:worker_threads';
import { outcome } from '../../dist/model/executor.js';

// biome-ignore lint/style/noDefaultExport: the default of `export` is what this tests.
export default (data) => ({ got: data });
export const text = () => 'plain text';
export const nothing = () => undefined;
export const named = () => outcome({ text: 'said', value: { n: 1 }, headId: 'h1' });
export const whoAmI = () => threadId;

export async function nice(_data, { signal, output, progress, partial }) {
  progress({ step: 1 });
  partial('half');
  output('started\n');
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  output('bye\n');
  return `ended: ${signal.reason.name} ${signal.reason.message}`;
}

export function blocking(_data, { output, isAborted }) {
  output('started\n');
  while (!isAborted());
  return 'noticed';
}

export function stubborn(_data, { output }) {
  output('started\n');
  while (true);
}

export function waits(_data, { output }) {
  output('started\n');
  return new Promise(() => setInterval(() => {}, 1000));
}

export function chatty(count, { output }) {
  for (let i = 0; i < count; i += 1) output('x'.repeat(64 * 1024));
  return 'done';
}

export const odd = (what) => {
  const values = {
    error: () => new TypeError('x'),
    subclass: () => new (class Special extends Error {})('x'),
    aggregate: () => new AggregateError([new Error('a'), 'b'], 'two'),
    string: () => 'plain',
    undefined: () => undefined,
    null: () => null,
    number: () => 42,
    bigint: () => 7n,
    symbol: () => Symbol('s'),
    function: () => () => 1,
    object: () => ({ code: 'E1' }),
    hostile: () => ({
      toString() {
        throw new Error('no');
      },
    }),
    proxy: () =>
      new Proxy(new Error('x'), {
        get() {
          throw new Error('no');
        },
        getPrototypeOf() {
          throw new Error('no');
        },
      }),
  };
  throw values[what]();
};

export const returnsFunction = () => ({ f: () => 1 });
export const exits = () => process.exit(5);
export const throwsLater = () =>
  new Promise(() =>
    setTimeout(() => {
      throw new Error('late');
    }, 1),
  );
export const throwsNullLater = () =>
  new Promise(() =>
    setTimeout(() => {
      throw null;
    }, 1),
  );
export const eats = () => {
  const all = [];
  while (true) all.push(new Array(1_000_000).fill(all.length));
};
export const notAFunction = 1;

export function exitsOrAnswers(data) {
  if (data === 'exit') process.exit(5);
  return 'answered';
}
