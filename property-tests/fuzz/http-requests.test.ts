/**
 * What a client may send over HTTP: bodies, queries, heads and bytes. Every request gets one answer with a status below 500 and, where it is refused,
 * a code that was foreseen; bytes that are no request get 400 or the end; a connection that is cut off leaves nothing; others are served as before.
 */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Scope } from '../../src/doors/requests/caller-identity.ts';
import { ROUTES } from '../../src/doors/server/rest-routes.ts';
import { gone, parseAnswer, type RawAnswer, rawExchange, rawSocket, requestHead } from '../../test/server/raw.ts';
import { type FuzzLab, fuzzLab } from '../support/fuzz-lab.ts';
import { LIMIT_MS, times } from '../support/how-often.ts';
import { byteChange, isForeseen, mutatedJson, odd, parsed, spoilBytes } from '../support/mutated.ts';
import { fieldsOf } from '../support/requests.ts';

let lab: FuzzLab;
beforeAll(async () => {
  lab = await fuzzLab();
});
afterAll(() => lab[Symbol.asyncDispose]());

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body: string | null;
  readonly type: string;
}

const SEGMENTS = [
  'j1',
  's1',
  't1',
  'default',
  'card_j1',
  '__proto__',
  'constructor',
  '%2e%2e',
  '..',
  '%00',
  '%ED%A0%80',
  'a%2Fb',
  '',
  'await',
  '%',
];
const PATHS = [
  '/',
  '/healthz',
  '/metrics',
  '/login',
  '/inspect',
  '/assets/x',
  '/api',
  '/api/openapi.json',
  '/?code=x',
  '//',
  '/api/../x',
];
const segment = fc.constantFrom(...SEGMENTS);

/** Values of a query, as texts. */
const query = fc
  .array(
    fc.tuple(
      fc.constantFrom('limit', 'before', 'brief', 'status_filter', 'after', 'types', 'force', 'token', '__proto__', 'x'),
      odd,
    ),
    {
      maxLength: 3,
    },
  )
  .map((pairs) =>
    pairs.map(([name, value]) => `${name}=${encoded(typeof value === 'string' ? value : JSON.stringify(value))}`).join('&'),
  );
const encoded = (text: string): string => encodeURIComponent(text.toWellFormed().slice(0, 600));

const asked: fc.Arbitrary<Asked> = fc
  .tuple(fc.constantFrom(...ROUTES), segment, query, fc.nat(9))
  .chain(([route, id, given, kind]) => {
    const filled = route.path.replace(/:\w+/g, id);
    const path = kind === 9 ? fc.constantFrom(...PATHS) : fc.constant(given === '' || kind > 5 ? filled : `${filled}?${given}`);
    const fields = fieldsOf(route.action).map((all) =>
      // What the path says is not said twice, but now and then.
      kind === 8 ? all : Object.fromEntries(Object.entries(all).filter(([name]) => !route.path.includes(`:${name}`))),
    );
    const body = route.method === 'POST' || kind > 6 ? mutatedJson(fields) : fc.constant(null);
    return fc.record({
      method: fc.oneof(
        { weight: 9, arbitrary: fc.constant(route.method) },
        fc.constantFrom('PUT', 'HEAD', 'OPTIONS', 'PATCH', 'TRACE'),
      ),
      path,
      body,
      type: fc.oneof(
        { weight: 9, arbitrary: fc.constant('application/json') },
        fc.constantFrom('text/plain', 'application/json;x', 'a', ''),
      ),
    });
  });

const bytesOf = ({ method, path, body, type }: Asked, token: string, more: Readonly<Record<string, string>> = {}): Buffer => {
  const payload = Buffer.from(body ?? '');
  const length = body === null ? {} : { 'Content-Type': type, 'Content-Length': String(payload.length) };
  const authorization = { Authorization: `Bearer ${token}` };
  return Buffer.concat([Buffer.from(requestHead(lab.server, path, { ...authorization, ...length, ...more }, method)), payload]);
};

function checkAnswer(one: unknown, { status, text, headers }: RawAnswer): void {
  const shown = [one, status, text.slice(0, 300)];
  expect([shown, status >= 200 && status < 500]).toEqual([shown, true]);
  if (status < 400 || text === '' || headers['content-type']?.startsWith('text/html') === true) return;
  const body = parsed(text) as { error_code?: unknown } | undefined;
  expect([shown, isForeseen(body?.error_code)]).toEqual([shown, true]);
}

const isStream = ({ path }: Asked): boolean => path.startsWith('/api/events');
const scopes = fc.constantFrom<Scope>('operate', 'operate', 'operate', 'observe', 'session:s1');

it(
  'every request is answered once, below 500, with a code that was foreseen',
  async () => {
    await fc.assert(
      fc.asyncProperty(asked, scopes, async (one, scope) => {
        const bytes = bytesOf(one, lab.tokenOf(scope), { Connection: 'close' });
        // A stream goes on: its head and its first event are the answer.
        const isEnough = (text: string): boolean => isStream(one) && text.includes('\ndata: ');
        checkAnswer(one, await rawExchange(lab.server, bytes, isEnough));
        await lab.neighbourIsServed();
      }),
      times(80),
    );
  },
  LIMIT_MS,
);

/** All that comes back until the other side ends. */
async function answersTo(socket: Socket, bytes: Buffer, { isOver = true } = {}): Promise<string> {
  let text = '';
  socket.on('data', (part: Buffer) => {
    text += part.toString('latin1');
  });
  const ended = gone(socket);
  if (isOver) socket.end(bytes);
  else socket.write(bytes);
  await ended;
  return text;
}

it(
  'several requests in a row, spoilt byte by byte: each is answered below 500, and then it is over',
  async () => {
    const requests = fc.array(
      asked.filter((one) => !isStream(one) && one.method !== 'HEAD'),
      { minLength: 1, maxLength: 4 },
    );
    await fc.assert(
      fc.asyncProperty(requests, fc.array(byteChange, { maxLength: 2 }), async (several, changes) => {
        const token = lab.tokenOf('operate');
        const isWhole = changes.length === 0;
        const texts = several.map((one, index) =>
          bytesOf(one, token, index === several.length - 1 ? { Connection: 'close' } : {}),
        );
        const bytes = changes.reduce(spoilBytes, Buffer.concat(texts));
        // Spoilt bytes may ask for more bytes: they get an end instead.
        const text = await answersTo(await rawSocket(lab.server), bytes, { isOver: !isWhole });
        for (const [, status] of text.matchAll(/HTTP\/1\.1 (\d+)/g))
          expect([Number(status), Number(status) < 500]).toEqual([Number(status), true]);
        if (isWhole) expect([...text.matchAll(/HTTP\/1\.1 \d+/g)].length).toBe(several.length);
        await lab.neighbourIsServed();
      }),
      times(40),
    );
  },
  LIMIT_MS,
);

const header = fc.tuple(
  fc.constantFrom(
    'Host',
    'Origin',
    'Authorization',
    'Cookie',
    'Last-Event-ID',
    'Upgrade',
    'Connection',
    'Content-Length',
    'Transfer-Encoding',
  ),
  fc.oneof(
    fc.constantFrom(
      '',
      '*',
      'null',
      'chunked',
      'gzip, chunked',
      'websocket',
      'h2c',
      'Upgrade, close',
      '-1',
      '1e3',
      '99999999999999999999',
    ),
    fc.constantFrom(
      'Bearer',
      'Bearer  ',
      'Bearer \u00ff',
      'Basic Og==',
      'offstage=x; offstage=y',
      'offstage=%',
      'http://evil.example',
      '[::1',
      '%',
    ),
    fc.string({ unit: fc.constantFrom('a', ':', '=', ';', ',', ' ', '\t', '\u00e9', '"', '%', '/'), maxLength: 30 }),
  ),
);

it(
  'heads of any form, upgrades too: refused below 500 or served, and never left without an end',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        asked.filter((one) => !isStream(one)),
        fc.array(header, { maxLength: 3 }),
        fc.boolean(),
        async (one, headers, isUpgrade) => {
          const extra = { ...(isUpgrade ? UPGRADE : {}), ...Object.fromEntries(headers) };
          const path = isUpgrade && one.path.length % 2 === 0 ? '/ws' : one.path;
          const socket = await rawSocket(lab.server);
          const text = await answersTo(socket, bytesOf({ ...one, path }, lab.tokenOf('operate'), extra));
          const { status } = parseAnswer(text);
          if (text !== '') expect([text.slice(0, 200), status >= 101 && status < 500]).toEqual([text.slice(0, 200), true]);
          await lab.neighbourIsServed();
        },
      ),
      times(40),
    );
  },
  LIMIT_MS,
);

const UPGRADE = {
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

it(
  'a client that goes at any byte leaves nothing behind',
  async () => {
    await fc.assert(
      fc.asyncProperty(asked, fc.double({ min: 0, max: 1, noNaN: true }), async (one, part) => {
        const bytes = bytesOf(one, lab.tokenOf('operate'));
        const socket = await rawSocket(lab.server);
        const ended = gone(socket);
        socket.write(bytes.subarray(0, Math.ceil(part * bytes.length)));
        await lab.neighbourIsServed();
        socket.resetAndDestroy();
        await ended;
        await lab.neighbourIsServed();
      }),
      times(15),
    );
    const { server } = lab;
    const last = await rawSocket(server);
    last.end(requestHead(server, '/healthz'));
    await once(last, 'data');
  },
  LIMIT_MS,
);
