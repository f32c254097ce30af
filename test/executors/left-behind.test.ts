/** G15: what a program that ended by itself has left behind, and what cannot be ended, is named: it is not passed over in silence. */
import { expect, it } from 'vitest';
import { endLeftovers } from '../../src/executors/owned-tree.ts';
import type { ProcessTable } from '../../src/executors/process-table.ts';
import type { JobContext, JobOf } from '../../src/model/executor.ts';
import { virtualClock } from '../../src/testing/virtual-clock.ts';
import { testEngine } from '../support/test-engine.ts';
import { fakeContext } from './fake-context.ts';

/** Nobody can say what is left. */
const UNREADABLE: ProcessTable = {
  rows: new Map(),
  isReadable: false,
  tokenOf: () => ({ is: 'unreadable' }),
  isSameUser: () => true,
};

it('it gives up on what it cannot see gone, and says so', async () => {
  const clock = virtualClock();
  const run = fakeContext();
  const tree = { pid: 2 ** 22 + 1, startTime: null, executionId: 'exe_1' } as unknown as Parameters<typeof endLeftovers>[0];
  let hasGivenUp = false;
  const ending = endLeftovers(tree, { clock, readTable: async () => UNREADABLE }, run.context.execution).then(() => {
    hasGivenUp = true;
  });
  await clock.advance(4_999);
  expect(hasGivenUp).toBe(false);
  expect(run.survivors).toEqual([]);
  await clock.advance(1);
  await ending;
  expect(run.survivors).toEqual(['processes that could not be looked for']);
});

it('the job ends with its result; its history and the log name what is still there', async () => {
  const leaves =
    (how: 'ends' | 'is told to') =>
    async (_: JobOf, { execution, signal }: JobContext) => {
      if (how === 'is told to') await new Promise((resolve) => signal.addEventListener('abort', resolve));
      execution.survivors('process 7 (sh)');
      return 'done';
    };
  const ended = async (_: JobOf, { execution }: JobContext) => {
    execution.survivors('process 8 (sh)');
    execution.survivors('');
    return 'done';
  };
  await using engine = await testEngine({
    executors: { leaves: leaves('ends'), told: leaves('is told to'), quick: ended },
  });
  const { offstage, clock, log } = engine;
  const [left, told, quick] = await Promise.all(['leaves', 'told', 'quick'].map((kind) => offstage.spawn({ kind, jobId: kind })));
  await clock.settle();
  await offstage.cancel(told?.jobId ?? '');
  const ends = await offstage.waitMany([left, told, quick].map((job) => job?.jobId ?? ''));
  expect(ends).toMatchObject([{ status: 'completed', resultText: 'done' }, { status: 'cancelled' }, { status: 'completed' }]);
  const notes = async (jobId: string) => (await offstage.history(jobId)).filter(({ type }) => type === 'note');
  expect(await notes('leaves')).toEqual([{ at: expect.any(Number), type: 'note', detail: 'still there: process 7 (sh)' }]);
  expect([await notes('told'), await notes('quick')]).toEqual([[], []]);
  expect(log.filter(({ event }) => event === 'body.left_behind')).toEqual([
    { level: 'warn', event: 'body.left_behind', fields: { jobId: 'leaves', kind: 'leaves', survivors: 'process 7 (sh)' } },
  ]);
});
