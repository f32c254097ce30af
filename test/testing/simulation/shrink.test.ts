/** SHR1, SHR2, SIM2: what a run breaks is found, and found again with the fewest steps; shown with guarantees that do not hold. */
import { describe, expect, it } from 'vitest';
import { type Checker, type Fact, lineOf, shrink, simulate, simulateMany, Violation } from '../../../src/testing/index.ts';

/** "No job is ever cancelled": needs a spawn, and a cancel of just that job. */
const nobodyIsCancelled: Checker = {
  guarantee: 'G1',
  promise: 'no job is ever cancelled',
  begin: () => (fact) => {
    if (fact.type !== 'told' || fact.event.type !== 'job.status' || fact.event.reasonCode !== 'cancel.user') return;
    throw new Violation('G1', `${fact.event.jobId} was cancelled`);
  },
};

/** "No engine dies": needs one step. */
const nothingCrashes: Checker = {
  guarantee: 'G5',
  promise: 'no process ever dies',
  begin: () => (fact) => {
    if (fact.type === 'crashed') throw new Violation('G5', `life ${fact.life} ended`);
  },
};

describe('shrink', () => {
  it.each([1, 20, 40])('SHR1: leaves only what is needed of a world (from seed %i on)', async (first) => {
    const found = await simulateMany({ seed: first, steps: 20_000, length: 600, checkers: [nobodyIsCancelled], shrinks: false });
    const options = { seed: found.failure?.seed ?? 0, steps: 600, checkers: [nobodyIsCancelled] };
    const { violation } = await simulate(options);
    expect(violation).toMatchObject({ guarantee: 'G1', message: expect.stringMatching(/was cancelled$/) });

    const shrunk = await shrink(options);
    expect(shrunk.result.violation).toMatchObject({ guarantee: 'G1', message: expect.stringMatching(/was cancelled$/) });
    expect(shrunk.only.length).toBeLessThanOrEqual(6);

    const again = await simulate({ ...options, only: shrunk.only });
    expect(again.violation).toEqual(shrunk.result.violation);
    for (const step of shrunk.only) {
      const without = await simulate({ ...options, only: shrunk.only.filter((other) => other !== step) });
      expect(without.violation, `without step ${step}`).toBeNull();
    }
  });

  it('keeps one step where one is enough', async () => {
    const { only } = await shrink({ seed: 6, steps: 600, checkers: [nothingCrashes] });
    expect(only).toHaveLength(1);
  });

  it('says so when nothing is broken', async () => {
    await expect(shrink({ seed: 1, steps: 5, checkers: [] })).rejects.toThrow('nothing is broken by seed 1');
  });
});

describe('simulate', () => {
  it('SIM2: ends with the first violation', async () => {
    const facts: Fact[] = [];
    const { violation } = await simulate({
      seed: 5,
      steps: 600,
      checkers: [nothingCrashes],
      onFact: (fact) => facts.push(fact),
    });
    expect(facts.filter(({ type }) => type === 'crashed')).toHaveLength(1);
    expect(facts.at(-1)).toMatchObject({ type: 'crashed', step: violation?.step });
  });

  it('a checker that is broken itself is no violation', async () => {
    const broken: Checker = {
      ...nothingCrashes,
      begin: () => () => {
        throw new TypeError('a mistake');
      },
    };
    await expect(simulate({ seed: 1, steps: 10, checkers: [broken] })).rejects.toThrow('a mistake');
  });

  it('lets the process have its own handlers again', async () => {
    const before = process.listenerCount('unhandledRejection');
    await simulate({ seed: 1, steps: 10 });
    expect(process.listenerCount('unhandledRejection')).toBe(before);
  });
});

describe('the trace', () => {
  it('TRC1: one line a fact, and those about a message tell its story', async () => {
    const { failure } = await simulateMany({ seed: 1, steps: 600, length: 600, checkers: [nobodyIsCancelled] });
    const story = failure?.story ?? '';
    for (const part of [
      /asks \(\d+\): (spawn|run|plan)/,
      /asks \(\d+\): (plan\.)?cancel/,
      /told \d+ job\.created/,
      /the engine is open/,
    ]) {
      expect(story).toMatch(part);
    }
    await simulate({ seed: 1, steps: 600, checkers: [], onFact: (fact) => expect(lineOf(fact)).not.toContain('\n') });
  });
});
