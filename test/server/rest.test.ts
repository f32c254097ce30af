/** RRT1, RST1, HTD2, OAP1, MET1, STF1, STF2: every route, the document that describes them, and what else is served. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ACTION_SCHEMAS, type ActionSchema } from '../../src/doors/requests/action-schemas.ts';
import { statusOf } from '../../src/doors/server/http-answer.ts';
import { openApiDocument } from '../../src/doors/server/openapi.ts';
import { ROUTES } from '../../src/doors/server/rest-routes.ts';
import type { WireFields } from '../../src/doors/wire/rename.ts';
import { ERRORS } from '../../src/model/errors.ts';
import { type Lab, serverLab } from './lab.ts';

let lab: Lab;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offstage-dashboard-'));
  await mkdir(join(folder, 'assets'));
  await writeFile(join(folder, 'index.html'), '<!doctype html><p>the dashboard');
  await writeFile(join(folder, 'assets', 'app-1234.js'), `${'let x = 1;'.repeat(1_000)}`);
  await writeFile(join(folder, '.hidden.js'), 'secret');
  lab = await serverLab({}, { dashboardDir: folder });
});
afterAll(async () => {
  await lab[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const pathOf = (path: string): string => path.replace(/:(\w+)/g, (_, name) => `no-${name}`);

describe('RRT1: every route', () => {
  it.each(
    ROUTES.filter(({ action }) => action !== 'subscribe').map((route) => [`${route.method} ${route.path}`, route] as const),
  )('%s answers as its action does', async (_, { method, path, action, status }) => {
    const { example, fields } = ACTION_SCHEMAS[action] as ActionSchema;
    const inPath = new Set([...path.matchAll(/:(\w+)/g)].map(([, name]) => name));
    const rest = Object.fromEntries(Object.entries(example).filter(([name]) => !inPath.has(name)));
    const query =
      method === 'POST'
        ? ''
        : `?${new URLSearchParams(Object.entries(rest).flatMap(([name, value]) => [value].flat().map((one): [string, string] => [name, String(one)])))}`;
    const answer = await lab.fetch(`${pathOf(path)}${query}`, {
      method,
      ...(method === 'POST' ? { headers: { 'content-type': 'application/json' }, body: JSON.stringify(rest) } : {}),
    });
    const body = (await answer.json()) as WireFields;
    if (body.error_code === undefined) expect(answer.status).toBe(status);
    else {
      expect(['input.invalid', 'control.protocol', 'control.failed']).not.toContain(body.error_code);
      expect(answer.status).toBe(statusOf(body.error_code as string));
    }
    expect(body).not.toHaveProperty('type');
    expect(Object.keys(fields)).toEqual(expect.arrayContaining([...inPath]));
    for (const name of ['x-content-type-options', 'content-security-policy', 'referrer-policy', 'x-frame-options']) {
      expect(answer.headers.get(name)).not.toBeNull();
    }
  });

  it.each(['PUT', 'PATCH', 'DELETE'])('%s /api/jobs is 405, and says what is allowed', async (method) => {
    const answer = await lab.fetch('/api/jobs', { method });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, POST, HEAD, OPTIONS']);
  });

  it('HEAD and OPTIONS', async () => {
    const head = await lab.fetch('/api/jobs', { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    expect(Number(head.headers.get('content-length'))).toBeGreaterThan(0);
    const options = await lab.fetch('/api/jobs/x/cancel', { method: 'OPTIONS' });
    expect([options.status, options.headers.get('allow')]).toEqual([204, 'POST, OPTIONS']);
    expect((await lab.fetch('/api/nothing')).status).toBe(404);
    expect((await lab.fetch('/metrics', { method: 'POST' })).status).toBe(405);
  });

  it('exact paths win over fields', async () => {
    expect((await lab.post('/api/jobs/await', { job_ids: [], timeout: 0 })).body).toEqual({ tasks: [] });
    expect((await lab.post('/api/jobs/cancel', { job_ids: [] })).body).toMatchObject({ cancelled: [] });
  });
});

describe('RST1: fields', () => {
  const refused = async (path: string, init?: RequestInit): Promise<WireFields> => {
    const answer = await lab.fetch(path, init);
    expect(answer.status).toBe(400);
    return (await answer.json()) as WireFields;
  };
  const json = (text: string, type = 'application/json'): RequestInit => ({
    method: 'POST',
    body: text,
    headers: { 'content-type': type },
  });

  it('have the types of their action in a query', async () => {
    expect(await refused('/api/jobs?limit=1.5')).toMatchObject({ error_code: 'input.invalid', details: { argument: 'limit' } });
    expect(await refused('/api/jobs?brief=yes')).toMatchObject({ details: { argument: 'brief' } });
    expect(await refused('/api/jobs?status_filter=done')).toMatchObject({ error_code: 'input.invalid' });
    expect(await refused('/api/jobs?sesion_id=x')).toMatchObject({ details: { argument: 'sesion_id' } });
    expect(await lab.get('/api/jobs?status_filter=running&status_filter=queued&limit=5&brief=false')).toMatchObject({
      tasks: expect.any(Array),
    });
    expect(await lab.get('/api/tasks?archived=true')).toMatchObject({ tasks: expect.any(Array) });
  });

  it('that are given twice are refused', async () => {
    expect(await refused('/api/jobs?limit=1&limit=2')).toMatchObject({ details: { argument: 'limit' } });
    expect(await refused('/api/jobs/x?job_id=y')).toMatchObject({ details: { argument: 'job_id' } });
    expect(await refused('/api/jobs/x/cancel', json('{"job_id":"y"}'))).toMatchObject({ details: { argument: 'job_id' } });
    expect(await refused('/api/jobs/x/cancel?reason=a', json('{"reason":"b"}'))).toMatchObject({
      details: { argument: 'reason' },
    });
    expect(await refused('/api/jobs/x/output?parts=true')).toMatchObject({ details: { argument: 'parts' } });
    expect(await refused('/api/jobs', json('{"action":"remove_task"}'))).toMatchObject({ details: { argument: 'action' } });
  });

  it('names of objects are fields like others', async () => {
    for (const name of ['__proto__', 'constructor', 'toString']) {
      expect(await refused(`/api/jobs?${name}=x`)).toMatchObject({ error_code: 'input.invalid' });
      expect(await refused('/api/jobs', json(`{"kind":"echo","${name}":{"a":1}}`))).toMatchObject({
        error_code: 'input.invalid',
      });
    }
  });

  it.each([
    ['null', 'application/json'],
    ['[]', 'application/json'],
    ['{', 'application/json'],
    ['{"kind":"echo"}', 'text/plain'],
    ['kind=echo', 'application/x-www-form-urlencoded'],
  ])('the body %s as %s is refused', async (body, type) => {
    expect(['control.protocol', 'input.invalid']).toContain((await refused('/api/jobs', json(body, type))).error_code);
  });
});

describe('statuses', () => {
  it('every code has one that fits', () => {
    const of = (status: number) => Object.keys(ERRORS).filter((code) => statusOf(code) === status);
    expect(of(401)).toEqual(['access.unauthorized']);
    expect(of(403)).toEqual(['access.forbidden', 'access.refused']);
    expect(of(400)).toEqual(['control.protocol', 'input.invalid']);
    expect(of(404)).toEqual(expect.arrayContaining(['job.not_found', 'session.not_found', 'executor.unknown', 'card.not_found']));
    expect(of(410)).toEqual(['job.expired', 'session.expired', 'task.expired']);
    expect(of(409)).toEqual(['job.conflict']);
    expect(of(413)).toEqual(['limit.input_bytes']);
    expect(of(429)).toEqual(expect.arrayContaining(['limit.rate', 'limit.queue_full', 'limit.tickets']));
    expect(of(503)).toEqual(expect.arrayContaining(['engine.closing', 'engine.degraded', 'store.failed', 'limit.connections']));
    expect(of(500)).toEqual(['control.failed']);
  });
});

describe('OAP1: the document', () => {
  it('has every route, is served, and is the one in docs', async () => {
    const document = openApiDocument() as unknown as { paths: Record<string, Record<string, WireFields>> };
    for (const { method, path } of ROUTES)
      expect(document.paths[path.replace(/:(\w+)/g, '{$1}')]).toHaveProperty(method.toLowerCase());
    expect(await lab.get('/api/openapi.json')).toEqual(document);
    const written = await readFile(join(import.meta.dirname, '..', '..', 'docs', 'openapi.json'), 'utf8');
    expect(JSON.parse(written), 'run node scripts/openapi.mjs').toEqual(document);
  });

  it('points to nothing that is not there', () => {
    const document = openApiDocument();
    const schemas = (document.components as unknown as { schemas: WireFields }).schemas;
    const refs = [...JSON.stringify(document).matchAll(/#\/components\/schemas\/(\w+)/g)].map(([, name]) => name as string);
    expect(refs.filter((name) => !Object.hasOwn(schemas, name))).toEqual([]);
  });
});

describe('MET1: /metrics', () => {
  it('is text that Prometheus reads, and counts what was done', async () => {
    await lab.fetch('/api/jobs/none');
    await fetch(`${lab.server.url}api/jobs`);
    const answer = await lab.fetch('/metrics');
    expect(answer.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    const lines = (await answer.text()).split('\n').filter((line) => line !== '');
    const helped = new Set(lines.flatMap((line) => /^# HELP (\w+) \S/.exec(line)?.[1] ?? []));
    for (const line of lines) {
      if (/^# (?:HELP|TYPE) \w+ /.test(line)) continue;
      const sample = /^(\w+)(?:\{(?:\w+="[^"\\\n]*",?)+\})? -?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/.exec(line);
      expect(sample, line).not.toBeNull();
      expect(helped, line).toContain(sample?.[1]);
    }
    const text = lines.join('\n');
    expect(text).toMatch(/^offstage_requests_total\{action="get_job",outcome="job\.not_found"\} [1-9]/m);
    expect(text).toMatch(/^offstage_refused_total\{code="access\.unauthorized"\} [1-9]/m);
    expect(text).toMatch(/^offstage_jobs\{status="running"\} \d+$/m);
  });
});

describe('STF1, STF2: the dashboard', () => {
  it('is served with its type, its tag, and compressed where that is understood', async () => {
    const index = await lab.fetch('/');
    expect([index.status, index.headers.get('content-type'), await index.text()]).toEqual([
      200,
      'text/html; charset=utf-8',
      '<!doctype html><p>the dashboard',
    ]);
    expect(index.headers.get('content-security-policy')).toContain(`connect-src 'self' ws://127.0.0.1:${lab.server.port}`);
    expect((await lab.fetch('/index.html')).status).toBe(200);
    const asset = await lab.fetch('/assets/app-1234.js');
    expect([asset.headers.get('content-encoding'), asset.headers.get('cache-control')]).toEqual([
      'gzip',
      'private, max-age=31536000, immutable',
    ]);
    expect((await asset.text()).length).toBe(10_000);
    const plain = await lab.fetch('/assets/app-1234.js', { headers: { 'accept-encoding': 'identity' } });
    expect([plain.headers.get('content-encoding'), (await plain.text()).length]).toEqual([null, 10_000]);
    const same = await lab.fetch('/assets/app-1234.js', { headers: { 'if-none-match': asset.headers.get('etag') as string } });
    expect([same.status, await same.text()]).toEqual([304, '']);
    await writeFile(join(folder, 'index.html'), '<p>newer');
    expect(await (await lab.fetch('/')).text()).toBe('<p>newer');
  });

  it('needs a token, and nothing beside it is served', async () => {
    expect([401, 429]).toContain((await fetch(`${lab.server.url}assets/app-1234.js`)).status);
    for (const path of ['/.hidden.js', '/assets', '/assets/', '/nothing.js', '/index.html/x', '/app.exe']) {
      expect((await lab.fetch(path)).status, path).toBe(404);
    }
  });

  it('that is not built says so', async () => {
    await using bare = await serverLab({}, { dashboardDir: join(folder, 'none') });
    const answer = await bare.fetch('/');
    expect([answer.status, await answer.text()]).toEqual([404, expect.stringContaining('the dashboard is not built')]);
  });

  it('/healthz needs no token, and says nothing but the status', async () => {
    const answer = await fetch(`${lab.server.url}healthz`);
    expect([answer.status, await answer.json()]).toEqual([200, { status: 'ok' }]);
  });
});
