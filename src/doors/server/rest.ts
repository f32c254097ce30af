/**
 * REST: a request becomes the fields of an action, its answer the body (RRT1).
 *
 * RST1  A field that is given twice, in two places or two times, is refused unless it is a list.
 * RST2  A client that has gone gets no answer, and nothing waits for it.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Offstage } from '../../engine/offstage.ts';
import type { JsonValue } from '../../model/json.ts';
import { type ActionSchema, schemaOf } from '../requests/action-schemas.ts';
import type { CallerIdentity } from '../requests/caller-identity.ts';
import type { Connection, Frame } from '../requests/connection.ts';
import { handle } from '../requests/handler.ts';
import { invalidField } from '../requests/request-fields.ts';
import type { Schema } from '../requests/schema-words.ts';
import type { WireFields } from '../wire/rename.ts';
import { type Headers, sendJson, statusOf } from './http-answer.ts';
import { readFields } from './request-body.ts';
import type { PathParams, Route, RouteMatch } from './rest-routes.ts';

export interface RestRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly caller: CallerIdentity;
  readonly query: URLSearchParams;
}

/** Answers a request for a route. @throws OffstageError for what is wrong with its form */
export async function answerRest(offstage: Offstage, { route, params }: RouteMatch, rest: RestRequest): Promise<void> {
  const { response, caller } = rest;
  const fields = await fieldsOf(route, params, rest);
  const frames: Frame[] = [];
  const connection: Connection = {
    caller,
    send(frame) {
      frames.push(frame);
      return Promise.resolve();
    },
    onClose(callback) {
      if (response.destroyed) callback();
      response.once('close', callback);
      return () => response.off('close', callback);
    },
  };
  await handle(offstage, { ...fields, action: route.action }, connection);
  const { type, request_id: _, ...answer } = frames.at(-1) as Frame;
  if (type !== 'error') return sendJson(response, route.status, answer);
  sendJson(response, statusOf(answer.error_code as string), answer, retryHeaders(answer));
}

function retryHeaders({ details }: WireFields): Headers {
  const after = (details as WireFields | undefined)?.retry_after_ms;
  return typeof after === 'number' ? { 'Retry-After': String(Math.ceil(after / 1_000)) } : {};
}

/** @throws OffstageError `input.invalid` and all of `readFields` */
export async function fieldsOf(
  route: Route,
  params: PathParams,
  { request, query }: Pick<RestRequest, 'request' | 'query'>,
): Promise<Record<string, JsonValue>> {
  const schema = schemaOf(route.action) as ActionSchema;
  const body = await readFields(request);
  const fields: Record<string, JsonValue> = Object.assign(Object.create(null), params);
  for (const [from, source] of [
    ['query', queryFields(query, schema)],
    ['body', body],
  ] as const) {
    for (const [name, value] of Object.entries(source)) {
      if (name === 'action' || name === 'request_id') throw invalidField(name, 'the path says it already');
      if (route.omitted.includes(name)) throw invalidField(name, 'this action has no such field over HTTP');
      if (Object.hasOwn(fields, name)) throw invalidField(name, `it is given twice, once in the ${from}`);
      fields[name] = value;
    }
  }
  return fields;
}

/** RST1. Texts become what the schema of their field says; what cannot be is left as it is, and refused by the action. */
function queryFields(query: URLSearchParams, schema: ActionSchema): WireFields {
  const fields: Record<string, JsonValue> = Object.create(null);
  for (const name of new Set(query.keys())) {
    const field: Schema = Object.hasOwn(schema.fields, name) ? (schema.fields[name] as Schema) : {};
    const given = query.getAll(name);
    if (isList(field)) fields[name] = given.length === 1 && !isOnlyList(field) ? (given[0] as string) : given;
    else if (given.length > 1) throw invalidField(name, 'it is given twice');
    else fields[name] = typed(given[0] as string, typesOf(field));
  }
  return fields;
}

const typesOf = ({ type }: Schema): readonly JsonValue[] => (type === undefined ? [] : [type].flat());
const isOnlyList = (field: Schema): boolean => typesOf(field).includes('array');
const isList = (field: Schema): boolean =>
  isOnlyList(field) || ((field.anyOf as readonly Schema[] | undefined)?.some((one) => one.type === 'array') ?? false);

function typed(text: string, types: readonly JsonValue[]): JsonValue {
  if (types.includes('boolean') && (text === 'true' || text === 'false')) return text === 'true';
  if (types.includes('null') && text === 'null') return null;
  const isNumber = types.includes('number') || types.includes('integer');
  return isNumber && /^-?\d+(?:\.\d+)?(?:e\d+)?$/i.test(text) ? Number(text) : text;
}
