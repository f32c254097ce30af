/**
 * The worker's side of the kind `thread`: loads the host's module, calls its export, and puts whatever comes of it into words that
 * can be sent. Loaded by the pool only.
 *
 * THW1  Nothing that a body returns or throws can break the way back: what cannot be sent is described.
 */
import { threadId } from 'node:worker_threads';
import { errorMessage } from '../engine/outcome.ts';
import { offstageError } from '../model/errors.ts';
import { isOutcome } from '../model/executor.ts';
import { type JsonValue, toJson } from '../model/json.ts';
import { ABORTED, type ThreadAbort, type ThreadAnswer, type ThreadReport, type ThreadTask, UNREAD } from './thread-messages.ts';

/** What a body in a worker thread is handed beside its data. */
export interface ThreadContext {
  /** Fires when the job is told to end. It needs a turn of the event loop; a loop that gives none asks `isAborted`. */
  readonly signal: AbortSignal;
  /** Whether the job was told to end; also true inside a loop that never waits. */
  isAborted(): boolean;
  /** Latest wins; any JSON. */
  progress(value: unknown): void;
  /** Appends to the job's output. Blocks while the host is far behind. */
  output(text: string): void;
  /** Replaces what the job has so far. */
  partial(text: string): void;
}

export type ThreadBody = (data: never, context: ThreadContext) => unknown;

/** So much output may be on its way before the body is held back. */
const UNREAD_LIMIT = 4 * 1024 * 1024;

export async function runInThread(task: ThreadTask): Promise<ThreadAnswer> {
  const { port, shared } = task;
  const report = (message: ThreadReport): void => port.postMessage(message);
  report({ type: 'started', threadId });
  const controller = new AbortController();
  const onAbort = ({ message }: ThreadAbort): void => controller.abort(offstageError('job.cancelled', { reason: message }));
  port.on('message', onAbort);
  try {
    let body: ThreadBody;
    try {
      body = await load(task);
    } catch (error) {
      return { type: 'not_started', message: (error as Error).message };
    }
    const value: unknown = await body(task.data as never, contextOf(shared, controller.signal, report));
    return answerOf(value);
  } catch (thrown) {
    return describeThrown(thrown);
  } finally {
    port.close();
  }
}

async function load(task: ThreadTask): Promise<ThreadBody> {
  let loaded: Record<string, unknown>;
  try {
    loaded = await import(task.module);
  } catch (error) {
    // A syntax error does not say by itself where it is.
    throw new Error(`${task.module} could not be loaded: ${errorMessage(error)}`, { cause: error });
  }
  const fromDefault = (loaded.default as Record<string, unknown> | undefined)?.[task.exportName];
  const body = loaded[task.exportName] ?? fromDefault;
  if (typeof body === 'function') return body as ThreadBody;
  throw new TypeError(`${task.module} exports no function ${JSON.stringify(task.exportName)}`);
}

function contextOf(shared: Int32Array, signal: AbortSignal, report: (message: ThreadReport) => void): ThreadContext {
  const send = (type: 'output' | 'partial', value: string): void => {
    const text = String(value);
    for (let unread = Atomics.load(shared, UNREAD); unread > UNREAD_LIMIT; unread = Atomics.load(shared, UNREAD)) {
      Atomics.wait(shared, UNREAD, unread, 100);
    }
    Atomics.add(shared, UNREAD, text.length);
    report({ type, text });
  };
  return {
    signal,
    isAborted: () => Atomics.load(shared, ABORTED) === 1,
    progress: (value) => report({ type: 'progress', value: toJson(value) }),
    output: (text) => send('output', text),
    partial: (text) => send('partial', text),
  };
}

function answerOf(value: unknown): ThreadAnswer {
  if (value === undefined) return { type: 'nothing' };
  try {
    if (isOutcome(value)) return { type: 'outcome', fields: toJson({ ...value }) as { [key: string]: JsonValue } };
    return { type: 'value', value: toJson(value) };
  } catch (error) {
    return { type: 'not_json', message: errorMessage(error) };
  }
}

function describeThrown(thrown: unknown): ThreadAnswer {
  try {
    if (thrown instanceof Error) {
      const text = errorMessage(thrown);
      const end = text.indexOf(': ');
      const stack = typeof thrown.stack === 'string' ? thrown.stack : null;
      return { type: 'error', name: text.slice(0, end), message: text.slice(end + 2), stack };
    }
    return { type: 'thrown', value: thrown === undefined ? undefined : toJson(thrown) };
  } catch {
    const text = errorMessage(thrown);
    return { type: 'thrown', value: text.startsWith('Thrown: ') ? text.slice('Thrown: '.length) : text };
  }
}
