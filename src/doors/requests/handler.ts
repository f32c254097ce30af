/**
 * Requests in, answers out: the verbs of spec 13 for whatever transport carries them.
 *
 * HND1  Whatever comes in is answered: bad input with an error that echoes its `request_id`, never with a crash (B55).
 * HND2  When the other side has gone, what waits for it ends. Jobs and prompts never do.
 * HND3  Access is checked and calls are told of here, whatever door they came through.
 */
import { performance } from 'node:perf_hooks';
import type { Offstage } from '../../engine/offstage.ts';
import { isOffstageError, type OffstageError, offstageError } from '../../model/errors.ts';
import type { JsonValue } from '../../model/json.ts';
import { LIMITS } from '../../model/limits.ts';
import type { WireFields } from '../wire/rename.ts';
import { failureToWire } from '../wire/wire-errors.ts';
import { verbsFor } from './access.ts';
import { type ActionName, schemaOf } from './action-schemas.ts';
import { ACTIONS } from './actions.ts';
import { idsIn, tellCall, whoOf } from './calls.ts';
import type { Connection, Frame } from './connection.ts';
import { RequestFields } from './request-fields.ts';

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

/** To one that has closed its side only, and may still read. */
const LEFT = 'the connection was closed by its client, so nothing waits for it any more';

/** Handles one request, or what `parseRequest` made of it, and sends its answer. Never rejects. */
export async function handle(offstage: Offstage, request: unknown, connection: Connection): Promise<void> {
  let requestId: JsonValue = null;
  const at = Date.now();
  const startedAt = performance.now();
  const gone = new AbortController();
  const forget = connection.onClose(() => gone.abort(protocolError(LEFT)));
  let answer: WireFields | null = null;
  let failure: Frame | null = null;
  try {
    const fields = fieldsOf(request);
    requestId = requestIdOf(fields);
    const tooMuch = connection.admit?.() ?? null;
    if (tooMuch !== null) throw tooMuch;
    const schema = schemaOf(fields.action);
    if (schema === null) throw protocolError(unknownAction(fields.action));
    const name = fields.action as ActionName;
    answer = await ACTIONS[name]({
      offstage: verbsFor(offstage, name, schema, connection.caller),
      engine: offstage,
      fields: new RequestFields(fields),
      connection,
      requestId,
      signal: gone.signal,
    });
  } catch (error) {
    failure = errorFrame(error, requestId);
  }
  tell(offstage, request, connection, { at, startedAt, answer, failure });
  try {
    if (failure !== null) await connection.send(failure);
    else if (answer !== null) await connection.send({ ...answer, type: 'result', request_id: requestId });
  } catch (error) {
    // What is too large to be one text is answered all the same.
    await connection.send(errorFrame(error, requestId));
  } finally {
    forget();
  }
}

/** HND3. Before the answer goes out: nobody knows of a change that is not told of. */
function tell(
  offstage: Offstage,
  request: unknown,
  { caller }: Connection,
  {
    at,
    startedAt,
    answer,
    failure,
  }: Readonly<{ at: number; startedAt: number; answer: WireFields | null; failure: Frame | null }>,
): void {
  const name = typeof request === 'object' && request !== null ? (request as WireFields).action : null;
  const schema = schemaOf(name);
  const call = {
    at,
    action: schema === null ? 'unknown' : (name as ActionName),
    ...whoOf(caller),
    ids: idsIn(request, answer),
    outcome: failure === null ? 'ok' : (failure.error_code as string),
    durationMs: Math.round(performance.now() - startedAt),
  };
  // What was not let in has changed nothing, and may come in floods.
  tellCall(offstage, call, schema?.scope === 'operate' && call.outcome !== 'limit.rate');
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
