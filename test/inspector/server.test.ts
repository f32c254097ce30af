/** `/inspect` of a server: who gets in, and what they see. */
import { once } from 'node:events';
import { createWebSocketReceiver } from '@statelyai/inspect';
import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { type Lab, serverLab } from '../server/lab.ts';
import { type InspectedFrame, Viewing } from '../support/inspector-host.ts';

interface Asked {
  readonly query?: string;
  readonly protocols?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

function connect({ server }: Lab, { query = '', protocols = [], headers = {} }: Asked) {
  const socket = new WebSocket(`${server.url.replace(/^http/, 'ws')}inspect${query}`, [...protocols], { headers });
  const viewing = Object.assign(new Viewing(), { socket });
  socket.on('message', (data) => viewing.take(JSON.parse(String(data)) as InspectedFrame));
  return viewing;
}

/** What a refused upgrade is answered. */
async function refusalOf(lab: Lab, asked: Asked): Promise<readonly [number, unknown]> {
  const { socket } = connect(lab, asked);
  socket.on('error', () => {});
  const [, response] = await once(socket, 'unexpected-response');
  let text = '';
  for await (const chunk of response) text += chunk;
  return [response.statusCode, JSON.parse(text).error_code];
}

const hasSnapshots = (count: number) => (frames: readonly InspectedFrame[]) =>
  frames.filter(({ type }) => type === '@xstate.snapshot').length >= count;

describe('who gets in', () => {
  it('a receiver of the package, with a token in its address', async () => {
    await using lab = await serverLab();
    const { jobId } = await lab.offstage.spawn({ kind: 'gate' });
    await lab.gate.started(jobId);
    const viewing = new Viewing();
    const server = `${lab.server.url.replace(/^http/, 'ws')}inspect?token=${lab.server.issueToken('observe')}`;
    createWebSocketReceiver({ server }).subscribe((frame) => viewing.take(frame as unknown as InspectedFrame));
    await viewing.until(() => viewing.has(`job ${jobId}`));
  });

  it('whoever brings the token of an observer, in any way, from the page of the inspector', async () => {
    await using lab = await serverLab();
    const token = lab.server.issueToken('observe');
    const ways: readonly Asked[] = [
      { query: `?token=${token}` },
      { query: `?token=${token}`, headers: { origin: 'https://stately.ai' } },
      { headers: { authorization: `Bearer ${token}` } },
      { protocols: ['offstage.v1', `offstage.token.${token}`] },
    ];
    for (const asked of ways) {
      const viewing = connect(lab, asked);
      await viewing.until(hasSnapshots(4));
      viewing.socket.terminate();
    }
  });

  it('nobody else', async () => {
    await using lab = await serverLab();
    const { token } = lab.server;
    await lab.offstage.sessions.create({ sessionId: 's' });
    const good = { authorization: `Bearer ${token}` };
    expect(await refusalOf(lab, {})).toEqual([401, 'access.unauthorized']);
    expect(await refusalOf(lab, { query: '?token=wrong-wrong-wrong-wrong' })).toEqual([401, 'access.unauthorized']);
    expect(await refusalOf(lab, { query: `?token=${lab.server.issueToken('session:s')}` })).toEqual([403, 'access.forbidden']);
    expect(await refusalOf(lab, { query: `?token=${token}`, headers: { origin: 'https://evil.example' } })).toEqual([
      403,
      'access.refused',
    ]);
    expect(await refusalOf(lab, { query: `?token=${token}`, headers: { host: 'evil.example' } })).toEqual([
      403,
      'access.refused',
    ]);
    for (const query of ['?jobs=1', '?job=', '?job=a&job=b']) {
      expect(await refusalOf(lab, { query, headers: good }), query).toEqual([400, 'input.invalid']);
    }
    // The page of the inspector may look, and nothing else.
    const socket = new WebSocket(`${lab.server.url.replace(/^http/, 'ws')}ws`, {
      headers: { ...good, origin: 'https://stately.ai' },
    });
    socket.on('error', () => {});
    const [, response] = await once(socket, 'unexpected-response');
    expect(response.statusCode).toBe(403);
    response.destroy();
  });

  it('pages that are named, instead', async () => {
    await using lab = await serverLab({}, { allowedOrigins: ['https://charts.example'] });
    const query = `?token=${lab.server.token}`;
    const viewing = connect(lab, { query, headers: { origin: 'https://charts.example' } });
    await viewing.until(hasSnapshots(4));
    expect(await refusalOf(lab, { query, headers: { origin: 'https://stately.ai' } })).toEqual([403, 'access.refused']);
    viewing.socket.terminate();
  });
});

describe('what they see', () => {
  it('what they ask for', async () => {
    await using lab = await serverLab();
    for (const jobId of ['one', 'two']) await lab.offstage.spawn({ kind: 'gate', jobId, subject: jobId });
    for (const jobId of ['one', 'two']) await lab.gate.started(jobId);
    const viewing = connect(lab, { query: `?job=two&token=${lab.server.token}` });
    await viewing.until(hasSnapshots(5));
    expect(viewing.names()).toEqual(['supervisor', 'jobs', 'sessions', 'tasks', 'job two "two"']);
    viewing.socket.terminate();
  });

  it('what the host lets them', async () => {
    await using lab = await serverLab({}, { redact: () => 'nothing' });
    const viewing = connect(lab, { query: `?token=${lab.server.token}` });
    await viewing.until(hasSnapshots(4));
    expect(viewing.of('supervisor')[0]?.snapshot?.context).toBe('nothing');
    viewing.socket.terminate();
  });

  it('the end of the server', async () => {
    const lab = await serverLab();
    const viewing = connect(lab, { query: `?token=${lab.server.token}` });
    await viewing.until(hasSnapshots(4));
    const closed = once(viewing.socket, 'close');
    await lab[Symbol.asyncDispose]();
    expect((await closed)[0]).toBe(1001);
  });
});

describe('the page around the hosted inspector', () => {
  it('may frame that and run its own script, and nothing else', async () => {
    await using lab = await serverLab();
    const answer = await lab.fetch('/inspect?job=a');
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(answer.headers.get('content-security-policy')).toContain('frame-src https://stately.ai;');
    const text = await answer.text();
    expect(text).toContain('<script src="inspect.js?job=a"></script>');
    expect((await lab.fetch('/inspect.js?job=a')).headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect((await lab.fetch('/inspect.css')).headers.get('content-type')).toBe('text/css; charset=utf-8');
    expect(text).not.toMatch(/<style|<script>|\son\w+=/);
  });

  it('shows what is in its address as text', async () => {
    await using lab = await serverLab();
    const text = await (await lab.fetch(`/inspect?job=${encodeURIComponent('"><script>alert(1)</script>')}`)).text();
    expect(text).not.toContain('<script>');
  });

  it('needs a token, as everything', async () => {
    await using lab = await serverLab();
    const get = (path: string, headers = {}) => fetch(new URL(path, lab.server.url), { headers }).then(({ status }) => status);
    expect(await get('inspect')).toBe(401);
    expect(await get('inspect.js')).toBe(401);
    expect(await get(`inspect?token=${lab.server.issueToken('observe')}`)).toBe(200);
    expect(await get(`inspect?token=${lab.server.issueToken('session:s')}`)).toBe(403);
    expect(await get(`inspect?token=${lab.server.token}&jobs=1`)).toBe(400);
    // Nowhere else does a token in an address count.
    expect(await get(`api/jobs?token=${lab.server.token}`)).toBe(401);
  });
});
