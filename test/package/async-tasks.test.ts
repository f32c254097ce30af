/** Code written against the manager that `offstage/async-tasks` stands in for compiles as it is, but for the name it imports from. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');

/** What a sample takes for granted around it. */
const HOST = `
declare const myStore: AsyncTaskStore;
declare const sessionId: string;
declare function runInSandbox(code: string): Promise<{ stdout: string; exitCode: number }>;
declare function killSandbox(taskId: string): Promise<void>;
declare function respondWith(result: Record<string, unknown> | undefined): Promise<void>;`;

const IMPORTS = `import {
  AsyncTaskManager,
  asyncTasksReducer,
  type AsyncTask,
  type AsyncTaskExecutor,
  type AsyncTaskStore,
} from "offstage/async-tasks";
`;

const SAMPLES: Readonly<Record<string, string>> = {
  'wiring-an-executor': `import { AsyncTaskManager, type AsyncTaskStore } from "offstage/async-tasks";
${HOST}
const manager = new AsyncTaskManager(myStore);
manager.registerExecutor("sandbox_exec", {
  async execute(taskId, input) {
    const result = await runInSandbox(input.code as string);
    return { stdout: result.stdout, exitCode: result.exitCode };
  },
  async cancel(taskId) {
    await killSandbox(taskId);
  },
});
const task = await manager.start({
  type: "sandbox_exec",
  threadId: sessionId,
  input: { code: "print('hi')" },
  timeoutMs: 30_000,
});
export { task };`,

  'launch-and-poll': `${IMPORTS}${HOST}
declare const manager: AsyncTaskManager;
const { taskId, status } = manager.startBackground({
  type: "sandbox_exec",
  threadId: sessionId,
  input: { code: "summarize('search_corpus')" },
});
if (status === "error") {
  // No executor registered for the kind — fall back synchronously.
}
// ... a later turn:
const snapshot = manager.getTaskSync(taskId);
if (snapshot?.status === "success") {
  await respondWith(snapshot.result);
}
export type { AsyncTask, AsyncTaskExecutor };
export { asyncTasksReducer };`,

  cancelling: `${IMPORTS}
declare const manager: AsyncTaskManager;
declare const taskId: string;
const ok = await manager.cancel(taskId);
if (!ok) {
  // Task was already terminal — nothing to do.
}
const snapshot = manager.get(taskId);
snapshot?.status === "cancelled"; // true
export type { AsyncTask, AsyncTaskExecutor, AsyncTaskStore };
export { asyncTasksReducer };`,

  'the-contracts': `${IMPORTS}
// An executor as a class, with two parameters of execute and every optional verb.
class Sandbox implements AsyncTaskExecutor {
  async execute(taskId: string, input: Record<string, unknown>): Promise<Record<string, unknown>> {
    return { taskId, code: input.code };
  }
  async checkStatus(taskId: string): Promise<Partial<AsyncTask>> {
    return { status: 'running', jobType: taskId };
  }
  async sendUpdate(taskId: string, message: string): Promise<void> {
    console.log(taskId, message);
  }
  async cancel(taskId: string): Promise<void> {
    console.log(taskId);
  }
}
class Rows implements AsyncTaskStore {
  readonly #rows = new Map<string, Record<string, unknown>>();
  async put(namespace: string[], key: string, value: Record<string, unknown>): Promise<void> {
    this.#rows.set([...namespace, key].join('/'), value);
  }
  async get(namespace: string[], key: string): Promise<Record<string, unknown> | null> {
    return this.#rows.get([...namespace, key].join('/')) ?? null;
  }
}
const manager: AsyncTaskManager = new AsyncTaskManager(new Rows());
manager.registerExecutor('sandbox_exec', new Sandbox());
manager.registerExecutor('other', { checkStatus: async () => ({ progress: 5 }), execute: async () => ({}) });

// What the verbs answer.
const started: AsyncTask = await manager.start({
  type: 'sandbox_exec', threadId: 't', input: {}, agentName: 'a', jobType: 'j', timeoutMs: 1,
});
const launched: { taskId: string; status: string; error?: string } = manager.startBackground({ type: 'x', threadId: 't', input: {} });
const checked: AsyncTask | null = await manager.check(started.taskId);
const nothing: void = manager.registerExecutor('sandbox_exec', new Sandbox());
const read: AsyncTask | null = manager.getTaskSync(started.taskId) ?? manager.get(started.taskId);
const done: boolean = (await manager.update(started.taskId, 'm')) || (await manager.cancel(started.taskId));
const listed: AsyncTask[] = manager.list({ threadId: 't', type: 'sandbox_exec', status: 'running' });
manager.list();

// The channel.
let channel: Record<string, AsyncTask> = asyncTasksReducer();
channel = asyncTasksReducer(channel, { [started.taskId]: started });
const reducer: (existing?: Record<string, AsyncTask>, update?: Record<string, AsyncTask>) => Record<string, AsyncTask> =
  asyncTasksReducer;
const statuses: ('queued' | 'running' | 'success' | 'error' | 'cancelled' | 'timeout')[] = listed.map((task) => task.status);
const own: AsyncTask = { taskId: 'a', type: 'x', threadId: 't', status: 'queued', input: {}, createdAt: '' };
const { result = {}, error = '', updatedAt = '', checkedAt = '', agentName = '', jobType = '', timeoutMs = 0 } = own;

// @ts-expect-error an executor must execute
manager.registerExecutor('bad', { cancel: async () => {} });
// @ts-expect-error no such status
manager.list({ status: 'completed' });
// @ts-expect-error a thread is missing
await manager.start({ type: 'x', input: {} });
// @ts-expect-error what was read cannot be changed
started.status = 'error';
export { agentName, channel, checked, checkedAt, done, error, jobType, launched, nothing, read, reducer, result, statuses, timeoutMs, updatedAt };`,
};

it('the samples of the contract compile unchanged, and so do its executors, stores and answers', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'offstage-async-tasks-'));
  try {
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(ROOT, join(folder, 'node_modules', 'offstage'));
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    for (const [name, code] of Object.entries(SAMPLES)) writeFileSync(join(folder, `${name}.ts`), code);
    const compilerOptions = {
      ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, noEmit: true },
      ...{ module: 'nodenext', target: 'es2023', lib: ['es2023', 'esnext.disposable'] },
      ...{ types: ['node'], typeRoots: [join(ROOT, 'node_modules', '@types')] },
    };
    const files = Object.keys(SAMPLES).map((name) => `${name}.ts`);
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
    const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
    const { stdout } = await promisify(execFile)(process.execPath, [compiler, '-p', folder], { cwd: folder }).catch(
      (error: { stdout: string }) => error,
    );
    expect(stdout).toBe('');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
