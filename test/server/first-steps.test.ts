/** The server as a whole: a client over WebSocket, requests over REST, a browser with its link. */
import { describe, expect, it } from 'vitest';
import { serverLab } from './lab.ts';

describe('a server', () => {
  it('answers requests and sends events over WebSocket', async () => {
    await using lab = await serverLab();
    const client = await lab.client();
    expect(client.socket.protocol).toBe('offstage.v1');
    expect(await client.ask('whoami')).toMatchObject({ type: 'result', scope: 'operate', version: expect.any(String) });
    expect(await client.ask('get_server')).toMatchObject({ url: lab.server.url });
    expect(await client.ask('subscribe', { types: ['job_status'], brief: true })).toMatchObject({ type: 'snapshot', jobs: [] });
    await client.ask('spawn_job', { kind: 'echo', input: { a: 1 }, job_id: 'e' });
    await client.frameOf(({ type, status }) => type === 'job_status' && status === 'completed');
    expect(new Set(client.frames.map(({ type }) => type))).toEqual(new Set(['result', 'snapshot', 'job_status']));
    const listed = (await client.ask('list_jobs', { brief: true })) as unknown as { tasks: object[] };
    expect(listed.tasks[0]).toMatchObject({ job_id: 'e', status: 'completed' });
    for (const name of ['input', 'description', 'result', 'result_text', 'partial_result']) {
      expect(listed.tasks[0]).not.toHaveProperty(name);
    }
    const peeked = await client.ask('await_jobs', { job_ids: ['e', 'x'], timeout: 0, mode: 'any', brief: true });
    expect(peeked).toMatchObject({ tasks: [{ job_id: 'e' }, { job_id: 'x', error_code: 'job.not_found' }] });
    expect(await client.ask('subscribe', { types: ['job_statuses'] })).toMatchObject({ error_code: 'input.invalid' });
  });

  it('answers over REST', async () => {
    await using lab = await serverLab();
    expect(await lab.post('/api/jobs', { kind: 'echo', job_id: 'e', input: 7 })).toMatchObject({
      status: 201,
      body: { job_id: 'e', status: 'queued' },
    });
    await lab.offstage.wait('e');
    expect(await lab.get('/api/jobs/e')).toMatchObject({ job_id: 'e', status: 'completed', result: 7 });
    expect(await lab.get('/api/jobs?limit=1&status_filter=completed&brief=true')).toMatchObject({ tasks: [{ job_id: 'e' }] });
    const missing = await lab.fetch('/api/jobs/none');
    expect([missing.status, await missing.json()]).toMatchObject([404, { error_code: 'job.not_found' }]);
    const wrong = await lab.fetch('/api/jobs?limit=many');
    expect([wrong.status, await wrong.json()]).toMatchObject([400, { error_code: 'input.invalid' }]);
  });

  it('lets a browser in with a link that works once', async () => {
    await using lab = await serverLab();
    const open = (url: string, cookie?: string) =>
      fetch(url, { redirect: 'manual', headers: { accept: 'text/html', ...(cookie === undefined ? {} : { cookie }) } });
    const link = lab.server.oneTimeUrl();
    expect((await open(lab.server.url)).status).toBe(401);
    const entered = await open(link);
    expect([entered.status, entered.headers.get('location')]).toEqual([303, './']);
    const cookie = entered.headers.get('set-cookie') as string;
    expect(cookie).toMatch(new RegExp(`^offstage_${lab.server.port}=[\\w.-]+; HttpOnly; SameSite=Strict; Path=/$`));
    const [pair] = cookie.split(';');
    expect((await open(`${lab.server.url}api/whoami`, pair)).status).toBe(200);
    expect((await open(link)).status).toBe(401);
  });
});
