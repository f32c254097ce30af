/** TOK1–TOK3, ACC1, OTC1, GAT1, GAT2, TKF1, TKF2: who gets in, and what for. */
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ACTION_SCHEMAS, type ActionSchema } from '../../src/doors/requests/action-schemas.ts';
import type { Scope } from '../../src/doors/requests/caller-identity.ts';
import { serve } from '../../src/doors/server/index.ts';
import { OneTimeCodes } from '../../src/doors/server/one-time-codes.ts';
import { RateLimit } from '../../src/doors/server/rate-limit.ts';
import { Tokens } from '../../src/doors/server/tokens.ts';
import { LIMITS, open } from '../../src/index.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { type Lab, serverLab } from './lab.ts';
import { rawUpgrade } from './raw.ts';

let lab: Lab;
beforeAll(async () => {
  lab = await serverLab();
});
afterAll(() => lab[Symbol.asyncDispose]());

const status = async (headers: Record<string, string>, path = 'api/whoami'): Promise<number> =>
  (await fetch(new URL(path, lab.server.url), { headers })).status;

describe('a token', () => {
  const BAD: readonly (readonly [string, (token: string) => string])[] = [
    ['none', () => ''],
    ['another', () => 'x'.repeat(43)],
    ['one letter less', (token) => token.slice(0, -1)],
    ['one letter more', (token) => `${token}x`],
    ['one letter changed', (token) => `${token[0] === 'a' ? 'b' : 'a'}${token.slice(1)}`],
    ['in capitals', (token) => token.toUpperCase()],
  ];
  it.each(BAD)('%s gets 401 in each place where one may stand', async (_, change) => {
    const bad = change(lab.server.token);
    expect([401, 429]).toContain(await status({ authorization: `Bearer ${bad}` }));
    expect([401, 429]).toContain(await status({ cookie: `offstage_${lab.server.port}=${bad}` }));
    expect([401, 429]).toContain(
      (await rawUpgrade(lab.server, { Authorization: null, 'Sec-WebSocket-Protocol': `offstage.v1, offstage.token.${bad}` }))
        .status,
    );
    expect([401, 429]).toContain((await rawUpgrade(lab.server, { Authorization: `Bearer ${bad}` })).status);
    expect([401, 429]).toContain((await rawUpgrade(lab.server, { Authorization: null }, `/ws?token=${lab.server.token}`)).status);
  });

  it('is good in each place, and a good cookie does not mend a bad header', async () => {
    const cookie = `offstage_${lab.server.port}=${new Tokens(lab.server.token).issue('observe', 'cookie')}`;
    expect(await status({ cookie })).toBe(200);
    expect(await status({ authorization: `Bearer ${lab.server.token}` })).toBe(200);
    expect([401, 429]).toContain(await status({ cookie, authorization: 'Bearer nonsense' }));
    expect([401, 429]).toContain(await status({ cookie, authorization: 'Basic eDp5' }));
    const upgraded = await rawUpgrade(lab.server, {
      Authorization: null,
      'Sec-WebSocket-Protocol': `offstage.token.${lab.server.token}, offstage.v1`,
    });
    expect([upgraded.status, upgraded.headers['sec-websocket-protocol']]).toEqual([101, 'offstage.v1']);
    expect((await rawUpgrade(lab.server, { Authorization: null, Cookie: `x=1; ${cookie}; y=2` })).status).toBe(101);
  });

  it('issued: carries its scope; changed in any letter it is none', async () => {
    const token = lab.server.issueToken('observe');
    expect(token).toMatch(/^[\w.-]+$/);
    expect(await (await lab.fetch('/api/whoami', { headers: { authorization: `Bearer ${token}` } })).json()).toMatchObject({
      scope: 'observe',
    });
    const tokens = new Tokens(lab.server.token);
    for (let at = 0; at < token.length; at++) {
      const changed = `${token.slice(0, at)}${token[at] === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`;
      // The last letter of base64 holds bits that count for nothing.
      if (at !== token.length - 1) expect(tokens.identify(changed), `letter ${at}`).toBeNull();
    }
    const [version, kind, , id, signature] = token.split('.');
    const operate = Buffer.from('operate').toString('base64url');
    expect(tokens.identify([version, kind, operate, id, signature].join('.'))).toBeNull();
    expect(tokens.identify(token, 'cookie')).toBeNull();
    expect(new Tokens('another-token-0123456789').identify(token)).toBeNull();
  });

  it.each(['', 'root', 'session:', 'observe ', `session:${'x'.repeat(513)}`, 7, null])(
    'is not issued for the scope %j',
    (scope) => {
      expect(() => lab.server.issueToken(scope as Scope)).toThrow(expect.objectContaining({ code: 'input.invalid' }));
    },
  );
});

describe('ACC1: the scope observe', () => {
  it.each(Object.entries(ACTION_SCHEMAS as Record<string, ActionSchema>))('%s', async (action, { scope, example }) => {
    const client = await lab.client({ token: lab.server.issueToken('observe') });
    const answer = await client.ask(action, example);
    if (scope === 'operate') expect(answer).toMatchObject({ type: 'error', error_code: 'access.forbidden', retryable: false });
    else expect(answer.error_code).not.toBe('access.forbidden');
    client.socket.terminate();
  });

  it('holds nobody back', async () => {
    const client = await lab.client({ token: lab.server.issueToken('observe') });
    expect(await client.ask('subscribe', { job_id: 'j', hold: true })).toMatchObject({ error_code: 'access.forbidden' });
  });

  it('changes nothing over REST either, and is told so with 403', async () => {
    const before = await lab.offstage.snapshot();
    const headers = { authorization: `Bearer ${lab.server.issueToken('observe')}`, 'content-type': 'application/json' };
    for (const [method, path, body] of [
      ['POST', '/api/jobs', { kind: 'echo' }],
      ['POST', '/api/tasks', {}],
      ['DELETE', '/api/tasks/default', undefined],
      ['POST', '/api/sessions/s/prompt', { prompt: 'x' }],
    ] as const) {
      const answer = await lab.fetch(path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
      expect([answer.status, await answer.json()]).toMatchObject([403, { error_code: 'access.forbidden' }]);
    }
    expect((await lab.offstage.snapshot()).seq).toBe(before.seq);
  });
});

describe('a browser', () => {
  const page = (url: string, init: RequestInit = {}) =>
    fetch(url, { redirect: 'manual', ...init, headers: { accept: 'text/html', ...(init.headers as Record<string, string>) } });

  it('without a token sees a form; with the token in it it gets its cookie', async () => {
    const refused = await page(lab.server.url);
    expect([401, 429]).toContain(refused.status);
    const login = (token: string) => page(`${lab.server.url}login`, { method: 'POST', body: new URLSearchParams({ token }) });
    expect([401, 429]).toContain((await login('nonsense-nonsense')).status);
    const entered = await login(` ${lab.server.token} `);
    expect(entered.status).toBe(303);
    const [cookie] = (entered.headers.get('set-cookie') as string).split(';');
    expect(await status({ cookie: cookie as string })).toBe(200);
    expect((await page(`${lab.server.url}login`)).status).toBe(405);
  });

  it('OTC1: a code works once, and not after ten minutes', () => {
    let now = 1_000;
    const codes = new OneTimeCodes(() => now);
    const [first, second] = [codes.make(), codes.make()];
    expect([codes.use('x'), codes.use(first), codes.use(first)]).toEqual([false, true, false]);
    now += LIMITS.oneTimeCodeMs;
    expect(codes.use(second)).toBe(false);
    const oldest = codes.make();
    for (let number = 0; number < LIMITS.oneTimeCodes; number++) codes.make();
    expect(codes.use(oldest)).toBe(false);
  });

  it('a look ahead with HEAD does not use the link up', async () => {
    const link = lab.server.oneTimeUrl();
    expect((await page(link, { method: 'HEAD' })).status).toBe(405);
    expect((await page(link)).status).toBe(303);
  });
});

describe('the rate', () => {
  it('RTL1: a burst, then a steady flow; each caller for itself', () => {
    let now = 0;
    const rate = new RateLimit(3, 2, () => now);
    expect([1, 2, 3].map(() => rate.take('a'))).toEqual([null, null, null]);
    expect([rate.take('a'), rate.take('b')]).toEqual([500, null]);
    now = 250;
    expect(rate.take('a')).toBe(250);
    now = 500;
    expect([rate.take('a'), rate.take('a')]).toEqual([null, 500]);
    now = 1e9;
    expect([1, 2, 3, 4].map(() => rate.take('a'))).toEqual([null, null, null, 500]);
  });

  it('GAT2: who tries without a good token is slowed down, who has one is not', async () => {
    await using own = await serverLab();
    const tries: Response[] = [];
    for (let number = 0; number <= LIMITS.refusalBurst; number++) tries.push(await fetch(`${own.server.url}api/whoami`));
    const last = tries.at(-1) as Response;
    expect([tries[0]?.status, tries[0]?.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="offstage"']);
    expect([last.status, await last.json()]).toMatchObject([
      429,
      { error_code: 'limit.rate', details: { retry_after_ms: expect.any(Number) } },
    ]);
    expect(Number(last.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await own.fetch('/api/whoami')).status).toBe(200);
  });

  it('one who asks too much over WebSocket is answered limit.rate, and goes on later', async () => {
    await using own = await serverLab();
    const client = await own.client();
    const answers = await Promise.all(Array.from({ length: LIMITS.requestBurst + 2_000 }, () => client.ask('whoami')));
    const refused = answers.filter(({ error_code: code }) => code === 'limit.rate');
    expect(refused.length).toBeGreaterThan(0);
    expect(answers.filter(({ type }) => type === 'result').length).toBeGreaterThanOrEqual(LIMITS.requestBurst);
    expect(refused[0]).toMatchObject({ retryable: true, request_id: expect.any(String) });
  });
});

describe('TKF1, TKF2: the token of a folder', () => {
  it('is kept, readable by this user alone; what was issued is good after a restart too', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'offstage-token-'));
    const path = join(dataDir, 'token');
    let issued = '';
    let first = '';
    {
      await using offstage = await open({ dataDir });
      const [one, two] = await Promise.all([serve(offstage), serve(offstage)]);
      expect([one.token, (await readFile(path, 'utf8')).trim()]).toEqual([two.token, one.token]);
      expect((await stat(path)).mode & 0o777).toBe(0o600);
      issued = one.issueToken('session:s 1/ä');
      first = one.token;
    }
    {
      await using offstage = await open({ dataDir });
      const server = await serve(offstage);
      expect(server.token).toBe(first);
      const answer = await fetch(`${server.url}api/whoami`, { headers: { authorization: `Bearer ${issued}` } });
      expect(await answer.json()).toMatchObject({ scope: 'session:s 1/ä' });
    }
    await writeFile(path, '\n', { mode: 0o644 });
    {
      const lines: string[] = [];
      await using offstage = await open({ dataDir, log: (_, event) => lines.push(event) });
      const server = await serve(offstage);
      expect(server.token).not.toBe(first);
      expect(server.token).toMatch(/^[\w-]{43}$/);
      expect((await stat(path)).mode & 0o777).toBe(0o600);
      expect(lines).toContain('token.replaced');
    }
    await rm(dataDir, { recursive: true });
  });

  it('what is no file is left as it is, and nothing is served', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'offstage-'));
    const path = join(dataDir, 'token');
    await mkdir(path, { mode: 0o755 });
    await using offstage = await open({ dataDir });
    await expect(serve(offstage)).rejects.toMatchObject({ code: 'store.failed' });
    expect((await stat(path)).mode & 0o777).toBe(0o755);
    await offstage.close();
    await rm(dataDir, { recursive: true });
  });

  it('without a folder it is made for this run', async () => {
    await using offstage = await open({ store: memoryStore() });
    const server = await serve(offstage);
    expect(offstage.dataDir).toBeNull();
    expect(server.token).toMatch(/^[\w-]{43}$/);
  });
});
