/** Helpers for tests with real processes. Nothing is ended here but by the pid of what a test itself started. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/actors/clock.ts';
import { commandExecutor } from '../../src/executors/command.ts';
import type { CommandInput } from '../../src/executors/command-input.ts';
import { readProcessTable } from '../../src/executors/process-tree.ts';
import type { Outcome } from '../../src/model/executor.ts';
import { type FakeContext, fakeContext, fakeJob } from './fake-context.ts';

export interface Started extends FakeContext {
  readonly done: Promise<Outcome>;
  /** The error that `run` rejected with; fails when it did not. */
  readonly failure: Promise<Error & { code?: string; details?: Record<string, unknown> }>;
}

export interface StartOptions {
  readonly graceMs?: number | null;
  readonly killAfterMs?: number;
  readonly allow?: readonly string[];
}

const executionIds = new Set<string>();

/** Living processes that carry a token of this test. */
export async function leftBehind(): Promise<number[]> {
  return (await holdersOf((value) => executionIds.has(value))).filter((pid) => pid !== process.pid);
}

/** Ends what a failed test left: exactly the holders of the tokens it made. For `afterEach`. */
export async function endLeftBehind(): Promise<void> {
  for (const pid of await leftBehind()) killIfThere(pid);
  executionIds.clear();
}

/** One that was there when it was looked for may have gone meanwhile, with its parent for example. */
export function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** A token that something else has made, to be ended by `endLeftBehind` too. */
export function watchExecutionId(executionId: string): void {
  executionIds.add(executionId);
}

/** A token of this run only, ended by `endLeftBehind`. */
export function newExecutionId(): string {
  const executionId = `exe_${randomUUID()}`;
  executionIds.add(executionId);
  return executionId;
}

/** Runs a command through the executor with a context made by hand. */
export function start(input: CommandInput, options: StartOptions = {}): Started {
  const fake = fakeContext({ ...options, executionId: newExecutionId() });
  const executor = commandExecutor({
    clock: systemClock,
    environment: { allow: options.allow ?? [] },
  });
  const done = Promise.resolve(executor.run(fakeJob(input), fake.context));
  const failure = done.then(
    (outcome) => {
      throw new Error(`expected a failure, got ${JSON.stringify(outcome)}`);
    },
    (error: unknown) => error as Error & { code?: string; details?: Record<string, unknown> },
  );
  failure.catch(() => {});
  return { ...fake, done, failure };
}

export const sh = (script: string, ...args: string[]): CommandInput => ({ command: 'sh', args: ['-c', script, 'sh', ...args] });
export const node = (script: string): CommandInput => ({ command: process.execPath, args: ['-e', script] });

/** Living processes that carry the token of an execution. */
export const tokenHolders = (executionId: string): Promise<number[]> => holdersOf((value) => value === executionId);

async function holdersOf(isWanted: (executionId: string) => boolean): Promise<number[]> {
  const table = await readProcessTable();
  return [...table.rows.values()]
    .filter((row) => !row.isDead)
    .filter((row) => {
      const token = table.tokenOf(row.pid);
      return token.is === 'token' && isWanted(token.value);
    })
    .map((row) => row.pid);
}

/** Living members of a process group. */
export async function groupMembers(pgid: number): Promise<number[]> {
  const rows = [...(await readProcessTable()).rows.values()];
  return rows.filter((row) => row.pgid === pgid && !row.isDead).map((row) => row.pid);
}

export async function isLiving(pid: number): Promise<boolean> {
  const row = (await readProcessTable()).rows.get(pid);
  return row !== undefined && !row.isDead;
}

export async function temporaryFolder(): Promise<{ readonly path: string; [Symbol.asyncDispose](): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'offstage-executors-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
