/** The executors that scenarios speak of (cases: reported faults, "Words"). */
import type { Executor, JobContext, JobOf } from '../../src/model/executor.ts';
import { type ControlledExecutor, controlledExecutor } from '../../src/testing/controlled-executor.ts';

/** Returns its input. */
export const echo = async (job: JobOf): Promise<unknown> => job.input;

/** Returns its input without awaiting anything. */
export const sync = (job: JobOf): unknown => job.input;

/** Throws what the test says, synchronously. */
export const throwing = (thrown: unknown) => (): never => {
  throw thrown;
};

export interface Counting extends Executor {
  /** The jobs whose bodies were called, in order. */
  readonly calls: string[];
}

/** Counts its calls and returns at once. */
export function counting(): Counting {
  const calls: string[] = [];
  return { calls, run: (job) => void calls.push(job.jobId) };
}

/** A body that is given by the job's input: for tests whose bodies differ. */
export type Body = (context: JobContext, job: JobOf) => unknown;

/** Runs the body that `bodies` has under the job's subject. */
export const scripted =
  (bodies: Readonly<Record<string, Body>>) =>
  async (job: JobOf, context: JobContext): Promise<unknown> =>
    bodies[job.subject]?.(context, job);

/** Ends when the test says so and at its abort. */
export const gate = (): ControlledExecutor => controlledExecutor();

/** Ends only when the test says so. */
export const stubborn = (): ControlledExecutor => controlledExecutor({ stubborn: true });
