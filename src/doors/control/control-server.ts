/**
 * The owner of a data folder serves its verbs to other terminals, on `<dataDir>/control.sock` (spec 6 and 12).
 *
 * CSV1  Nobody but this user can connect, at no instant: the socket is made in a folder of mode 0700, gets mode 0600, and only then its place.
 * CSV2  A socket that a dead owner left behind is replaced. There is no race: whoever serves holds the lock of the folder.
 * CSV3  At most `LIMITS.connections` clients; one more is told so.
 */
import { chmod, mkdir, rename, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import type { Offstage } from '../../engine/offstage.ts';
import { offstageError } from '../../model/errors.ts';
import type { Executors } from '../../model/executor.ts';
import { LIMITS } from '../../model/limits.ts';
import { errorFrame } from '../requests/handler.ts';
import { SocketConnection } from './socket-connection.ts';
import { controlSocketPath, withShortPath } from './socket-path.ts';

/** Clients that do not read what they were sent get no longer than this when the owner closes. */
const GOODBYE_MS = 2_000;

const connectionsOf = new WeakMap<object, ReadonlySet<SocketConnection>>();

/** Requests of other terminals that this engine has not answered yet. */
export function requestsUnderWay(offstage: object): number {
  let sum = 0;
  for (const connection of connectionsOf.get(offstage) ?? []) sum += connection.requestsUnderWay;
  return sum;
}

/**
 * Serves the verbs of an engine that owns `dataDir`. The returned function ends it, and takes the socket away.
 * @throws OffstageError `store.failed` when the socket cannot be made
 */
export async function serveControl<Kinds extends Executors>(
  engine: Offstage<Kinds>,
  dataDir: string,
  { mostConnections = LIMITS.connections }: { readonly mostConnections?: number } = {},
): Promise<() => Promise<void>> {
  const offstage = engine as unknown as Offstage;
  const connections = new Set<SocketConnection>();
  connectionsOf.set(engine, connections);
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    if (connections.size >= mostConnections) {
      socket.on('error', () => {});
      const refusal = errorFrame(offstageError('limit.connections', { limit: mostConnections }), null);
      socket.end(`${JSON.stringify(refusal)}\n`, () => socket.destroy());
      return;
    }
    const connection = new SocketConnection(offstage, socket);
    connections.add(connection);
    socket.once('close', () => connections.delete(connection));
  });
  try {
    await listen(server, dataDir);
  } catch (error) {
    server.close();
    throw offstageError(
      'store.failed',
      { message: `the control socket could not be made (${(error as NodeJS.ErrnoException).code ?? (error as Error).message})` },
      { cause: error },
    );
  }
  return async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    await rm(controlSocketPath(dataDir), { force: true });
    // What the end of the engine has just set free, answers of waits and last events, goes out first.
    await new Promise((resolve) => setImmediate(resolve));
    await Promise.all([...connections].map((connection) => connection.end(GOODBYE_MS)));
    await closed;
  };
}

async function listen(server: Server, dataDir: string): Promise<void> {
  const nursery = join(dataDir, 'control.new');
  const draft = join(nursery, 's');
  await rm(nursery, { recursive: true, force: true });
  await mkdir(nursery, { mode: 0o700 });
  try {
    await withShortPath(
      draft,
      (path) =>
        new Promise<void>((resolve, reject) => {
          server.once('error', reject);
          server.listen(path, () => {
            server.off('error', reject);
            resolve();
          });
        }),
    );
    server.on('error', () => {});
    await chmod(draft, 0o600);
    await rename(draft, controlSocketPath(dataDir));
  } finally {
    await rm(nursery, { recursive: true, force: true });
  }
}
