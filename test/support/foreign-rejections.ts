/** Answers that come to nothing, by promises that are not made here. */
import { runInNewContext } from 'node:vm';

/** By name: what a callback may answer. Each rejects, or throws, once it is looked at. */
export const FOREIGN_REJECTIONS: readonly (readonly [name: string, answer: () => unknown])[] = [
  ['a promise of another realm', () => runInNewContext("Promise.reject(new Error('from elsewhere'))")],
  [
    'a thenable of its own kind',
    () => ({
      // biome-ignore lint/suspicious/noThenProperty: this is what a callback may answer.
      then: (_resolve: unknown, reject: (error: unknown) => void) => reject(new Error('in its own way')),
    }),
  ],
  [
    'a thenable that comes to a promise that rejects',
    () => ({
      // biome-ignore lint/suspicious/noThenProperty: this is what a callback may answer.
      then: (resolve: (value: unknown) => void) => resolve(Promise.reject(new Error('in the end'))),
    }),
  ],
  [
    'something that must not be asked whether it is thenable',
    () =>
      Object.defineProperty({}, 'then', {
        get() {
          throw new Error('do not ask');
        },
      }),
  ],
];
