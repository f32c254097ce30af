/**
 * REST as a table: each route is an action of the wire (spec 12, 13).
 *
 * RRT1  A route adds nothing and decides nothing: path, query and body become the fields of the action.
 */
import type { ActionName } from '../requests/action-schemas.ts';

export type Method = 'GET' | 'POST' | 'DELETE';

export interface Route {
  readonly method: Method;
  /** Segments that begin with a colon are fields. */
  readonly path: string;
  readonly action: ActionName;
  /** Status of a good answer. */
  readonly status: 200 | 201;
  /** Fields that make no sense over HTTP. */
  readonly omitted: readonly string[];
}

const route = (method: Method, path: string, action: ActionName, more: Partial<Route> = {}): Route => ({
  method,
  path: `/api${path}`,
  action,
  status: 200,
  omitted: [],
  ...more,
});

export const ROUTES: readonly Route[] = [
  route('GET', '/jobs', 'list_jobs'),
  route('POST', '/jobs', 'spawn_job', { status: 201 }),
  route('POST', '/jobs/await', 'await_jobs'),
  route('POST', '/jobs/cancel', 'cancel_jobs'),
  route('GET', '/jobs/:job_id', 'get_job'),
  route('POST', '/jobs/:job_id/cancel', 'cancel_job'),
  route('GET', '/jobs/:job_id/history', 'get_history'),
  route('GET', '/jobs/:job_id/output', 'get_output', { omitted: ['parts'] }),
  route('GET', '/tasks', 'list_tasks'),
  route('POST', '/tasks', 'create_task', { status: 201 }),
  route('GET', '/tasks/:task_id', 'get_task'),
  route('DELETE', '/tasks/:task_id', 'remove_task'),
  route('POST', '/tasks/:task_id/stop', 'stop_task'),
  route('POST', '/tasks/:task_id/archive', 'archive_task'),
  route('POST', '/tasks/:task_id/state', 'set_task_state'),
  route('GET', '/sessions', 'list_sessions'),
  route('POST', '/sessions', 'create_session', { status: 201 }),
  route('GET', '/sessions/:session_id', 'get_session'),
  route('DELETE', '/sessions/:session_id', 'remove_session'),
  route('POST', '/sessions/:session_id/prompt', 'submit_prompt'),
  route('POST', '/sessions/:session_id/interrupt', 'interrupt_session'),
  route('POST', '/sessions/:session_id/stop', 'stop_session'),
  route('POST', '/sessions/:session_id/answer', 'answer_request'),
  route('GET', '/sessions/:session_id/tickets', 'list_tickets'),
  route('GET', '/sessions/:session_id/workloads', 'list_workloads'),
  route('POST', '/sessions/:session_id/workloads/dismiss', 'dismiss_workload'),
  route('GET', '/sessions/:session_id/cards', 'list_cards'),
  route('DELETE', '/tickets/:ticket_id', 'cancel_ticket'),
  route('GET', '/cards/:card_id', 'get_card'),
  route('GET', '/processes', 'list_processes'),
  route('GET', '/health', 'health'),
  route('GET', '/whoami', 'whoami'),
  route('GET', '/server', 'get_server'),
  route('GET', '/snapshot', 'get_snapshot'),
  route('GET', '/events', 'subscribe', { omitted: ['hold'] }),
];

export type PathParams = Readonly<Record<string, string>>;

/** A route, with the fields that its path gives. */
export interface RouteMatch {
  readonly route: Route;
  readonly params: PathParams;
}

/** The routes of one path, by method. */
export type RoutesHere = ReadonlyMap<string, RouteMatch>;

/** Exact segments win over fields. @param segments decoded, `api` first */
export function routesAt(segments: readonly string[]): RoutesHere {
  const found = new Map<string, RouteMatch>();
  for (const candidate of ROUTES) {
    const params = paramsOf(candidate.path.slice(1).split('/'), segments);
    if (params === null) continue;
    const known = found.get(candidate.method);
    if (known === undefined || Object.keys(params).length < Object.keys(known.params).length) {
      found.set(candidate.method, { route: candidate, params });
    }
  }
  return found;
}

function paramsOf(pattern: readonly string[], segments: readonly string[]): PathParams | null {
  if (pattern.length !== segments.length) return null;
  const params: Record<string, string> = {};
  for (const [index, part] of pattern.entries()) {
    const segment = segments[index] as string;
    if (part.startsWith(':')) params[part.slice(1)] = segment;
    else if (part !== segment) return null;
  }
  return params;
}
