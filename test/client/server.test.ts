/** VRB1–VRB3, CNT1–CNT3, OCL1–OCL3 against the real server: every verb, the rows, tokens, and a server that is killed and comes back. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { mockAgent } from '../../src/adapters/mock-agent.ts';
import {
  connect,
  type JobRow,
  type JobView,
  type JsonValue,
  type LiveState,
  type OffstageClient,
  type OffstageEvent,
} from '../../src/doors/client/index.ts';
import { type OffstageServer, type ServeOptions, serve } from '../../src/doors/server/index.ts';
import type { Offstage } from '../../src/engine/offstage.ts';
import { isVolatileEvent } from '../../src/model/events.ts';
import type { Executors } from '../../src/model/executor.ts';
import type { EngineOptions } from '../../src/model/options.ts';
import { open } from '../../src/open.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { controlledExecutor } from '../../src/testing/controlled-executor.ts';

const strays: unknown[] = [];
const note = (error: unknown): unknown => strays.push(error);
beforeAll(() => void process.on('unhandledRejection', note));
afterAll(() => {
  process.off('unhandledRejection', note);
  expect(strays).toEqual([]);
});

const toClose: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of toClose.splice(0).reverse()) await close();
});

async function lab(
  options: EngineOptions<Executors> = {},
  serving: ServeOptions = {},
): Promise<{ offstage: Offstage<Executors>; server: OffstageServer; client: OffstageClient }> {
  const offstage = (await open({
    store: memoryStore(),
    workers: 4,
    ...options,
    executors: { echo, print: printing, hang: hanging, ...options.executors },
  } as never)) as unknown as Offstage<Executors>;
  toClose.push(() => offstage.close());
  const server = await serve(offstage, serving);
  const client = connected(server);
  return { offstage, server, client };
}

const echo: Executors[string] = async (job: { readonly input: JsonValue }) => job.input;
const printing: Executors[string] = async (job, context) => {
  for (const line of job.input as readonly string[]) context.output(`${line}\n`);
  return null;
};
const hanging: Executors[string] = (_, { signal }) =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

function connected(server: Pick<OffstageServer, 'url' | 'token'>, options: object = {}): OffstageClient {
  const client = connect({ url: server.url, token: server.token, WebSocket, ...options });
  toClose.push(() => client.close());
  return client;
}

/** Resolves when it is so. */
function until(client: OffstageClient, isSo: (state: LiveState) => boolean): Promise<LiveState> {
  return new Promise((resolve) => {
    const look = (state: LiveState): void => {
      if (!isSo(state)) return;
      stop();
      resolve(state);
    };
    const stop = client.live.subscribe(look);
    look(client.live.get());
  });
}

it('OCL1: whoever waited for the first state finds it', async () => {
  const { offstage, client } = await lab();
  await offstage.spawn({ kind: 'hang', jobId: 'early' });
  await client.opened();
  const { connection, jobs } = client.live.get();
  expect(connection).toMatchObject({ status: 'open', seq: expect.any(Number), epoch: expect.any(String) });
  expect([...jobs.keys()]).toEqual(['early']);
});

describe('the verbs', () => {
  it('about jobs', async () => {
    const { offstage, client } = await lab();
    const spawned = await client.spawn({ kind: 'echo', input: { a: 1 }, jobId: 'e', subject: 'An echo', parentMessageId: 'm' });
    expect(spawned).toEqual({ jobId: 'e', status: 'queued', parentMessageId: 'm' });
    const [ended] = await client.awaitJobs(['e'], { mode: 'any', timeoutMs: 10_000 });
    expect(ended).toEqual(await offstage.get('e'));
    expect(await client.getJob('e')).toEqual(await offstage.get('e'));
    expect(await client.awaitJobs(['none', 'e'], { timeoutMs: 0 })).toMatchObject([
      { jobId: 'none', error: { code: 'job.not_found' } },
      { jobId: 'e' },
    ]);
    await expect(client.getJob('none')).rejects.toMatchObject({
      name: 'OffstageError',
      code: 'job.not_found',
      details: { jobId: 'none' },
    });
    expect(await client.history('e')).toEqual(await offstage.history('e'));
    await client.spawn({ kind: 'print', input: ['one', 'two', 'three'], jobId: 'p' });
    await client.awaitJobs(['p']);
    expect(await client.output('p', { tail: 1 })).toEqual({ text: 'three\n', isCut: false, end: 14 });
    expect(await client.output('p')).toEqual({ text: 'one\ntwo\nthree\n', isCut: false, end: 14 });
    const pieces: string[] = [];
    expect(await client.readOutput('p', {}, (text) => void pieces.push(text))).toBe(14);
    expect(pieces.join('')).toBe('one\ntwo\nthree\n');
    const failed = client.readOutput('p', {}, () => {
      throw new Error('mine');
    });
    await expect(failed).rejects.toThrow('mine');
    expect((await client.listJobs({ kind: 'echo' })).map(({ jobId }) => jobId)).toEqual(['e']);
    expect(await client.listJobs({ status: ['completed'], limit: 1 })).toEqual(await offstage.list({ limit: 1 }));
    await client.spawn({ kind: 'hang', jobId: 'h1' });
    await client.spawn({ kind: 'hang', jobId: 'h2' });
    expect(await client.cancelJob('h1', { reason: 'enough' })).toMatchObject({
      jobId: 'h1',
      cancelRequestedAt: expect.any(Number),
    });
    expect(await client.cancelJobs({ ids: ['h2', 'e', 'x'] })).toMatchObject({ alreadyTerminal: ['e'], notFound: ['x'] });
    expect(await client.awaitJobs(['h1', 'h2'])).toMatchObject([
      { status: 'cancelled', cancelReason: 'enough' },
      { status: 'cancelled' },
    ]);
    const cards = await client.listCards({ sessionId: 'default' });
    expect(cards).toEqual(await offstage.cards.list({ sessionId: 'default' }));
    expect(await client.getCard('card_e')).toEqual(await offstage.cards.get('card_e'));
    expect(await client.processes()).toEqual([]);
    expect(await client.health()).toEqual(offstage.health());
    expect(await client.whoami()).toEqual({ scope: 'operate', epoch: expect.any(String), version: expect.any(String) });
  });

  it('about tasks and sessions', async () => {
    const mock = mockAgent({ attests: { workloads: ['subagent'], yield: true, handoff: true, snapshot: true } });
    const { offstage, client } = await lab({ agents: { default: mock.factory } });
    expect(await client.createTask({ taskId: 't', title: 'A task' })).toEqual(await offstage.tasks.get('t'));
    expect(await client.createSession({ sessionId: 's', taskId: 't' })).toEqual(await offstage.sessions.get('s'));
    expect(await client.listTasks()).toEqual(await offstage.tasks.list());
    expect(await client.listSessions({ limit: 1 })).toEqual(await offstage.sessions.list({ limit: 1 }));
    expect(await client.setTaskState('t', 'review')).toMatchObject({ taskId: 't', state: 'review' });
    const asked = client.prompt('s', { content: 'hello', promptId: 'p1' });
    const prompt = await mock.nextPrompt();
    expect(prompt.content).toBe('hello');
    expect(await asked).toMatchObject({ accepted: true, promptId: 'p1' });
    const queued = await client.prompt('s', { content: 'again', whenBusy: 'queue' });
    expect(queued).toMatchObject({ queued: true, position: 1 });
    const [ticket] = await client.tickets('s');
    expect(ticket).toEqual((await offstage.sessions.tickets('s'))[0]);
    expect(await client.cancelTicket(ticket?.ticketId as string)).toEqual({ changed: true });
    await expect(client.prompt('s', { content: 'no' })).rejects.toMatchObject({ code: 'prompt.busy', retryable: true });
    mock.emit({ type: 'permission.request', requestId: 'q', title: 'May I?', options: [{ yes: true }] } as never);
    await until(client, ({ sessions }) => sessions.get('s')?.pending?.requestId === 'q');
    expect((await client.getSession('s')).pending).toEqual((await offstage.sessions.get('s')).pending);
    expect(await client.getSession('s')).toMatchObject({ pending: { title: 'May I?', options: [{ yes: true }] } });
    await expect(client.answer('s', 'other', null)).rejects.toMatchObject({ code: 'request.not_found' });
    await client.answer('s', 'q', null);
    expect(mock.agents[0]?.answers).toEqual([{ requestId: 'q', choice: null }]);
    expect(await client.workloads('s')).toEqual(await offstage.workloads.list('s'));
    await expect(client.dismissWorkload('s', 'none')).rejects.toMatchObject({ code: 'workload.not_found' });
    expect(await client.removeTask('t')).toMatchObject({ done: false, warning: { generating: 1 } });
    expect(await client.archiveTask('t')).toMatchObject({ done: false });
    expect(await client.interrupt('s')).toEqual({ changed: true });
    expect(await client.stopSession('s', { wait: true, reason: 'done' })).toMatchObject({ durable: true, failed: [] });
    await expect(client.stopTask('t')).rejects.toMatchObject({ code: 'stop.nothing_running', details: { id: 't' } });
    expect(await client.archiveTask('t')).toEqual({ done: true });
    expect(await client.listTasks()).toEqual([]);
    expect(await client.listTasks({ archived: true })).toMatchObject([{ taskId: 't', state: 'archived' }]);
    expect(await client.removeSession('s')).toEqual({ done: true });
    expect(await client.removeTask('t', { confirm: true })).toEqual({ done: true });
    await expect(client.getTask('t')).rejects.toMatchObject({ code: 'task.not_found' });
  });

  it('VRB2: lists answer as many as were asked for, in pages', async () => {
    const { offstage, client } = await lab();
    await Promise.all(
      Array.from({ length: 1_200 }, (_, n) => offstage.spawn({ kind: 'echo', input: 'x'.repeat(1_000), jobId: `e${n}` })),
    );
    expect((await client.listJobs()).length).toBe(50);
    expect((await client.listJobs({ limit: 700 })).length).toBe(700);
    const all = await client.listJobs({ limit: Number.POSITIVE_INFINITY });
    expect(new Set(all.map(({ jobId }) => jobId)).size).toBe(1_200);
    let pages = 0;
    for await (const page of client.jobPages()) pages += page.length > 0 ? 1 : 0;
    expect(pages).toBeGreaterThan(1);
  });
});

describe('a body that was given up', () => {
  it('is shown as perhaps still at work until it has really settled, which no event tells', async () => {
    const deaf = controlledExecutor({ stubborn: true });
    const { offstage, client } = await lab({ executors: { deaf }, cancelGraceMs: 1 }, { heartbeatMs: 20 });
    await offstage.spawn({ kind: 'deaf', jobId: 'd' });
    await deaf.started('d');
    await offstage.cancel('d');
    await until(client, ({ jobs }) => jobs.get('d')?.detached === true && jobs.get('d')?.bodyLive === true);
    await deaf.release('d');
    const { jobs } = await until(client, (state) => state.jobs.get('d')?.bodyLive === false);
    expect(jobs.get('d')).toMatchObject({ status: 'cancelled', detached: true });
  });
});

describe('the rows', () => {
  it('B61: are those of the engine, while things happen and after', async () => {
    const { offstage, client } = await lab();
    const events: OffstageEvent[] = [];
    client.onEvent((event) => void events.push(event));
    await client.opened();
    const ids = Array.from({ length: 300 }, (_, n) => `e${n}`);
    await Promise.all(ids.map((jobId) => client.spawn({ kind: 'echo', input: jobId, jobId })));
    await client.spawn({ kind: 'hang', jobId: 'h' });
    await client.createTask({ taskId: 't', title: 'T' });
    await offstage.waitMany(ids, { timeoutMs: null });
    const { counts } = await until(
      client,
      (state) => state.counts.completed === 300 && state.counts.running === 1 && state.tasks.has('t'),
    );
    expect(counts.running).toBe((await offstage.list({ status: 'running' })).length);
    await until(client, ({ tasks }) => tasks.get('default')?.runningJobs === 1);
    await expectSame(client, offstage);
    const seqs = events.filter((event) => !isVolatileEvent(event)).map(({ seq }) => seq);
    expect(seqs).toEqual(Array.from({ length: seqs.length }, (_, n) => (seqs[0] ?? 0) + n));
    await client.cancelJob('h');
    await until(client, ({ jobs }) => jobs.get('h')?.status === 'cancelled');
    await until(client, ({ tasks }) => tasks.get('default')?.runningJobs === 0);
    await expectSame(client, offstage);
  });

  it('of another client that comes late, and of one that may only look', async () => {
    const { offstage, server, client } = await lab();
    await offstage.tasks.create({ taskId: 't' });
    await offstage.sessions.create({ sessionId: 's', taskId: 't' });
    await offstage.spawn({ kind: 'echo', jobId: 'own', sessionId: 's' });
    await offstage.spawn({ kind: 'echo', jobId: 'other' });
    await offstage.waitMany(['own', 'other']);
    await until(client, ({ isComplete }) => isComplete);
    await expectSame(client, offstage);
    const looking = connected({ url: server.url, token: server.issueToken('observe') });
    await until(looking, ({ isComplete }) => isComplete);
    await expectSame(looking, offstage);
    await expect(looking.spawn({ kind: 'echo' })).rejects.toMatchObject({ code: 'access.forbidden' });
    const own = connected({ url: server.url, token: server.issueToken('session:s') });
    const { jobs, sessions } = await until(own, ({ isComplete }) => isComplete);
    expect([...jobs.keys()]).toEqual(['own']);
    expect([...sessions.keys()]).toEqual(['s']);
  });
});

const briefly = ({ input: _i, description: _d, result: _r, resultText: _t, partialText: _p, ...row }: JobView): JobRow => row;

/** What events do not say is read a little later. */
async function expectSame(client: OffstageClient, offstage: Offstage<Executors>): Promise<void> {
  const overdue = AbortSignal.timeout(15_000);
  for (;;) {
    const changed = nextChange(client, overdue);
    try {
      return await compare(client, offstage);
    } catch (error) {
      if (overdue.aborted) throw error;
      await changed;
    }
  }
}

/** Also when it is overdue: then it will not come any more. */
const nextChange = (client: OffstageClient, overdue: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      stop();
      resolve();
    };
    const stop = client.live.subscribe(done);
    overdue.addEventListener('abort', done, { once: true });
  });

async function compare(client: OffstageClient, offstage: Offstage<Executors>): Promise<void> {
  const { jobs, sessions, tasks } = client.live.get();
  const listed = await offstage.list({ limit: 1_000 });
  expect(new Map(jobs)).toEqual(new Map(listed.map((job) => [job.jobId, briefly(job)])));
  expect(new Map([...sessions].map(([id, { sessionSeq: _, ...row }]) => [id, row]))).toEqual(
    new Map((await offstage.sessions.list({ limit: 1_000 })).map(({ sessionSeq: _, ...row }) => [row.sessionId, row])),
  );
  expect(new Map([...tasks].map(([id, { taskSeq: _, ...row }]) => [id, row]))).toEqual(
    new Map((await offstage.tasks.list({ limit: 1_000, archived: true })).map(({ taskSeq: _, ...row }) => [row.taskId, row])),
  );
}

describe('getting in', () => {
  it('RCN3: a wrong token is told as such, with or without one, and not tried again', async () => {
    const { server } = await lab();
    for (const token of ['0123456789abcdef-wrong', undefined]) {
      let sockets = 0;
      class Counted extends WebSocket {
        constructor(url: string, protocols: string[]) {
          super(url, protocols);
          sockets += 1;
        }
      }
      const client = connect({ url: server.url, WebSocket: Counted, ...(token === undefined ? {} : { token }) });
      toClose.push(() => client.close());
      await expect(client.opened()).rejects.toMatchObject({ code: 'access.unauthorized' });
      const { connection } = await until(client, (state) => state.connection.status === 'refused');
      expect(connection).toMatchObject({ error: { code: 'access.unauthorized' }, retryAt: null });
      await expect(client.health()).rejects.toMatchObject({ code: 'access.unauthorized' });
      expect(sockets).toBe(1);
    }
  });

  it('CNT1: without a WebSocket of the platform, that of the package ws is used', async () => {
    const { server } = await lab();
    const own = Object.getOwnPropertyDescriptor(globalThis, 'WebSocket');
    Reflect.deleteProperty(globalThis, 'WebSocket');
    try {
      const client = connect({ url: server.url, token: server.token });
      toClose.push(() => client.close());
      await client.opened();
      expect((await client.whoami()).scope).toBe('operate');
    } finally {
      if (own !== undefined) Object.defineProperty(globalThis, 'WebSocket', own);
    }
  });

  it.runIf('WebSocket' in globalThis)('CNT1: that of the platform', async () => {
    const { server } = await lab();
    const client = connect({ url: server.url, token: server.token });
    toClose.push(() => client.close());
    await client.opened();
    expect((await client.whoami()).scope).toBe('operate');
  });

  it('behind a path', async () => {
    const urls: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      urls.push(request.url);
      response.writeHead(403, { 'content-type': 'application/json' });
      response.end('{"error":"Not from there.","error_code":"access.refused"}');
    });
    server.on('upgrade', (request, socket) => {
      urls.push(request.url);
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    toClose.push(() => server.close());
    const { port } = server.address() as AddressInfo;
    const client = connected({ url: `http://127.0.0.1:${port}/some/where?code=secret#there`, token: 'abc' });
    await expect(client.opened()).rejects.toMatchObject({ code: 'access.refused', message: 'Not from there.' });
    expect(urls).toEqual(['/some/where/ws', '/some/where/api/whoami']);
  });

  it('options that are none are refused', () => {
    const bad: readonly (readonly [object, string])[] = [
      [{ url: 'nowhere' }, 'url'],
      [{ url: 'ftp://127.0.0.1/' }, 'url'],
      [{ url: 'http://127.0.0.1/', token: 'with space' }, 'token'],
      [{ url: 'http://127.0.0.1/', token: '' }, 'token'],
      [{ url: 'http://127.0.0.1/', maxJobs: 0 }, 'maxJobs'],
      [{ url: 'http://127.0.0.1/', types: ['job.statuses'] }, 'types'],
    ];
    for (const [options, option] of bad) {
      expect(() => connect(options as never)).toThrow(
        expect.objectContaining({ code: 'config.invalid', details: expect.objectContaining({ option }) }),
      );
    }
  });
});

describe('a server that goes', () => {
  it('with its engine: what waits is told, and the rows stay', async () => {
    const { offstage, client } = await lab();
    await client.spawn({ kind: 'hang', jobId: 'h' });
    await until(client, ({ jobs }) => jobs.get('h')?.status === 'running');
    const waiting = client.awaitJobs(['h'], { timeoutMs: null });
    await client.whoami();
    await offstage.close();
    expect(await waiting.catch(({ code }) => code)).toEqual(expect.anything());
    const { connection, jobs } = await until(client, (state) => state.connection.status === 'lost');
    expect(connection.error?.code).toBe('control.lost');
    expect(jobs.has('h')).toBe(true);
  });

  it('B53: is killed and comes back: the token is kept, each end is told once, and the rows are those of the engine', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'offstage-client-'));
    toClose.push(() => rm(dataDir, { recursive: true, force: true }));
    const first = await host(dataDir, 0);
    const client = connected(first);
    const events: OffstageEvent[] = [];
    client.onEvent((event) => void events.push(event));
    await client.opened();
    for (let index = 0; index < 20; index += 1) await client.spawn({ kind: 'echo', jobId: `e${index}` });
    await client.awaitJobs(Array.from({ length: 20 }, (_, index) => `e${index}`));
    await client.spawn({ kind: 'hang', jobId: 'h' });
    await until(client, (state) => state.counts.completed === 20 && state.jobs.get('h')?.status === 'running');
    const waiting = client.awaitJobs(['h'], { timeoutMs: null }).catch(({ code }) => code);
    await client.whoami();
    first.child.kill('SIGKILL');
    expect(await waiting).toBe('control.lost');
    const { connection, jobs } = await until(client, (state) => state.connection.status === 'lost');
    expect(jobs.get('h')?.status).toBe('running');
    const { epoch } = connection;
    const second = await host(dataDir, first.port);
    expect(second.token).toBe(first.token);
    const state = await until(
      client,
      (now) => now.connection.status === 'open' && now.connection.epoch !== epoch && now.isComplete,
    );
    expect(state.jobs.get('h')).toMatchObject({ status: 'errored', reasonCode: 'abandoned.crash' });
    const listed = await client.listJobs({ limit: 1_000 });
    expect(new Map(state.jobs)).toEqual(new Map(listed.map((job) => [job.jobId, briefly(job)])));
    const ends = events.filter((event) => event.type === 'job.status' && ['completed', 'errored'].includes(event.status));
    expect(ends.map((event) => 'jobId' in event && event.jobId).sort()).toEqual(
      ['h', ...Array.from({ length: 20 }, (_, index) => `e${index}`)].sort(),
    );
    const seqs = events.filter((event) => !isVolatileEvent(event)).map(({ seq }) => seq);
    expect(seqs).toEqual([...new Set(seqs)].sort((a, b) => a - b));
    await client.spawn({ kind: 'echo', jobId: 'after' });
    await until(client, (now) => now.jobs.get('after')?.status === 'completed');
  });
});

async function host(dataDir: string, port: number): Promise<{ child: ChildProcess; url: string; token: string; port: number }> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'server-host.mjs'), dataDir, String(port)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  toClose.push(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return { child, ...(JSON.parse(line) as { url: string; token: string; port: number }) };
}
