/**
 * Requests in, answers out: the verbs of spec 13 for whatever transport carries them.
 *
 * HND1  Whatever comes in is answered: bad input with an error that echoes its `request_id`, never with a crash (B55).
 * HND2  When the other side has gone, what waits for it ends. Jobs and prompts never do.
 */
import type { Offstage } from '../engine/offstage.ts';
import { isOffstageError, type OffstageError, offstageError } from '../model/errors.ts';
import type { JsonValue } from '../model/json.ts';
import { LIMITS } from '../model/limits.ts';
import type { Connection, Frame } from './connection.ts';
import { JOB_ACTIONS } from './job-actions.ts';
import type { WireFields } from './rename.ts';
import type { Action } from './request.ts';
import { RequestFields } from './request-fields.ts';
import { ROW_ACTIONS } from './row-actions.ts';
import { SESSION_ACTIONS } from './session-actions.ts';
import { STOP_ACTIONS } from './stop-actions.ts';
import { subscribe } from './subscribe.ts';
import { failureToWire } from './wire-errors.ts';

const ACTIONS: ReadonlyMap<unknown, Action> = new Map<unknown, Action>(
  Object.entries({ ...JOB_ACTIONS, ...SESSION_ACTIONS, ...ROW_ACTIONS, ...STOP_ACTIONS, subscribe }),
);

/** What the handler does not understand, as an answer. */
export const protocolError = (message: string): OffstageError => offstageError('control.protocol', { message });

/** A request as text, or what is wrong with it. */
export function parseRequest(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return protocolError('it is not JSON');
  }
}

const WAITING: ReadonlySet<unknown> = new Set([
  'await_jobs',
  'submit_prompt',
  'answer_request',
  'stop_task',
  'stop_session',
  'remove_task',
  'remove_session',
]);

/** Whether a request may take as long as a job, or as an agent does to start, to answer or to end. */
export const isWaitingRequest = (request: unknown): boolean =>
  typeof request === 'object' && request !== null && WAITING.has((request as WireFields).action);

/** Handles one request, or what `parseRequest` made of it, and sends its answer. Never rejects. */
export async function handle(offstage: Offstage, request: unknown, connection: Connection): Promise<void> {
  let requestId: JsonValue = null;
  const gone = new AbortController();
  const forget = connection.onClose(() => gone.abort());
  try {
    const fields = fieldsOf(request);
    requestId = requestIdOf(fields);
    const action = ACTIONS.get(fields.action);
    if (action === undefined) throw protocolError(unknownAction(fields.action));
    const result = await action({
      offstage,
      fields: new RequestFields(fields),
      connection,
      requestId,
      signal: gone.signal,
    });
    if (result !== null) await connection.send({ ...result, type: 'result', request_id: requestId });
  } catch (error) {
    await connection.send(errorFrame(error, requestId));
  } finally {
    forget();
  }
}

export function errorFrame(error: unknown, requestId: JsonValue): Frame {
  return { ...failureToWire(isOffstageError(error) ? error : unexpected(error)), type: 'error', request_id: requestId };
}

function unexpected(error: unknown): OffstageError {
  const message = error instanceof Error ? error.message : 'something that is no error was thrown';
  return offstageError('control.failed', { message }, { cause: error });
}

function fieldsOf(request: unknown): WireFields {
  if (isOffstageError(request)) throw request;
  if (typeof request === 'object' && request !== null && !Array.isArray(request)) return request as WireFields;
  throw protocolError('a request must be an object');
}

function requestIdOf(fields: WireFields): JsonValue {
  const id = Object.hasOwn(fields, 'request_id') ? (fields.request_id as JsonValue) : null;
  if (id === null || typeof id === 'number') return id;
  if (typeof id === 'string' && id.length <= LIMITS.idBytes) return id;
  throw protocolError('request_id must be a short string or a number');
}

function unknownAction(action: unknown): string {
  if (action === undefined) return 'the action is missing';
  if (typeof action !== 'string') return 'the action must be a string';
  return `there is no action ${JSON.stringify(action.slice(0, 80))}`;
}
