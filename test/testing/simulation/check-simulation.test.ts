/** CSI1, CSI2: what a host hands in by mistake is refused by name, with a code, before anything of it looks like a result. */
import { describe, expect, it } from 'vitest';
import type { Executors } from '../../../src/model/executor.ts';
import {
  type Checker,
  type ManyOptions,
  type SimulationOptions,
  shrink,
  simulate,
  simulateMany,
} from '../../../src/testing/index.ts';

const mine = (): Executors => ({ mine: async () => 'done' });
const checker = (check: () => unknown): Checker => ({ guarantee: 'mine', promise: 'mine', begin: () => check as () => void });

/** Option, and what is wrong with it. */
const OF_BOTH: readonly (readonly [option: string, options: object])[] = [
  ['stepz', { stepz: 5 }],
  ['seed', { seed: Number.NaN }],
  ['seed', { seed: '1' }],
  ['seed', { seed: 1.5 }],
  ['seed', { seed: 2 ** 53 }],
  ['steps', { steps: Number.NaN }],
  ['steps', { steps: -1 }],
  ['steps', { steps: 1.5 }],
  ['steps', { steps: '20' }],
  ['steps', { steps: null }],
  ['only', { only: '1,2' }],
  ['only', { only: [1, Number.NaN] }],
  ['only', { only: [-1] }],
  ['executors', { executors: { mine: async () => 1 } }],
  ['executors', { executors: () => undefined }],
  ['executors', { executors: async () => ({ mine: async () => 1 }) }],
  ['executors.sim.rude', { executors: () => ({ 'sim.rude': async () => 1 }) }],
  ['inputs', { inputs: null }],
  ['inputs.mine', { executors: mine, inputs: { mine: { size: 1 } } }],
  ['inputs.mine', { executors: mine, inputs: { mine: async () => 1 } }],
  ['inputs.mime', { executors: mine, inputs: { mime: () => 1 } }],
  ['options', { options: null }],
  ['options.wurkers', { options: { wurkers: 2 } }],
  ['options.clock', { options: { clock: {} } }],
  ['options.executors', { options: { executors: {} } }],
  ['checkers', { checkers: {} }],
  ['checkers', { checkers: [null] }],
  ['checkers', { checkers: [{ guarantee: 'mine', promise: 'mine' }] }],
  ['checkers', { checkers: [{ guarantee: 'mine', promise: 'mine', begin: async () => () => {} }] }],
];
const OF_ONE: typeof OF_BOTH = [
  ['seed', { seed: undefined }],
  ['steps', { steps: 2 ** 32 }],
  ['length', { length: 5 }],
  ['onFact', { onFact: 5 }],
];
const OF_MANY: typeof OF_BOTH = [
  ['seed', { seed: Number.MAX_SAFE_INTEGER, steps: 5 }],
  ['steps', { steps: 0 }],
  ['length', { length: 0 }],
  ['length', { length: Number.NaN }],
  ['shrinks', { shrinks: 1 }],
  ['trace', { trace: 'all' }],
  ['say', { say: [] }],
  ['onFact', { onFact: () => {} }],
];

const refused = (option: string): object => ({ code: 'config.invalid', details: { option } });
const short = (options: object): SimulationOptions => ({ seed: 1, steps: 60, checkers: [], ...options });

describe('CSI1: refused by name', () => {
  it.each([...OF_BOTH, ...OF_ONE])('simulate: %s %o', async (option, options) => {
    await expect(simulate(short(options))).rejects.toMatchObject(refused(option));
  });

  it.each([...OF_BOTH, ...OF_MANY])('simulateMany: %s %o', async (option, options) => {
    await expect(simulateMany(short(options) as ManyOptions)).rejects.toMatchObject(refused(option));
  });

  it('what is no object at all, and what cannot be read', async () => {
    const unreadable = new Proxy({}, { get: () => raise('hands off'), ownKeys: () => raise('hands off') });
    for (const given of [null, 7, [], unreadable]) {
      await expect(simulate(given as never)).rejects.toMatchObject(refused('options'));
      await expect(simulateMany(given as never)).rejects.toMatchObject(refused('options'));
      await expect(shrink(given as never)).rejects.toMatchObject(refused('options'));
    }
  });

  it('a world without steps is one, and the greatest numbers are taken', async () => {
    expect(await simulate(short({ steps: 0, seed: Number.MAX_SAFE_INTEGER }))).toMatchObject({ steps: 0, violation: null });
    expect(await simulate(short({ only: [2 ** 40] }))).toMatchObject({ steps: 1 });
  });
});

describe('CSI2: who judges, listens or makes inputs answers at once', () => {
  it.each(['a checker', 'a listener'])(
    '%s that answers a promise is refused, and what it rejects with reaches nobody',
    async (who) => {
      let calls = 0;
      const late = async (): Promise<never> => {
        calls += 1;
        throw new Error('too late');
      };
      const options = who === 'a checker' ? { checkers: [checker(late)] } : { onFact: late };
      // Else its rejection would be a fact, to be judged by it again, for ever.
      await expect(simulate(short(options))).rejects.toMatchObject(refused(who === 'a checker' ? 'checkers' : 'onFact'));
      expect(calls).toBe(1);
    },
  );
});

function raise(message: string): never {
  throw new Error(message);
}
