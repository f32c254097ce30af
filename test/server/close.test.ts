/** SRV1, SRV2: the end of a server is bounded, and nobody is left without a goodbye. */
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import { describe, expect, it } from 'vitest';
import { serve } from '../../src/doors/server/index.ts';
import { LIMITS, open } from '../../src/index.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { connect, serverLab } from './lab.ts';
import { closeCodeIn, gone, opcodesIn, rawFrame, rawSocket, rawWebSocket, requestHead } from './raw.ts';

describe('SRV2: close', () => {
  it('with clients that idle, that do not read, that stopped within a request: bounded, and each gets its end', async () => {
    await using lab = await serverLab();
    await lab.offstage.spawn({ kind: 'echo', jobId: 'big', input: 'x'.repeat(900_000) });
    await lab.offstage.wait('big');
    const idle = await lab.client();
    const follower = await lab.client();
    await follower.ask('subscribe');
    const stuck = await rawWebSocket(lab.server);
    stuck.pause();
    for (let number = 0; number < 50; number++) stuck.write(rawFrame(0x81, JSON.stringify({ action: 'get_job', job_id: 'big' })));
    const half = await rawSocket(lab.server);
    half.write(requestHead(lab.server, '/api/jobs', { 'Content-Length': '10' }, 'POST'));
    const silent = await rawSocket(lab.server);
    const stream = await lab.fetch('/api/events');
    const kept = await rawSocket(lab.server);
    kept.write(requestHead(lab.server, '/healthz'));
    await once(kept, 'data');
    await idle.ask('whoami');
    const ends = [half, silent, kept].map(gone);
    const startedAt = performance.now();
    await Promise.all([lab.server.close(), lab.server.close()]);
    expect(performance.now() - startedAt).toBeLessThan(LIMITS.goodbyeMs + 2_000);
    expect(await Promise.all([idle.closed, follower.closed])).toEqual([1001, 1001]);
    expect(await stream.text()).toContain('event: snapshot');
    await Promise.all(ends);
    stuck.destroy();
    await expect(fetch(`${lab.server.url}healthz`)).rejects.toThrow();
    expect(await lab.offstage.health()).toMatchObject({ status: 'ok' });
  });

  it('without clients takes no time', async () => {
    await using lab = await serverLab();
    const startedAt = performance.now();
    await lab.server.close();
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });
});

describe('SRV1: the engine closes', () => {
  it('the ends of its jobs and the answers of waits come first, then 1001', async () => {
    const offstage = await open({
      store: memoryStore(),
      shutdownGraceMs: 300,
      executors: { forever: () => new Promise(() => {}) },
    });
    const server = await serve(offstage);
    const client = await connect(server);
    const waiter = await connect(server);
    await client.ask('subscribe', { types: ['job_status'] });
    await client.ask('spawn_job', { kind: 'forever', job_id: 'f' });
    await client.frameOf(({ type, status }) => type === 'job_status' && status === 'running');
    const answer = waiter.ask('await_jobs', { job_ids: ['f'], timeout: null });
    await waiter.ask('whoami');
    await offstage.close();
    expect(await client.closed).toBe(1001);
    expect(client.frames.at(-1)).toMatchObject({ type: 'job_status', status: 'errored', reason_code: 'abandoned.shutdown' });
    expect(await answer).toMatchObject({ tasks: [{ job_id: 'f', status: 'errored' }] });
    await expect(fetch(`${server.url}healthz`)).rejects.toThrow();
    await expect(serve(offstage)).rejects.toMatchObject({ code: 'engine.closing' });
    await server.close();
  });

  it('get_server says where it is while it is there', async () => {
    await using lab = await serverLab();
    const second = await serve(lab.offstage);
    const client = await connect(second);
    expect(await client.ask('get_server')).toMatchObject({ url: second.url });
    await second.close();
    expect(await (await lab.client()).ask('get_server')).toMatchObject({ url: null });
  });
});

describe('WSC2: after the close frame', () => {
  it('nothing follows, while events go on', async () => {
    await using lab = await serverLab();
    const socket = await rawWebSocket(lab.server);
    const parts: Buffer[] = [];
    socket.on('data', (part) => parts.push(part));
    socket.write(rawFrame(0x81, JSON.stringify({ action: 'subscribe' })));
    await once(socket, 'data');
    const spawning = Promise.all(Array.from({ length: 50 }, () => lab.offstage.spawn({ kind: 'echo' })));
    const closing = lab.server.close();
    await Promise.all([spawning, closing, gone(socket)]);
    const bytes = Buffer.concat(parts);
    expect(closeCodeIn(bytes)).toBe(1001);
    const opcodes = opcodesIn(bytes);
    expect(opcodes.indexOf(8)).toBe(opcodes.length - 1);
  });
});

describe('WSC2: after the close frame that a client has asked for', () => {
  it('no answer follows, also while it does not read', async () => {
    await using lab = await serverLab();
    await lab.offstage.spawn({ kind: 'echo', jobId: 'big', input: 'x'.repeat(900_000) });
    await lab.offstage.wait('big');
    await lab.offstage.spawn({ kind: 'gate', jobId: 'g' });
    await lab.gate.started('g');
    const socket = await rawWebSocket(lab.server);
    const parts: Buffer[] = [];
    socket.pause();
    socket.write(rawFrame(0x81, JSON.stringify({ action: 'await_jobs', job_ids: ['g'], timeout: null })));
    for (let number = 0; number < 8; number++) socket.write(rawFrame(0x81, JSON.stringify({ action: 'get_job', job_id: 'big' })));
    const other = await lab.client();
    const answered = async (): Promise<number> =>
      Number(
        /offstage_requests_total\{action="get_job",outcome="ok"\} (\d+)/.exec(await (await lab.fetch('/metrics')).text())?.[1] ??
          0,
      );
    while ((await answered()) === 0);
    socket.write(rawFrame(0x88, Buffer.from([0x03, 0xe8])));
    await other.ask('whoami');
    await lab.gate.release('g');
    await lab.offstage.wait('g');
    await other.ask('whoami');
    socket.on('data', (part) => parts.push(part));
    socket.resume();
    await gone(socket);
    const opcodes = opcodesIn(Buffer.concat(parts));
    expect(opcodes.length).toBeGreaterThan(0);
    if (opcodes.includes(8)) expect(opcodes.indexOf(8)).toBe(opcodes.length - 1);
  });
});

describe('limit.connections', () => {
  it('one more than the limit is told so, over HTTP and WebSocket, and the others go on', async () => {
    await using lab = await serverLab();
    const sockets = await Promise.all(Array.from({ length: LIMITS.connections }, () => rawSocket(lab.server)));
    const more = await rawSocket(lab.server);
    more.write(requestHead(lab.server, '/api/jobs'));
    const [text] = (await once(more, 'data')) as [Buffer];
    expect(String(text)).toMatch(/^HTTP\/1\.1 503 /);
    expect(String(text)).toContain('limit.connections');
    await expect(connect(lab.server)).rejects.toMatchObject({ status: 503 });
    const [first] = sockets;
    first?.write(requestHead(lab.server, '/api/whoami'));
    const [answer] = (await once(first as NonNullable<typeof first>, 'data')) as [Buffer];
    expect(String(answer)).toMatch(/^HTTP\/1\.1 200 /);
    for (const socket of sockets) socket.destroy();
  });
});
