/** B72, ORG1, ORG2: no page of elsewhere gets in, whatever it calls itself. */
import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serve } from '../../src/doors/server/index.ts';
import { type Lab, serverLab } from './lab.ts';
import { rawExchange, rawUpgrade, requestHead } from './raw.ts';

let lab: Lab;
beforeAll(async () => {
  lab = await serverLab({}, { allowedHosts: ['dash.example'], allowedOrigins: ['https://dash.example'] });
  await lab.offstage.tasks.create({ taskId: 'kept' });
});
afterAll(() => lab[Symbol.asyncDispose]());

const port = (): number => lab.server.port;

describe('B72: upgrades', () => {
  it.each<[string, () => Record<string, string | null>]>([
    ['a foreign origin', () => ({ Origin: 'https://evil.example' })],
    ['the origin null', () => ({ Origin: 'null' })],
    ['an origin that begins like ours', () => ({ Origin: 'http://localhost.evil.example' })],
    ['an origin that ends like ours', () => ({ Origin: `http://evil.example/127.0.0.1:${port()}` })],
    ['our name as a user of theirs', () => ({ Origin: `http://127.0.0.1:${port()}@evil.example` })],
    ['our host with another port', () => ({ Origin: `http://127.0.0.1:${port() === 80 ? 81 : 80}` })],
    ['our other name', () => ({ Origin: `http://localhost:${port()}` })],
    ['no origin at all, but an empty one', () => ({ Origin: '' })],
    ['a foreign host', () => ({ Host: 'evil.example' })],
    ['a host that begins like ours', () => ({ Host: 'localhost.evil.example' })],
    ['a foreign host and its own origin', () => ({ Host: 'evil.example', Origin: 'http://evil.example' })],
    ['a host that is none', () => ({ Host: '127.0.0.1 evil.example' })],
    ['an address that is not ours', () => ({ Host: '203.0.113.7' })],
  ])('%s: no 101', async (_, headers) => {
    const answer = await rawUpgrade(lab.server, headers());
    expect([answer.status, JSON.parse(answer.text).error_code]).toEqual([403, 'access.refused']);
  });

  it.each<[string, () => Record<string, string | null>]>([
    ['no origin', () => ({})],
    ['the same origin', () => ({ Origin: `http://127.0.0.1:${port()}` })],
    ['the same origin by name', () => ({ Host: `localhost:${port()}`, Origin: `http://localhost:${port()}` })],
    ['a host in capitals', () => ({ Host: `LOCALHOST:${port()}` })],
    ['IPv6', () => ({ Host: `[::1]:${port()}` })],
    ['an allowed host, behind its https', () => ({ Host: 'dash.example', Origin: 'https://dash.example' })],
    ['an allowed origin', () => ({ Origin: 'https://dash.example' })],
  ])('%s: 101', async (_, headers) => {
    expect((await rawUpgrade(lab.server, headers())).status).toBe(101);
  });

  it('no Host at all is refused', async () => {
    expect((await rawUpgrade(lab.server, { Host: null })).status).toBe(403);
  });
});

describe('B72: routes that write, and those that read', () => {
  it.each([
    'POST /api/jobs',
    'POST /api/tasks',
    'DELETE /api/tasks/kept',
    'GET /api/jobs',
    'GET /api/events',
    'GET /',
    'GET /metrics',
    'GET /healthz',
    'POST /login',
    'GET /?code=x',
  ])('%s refuses a foreign origin and a foreign host', async (line) => {
    const [method = '', path = ''] = line.split(' ');
    for (const headers of [
      { Origin: 'https://evil.example' },
      { Host: 'evil.example' },
      { Origin: 'http://localhost.evil.example' },
    ]) {
      const answer = await rawExchange(lab.server, requestHead(lab.server, path, { ...headers, Connection: 'close' }, method));
      expect([answer.status, JSON.parse(answer.text).error_code]).toEqual([403, 'access.refused']);
      expect(answer.headers).not.toHaveProperty('access-control-allow-origin');
    }
    expect(await lab.offstage.list()).toEqual([]);
    expect(await lab.offstage.tasks.list()).toHaveLength(1);
  });

  it('an allowed origin may ask ahead, and reads the answers of /api and nothing else', async () => {
    const origin = 'https://dash.example';
    const ahead = await fetch(`${lab.server.url}api/jobs`, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' },
    });
    expect([ahead.status, ahead.headers.get('access-control-allow-origin')]).toEqual([204, origin]);
    expect(ahead.headers.get('access-control-allow-headers')).toContain('Authorization');
    const read = await lab.fetch('/api/jobs', { headers: { origin } });
    expect(read.headers.get('access-control-allow-origin')).toBe(origin);
    expect((await lab.fetch('/healthz', { headers: { origin } })).headers.get('access-control-allow-origin')).toBeNull();
    const unasked = await fetch(`${lab.server.url}api/jobs`, { method: 'OPTIONS' });
    expect(unasked.status).toBe(401);
  });
});

describe('B72: the address', () => {
  it('is loopback unless something else is asked for, and nobody answers elsewhere', async () => {
    expect(lab.server.host).toBe('127.0.0.1');
    expect(lab.server.url).toBe(`http://127.0.0.1:${port()}/`);
    const outer = Object.values(networkInterfaces())
      .flatMap((all) => all ?? [])
      .find(({ family, internal }) => family === 'IPv4' && !internal);
    if (outer !== undefined) await expect(fetch(`http://${outer.address}:${port()}/healthz`)).rejects.toThrow();
  });

  it('beyond loopback a token must be given, a good one', async () => {
    for (const host of ['0.0.0.0', '::', '192.0.2.1', 'example.org']) {
      await expect(serve(lab.offstage, { host })).rejects.toMatchObject({ code: 'config.invalid', details: { option: 'token' } });
      await expect(serve(lab.offstage, { host, token: 'short' })).rejects.toMatchObject({ code: 'config.invalid' });
    }
    const wide = await serve(lab.offstage, { host: '0.0.0.0', token: 'a-token-of-my-own-1234' });
    expect(wide.url).toBe(`http://127.0.0.1:${wide.port}/`);
    expect((await fetch(`${wide.url}api/whoami`, { headers: { authorization: 'Bearer a-token-of-my-own-1234' } })).status).toBe(
      200,
    );
    await wide.close();
  });

  it('an address that is taken, and options that are none, are told', async () => {
    await expect(serve(lab.offstage, { port: port() })).rejects.toMatchObject({
      code: 'config.invalid',
      details: { option: 'port' },
    });
    for (const options of [
      { port: -1 },
      { port: 1.5 },
      { host: '' },
      { heartbeatMs: 0 },
      { allowedOrigins: ['dash.example'] },
      { hosts: [] },
    ]) {
      await expect(serve(lab.offstage, options as never)).rejects.toMatchObject({ code: 'config.invalid' });
    }
  });
});
