/**
 * Talks to the process that owns a data folder.
 *
 * CCL1  A folder in use by a process without a control socket is `control.unavailable`, with its pid.
 * CCL2  When the owner goes, every open request rejects with `control.lost`.
 */
import { connect, type Socket } from 'node:net';
import type { Offstage } from '../../engine/offstage.ts';
import { offstageError } from '../../model/errors.ts';
import { readOwner } from '../../persistence/ownership.ts';
import { WireClient } from '../client/wire-client.ts';
import { LOCAL_CALLER } from '../requests/caller-identity.ts';
import type { Connection } from '../requests/connection.ts';
import { handle, protocolError } from '../requests/handler.ts';
import type { WireFields } from '../wire/rename.ts';
import { LineSplitter } from './line-splitter.ts';
import { controlSocketPath, withShortPath } from './socket-path.ts';

/** An answer is as large as the record in it; more than this is none of ours. */
const LONGEST_ANSWER_BYTES = 64 * 1024 * 1024;

/**
 * Connects to the owner of `dataDir`. Resolves with null when nobody answers there: no owner, one that is just starting, or one that is just closing.
 * @throws OffstageError `control.unavailable`
 */
export async function connectControl(dataDir: string): Promise<WireClient | null> {
  const owner = await readOwner(dataDir);
  if (owner === null) return null;
  if (owner.control === null) throw offstageError('control.unavailable', { dataDir, pid: owner.pid });
  try {
    const socket = await withShortPath(controlSocketPath(dataDir), connectTo);
    return clientOf(socket, dataDir, owner.pid);
  } catch {
    return null;
  }
}

function connectTo(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.off('error', reject);
      resolve(socket);
    });
  });
}

function clientOf(socket: Socket, dataDir: string, pid: number): WireClient {
  const client = new WireClient({
    send: (request) => void socket.write(`${JSON.stringify(request)}\n`),
    close: () => socket.destroy(),
  });
  const splitter = new LineSplitter(LONGEST_ANSWER_BYTES);
  const lost = (): void => client.fail(offstageError('control.lost', { dataDir, pid }));
  socket.on('error', () => {});
  void (async () => {
    try {
      for await (const chunk of socket) {
        for (const line of splitter.push(chunk as Buffer)) {
          if ('fault' in line) return client.fail(protocolError(line.fault));
          await client.receive(JSON.parse(line.text) as WireFields);
        }
      }
    } catch {
      // Whatever broke it, it is over.
    } finally {
      lost();
    }
  })();
  return client;
}

/** The same client for an engine of this process, without a socket between. */
export function localClient(offstage: Offstage): WireClient {
  const onClose = new Set<() => void>();
  const client = new WireClient({
    send: (request) => void handle(offstage, request, connection),
    close: () => {
      for (const callback of onClose) callback();
      onClose.clear();
    },
  });
  const connection: Connection = {
    caller: LOCAL_CALLER,
    send: (frame) => client.receive(frame).catch(() => {}),
    onClose(callback) {
      onClose.add(callback);
      return () => onClose.delete(callback);
    },
  };
  return client;
}
