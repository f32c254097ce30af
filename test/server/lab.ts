/** A server on a real engine, and clients for it: real sockets, 127.0.0.1, a free port. */
import { WebSocket } from 'ws';
import type { Frame } from '../../src/doors/requests/connection.ts';
import { type OffstageServer, type ServeOptions, serve } from '../../src/doors/server/index.ts';
import type { WireFields } from '../../src/doors/wire/rename.ts';
import { controlledExecutor } from '../../src/testing/controlled-executor.ts';
import { type TestEngine, type TestEngineOptions, testEngine } from '../support/test-engine.ts';

export interface Lab extends AsyncDisposable {
  readonly engine: TestEngine;
  readonly offstage: TestEngine['offstage'];
  readonly gate: ReturnType<typeof controlledExecutor>;
  readonly server: OffstageServer;
  /** Requests with the folder's token, unless the headers say something else. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** The JSON of a good answer. */
  get(path: string): Promise<WireFields>;
  post(path: string, body?: WireFields): Promise<{ readonly status: number; readonly body: WireFields }>;
  /** A client of `/ws`; closed with the lab. */
  client(options?: ClientOptions): Promise<Client>;
}

export interface ClientOptions {
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly protocols?: readonly string[];
}

export interface Client {
  readonly socket: WebSocket;
  readonly frames: readonly Frame[];
  /** Resolves with the first frame that matches, past ones included. */
  frameOf(matches: (frame: Frame) => boolean): Promise<Frame>;
  /** Sends a request, resolves with its answer, its snapshot or its error. */
  ask(action: string, fields?: WireFields): Promise<Frame>;
  /** Resolves with the code of the close. */
  readonly closed: Promise<number>;
}

export async function serverLab(options: TestEngineOptions = {}, serving: ServeOptions = {}): Promise<Lab> {
  const gate = controlledExecutor();
  const engine = await testEngine({
    ...options,
    executors: { gate, agent: gate, echo: async (job) => job.input, ...options.executors },
  });
  const { offstage } = engine;
  const server = await serve(offstage, serving);
  const clients: Client[] = [];
  const authorized = { authorization: `Bearer ${server.token}` };
  const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(new URL(path.replace(/^\//, ''), server.url), {
      redirect: 'manual',
      ...init,
      headers: { ...authorized, ...(init.headers as Record<string, string> | undefined) },
    });
  return {
    engine,
    offstage,
    gate,
    server,
    fetch: ask,
    async get(path) {
      const answer = await ask(path);
      const body = (await answer.json()) as WireFields;
      if (answer.status >= 300) throw new Error(`${answer.status} ${JSON.stringify(body)}`);
      return body;
    },
    async post(path, body = {}) {
      const answer = await ask(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      return { status: answer.status, body: (await answer.json()) as WireFields };
    },
    async client(clientOptions = {}) {
      const client = await connect(server, clientOptions);
      clients.push(client);
      return client;
    },
    async [Symbol.asyncDispose]() {
      for (const { socket } of clients) socket.terminate();
      await server.close();
      await engine[Symbol.asyncDispose]();
    },
  };
}

export function connect(
  server: OffstageServer,
  { token = server.token, headers = {}, protocols }: ClientOptions = {},
): Promise<Client> {
  const asked = protocols ?? ['offstage.v1', `offstage.token.${token}`];
  const socket = new WebSocket(new URL('ws', server.url.replace(/^http/, 'ws')), [...asked], { headers });
  const client = clientOf(socket);
  return new Promise((resolve, reject) => {
    socket.once('open', () => resolve(client));
    socket.once('unexpected-response', (_, response) => {
      reject(Object.assign(new Error(`refused with ${response.statusCode}`), { status: response.statusCode }));
      response.destroy();
    });
    socket.once('error', reject);
  });
}

export function clientOf(socket: WebSocket): Client {
  const frames: Frame[] = [];
  const waiting = new Set<{ matches: (frame: Frame) => boolean; resolve: (frame: Frame) => void }>();
  let lastId = 0;
  const asked = new Map<unknown, (frame: Frame) => void>();
  socket.on('error', () => {});
  socket.on('message', (data) => {
    const frame = JSON.parse(String(data)) as Frame;
    frames.push(frame);
    if (frame.type !== 'part') {
      asked.get(frame.request_id)?.(frame);
      asked.delete(frame.request_id);
    }
    for (const entry of waiting) {
      if (!entry.matches(frame)) continue;
      waiting.delete(entry);
      entry.resolve(frame);
    }
  });
  const client: Client = {
    socket,
    frames,
    frameOf(matches) {
      const past = frames.find(matches);
      if (past !== undefined) return Promise.resolve(past);
      return new Promise((resolve) => waiting.add({ matches, resolve }));
    },
    ask(action, fields = {}) {
      lastId += 1;
      const id = `r${lastId}`;
      socket.send(JSON.stringify({ ...fields, action, request_id: id }));
      return new Promise((resolve) => asked.set(id, resolve));
    },
    closed: new Promise((resolve) => socket.once('close', (code) => resolve(code))),
  };
  return client;
}
