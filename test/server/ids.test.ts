/** B73: whatever an id looks like, it is refused or listed back as it is, and no file is made outside the data folder. */
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type OffstageServer, serve } from '../../src/doors/server/index.ts';
import type { WireFields } from '../../src/doors/wire/rename.ts';
import { type Offstage, open } from '../../src/index.ts';
import { type Client, connect } from './lab.ts';

const IDS = ['../../x', '/etc/x', 'a/../../b', '', '..', 'a\0b', 'x'.repeat(10_240), '%2e%2e%2f', 'C:\\x', 'ä/…'];

let parent: string;
let offstage: Offstage;
let server: OffstageServer;
let client: Client;
beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), 'offstage-ids-'));
  offstage = (await open({
    dataDir: join(parent, 'data'),
    executors: { echo: async () => 'x'.repeat(10) },
  })) as unknown as Offstage;
  server = await serve(offstage);
  client = await connect(server);
});
afterAll(async () => {
  client.socket.terminate();
  await offstage.close();
  await rm(parent, { recursive: true });
});

const besides = async (): Promise<readonly string[]> => readdir(parent);

/** `fetch` takes dots for steps before it sends anything. */
async function rest(
  method: string,
  path: string,
  body?: WireFields,
): Promise<{ readonly status: number; readonly body: WireFields }> {
  const headers = {
    authorization: `Bearer ${server.token}`,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
  const sent = request({ port: server.port, host: '127.0.0.1', method, path, headers });
  sent.end(body === undefined ? '' : JSON.stringify(body));
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  let text = '';
  for await (const part of answer) text += part;
  return { status: answer.statusCode as number, body: JSON.parse(text) as WireFields };
}

const pathOf = (rows: string, id: string): string => `/api/${rows}/${encodeURIComponent(id)}`;

const REFUSED = ['input.invalid', 'session.conflict', 'job.conflict'];

describe.each([
  ['ws', async (action: string, fields: WireFields) => client.ask(action, fields)],
  [
    'rest',
    async (action: string, fields: WireFields) =>
      (await rest('POST', action === 'spawn_job' ? '/api/jobs' : '/api/sessions', fields)).body,
  ],
])('B73 over %s', (door, ask) => {
  it.each(IDS.map((id) => [JSON.stringify(id).slice(0, 24), id]))('session and job %s', async (_, id) => {
    // Both doors lead to one engine: over the second one the ids are others.
    const wanted = door === 'ws' || id === '' ? id : `${id}/..`;
    const jobId = wanted;
    const session = await ask('create_session', { session_id: wanted });
    if (session.error_code !== undefined) expect(REFUSED).toContain(session.error_code);
    else {
      expect(session.session_id).toBe(wanted);
      expect((await offstage.sessions.list({ limit: 100 })).map((row) => row.sessionId)).toContain(wanted);
      expect(await rest('GET', pathOf('sessions', wanted))).toMatchObject({ status: 200, body: { session_id: wanted } });
    }
    const job = await ask('spawn_job', { kind: 'echo', job_id: jobId });
    if (job.error_code !== undefined) expect(REFUSED).toContain(job.error_code);
    else {
      await offstage.wait(jobId);
      const listed = (await client.ask('list_jobs')).tasks as readonly WireFields[];
      expect(listed.map(({ job_id: found }) => found)).toContain(jobId);
      expect(await rest('GET', pathOf('jobs', jobId))).toMatchObject({ status: 200, body: { job_id: jobId } });
    }
    expect(await besides()).toEqual(['data']);
  });
});

describe('B73: ids and paths', () => {
  it.each(['/api/jobs/..%2f..%2fpasswd', '/api/jobs/%2fetc%2fpasswd', '/api/jobs/%00', '/api/sessions/%2e%2e%2f'])(
    '%s names an id, and no file',
    async (path) => {
      const { status, body } = await rest('GET', path);
      expect([400, 404]).toContain(status);
      expect(['input.invalid', 'job.not_found', 'session.not_found', 'control.protocol']).toContain(body.error_code);
    },
  );

  it.each([
    '/../package.json',
    '/..%2fpackage.json',
    '/%2e%2e/package.json',
    '/assets/..%2f..%2fpackage.json',
    '/.env',
    '/assets%5c..%5cx.js',
    '/x%00.js',
    '//etc/passwd',
  ])('the dashboard does not serve %s', async (path) => {
    const { connect: dial } = await import('node:net');
    const socket = dial(server.port, '127.0.0.1');
    socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${server.token}\r\nConnection: close\r\n\r\n`);
    let text = '';
    for await (const part of socket) text += part;
    expect(text).toMatch(/^HTTP\/1\.1 404 /);
    expect(text).not.toContain('"name"');
  });
});
