/** UPG1: who may connect an inspector, and what it is handed. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { OffstageServer } from '../../src/doors/server/index.ts';
import { serveWith } from '../../src/doors/server/serve.ts';
import type { InspectSelection } from '../../src/doors/server/upgrades.ts';
import { type TestEngine, testEngine } from '../support/test-engine.ts';
import { serverLab } from './lab.ts';
import { rawUpgrade } from './raw.ts';

let engine: TestEngine;
let server: OffstageServer;
const accepted: InspectSelection[] = [];
beforeAll(async () => {
  engine = await testEngine();
  server = await serveWith(engine.offstage, undefined, {
    inspector: {
      accept(webSocket, selection) {
        accepted.push(selection);
        webSocket.send('hello');
      },
    },
  });
});
afterAll(async () => {
  await server.close();
  await engine[Symbol.asyncDispose]();
});

const upgrade = (path: string, headers: Readonly<Record<string, string | null>> = {}) =>
  rawUpgrade(server, { Authorization: null, ...headers }, path);

describe('/inspect', () => {
  it('takes a token in the URL, from the page of the inspector, and says what is followed', async () => {
    const socket = new WebSocket(
      `${server.url.replace('http', 'ws')}inspect?job=j%201&session=s&task=t&token=${server.issueToken('observe')}`,
      {
        origin: 'https://stately.ai',
      },
    );
    const [data] = await new Promise<[Buffer]>((resolve) =>
      socket.once('message', (...all) => resolve(all as unknown as [Buffer])),
    );
    expect(String(data)).toBe('hello');
    expect(accepted.at(-1)).toEqual({ jobId: 'j 1', sessionId: 's', taskId: 't' });
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.terminate();
    await closed;
  });

  it.each<[string, string, Record<string, string>, number]>([
    ['without a token', '/inspect', {}, 401],
    ['with a bad one', '/inspect?token=nonsense-nonsense', {}, 401],
    ['from elsewhere', '/inspect', { Origin: 'https://evil.example' }, 403],
    ['for another host', '/inspect', { Host: 'evil.example' }, 403],
  ])('%s: no upgrade', async (_, path, headers, status) => {
    const before = accepted.length;
    expect((await upgrade(path, headers)).status).toBe(status);
    expect(accepted).toHaveLength(before);
  });

  it('is not for the token of a session; ids must be ids; /ws is not for that page', async () => {
    const refused = await upgrade(`/inspect?token=${server.issueToken('session:s')}`);
    expect([refused.status, JSON.parse(refused.text).error_code]).toEqual([403, 'access.forbidden']);
    expect((await upgrade(`/inspect?job=&token=${server.token}`)).status).toBe(400);
    expect((await upgrade('/ws', { Origin: 'https://stately.ai' })).status).toBe(403);
  });

  it('the origins that are allowed are those that were named, where some were', async () => {
    await using lab = await serverLab({}, { allowedOrigins: [] });
    expect((await rawUpgrade(lab.server, { Origin: 'https://stately.ai' }, '/inspect')).status).toBe(403);
  });

  it('is told goodbye when the server closes', async () => {
    const own = await serveWith(engine.offstage, undefined, { inspector: { accept: () => {} } });
    const socket = new WebSocket(`${own.url.replace('http', 'ws')}inspect?token=${own.token}`);
    await new Promise((resolve) => socket.once('open', resolve));
    const closed = new Promise((resolve) => socket.once('close', resolve));
    await own.close();
    expect(await closed).toBe(1001);
  });
});
