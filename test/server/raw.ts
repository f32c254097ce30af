/** Requests byte by byte, for what no library would send. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { OffstageServer } from '../../src/doors/server/index.ts';

export interface RawAnswer {
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}

export async function rawSocket(server: OffstageServer): Promise<Socket> {
  const socket = connect(server.port, '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

/** Sends bytes, and reads until the other side ends or `isEnough`. */
export async function rawExchange(
  server: OffstageServer,
  sent: string | Buffer,
  isEnough = (_: string): boolean => false,
): Promise<RawAnswer> {
  const socket = await rawSocket(server);
  let text = '';
  const ended = new Promise<void>((resolve) => {
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      if (isEnough(text)) resolve();
    });
    socket.once('close', () => resolve());
  });
  socket.write(sent);
  await ended;
  socket.destroy();
  return parseAnswer(text);
}

export function parseAnswer(text: string): RawAnswer {
  const [head = '', ...body] = text.split('\r\n\r\n');
  const [line = '', ...lines] = head.split('\r\n');
  const headers = Object.fromEntries(
    lines.map((one) => {
      const at = one.indexOf(':');
      return [one.slice(0, at).toLowerCase(), one.slice(at + 1).trim()];
    }),
  );
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(line)?.[1] ?? 0), text: body.join('\r\n\r\n'), headers };
}

/** The head of a request; a header that is null is left out. */
export function requestHead(
  server: OffstageServer,
  path: string,
  headers: Readonly<Record<string, string | null>> = {},
  method = 'GET',
): string {
  const all: Record<string, string | null> = {
    Host: `127.0.0.1:${server.port}`,
    Authorization: `Bearer ${server.token}`,
    ...headers,
  };
  const lines = Object.entries(all).flatMap(([name, value]) => (value === null ? [] : [`${name}: ${value}`]));
  return `${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`;
}

export const upgradeHead = (
  server: OffstageServer,
  headers: Readonly<Record<string, string | null>> = {},
  path = '/ws',
): string =>
  requestHead(server, path, {
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
    ...headers,
  });

const hasHead = (text: string): boolean => text.includes('\r\n\r\n');

/** Tries an upgrade; the status is 101 where it was granted. */
export const rawUpgrade = (
  server: OffstageServer,
  headers: Readonly<Record<string, string | null>> = {},
  path = '/ws',
): Promise<RawAnswer> => rawExchange(server, upgradeHead(server, headers, path), hasHead);

/** An upgraded socket, to send frames by hand. */
export async function rawWebSocket(server: OffstageServer, token = server.token): Promise<Socket> {
  const socket = await rawSocket(server);
  socket.write(upgradeHead(server, { Authorization: `Bearer ${token}` }));
  let text = '';
  while (!hasHead(text)) text += ((await once(socket, 'data')) as [Buffer])[0].toString('latin1');
  if (parseAnswer(text).status !== 101) throw new Error(text);
  return socket;
}

/** A masked frame, as a client sends it; `first` may be anything. */
export function rawFrame(first: number, payload: Buffer | string, { isMasked = true } = {}): Buffer {
  const body = Buffer.from(payload);
  const mask = isMasked ? 0x80 : 0;
  const head =
    body.length <= 125
      ? Buffer.from([first, mask | body.length])
      : body.length <= 0xffff
        ? Buffer.from([first, mask | 126, body.length >> 8, body.length & 0xff])
        : (() => {
            const long = Buffer.alloc(10);
            long[0] = first;
            long[1] = mask | 127;
            long.writeBigUInt64BE(BigInt(body.length), 2);
            return long;
          })();
  return isMasked ? Buffer.concat([head, Buffer.alloc(4), body]) : Buffer.concat([head, body]);
}

function* framesIn(bytes: Buffer): Generator<{ readonly opcode: number; readonly payload: Buffer }> {
  let at = 0;
  while (at + 2 <= bytes.length) {
    let length = (bytes[at + 1] as number) & 0x7f;
    let head = 2;
    if (length === 126) {
      length = bytes.readUInt16BE(at + 2);
      head = 4;
    } else if (length === 127) {
      length = Number(bytes.readBigUInt64BE(at + 2));
      head = 10;
    }
    yield { opcode: (bytes[at] as number) & 0x0f, payload: bytes.subarray(at + head, at + head + length) };
    at += head + length;
  }
}

/** Of each frame that a server has sent. */
export const opcodesIn = (bytes: Buffer): readonly number[] => [...framesIn(bytes)].map(({ opcode }) => opcode);

/** The close code that a server's close frame in these bytes says; null without one. */
export function closeCodeIn(bytes: Buffer): number | null {
  for (const { opcode, payload } of framesIn(bytes))
    if (opcode === 8) return payload.length >= 2 ? payload.readUInt16BE(0) : 1005;
  return null;
}

/** Resolves when the socket is gone, however it went. */
export const gone = (socket: Socket): Promise<void> => new Promise((resolve) => socket.once('close', () => resolve()));

/** Resolves when more may be written, or nothing any more. */
export const drained = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    socket.once('drain', resolve);
    socket.once('close', resolve);
  });
