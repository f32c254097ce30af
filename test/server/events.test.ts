/** B53, B57, SSE1–SSE3, WSC1–WSC3: events over real sockets. */
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { Frame } from '../../src/doors/requests/connection.ts';
import { LIMITS } from '../../src/index.ts';
import { type Client, serverLab } from './lab.ts';
import { rawFrame, rawSocket, rawWebSocket, requestHead } from './raw.ts';

const from = (first: number, last: number): number[] => Array.from({ length: last - first + 1 }, (_, index) => first + index);
const isRecord = ({ type, volatile }: Frame): boolean =>
  /^(?:job_created|job_status|card_updated|session\.state_changed|session\.removed|task\.(?:created|updated|removed))$/.test(
    type,
  ) && volatile !== true;
const seqs = (frames: readonly Frame[]): number[] => frames.filter(isRecord).map(({ seq }) => seq as number);
const ends = (frames: readonly Frame[]): readonly unknown[] =>
  frames
    .filter(({ type, status }) => type === 'job_status' && (status === 'completed' || status === 'errored'))
    .map(({ job_id: id }) => id);
const MIB = 1024 * 1024;

it('the head of a stream is answered, and that is all of it', async () => {
  await using lab = await serverLab();
  const answer = await lab.fetch('/api/events', { method: 'HEAD' });
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
  const figures = await (await lab.fetch('/metrics')).text();
  expect(figures).toContain('offstage_subscribers 0\n');
});

describe('B53', () => {
  it('ten jobs end while a client is away: a jump is visible, what it reads then is what is so', async () => {
    await using lab = await serverLab();
    const { offstage } = lab;
    const first = await lab.client();
    const snapshot = await first.ask('subscribe');
    await offstage.spawn({ kind: 'echo', jobId: 'before' });
    await first.frameOf((frame) => frame.type === 'card_updated' && frame.status === 'completed');
    const seen = seqs(first.frames);
    expect(seen).toEqual(from((snapshot.seq as number) + 1, seen.at(-1) as number));
    first.socket.terminate();
    const ids = from(1, 10).map((number) => `j${number}`);
    await Promise.all(ids.map((jobId) => offstage.spawn({ kind: 'echo', jobId })));
    await offstage.waitMany(ids);
    const second = await lab.client();
    const again = await second.ask('subscribe');
    expect(again.seq).toBeGreaterThan(seen.at(-1) as number);
    const listed = (await second.ask('list_jobs')).tasks as readonly Frame[];
    expect(listed).toHaveLength(11);
    for (const row of listed) {
      const { type: _, request_id: __, ...record } = await second.ask('get_job', { job_id: row.job_id as string });
      expect(row).toEqual(record);
    }
    expect(ends(second.frames)).toEqual([]);
  });

  it('three reconnects with a cursor: nothing twice, nothing missing, one end per job and connection', async () => {
    await using lab = await serverLab();
    const { offstage } = lab;
    const all: Frame[] = [];
    let cursor = 0;
    for (let round = 0; round < 4; round++) {
      await offstage.spawn({ kind: 'echo', jobId: `away${round}` });
      await offstage.wait(`away${round}`);
      const client: Client = await lab.client();
      await client.ask('subscribe', { after: cursor });
      await offstage.spawn({ kind: 'echo', jobId: `here${round}` });
      await client.frameOf(
        (frame) => frame.type === 'card_updated' && frame.job_id === `here${round}` && frame.status === 'completed',
      );
      expect(ends(client.frames)).toEqual([`away${round}`, `here${round}`]);
      all.push(...client.frames);
      cursor = Math.max(...seqs(client.frames));
      client.socket.terminate();
    }
    expect(seqs(all)).toEqual(from(1, cursor));
  });
});

describe('B57', () => {
  it('a listener that throws and one that rejects: clients see everything, jobs end, the host lives', async () => {
    await using lab = await serverLab();
    const { offstage } = lab;
    offstage.onEvent(() => {
      throw new Error('throws on every event');
    });
    offstage.onEvent(() => Promise.reject(new Error('rejects on every event')));
    const client = await lab.client();
    const snapshot = await client.ask('subscribe');
    const ids = from(1, 20).map((number) => `j${number}`);
    await Promise.all(ids.map((jobId) => offstage.spawn({ kind: 'echo', jobId })));
    const done = await offstage.waitMany(ids);
    expect(done.every((entry) => 'status' in entry && entry.status === 'completed')).toBe(true);
    const { seq } = await offstage.snapshot();
    await client.frameOf((frame) => frame.seq === seq);
    expect(seqs(client.frames)).toEqual(from((snapshot.seq as number) + 1, seq));
    expect(new Set(ends(client.frames))).toEqual(new Set(ids));
    expect(lab.engine.log.some(({ event }) => event === 'observer.failed')).toBe(true);
  });
});

describe('a client that does not read', () => {
  it('WSC1: costs bounded memory, gets one resync and every record when it reads again; others are served meanwhile', async () => {
    await using lab = await serverLab();
    const { offstage, gate } = lab;
    const other = await lab.client();
    const slow = await lab.client();
    const [snapshot] = await Promise.all([slow.ask('subscribe'), other.ask('subscribe', { types: ['job_status'] })]);
    slow.socket.pause();
    await offstage.spawn({ kind: 'gate', jobId: 'g' });
    const { context } = await gate.started('g');
    for (let number = 0; number < 40; number++) {
      context.output('x'.repeat(MIB));
      // What was just printed has a chance to be sent.
      await other.ask('whoami');
    }
    await gate.release('g');
    await other.frameOf(({ status }) => status === 'completed');
    const metrics = await (await lab.fetch('/metrics')).text();
    expect(Number(/^offstage_broadcast_bytes (\d+)$/m.exec(metrics)?.[1])).toBeLessThanOrEqual(LIMITS.broadcastBytes);
    slow.socket.resume();
    await slow.frameOf((frame) => frame.type === 'card_updated' && frame.status === 'completed');
    const { seq } = await offstage.snapshot();
    expect(seqs(slow.frames)).toEqual(from((snapshot.seq as number) + 1, seq));
    expect(slow.frames.filter(({ type }) => type === 'resync')).toHaveLength(1);
    const received = slow.frames.reduce((sum, frame) => sum + ((frame.text as string | undefined)?.length ?? 0), 0);
    expect(received).toBeLessThan(40 * MIB);
  });

  it('RIN2: of its requests no more are read than it reads answers', async () => {
    await using lab = await serverLab();
    const input = 'x'.repeat(500_000);
    for (let number = 0; number < 4; number++) await lab.offstage.spawn({ kind: 'echo', jobId: `j${number}`, input });
    await lab.offstage.waitMany(['j0', 'j1', 'j2', 'j3']);
    const socket = await rawWebSocket(lab.server);
    socket.pause();
    const ask = rawFrame(0x81, JSON.stringify({ action: 'get_job', job_id: 'j0' }));
    const all = 2_000;
    const before = process.memoryUsage().rss;
    for (let number = 0; number < all; number++) socket.write(ask);
    const other = await lab.client();
    for (let number = 0; number < 20; number++) expect(await other.ask('whoami')).toMatchObject({ type: 'result' });
    const handled = Number(
      /offstage_requests_total\{action="get_job",outcome="ok"\} (\d+)/.exec(await (await lab.fetch('/metrics')).text())?.[1],
    );
    expect(handled).toBeLessThan(200);
    expect(process.memoryUsage().rss - before).toBeLessThan(400 * MIB);
    socket.destroy();
    await once(socket, 'close');
    expect(await other.ask('whoami')).toMatchObject({ type: 'result' });
    // What it had asked, and nobody reads any more, is not looked up.
    const later = Number(
      /offstage_requests_total\{action="get_job",outcome="ok"\} (\d+)/.exec(await (await lab.fetch('/metrics')).text())?.[1],
    );
    expect(later).toBeLessThan(200);
  });
});

describe('WSC3: heartbeats', () => {
  it('come as frames, with the seq up to which the client has everything', async () => {
    await using lab = await serverLab({}, { heartbeatMs: 30 });
    const client = await lab.client();
    await client.ask('subscribe');
    await lab.offstage.spawn({ kind: 'echo', jobId: 'e' });
    await lab.offstage.wait('e');
    const { seq, epoch } = await lab.offstage.snapshot();
    const beat = await client.frameOf((frame) => frame.type === 'heartbeat' && frame.seq === seq);
    expect(beat).toEqual({ type: 'heartbeat', epoch, seq, at: expect.any(Number) });
    for (const [index, frame] of client.frames.entries()) {
      if (frame.type !== 'heartbeat') continue;
      const earlier = seqs(client.frames.slice(0, index));
      expect(seqs(client.frames.slice(index)).every((later) => later > (frame.seq as number))).toBe(true);
      if (earlier.length > 0) expect(frame.seq).toBeGreaterThanOrEqual(earlier.at(-1) as number);
    }
  });

  it('a peer that answers no ping is dropped; one that answers stays', async () => {
    await using lab = await serverLab({}, { heartbeatMs: 40 });
    const client = await lab.client();
    const dead = await rawWebSocket(lab.server);
    dead.resume();
    await once(dead, 'close');
    expect(await client.ask('whoami')).toMatchObject({ type: 'result' });
  });

  it('one that takes nothing of what waits for it is dropped', async () => {
    await using lab = await serverLab({}, { heartbeatMs: 40 });
    await lab.offstage.spawn({ kind: 'echo', jobId: 'big', input: 'x'.repeat(900_000) });
    await lab.offstage.wait('big');
    const socket = await rawWebSocket(lab.server);
    socket.pause();
    for (let number = 0; number < 100; number++)
      socket.write(rawFrame(0x81, JSON.stringify({ action: 'get_job', job_id: 'big' })));
    const other = await lab.client();
    for (;;) {
      const text = await (await lab.fetch('/metrics')).text();
      await other.ask('whoami');
      if (/offstage_connections\{kind="websocket"\} 1$/m.test(text)) break;
    }
    socket.destroy();
  });
});

describe('SSE1, SSE2: events over HTTP', () => {
  interface Told {
    readonly id: string | null;
    readonly type: string;
    readonly data: Frame;
  }

  async function* stream(response: Response): AsyncGenerator<Told> {
    let text = '';
    for await (const part of response.body as unknown as AsyncIterable<Uint8Array>) {
      text += Buffer.from(part).toString();
      for (let at = text.indexOf('\n\n'); at !== -1; at = text.indexOf('\n\n')) {
        const lines = text.slice(0, at).split('\n');
        text = text.slice(at + 2);
        const field = (name: string): string | null =>
          lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2) ?? null;
        const data = field('data');
        if (data !== null) yield { id: field('id'), type: field('event') as string, data: JSON.parse(data) as Frame };
      }
    }
  }

  it('a snapshot and then events; back with Last-Event-ID nothing is missing', async () => {
    await using lab = await serverLab({}, { heartbeatMs: 20 });
    const { offstage, gate } = lab;
    const leave = new AbortController();
    const response = await lab.fetch('/api/events?brief=true', { signal: leave.signal });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    await offstage.spawn({ kind: 'gate', jobId: 'g' });
    (await gate.started('g')).context.output('hello');
    await gate.release('g');
    const told: Told[] = [];
    for await (const one of stream(response)) {
      told.push(one);
      if (one.type === 'card_updated' && one.data.status === 'completed') break;
    }
    leave.abort();
    expect(told[0]).toMatchObject({ type: 'snapshot', id: String(told[0]?.data.seq) });
    expect(told.find(({ type }) => type === 'job_output')).toMatchObject({ id: null, data: { text: 'hello' } });
    for (const { id, data } of told.slice(1)) expect(id).toBe(isRecord(data) ? String(data.seq) : null);
    const last = told.at(-1)?.id as string;
    await offstage.spawn({ kind: 'echo', jobId: 'e' });
    await offstage.wait('e');
    const again = await lab.fetch('/api/events?after=0&types=job_created&types=job_status', {
      headers: { 'last-event-id': last },
    });
    const missed: Told[] = [];
    for await (const one of stream(again)) {
      missed.push(one);
      if (one.type === 'snapshot') break;
    }
    expect(missed.map(({ type, data }) => [type, data.job_id, data.status])).toEqual([
      ['job_created', 'e', 'pending'],
      ['job_status', 'e', 'queued'],
      ['job_status', 'e', 'running'],
      ['job_status', 'e', 'completed'],
      ['snapshot', undefined, undefined],
    ]);
  });

  it('a cursor from elsewhere: one resync', async () => {
    await using lab = await serverLab();
    for await (const one of stream(await lab.fetch('/api/events?after=1000000'))) {
      expect(one).toMatchObject({ type: 'resync', id: expect.any(String) });
      break;
    }
  });

  it.each([
    ['after=-1', 400],
    ['after=x', 400],
    ['types=nothing', 400],
    ['hold=true', 400],
    ['job_id=a&session_id=b', 400],
  ])('%s is refused as JSON', async (query, status) => {
    await using lab = await serverLab();
    const answer = await lab.fetch(`/api/events?${query}`);
    expect([answer.status, await answer.json()]).toMatchObject([status, { error_code: 'input.invalid' }]);
    expect(await (await lab.fetch('/metrics')).text()).toMatch(/offstage_connections\{kind="sse"\} 0/);
  });

  it('SSE3: a reader that takes nothing is dropped', async () => {
    await using lab = await serverLab({}, { heartbeatMs: 40 });
    const { offstage, gate } = lab;
    await offstage.spawn({ kind: 'gate', jobId: 'g' });
    const { context } = await gate.started('g');
    const socket = await rawSocket(lab.server);
    socket.pause();
    socket.write(requestHead(lab.server, '/api/events'));
    const open = async (): Promise<number> =>
      Number(/offstage_connections\{kind="sse"\} (\d)/.exec(await (await lab.fetch('/metrics')).text())?.[1]);
    while ((await open()) === 0);
    for (let number = 0; number < 10; number++) context.output('x'.repeat(MIB));
    while ((await open()) === 1);
    socket.destroy();
  });
});
