/** G16: whatever a foreign callback answers, a rejection of it is heard, and told once. */
import { expect, it } from 'vitest';
import { settleQuietly } from '../../src/model/settle-quietly.ts';
import { FOREIGN_REJECTIONS } from '../support/foreign-rejections.ts';
import { strayErrors } from '../support/hostile.ts';

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it.each([['a promise', () => Promise.reject(new Error('no'))], ...FOREIGN_REJECTIONS] as const)(
  '%s that rejects is told once',
  async (_, answer) => {
    using stray = strayErrors();
    const told: unknown[] = [];
    settleQuietly(answer(), (error) => told.push(error));
    await nextTurn();
    expect(told).toHaveLength(1);
    expect(stray.count).toBe(0);
  },
);

it.each([undefined, null, 0, 'text', {}, () => {}, Promise.resolve('done')])('%s is no failure', async (answer) => {
  const told: unknown[] = [];
  settleQuietly(answer, (error) => told.push(error));
  await nextTurn();
  expect(told).toEqual([]);
});
