/**
 * The OpenAPI document, made of the table of routes and of what the actions declare (ASC1).
 *
 * OAP1  It is derived, never written: a route or a field cannot be in one and not in the other.
 */
import type { JsonValue } from '../../model/json.ts';
import { packageVersion } from '../package-version.ts';
import { ACTION_SCHEMAS, type ActionSchema, requestSchema } from '../requests/action-schemas.ts';
import { COMPONENT_SCHEMAS } from '../requests/answer-schemas.ts';
import { orNull, ref, type Schema } from '../requests/schema-words.ts';
import { ROUTES, type Route } from './rest-routes.ts';

const json = (schema: Schema): Schema => ({ 'application/json': { schema } });

const ERRORS: Readonly<Record<string, readonly [name: string, description: string]>> = {
  '400': ['Invalid', 'The request is not valid.'],
  '401': ['Unauthorized', 'There is no token, or it is not good.'],
  '403': ['Forbidden', 'The token does not allow it, or the origin is not allowed.'],
  '404': ['NotFound', 'There is no such thing.'],
  '429': ['TooMany', 'Too many requests.'],
  default: ['Failed', 'Anything else; error_code says what.'],
};

const ERROR_RESPONSES: Schema = Object.fromEntries(
  Object.entries(ERRORS).map(([status, [name]]) => [status, { $ref: `#/components/responses/${name}` }]),
);

const paramsIn = (path: string): readonly string[] => [...path.matchAll(/:(\w+)/g)].map(([, name]) => name as string);

export function openApiDocument(): Schema {
  const paths: Record<string, Record<string, JsonValue>> = {};
  for (const route of ROUTES) {
    const path = route.path.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Offstage',
      version: packageVersion(),
      description: 'Jobs, sessions and tasks of one engine. The same actions, and all events, come over WebSocket at /ws.',
    },
    security: [{ bearer: [] }],
    paths: { ...paths, ...OTHERS },
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
      responses: Object.fromEntries(
        Object.values(ERRORS).map(([name, description]) => [name, { description, content: json(ref('Error')) }]),
      ),
      schemas: COMPONENT_SCHEMAS,
    },
  };
}

function operationOf(route: Route): Schema {
  const action: ActionSchema = ACTION_SCHEMAS[route.action];
  const inPath = paramsIn(route.path);
  const omitted = [...inPath, ...route.omitted];
  const isQueried = route.method !== 'POST';
  const rest = Object.entries(action.fields).filter(([name]) => !omitted.includes(name));
  const parameters = [
    ...inPath.map((name) => ({ name, in: 'path', required: true, schema: action.fields[name] as Schema })),
    ...(isQueried ? rest.map(([name, schema]) => ({ name, in: 'query', required: action.required.includes(name), schema })) : []),
    ...(route.action === 'subscribe' ? [LAST_EVENT_ID] : []),
  ];
  const body = isQueried
    ? {}
    : {
        requestBody: {
          required: action.required.some((name) => !omitted.includes(name)),
          content: json(requestSchema(action, omitted)),
        },
      };
  return {
    operationId: route.action,
    summary: action.summary,
    description: `Needs the scope ${action.scope}${action.isForSessions ? ', or the token of a session for what that session reaches' : ''}.`,
    parameters,
    ...body,
    responses: { [route.status]: { description: 'The answer.', content: contentOf(route, action) }, ...ERROR_RESPONSES },
  };
}

const LAST_EVENT_ID: Schema = {
  name: 'Last-Event-ID',
  in: 'header',
  required: false,
  schema: orNull({ type: 'string' }),
  description: 'The id of the last event seen; counts more than after.',
};

const contentOf = ({ action: name }: Route, action: ActionSchema): Schema =>
  name === 'subscribe'
    ? {
        'text/event-stream': {
          schema: { type: 'string', description: 'A snapshot, then events; each with the JSON of its frame as data.' },
        },
      }
    : json(action.answer);

const plain = (description: string, type: string): Schema => ({
  responses: { '200': { description, content: { [type]: { schema: { type: 'string' } } } } },
});

/** Paths that stand for no action. */
const OTHERS: Schema = {
  '/api/openapi.json': {
    get: { operationId: 'openapi', summary: 'This document.', ...plain('The document.', 'application/json') },
  },
  '/metrics': {
    get: { operationId: 'metrics', summary: 'Counters and gauges for Prometheus.', ...plain('The figures.', 'text/plain') },
  },
  '/healthz': {
    get: {
      operationId: 'healthz',
      summary: 'Whether the engine is well; needs no token.',
      security: [],
      responses: {
        '200': { description: 'It is.', content: json({ type: 'object', properties: { status: { type: 'string' } } }) },
        '503': { description: 'It is not.', content: json({ type: 'object', properties: { status: { type: 'string' } } }) },
      },
    },
  },
};
