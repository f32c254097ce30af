/** SMN1, SMN2: worlds one after the other, and the story of what failed. */
import { describe, expect, it } from 'vitest';
import type { Executors } from '../../../src/model/executor.ts';
import { type Checker, type HostLife, type ManyOptions, simulateMany, Violation } from '../../../src/testing/index.ts';

/** "Nobody is greeted": needs one job of this kind. */
const nobodyIsGreeted: Checker = {
  guarantee: 'silence',
  promise: 'nobody is greeted',
  begin: () => (fact) => {
    if (fact.type === 'own' && fact.what === 'greets')
      throw new Violation('silence', `${(fact.value as { jobId: string }).jobId} greets`);
  },
};
const executors = (life: HostLife): Executors => ({ greets: async ({ jobId }) => life.note('greets', { jobId }) });
const FAILING: ManyOptions = { executors, checkers: [nobodyIsGreeted], length: 100, steps: 400 };

describe('simulateMany', () => {
  it('SMN1: takes its steps in worlds of this length, the last one shorter', async () => {
    const { failure, ...total } = await simulateMany({ steps: 25, length: 10, seed: 4, checkers: [] });
    expect(failure).toBeNull();
    expect(total).toMatchObject({ worlds: 3, steps: 25 });
    expect(total.facts).toBeGreaterThan(0);
    expect((await simulateMany({ steps: 50, length: 10, only: [1, 2] })).worlds).toBe(1);
  });

  it('ends with the first failure, shrunk and told; seed and steps repeat it', async () => {
    const said: string[] = [];
    const { failure, worlds } = await simulateMany({ ...FAILING, say: (line) => said.push(line) });
    expect(worlds).toBe(1);
    expect(failure).toMatchObject({ guarantee: 'silence', promise: 'nobody is greeted', seed: 1, steps: 100 });
    expect(failure?.only).toHaveLength(1);
    expect(failure?.story).toBe(said.join('\n'));
    for (const part of [
      /^Seed 1, step \d+ of 100: silence: \w+ greets$/m,
      /are left of 100: \d+$/m,
      /asks \(\d+\): spawn/,
      / {2}greets \{/,
    ]) {
      expect(failure?.story).toMatch(part);
    }
    expect(said.at(-1)).toBe(`\n${failure?.message}\nIt breaks: nobody is greeted.`);

    const again = await simulateMany({ ...FAILING, seed: 1, length: 100, only: failure?.only ?? [], shrinks: false });
    expect(again.failure).toMatchObject({ message: failure?.message, only: failure?.only });
  });

  it('tells it as it was found, and everything, when it is asked to', async () => {
    const short = (await simulateMany({ ...FAILING, shrinks: false })).failure;
    const long = (await simulateMany({ ...FAILING, shrinks: false, trace: true })).failure;
    expect(short?.only).toBeNull();
    expect(long?.story.length).toBeGreaterThan(short?.story.length ?? 0);
    expect(long?.story).toContain('  store: written');
  });

  it('SMN2: says so when it does not happen again', async () => {
    let isFirst = true;
    const once: Checker = {
      ...nobodyIsGreeted,
      begin: () => (fact, known) => {
        if (isFirst) nobodyIsGreeted.begin()(fact, known);
      },
    };
    const watching: Checker = {
      ...nobodyIsGreeted,
      begin() {
        const check = once.begin();
        return (fact, known) => {
          try {
            check(fact, known);
          } catch (error) {
            isFirst = false;
            throw error;
          }
        };
      },
    };
    const { failure } = await simulateMany({ ...FAILING, checkers: [watching] });
    expect(failure).toMatchObject({ guarantee: 'silence', only: null });
    expect(failure?.story).toMatch(/\nIt did not happen again\. Something does not come from the seed/);
  });

  it.each([2, 3, 4])('SMN2: says so when it happens %i times and not again, while it is shrunk', async (times) => {
    let left = times;
    const sometimes: Checker = {
      ...nobodyIsGreeted,
      begin() {
        const check = nobodyIsGreeted.begin();
        let mayFail = left > 0;
        return (fact, known) => {
          if (!mayFail) return;
          try {
            check(fact, known);
          } catch (error) {
            mayFail = false;
            left -= 1;
            throw error;
          }
        };
      },
    };
    const { failure } = await simulateMany({ ...FAILING, checkers: [sometimes] });
    expect(failure).toMatchObject({ guarantee: 'silence', promise: 'nobody is greeted' });
    expect(failure?.story).toMatch(/\nIt did not happen again\. Something does not come from the seed/);
  });
});
