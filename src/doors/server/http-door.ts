/**
 * Requests over HTTP: who may ask, and where each one goes.
 *
 * HTD1  Whatever comes is answered, bad or not, and harms nobody else (B55).
 * HTD2  Everything but `/healthz` needs a token, the dashboard's own files too.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Offstage } from '../../engine/offstage.ts';
import { isOffstageError, offstageError } from '../../model/errors.ts';
import type { CallerIdentity } from '../requests/caller-identity.ts';
import { sessionOfScope } from '../requests/caller-identity.ts';
import { handle, protocolError } from '../requests/handler.ts';
import { forbidden } from '../requests/session-verbs.ts';
import type { Gate } from './gate.ts';
import { errorBody, type Headers, securityHeaders, sendError, sendJson, sendText, wantsPage } from './http-answer.ts';
import { INSPECTOR_PATHS, sendInspector } from './inspector-files.ts';
import { inspectorFilter } from './inspector-query.ts';
import type { Metrics } from './metrics.ts';
import { openApiDocument } from './openapi.ts';
import { isAllowedOrigin } from './origin-check.ts';
import { sendLogin, sendNoDashboard } from './pages.ts';
import { readText } from './request-body.ts';
import { answerRest, fieldsOf, type RestRequest } from './rest.ts';
import { type RouteMatch, type RoutesHere, routesAt } from './rest-routes.ts';
import { EventStream, STREAM_HEADERS } from './sse.ts';
import type { StaticFiles } from './static-files.ts';

export interface HttpHost {
  readonly offstage: Offstage;
  readonly gate: Gate;
  readonly files: StaticFiles;
  readonly metrics: Metrics;
}

/** A request, taken apart. */
interface Asked {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
}

export class HttpDoor {
  readonly streams = new Set<EventStream>();
  readonly #host: HttpHost;

  constructor(host: HttpHost) {
    this.#host = host;
  }

  /** Answers. Never rejects. */
  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => {});
    request.on('error', () => {});
    for (const [name, value] of Object.entries(securityHeaders(null))) response.setHeader(name, value);
    try {
      await this.#route({ request, response, ...parseUrl(request.url) });
    } catch (error) {
      const known = isOffstageError(error)
        ? error
        : offstageError('control.failed', { message: 'of a fault of the server' }, { cause: error });
      if (known !== error) this.#host.offstage.doors.log('error', 'server.failed', { error: String(error) });
      if (NOT_LET_IN.has(known.code)) this.#host.metrics.refused(known.code);
      // What is left of a body that was refused is not read.
      if (known.code === 'limit.input_bytes') response.setHeader('Connection', 'close');
      sendError(response, known);
    }
  }

  async #route(asked: Asked): Promise<void> {
    const { request, response, segments, query } = asked;
    const { gate } = this.#host;
    gate.checkOrigin(request);
    for (const [name, value] of Object.entries(securityHeaders(request.headers.host ?? null))) response.setHeader(name, value);
    const [first = ''] = segments;
    const path = `/${segments.join('/')}`;
    if (path === '/healthz') return this.#healthz(asked);
    if (first === 'api') {
      const cors = this.#cors(request);
      for (const [name, value] of Object.entries(cors)) response.setHeader(name, value);
      if (request.method === 'OPTIONS' && 'Access-Control-Allow-Origin' in cors) return this.#preflight(asked);
    }
    if (path === '/login') return this.#login(asked);
    const code = query.get('code');
    if (path === '/' && code !== null) return this.#useCode(asked, code);
    const isInspector = INSPECTOR_PATHS.has(path);
    const caller = this.#callerOf(asked, isInspector ? query.get('token') : null);
    if (caller === null) return;
    if (isInspector) return this.#inspector(asked, caller, path);
    if (path === '/api/openapi.json') return this.#openApi(asked);
    if (path === '/metrics') return this.#metrics(asked, caller);
    if (first === 'api') return this.#api(asked, caller);
    return this.#page(asked);
  }

  /** Null: it was answered that there is no good token. */
  #callerOf({ request, response }: Asked, inUrl: string | null): CallerIdentity | null {
    const { gate } = this.#host;
    try {
      const caller = gate.authenticate(request, inUrl);
      const tooMuch = gate.rate(caller);
      if (tooMuch !== null) throw tooMuch;
      return caller;
    } catch (error) {
      if (!isOffstageError(error, 'access.unauthorized') || !wantsPage(request)) throw error;
      this.#host.metrics.refused(error.code);
      sendLogin(response, 401, 'Every page here needs one.');
      return null;
    }
  }

  #healthz({ request, response }: Asked): void {
    if (!isMethod(request, response, ['GET'])) return;
    const { status } = this.#host.offstage.health();
    sendJson(response, status === 'ok' || status === 'starved' ? 200 : 503, { status });
  }

  /** Headers for pages of origins that were allowed; none for the others. */
  #cors(request: IncomingMessage): Headers {
    const { origin } = request.headers;
    if (!isAllowedOrigin(origin, this.#host.gate.rules)) return {};
    return { 'Access-Control-Allow-Origin': origin, Vary: 'Origin', 'Cross-Origin-Resource-Policy': 'cross-origin' };
  }

  #preflight({ response, segments }: Asked): void {
    response.writeHead(204, {
      'Access-Control-Allow-Methods': allowed(routesAt(segments)),
      'Access-Control-Allow-Headers': 'Authorization, Content-Type, Last-Event-ID',
      'Access-Control-Max-Age': '600',
    });
    response.end();
  }

  async #login(asked: Asked): Promise<void> {
    const { request, response } = asked;
    const { gate } = this.#host;
    if (!isMethod(request, response, ['POST'])) return;
    const token = new URLSearchParams(await readText(request)).get('token')?.trim() ?? '';
    const identity = gate.tokens.identify(token);
    if (identity !== null) {
      enter(response, gate.cookieFor(identity));
      return;
    }
    const error = gate.refusal(request, 'it is not good');
    if (error.code !== 'access.unauthorized') throw error;
    sendLogin(response, 401, 'That token is not good.');
  }

  #useCode({ request, response }: Asked, code: string): void {
    const { gate } = this.#host;
    // Looking ahead must not use it up.
    if (!isMethod(request, response, ['GET'], { withHead: false })) return;
    if (gate.codes.use(code)) {
      enter(response, gate.cookieFor({ scope: 'operate' }));
      return;
    }
    const error = gate.refusal(request, 'the link was used before, or is too old');
    if (error.code !== 'access.unauthorized' || !wantsPage(request)) throw error;
    sendLogin(response, 401, 'This link was used before, or is too old.');
  }

  async #api(asked: Asked, caller: CallerIdentity): Promise<void> {
    const { request, response, segments, query } = asked;
    const routes = routesAt(segments);
    if (routes.size === 0) {
      sendNotThere(response);
      return;
    }
    const method = request.method === 'HEAD' ? 'GET' : (request.method ?? '');
    const matched = routes.get(method);
    if (matched === undefined) {
      if (method === 'OPTIONS') response.writeHead(204, { Allow: allowed(routes) }).end();
      else methodRefused(response, allowed(routes));
      return;
    }
    const rest = { request, response, caller, query };
    if (matched.route.action === 'subscribe') await this.#events(matched, rest);
    else await answerRest(this.#host.offstage, matched, rest);
  }

  async #events({ route, params }: RouteMatch, rest: RestRequest): Promise<void> {
    const { request, response, caller } = rest;
    const fields = await fieldsOf(route, params, rest);
    const last = request.headers['last-event-id'];
    // A browser that comes back asks for the same URL, and says here how far it was.
    if (typeof last === 'string' && /^\d+$/.test(last)) fields.after = Number(last);
    // A stream without a body would say nothing, for ever.
    if (request.method === 'HEAD') {
      response.writeHead(200, STREAM_HEADERS).end();
      return;
    }
    const stream = new EventStream(response, caller);
    this.streams.add(stream);
    stream.onClose(() => this.streams.delete(stream));
    await handle(this.#host.offstage, { ...fields, action: 'subscribe' }, stream);
  }

  #openApi({ request, response }: Asked): void {
    if (isMethod(request, response, ['GET'])) sendJson(response, 200, openApiDocument());
  }

  #metrics({ request, response }: Asked, caller: CallerIdentity): void {
    if (!isMethod(request, response, ['GET'])) return;
    refuseSessions(caller, 'what everybody does');
    sendText(response, 200, this.#host.metrics.text(), { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' });
  }

  #inspector({ request, response, query }: Asked, caller: CallerIdentity, path: string): void {
    if (!isMethod(request, response, ['GET'])) return;
    refuseSessions(caller, 'the inspector');
    inspectorFilter(query);
    sendInspector(response, path, { query: String(query), host: request.headers.host ?? '' });
  }

  async #page({ request, response, segments }: Asked): Promise<void> {
    if (!isMethod(request, response, ['GET'])) return;
    if (await this.#host.files.answer(segments, request, response, {})) return;
    if (segments.length === 1 && segments[0] === '') return sendNoDashboard(response);
    sendNotThere(response);
  }
}

const NOT_LET_IN: ReadonlySet<string> = new Set(['access.refused', 'access.unauthorized', 'limit.rate', 'limit.connections']);

/** @throws OffstageError `control.protocol` */
function parseUrl(url: string | undefined): Pick<Asked, 'segments' | 'query'> {
  const [path = '', ...rest] = (url ?? '').split('?');
  if (!path.startsWith('/')) throw protocolError('the target must be a path');
  try {
    const segments = path.slice(1).split('/').map(decodeURIComponent);
    return { segments, query: new URLSearchParams(rest.join('?')) };
  } catch {
    throw protocolError('the path has a bad percent-encoding');
  }
}

const allowed = (routes: RoutesHere): string => [...routes.keys(), ...(routes.has('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ');

function isMethod(
  request: IncomingMessage,
  response: ServerResponse,
  methods: readonly string[],
  { withHead = true }: { readonly withHead?: boolean } = {},
): boolean {
  const all = withHead && methods.includes('GET') ? [...methods, 'HEAD'] : methods;
  if (all.includes(request.method ?? '')) return true;
  methodRefused(response, all.join(', '));
  return false;
}

function methodRefused(response: ServerResponse, allow: string): void {
  sendJson(response, 405, errorBody(protocolError(`only ${allow} are understood here`)), { Allow: allow });
}

function sendNotThere(response: ServerResponse): void {
  sendJson(response, 404, errorBody(protocolError('there is nothing at this path')));
}

/** Sends a browser that has got its cookie to the dashboard. */
function enter(response: ServerResponse, cookie: string): void {
  sendText(response, 303, '', { Location: './', 'Set-Cookie': cookie, 'Content-Type': 'text/plain; charset=utf-8' });
}

/** @throws OffstageError `access.forbidden` */
export function refuseSessions({ scope }: CallerIdentity, what: string): void {
  if (sessionOfScope(scope) !== null) throw forbidden(`${what} is not for the token of a session`);
}
