/** What goes in and what comes out (spec 2, 18, 19): limits, and validation by any Standard Schema. */
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { describe, expect, it } from 'vitest';
import { outcome } from '../../src/model/executor.ts';
import { LIMITS } from '../../src/model/limits.ts';
import { echo, sync } from '../support/executors.ts';
import { testEngine } from '../support/test-engine.ts';

type Answer<Output> = StandardSchemaV1.Result<Output> | Promise<StandardSchemaV1.Result<Output>>;

/** A hand-made schema. */
const schema = <Output>(validate: (value: unknown) => Answer<Output>): StandardSchemaV1<unknown, Output> => ({
  '~standard': { version: 1, vendor: 'test', validate },
});

interface Question {
  readonly question: string;
}

const asQuestion = (value: unknown): StandardSchemaV1.Result<Question> => {
  const { question } = (value ?? {}) as { question?: unknown };
  if (typeof question !== 'string') return { issues: [{ message: 'it must be a string', path: ['question'] }] };
  return { value: { question: question.trim() } };
};

describe('validation', () => {
  for (const [when, input] of [
    ['at once', schema(asQuestion)],
    ['later', schema(async (value) => asQuestion(value))],
  ] as const) {
    it(`of the input that answers ${when}: the body gets what the schema made of it, the rest is refused`, async () => {
      const seen: unknown[] = [];
      const research = {
        input,
        run: async (job: { readonly input: Question }) => {
          seen.push(job.input);
          return job.input.question;
        },
      };
      await using engine = await testEngine({ executors: { research, echo } });
      const { offstage } = engine;
      const first = offstage.spawn({ kind: 'research', input: { question: '  why  ' } });
      const second = offstage.spawn({ kind: 'echo', input: 'after' });
      const [job, after] = await Promise.all([first, second]);
      expect(job.input).toEqual({ question: 'why' });
      expect((await offstage.wait(job.jobId)).resultText).toBe('why');
      expect(seen).toEqual([{ question: 'why' }]);
      for (const bad of [undefined, {}, { question: 7 }]) {
        await expect(offstage.spawn({ kind: 'research', input: bad })).rejects.toMatchObject({
          code: 'input.invalid',
          message: 'input.question is not valid: it must be a string.',
        });
      }
      // A spawn takes its place when its input is known: a schema that answers late holds up nobody else.
      const inOrder = when === 'at once' ? [job.jobId, after.jobId] : [after.jobId, job.jobId];
      expect((await offstage.list()).map(({ jobId }) => jobId)).toEqual(inOrder.reverse());
    });
  }

  for (const [when, result] of [
    [
      'at once',
      schema<number>((value) => (typeof value === 'number' ? { value: value * 2 } : { issues: [{ message: 'no number' }] })),
    ],
    [
      'later',
      schema<number>(async (value) =>
        typeof value === 'number' ? { value: value * 2 } : { issues: [{ message: 'no number' }] },
      ),
    ],
  ] as const) {
    it(`of the result that answers ${when}: what it refuses is the error of the job`, async () => {
      await using engine = await testEngine({ executors: { double: { run: sync, result } } });
      const { offstage } = engine;
      const good = await offstage.spawn({ kind: 'double', input: 21 });
      const bad = await offstage.spawn({ kind: 'double', input: 'x' });
      expect(await offstage.wait(good.jobId)).toMatchObject({ status: 'completed', result: 42 });
      expect(await offstage.wait(bad.jobId)).toMatchObject({
        status: 'errored',
        reasonCode: 'failed',
        error: { code: 'job.result_invalid', message: 'result is not valid: no number.' },
      });
    });
  }

  it('by a schema that throws or rejects refuses the input, and harms nobody', async () => {
    const failing = schema<never>(() => {
      throw new Error('the schema is broken');
    });
    const rejecting = schema<never>(() => Promise.reject(new Error('the schema is broken')));
    await using engine = await testEngine({
      executors: {
        failing: { run: sync, input: failing },
        rejecting: { run: sync, input: rejecting },
        result: { run: sync, result: failing },
        echo,
      },
    });
    const { offstage } = engine;
    for (const kind of ['failing', 'rejecting']) {
      await expect(offstage.spawn({ kind, input: 1 })).rejects.toMatchObject({
        code: 'input.invalid',
        message: expect.stringContaining('the schema is broken'),
      });
    }
    const { jobId } = await offstage.spawn({ kind: 'result', input: 1 });
    expect(await offstage.wait(jobId)).toMatchObject({
      status: 'errored',
      error: { code: 'job.result_invalid', message: expect.stringContaining('the schema is broken') },
    });
    expect((await offstage.wait((await offstage.spawn({ kind: 'echo', input: 'fine' })).jobId)).resultText).toBe('fine');
  });
});

describe('SSC1: a schema that keeps to its contract loosely', () => {
  /** An answer to come that is no Promise, as foreign promise libraries make them. */
  const thenable = (answer: unknown, isRefusal = false): never =>
    ({
      // biome-ignore lint/suspicious/noThenProperty: a thenable is what this is about.
      then: (done: (value: unknown) => void, fail: (error: unknown) => void) => (isRefusal ? fail : done)(answer),
    }) as never;
  const kept = schema<unknown>((value) => thenable({ value }));
  const refused = schema<unknown>(() => thenable({ issues: [{ message: 'not this', path: ['a', { key: 'b' }] }] }));
  const failing = schema<unknown>(() => thenable(new Error('the schema is broken'), true));

  it('answers with any thenable: what it says counts, for input and result', async () => {
    const executors = {
      kept: { run: sync, input: kept, result: kept },
      refused: { run: sync, input: refused },
      failing: { run: sync, input: failing },
      badly: { run: sync, result: refused },
    };
    await using engine = await testEngine({ executors });
    const { offstage } = engine;
    const job = await offstage.spawn({ kind: 'kept', input: { a: 1 } });
    expect(job.input).toEqual({ a: 1 });
    expect(await offstage.wait(job.jobId)).toMatchObject({ status: 'completed', result: { a: 1 } });
    const answer = { code: 'input.invalid', message: 'input.a.b is not valid: not this.' };
    await expect(offstage.spawn({ kind: 'refused' })).rejects.toMatchObject(answer);
    await expect(offstage.spawn({ kind: 'failing' })).rejects.toMatchObject({ code: 'input.invalid' });
    const bad = await offstage.spawn({ kind: 'badly' });
    expect(await offstage.wait(bad.jobId)).toMatchObject({
      status: 'errored',
      error: { code: 'job.result_invalid', message: 'result.a.b is not valid: not this.' },
    });
  });

  const nonsense: readonly unknown[] = [undefined, null, 5, {}, { issues: null }, { issues: [null] }, thenable(null)];
  it.each(nonsense.map((answer) => [answer]))('answers %o: refused, the input is not lost in silence', async (answer) => {
    const input = schema<unknown>(() => answer as never);
    await using engine = await testEngine({ executors: { odd: { run: sync, input }, done: { run: sync, result: input } } });
    const { offstage } = engine;
    await expect(offstage.spawn({ kind: 'odd', input: 1 })).rejects.toMatchObject({ code: 'input.invalid' });
    const { jobId } = await offstage.spawn({ kind: 'done', input: 1 });
    expect(await offstage.wait(jobId)).toMatchObject({ status: 'errored', error: { code: 'job.result_invalid' } });
  });
});

describe('limits', () => {
  it('of the input and the description: 1 MiB, and nothing is stored beyond', async () => {
    await using engine = await testEngine({ executors: { echo } });
    const { offstage } = engine;
    const most = 'x'.repeat(LIMITS.inputBytes - 2);
    const job = await offstage.spawn({ kind: 'echo', input: most, jobId: 'most' });
    expect(job.input).toBe(most);
    await offstage.wait('most');
    for (const options of [
      { input: `${most}x` },
      { input: 'é'.repeat(LIMITS.inputBytes / 2) },
      { description: 'x'.repeat(LIMITS.inputBytes + 1) },
    ]) {
      await expect(offstage.spawn({ kind: 'echo', ...options })).rejects.toMatchObject({ code: 'limit.input_bytes' });
    }
    expect(await offstage.list()).toHaveLength(1);
  });

  it('of a result: 256 KiB of JSON are kept whole, more is an error', async () => {
    await using engine = await testEngine({
      executors: { value: async (job: { readonly input: unknown }) => ({ text: 'x'.repeat(job.input as number) }) },
    });
    const { offstage } = engine;
    const room = LIMITS.resultBytes - '{"text":""}'.length;
    const fits = await offstage.spawn({ kind: 'value', input: room });
    const tooLarge = await offstage.spawn({ kind: 'value', input: room + 1 });
    expect(await offstage.wait(fits.jobId)).toMatchObject({ status: 'completed', result: { text: 'x'.repeat(room) } });
    expect(await offstage.wait(tooLarge.jobId)).toMatchObject({
      status: 'errored',
      result: null,
      error: { code: 'job.result_too_large', message: expect.stringContaining(String(LIMITS.resultBytes)) },
    });
  });

  it('of text: the end is kept, at a whole character, and it says what was cut, for results, partial text and errors', async () => {
    const long = `${'😀'.repeat(100_000)} THE END`;
    await using engine = await testEngine({
      executors: {
        text: async () => long,
        named: async () => outcome({ text: long }),
        partial: async (_: unknown, context: { partial(text: string): void }) => {
          context.partial(long);
          throw new Error(long);
        },
      },
    });
    const { offstage } = engine;
    for (const kind of ['text', 'named', 'partial']) {
      const { resultText, error } = await offstage.wait((await offstage.spawn({ kind })).jobId);
      const text = resultText as string;
      expect(text).toMatch(/^\[… \d+ bytes cut\]\n😀/);
      expect(text.endsWith(' THE END')).toBe(true);
      expect(text.isWellFormed()).toBe(true);
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(LIMITS.resultTextBytes + 40);
      if (error !== null) expect(Buffer.byteLength(error.message)).toBeLessThanOrEqual(16 * 1024 + 40);
    }
  });

  it('what JSON cannot hold is no input', async () => {
    await using engine = await testEngine({ executors: { echo } });
    const circular: unknown[] = [];
    circular.push(circular);
    for (const bad of [
      1n,
      () => 1,
      Symbol('s'),
      Number.NaN,
      new Map(),
      new Error('x'),
      circular,
      { a: { b: undefined, c: 1n } },
    ]) {
      await expect(engine.offstage.spawn({ kind: 'echo', input: bad })).rejects.toMatchObject({ code: 'input.invalid' });
    }
    expect(await engine.offstage.list()).toEqual([]);
  });

  it('of the options: what is no option of spawn is refused', async () => {
    await using engine = await testEngine({ executors: { echo } });
    const { offstage } = engine;
    for (const bad of [
      null,
      undefined,
      7,
      'echo',
      {},
      { kind: 7 },
      { kind: 'echo', contextMode: 'fresh' },
      { kind: 'echo', wait: 1 },
      { kind: 'echo', subject: 7 },
      { kind: 'echo', description: [] },
    ]) {
      await expect(offstage.spawn(bad as never)).rejects.toMatchObject({ code: 'input.invalid' });
    }
    await expect(offstage.spawn({ kind: 'unheard of' })).rejects.toMatchObject({ code: 'executor.unknown' });
    expect(await offstage.list()).toEqual([]);
  });

  it('agent.unknown: a kind that runs agents takes only those that are registered', async () => {
    const agents = { helper: () => Promise.reject(new Error('not started here')) };
    const executors = { agent: { needsAgent: true, run: async () => 'done' }, other: async () => 'done' };
    await using engine = await testEngine({ executors, agents });
    const { offstage } = engine;
    for (const agentId of [undefined, 'somebody', 'constructor', '__proto__']) {
      const refused = offstage.spawn({ kind: 'agent', ...(agentId === undefined ? {} : { agentId }) });
      await expect(refused).rejects.toMatchObject({ code: 'agent.unknown', details: { agentId: agentId ?? 'default' } });
    }
    expect((await offstage.spawn({ kind: 'agent', agentId: 'helper' })).agentId).toBe('helper');
    expect((await offstage.spawn({ kind: 'other', agentId: 'somebody' })).agentId).toBe('somebody');
  });
});
