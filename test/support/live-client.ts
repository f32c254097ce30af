/** A client of a model server, on a clock of its own. */
import type { OffstageEvent } from '../../src/doors/client/index.ts';
import { OffstageClient } from '../../src/doors/client/offstage-client.ts';
import type { OffstageError } from '../../src/model/offstage-error.ts';
import { type VirtualClock, virtualClock } from '../../src/testing/virtual-clock.ts';
import { ModelServer, type ModelSocket } from './model-server.ts';

export interface LiveLab {
  readonly clock: VirtualClock;
  readonly server: ModelServer;
  readonly client: OffstageClient;
  /** Every socket that was made. */
  readonly sockets: ModelSocket[];
  readonly events: OffstageEvent[];
  readonly reported: unknown[];
  /** What the next sockets are like. */
  readonly network: { isDown: boolean; refusal: OffstageError | null; holdsFrames: boolean };
  goOnline(): void;
}

export interface LiveLabOptions {
  readonly maxJobs?: number;
  readonly types?: readonly OffstageEvent['type'][];
  readonly random?: () => number;
  readonly prepare?: (server: ModelServer) => void;
  readonly isDown?: boolean;
  readonly refusal?: OffstageError;
}

export function liveLab(options: LiveLabOptions = {}): LiveLab {
  const clock = virtualClock();
  const server = new ModelServer(() => clock.now());
  options.prepare?.(server);
  const sockets: ModelSocket[] = [];
  const events: OffstageEvent[] = [];
  const reported: unknown[] = [];
  const network = { isDown: options.isDown ?? false, refusal: options.refusal ?? null, holdsFrames: false };
  let onOnline = (): void => {};
  const client = new OffstageClient({
    url: 'http://model/',
    clock,
    random: options.random ?? (() => 1),
    openSocket: async () => {
      const socket = server.connect();
      sockets.push(socket);
      socket.holdsFrames = network.holdsFrames;
      // Like a port that nobody listens on.
      if (network.isDown || network.refusal !== null) setImmediate(() => socket.drop(1006));
      if (network.isDown || network.refusal !== null) socket.open = () => {};
      return socket;
    },
    whyRefused: async () => network.refusal,
    onOnline: (callback) => {
      onOnline = callback;
      return () => {
        onOnline = () => {};
      };
    },
    types: options.types ?? null,
    maxJobs: options.maxJobs ?? 20_000,
    report: (error) => reported.push(error),
  });
  client.onEvent((event) => {
    events.push(event);
  });
  return { clock, server, client, sockets, events, reported, network, goOnline: () => onOnline() };
}
