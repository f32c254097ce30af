/** `offstage serve` as a process of its own, and clients of it. */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { WebSocket } from 'ws';
import { type Started, type StartOptions, start } from './offstage.ts';

export interface Serving extends Started {
  /** The bound address. */
  readonly url: string;
  readonly oneTimeUrl: string;
  readonly token: string;
  /** An answer of the REST door, with the folder's token. */
  api(path: string, body?: unknown): Promise<Response>;
  /** A client that says nothing more. */
  idle(): Promise<IdleClient>;
}

export interface IdleClient {
  readonly socket: WebSocket;
  /** Resolves with the code that the server has closed it with. */
  readonly closed: Promise<number>;
}

/** Resolves when it serves. */
export async function serving(dataDir: string, args: readonly string[] = [], options: StartOptions = {}): Promise<Serving> {
  const started = start(['serve', '--data-dir', dataDir, ...args], options);
  await started.saw(/^.+\n.+\n/);
  const [url = '', second = ''] = started.stdout.split('\n');
  const token = (await readFile(join(dataDir, 'token'), 'utf8').catch(() => '')).trim();
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  return Object.defineProperties({} as Serving, {
    ...Object.getOwnPropertyDescriptors(started),
    url: { value: url },
    oneTimeUrl: { value: second.split(' ')[0] ?? '' },
    token: { value: token },
    api: {
      value: (path: string, body?: unknown) =>
        fetch(new URL(path, url), body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) }),
    },
    idle: {
      value: async (): Promise<IdleClient> => {
        const socket = new WebSocket(`${url.replace('http', 'ws')}ws`, ['offstage.v1', `offstage.token.${token}`]);
        const closed = once(socket, 'close').then(([code]) => code as number);
        await once(socket, 'open');
        return { socket, closed };
      },
    },
  });
}
