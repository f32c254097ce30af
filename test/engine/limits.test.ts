import { describe, expect, it } from 'vitest';
import { LIMITS } from '../../src/model/limits.ts';
import { controlledExecutor } from '../../src/testing/controlled-executor.ts';
import { testEngine } from '../support/test-engine.ts';

describe('limits of a spawn', () => {
  it('input and description of more than 1 MiB are refused, and nothing is stored', async () => {
    const gate = controlledExecutor();
    await using engine = await testEngine({ executors: { gate } });
    const { offstage } = engine;
    // Two bytes per character: what counts is bytes.
    const tooLong = 'é'.repeat(LIMITS.inputBytes / 2);
    await expect(offstage.spawn({ kind: 'gate', input: { tooLong } })).rejects.toMatchObject({ code: 'limit.input_bytes' });
    await expect(offstage.spawn({ kind: 'gate', description: `${tooLong}!` })).rejects.toMatchObject({
      code: 'limit.input_bytes',
    });
    expect(await offstage.list()).toEqual([]);
    expect(gate.calls).toEqual([]);
    const job = await offstage.spawn({ kind: 'gate', input: 'é'.repeat(LIMITS.inputBytes / 2 - 1) });
    await gate.release(job.jobId);
    expect((await offstage.get(job.jobId)).input).toHaveLength(LIMITS.inputBytes / 2 - 1);
  });

  it('input that JSON would lose is refused, with the place', async () => {
    await using engine = await testEngine({ executors: { gate: controlledExecutor() } });
    const circular: { self?: unknown } = {};
    circular.self = circular;
    for (const [input, place] of [
      [{ a: [1, () => {}] }, 'a[1]'],
      [{ m: new Map() }, 'm'],
      [{ n: Number.NaN }, 'n'],
      [10n, 'the top'],
      [circular, 'self'],
    ] as const) {
      const refusal = engine.offstage.spawn({ kind: 'gate', input });
      await expect(refusal).rejects.toMatchObject({ code: 'input.invalid', message: expect.stringContaining(place) });
    }
    expect(await engine.offstage.list()).toEqual([]);
  });

  it('a body gets its input frozen, so that it cannot change the record', async () => {
    const seen: unknown[] = [];
    await using engine = await testEngine({
      executors: {
        mutate: async (job) => {
          seen.push(Object.isFrozen(job.input), Object.isFrozen(job.input.list));
          job.input.list.push(2);
        },
      },
    });
    const job = await engine.offstage.spawn({ kind: 'mutate', input: { list: [1] } });
    expect(await engine.offstage.wait(job.jobId)).toMatchObject({ status: 'errored', input: { list: [1] } });
    expect(seen).toEqual([true, true]);
  });
});
