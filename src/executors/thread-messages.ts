/**
 * What the host and a worker thread say to each other. Everything here survives the structured clone.
 */
import type { MessagePort } from 'node:worker_threads';
import type { JsonValue } from '../model/json.ts';

/** One body, handed to a worker. */
export interface ThreadTask {
  /** A file: URL. */
  readonly module: string;
  readonly exportName: string;
  readonly data: JsonValue;
  readonly port: MessagePort;
  readonly shared: Int32Array;
}

/** Places in `shared`. */
export const ABORTED = 0;
/** Characters of output sent and not yet taken. */
export const UNREAD = 1;
export const SHARED_BYTES = 2 * Int32Array.BYTES_PER_ELEMENT;

/** From the worker, while the body runs. */
export type ThreadReport =
  | { readonly type: 'started'; readonly threadId: number }
  | { readonly type: 'output' | 'partial'; readonly text: string }
  | { readonly type: 'progress'; readonly value: JsonValue };

/** To the worker: the job is told to end. */
export interface ThreadAbort {
  readonly message: string;
}

export type ThreadAnswer =
  | { readonly type: 'nothing' }
  | { readonly type: 'value'; readonly value: JsonValue }
  | { readonly type: 'outcome'; readonly fields: { readonly [key: string]: JsonValue } }
  | { readonly type: 'error'; readonly name: string; readonly message: string; readonly stack: string | null }
  | { readonly type: 'thrown'; readonly value: JsonValue | undefined }
  | { readonly type: 'not_json'; readonly message: string }
  | { readonly type: 'not_started'; readonly message: string };
