/** A WebSocket server with a relay behind it, and viewers that keep every frame that they get. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createWebSocketReceiver } from '@statelyai/inspect';
import { WebSocket, WebSocketServer } from 'ws';
import { InspectorRelay, type InspectorRelayOptions } from '../../src/doors/inspector/inspector-relay.ts';
import type { Offstage } from '../../src/engine/offstage.ts';

/** One frame as it came. */
export interface InspectedFrame {
  readonly type: string;
  readonly sessionId: string;
  readonly name?: string;
  readonly parentId?: string;
  readonly sourceId?: string;
  readonly rootId: string;
  readonly definition?: string;
  readonly event?: { readonly type: string } & Record<string, unknown>;
  readonly snapshot?: { readonly status: string; readonly value?: unknown; readonly context?: Record<string, unknown> };
  readonly [more: string]: unknown;
}

export class Viewing {
  readonly frames: InspectedFrame[] = [];
  readonly #waiting = new Set<() => void>();

  readonly #ids = new Map<string, string>();
  readonly #byId = new Map<string, InspectedFrame[]>();

  take(frame: InspectedFrame): void {
    this.frames.push(frame);
    const { type, sessionId, name = '' } = frame;
    if (type === '@xstate.actor') this.#ids.set(name.split(' ').slice(0, 2).join(' '), sessionId);
    const told = this.#byId.get(sessionId);
    if (told === undefined) this.#byId.set(sessionId, [frame]);
    else told.push(frame);
    for (const look of this.#waiting) look();
  }

  /** Resolves once what came satisfies the predicate. */
  until(isEnough: (frames: readonly InspectedFrame[]) => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!isEnough(this.frames)) return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
      look();
    });
  }

  /** XState's id of the newest actor of this name: `job job_1`, `supervisor`. */
  idOf(name: string): string {
    const id = this.#ids.get(name);
    if (id === undefined) throw new Error(`no actor ${name}`);
    return id;
  }

  names(): string[] {
    return this.frames.filter(({ type }) => type === '@xstate.actor').map(({ name = '' }) => name);
  }

  has(name: string): boolean {
    return this.#ids.has(name);
  }

  /** What was told of one actor, in order. */
  of(name: string): readonly InspectedFrame[] {
    return this.#byId.get(this.idOf(name)) ?? [];
  }

  /** It was told of the end. */
  isOver(name: string): boolean {
    return this.has(name) && this.of(name).at(-1)?.snapshot?.status === 'done';
  }

  /** The states of one actor, in the order in which they were told. */
  values(name: string): unknown[] {
    return this.of(name)
      .filter(({ type }) => type === '@xstate.snapshot')
      .map(({ snapshot }) => snapshot?.value);
  }

  /** What the viewer would show now: the last state of each actor by its name. */
  shown(): Map<string, InspectedFrame['snapshot']> {
    const names = new Map<string, string>();
    const shown = new Map<string, InspectedFrame['snapshot']>();
    for (const { type, sessionId, name, snapshot } of this.frames) {
      if (type === '@xstate.actor') names.set(sessionId, name as string);
      if (snapshot !== undefined) shown.set(names.get(sessionId) as string, snapshot);
    }
    return shown;
  }
}

export interface InspectorHost extends AsyncDisposable {
  readonly relay: InspectorRelay;
  readonly url: string;
  /** Our ends of the connections. */
  readonly sockets: ReadonlySet<WebSocket>;
  /** A viewer of the package's own making. It cannot leave by itself. */
  receive(query?: string): Viewing;
  /** A viewer that can leave, or stop reading. */
  view(query?: string): Promise<Viewing & { readonly socket: WebSocket }>;
}

export async function inspectorHost(offstage: Offstage, options?: InspectorRelayOptions): Promise<InspectorHost> {
  const relay = new InspectorRelay(offstage, options);
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  await once(server, 'listening');
  server.on('connection', (webSocket, request) => {
    const query = new URL(request.url ?? '/', 'http://localhost').searchParams;
    relay.accept(webSocket, { jobId: query.get('job'), sessionId: query.get('session'), taskId: query.get('task') });
  });
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/inspect`;
  const sockets = new Set<WebSocket>();
  return {
    relay,
    url,
    sockets: server.clients,
    receive(query = '') {
      const viewing = new Viewing();
      createWebSocketReceiver({ server: url + query }).subscribe((frame) => viewing.take(frame as unknown as InspectedFrame));
      return viewing;
    },
    async view(query = '') {
      const socket = new WebSocket(url + query);
      sockets.add(socket);
      const viewing = Object.assign(new Viewing(), { socket });
      socket.on('message', (data) => viewing.take(JSON.parse(String(data)) as InspectedFrame));
      await once(socket, 'open');
      return viewing;
    },
    async [Symbol.asyncDispose]() {
      relay.close();
      for (const socket of sockets) socket.terminate();
      for (const client of server.clients) client.terminate();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
