/** CSV1–CSV3, SCN1–SCN3, SPA1, SPA2, CCL1, CCL2: the owner of a folder serves its verbs to other terminals. */
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, describe, expect, it } from 'vitest';
import type { WireClient } from '../../src/doors/client/wire-client.ts';
import { connectControl } from '../../src/doors/control/control-client.ts';
import { requestsUnderWay, serveControl } from '../../src/doors/control/control-server.ts';
import type { WireFields } from '../../src/doors/wire/rename.ts';
import type { Offstage } from '../../src/engine/offstage.ts';
import { isOffstageError } from '../../src/model/errors.ts';
import type { JobOf } from '../../src/model/executor.ts';
import { LIMITS } from '../../src/model/limits.ts';
import { open } from '../../src/open.ts';
import { readOwner } from '../../src/persistence/ownership.ts';
import { controlledExecutor } from '../../src/testing/controlled-executor.ts';
import { testEngine } from '../support/test-engine.ts';

const cleanups: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function newFolder(...deeper: string[]): Promise<string> {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'offstage-control-')));
  cleanups.push(() => rm(base, { recursive: true, force: true }));
  const folder = join(base, ...deeper);
  await mkdir(folder, { recursive: true });
  return folder;
}

async function owner(dataDir: string) {
  const gate = controlledExecutor();
  const offstage = await open({ dataDir, control: true, executors: { gate, echo: async (job: JobOf) => job.input } });
  cleanups.push(() => offstage.close());
  return { gate, offstage: offstage as unknown as Offstage };
}

async function client(dataDir: string): Promise<WireClient> {
  const connected = await connectControl(dataDir);
  if (connected === null) throw new Error('nobody answers');
  cleanups.push(() => connected.close());
  return connected;
}

/** A client that sends what it likes. */
async function rawClient(dataDir: string) {
  const socket: Socket = connect(join(dataDir, 'control.sock'));
  cleanups.push(() => socket.destroy());
  socket.on('error', () => {});
  await once(socket, 'connect');
  const lines = createInterface({ input: socket })[Symbol.asyncIterator]();
  return { socket, next: async () => JSON.parse((await lines.next()).value as string) as WireFields };
}

const codeOf = async (work: Promise<unknown>): Promise<unknown> => {
  try {
    await work;
  } catch (error) {
    return isOffstageError(error) ? error.code : error;
  }
  return 'it was not refused';
};

describe('the control socket', () => {
  it('CSV1: lies in the data folder, for this user only, as long as its owner lives', async () => {
    const folder = await newFolder('data');
    await chmod(folder, 0o777);
    const umask = process.umask(0);
    const { offstage } = await owner(folder).finally(() => process.umask(umask));
    expect((await stat(join(folder, 'control.sock'))).mode & 0o777).toBe(0o600);
    expect((await stat(join(folder, 'control.sock'))).isSocket()).toBe(true);
    expect((await readdir(folder)).sort()).toEqual(['control.sock', 'owner.json', 'store', 'store.created']);
    expect((await readOwner(folder))?.control).toBe(join(folder, 'control.sock'));
    await offstage.close();
    expect((await readdir(folder)).sort()).toEqual(['store', 'store.created']);
  });

  it('CSV2: one that a dead owner left behind is replaced', async () => {
    const folder = await newFolder('data');
    await writeFile(join(folder, 'control.sock'), 'stale');
    await mkdir(join(folder, 'control.new'));
    await writeFile(join(folder, 'control.new', 's'), 'stale');
    await owner(folder);
    expect(await (await client(folder)).request('health')).toMatchObject({ status: 'ok' });
  });

  it('SPA2: a data folder deeper than a socket address is served all the same', async () => {
    const folder = await newFolder(...Array.from({ length: 8 }, (_, number) => `a-rather-long-name-for-a-folder-${number}`));
    expect(folder.length).toBeGreaterThan(250);
    const { offstage } = await owner(folder);
    expect(await (await client(folder)).request('health')).toMatchObject({ status: 'ok' });
    expect((await stat(join(folder, 'control.sock'))).isSocket()).toBe(true);
    await offstage.close();
    expect((await readdir(folder)).sort()).toEqual(['store', 'store.created']);
  });

  it('OPN1: where it cannot be made, open rejects, and the folder is free again', async () => {
    const folder = await newFolder('data');
    await mkdir(join(folder, 'control.sock', 'in-the-way'), { recursive: true });
    expect(await codeOf(open({ dataDir: folder, control: true }))).toBe('store.failed');
    await rm(join(folder, 'control.sock'), { recursive: true });
    await owner(folder);
  });

  it('CSV3: one client too many is told so, and the others are served', async () => {
    const folder = await newFolder('data');
    await using engine = await testEngine({});
    const stop = await serveControl(engine.offstage, folder, { mostConnections: 2 });
    cleanups.push(stop);
    const first = await rawClient(folder);
    const second = await rawClient(folder);
    second.socket.write('{"action":"health","request_id":1}\n');
    expect(await second.next()).toMatchObject({ type: 'result' });
    const third = await rawClient(folder);
    expect(await third.next()).toMatchObject({ type: 'error', error_code: 'limit.connections' });
    first.socket.destroy();
    await once(first.socket, 'close');
    second.socket.write('{"action":"health","request_id":2}\n');
    expect(await second.next()).toMatchObject({ request_id: 2 });
    const fourth = await rawClient(folder);
    fourth.socket.write('{"action":"health","request_id":3}\n');
    expect(await fourth.next()).toMatchObject({ request_id: 3 });
  });
});

describe('requests over the socket', () => {
  it('are answered, also many at once, also after the client has closed its side', async () => {
    const folder = await newFolder('data');
    await owner(folder);
    const asking = await client(folder);
    const answers = await Promise.all(
      Array.from({ length: 3_000 }, (_, number) => asking.request('spawn_job', { kind: 'echo', job_id: `j${number}` })),
    );
    expect(answers.map(({ job_id: id }) => id)).toEqual(Array.from({ length: 3_000 }, (_, number) => `j${number}`));
    const { socket, next } = await rawClient(folder);
    socket.end('{"action":"get_job","job_id":"j7","request_id":1}\n');
    expect(await next()).toMatchObject({ job_id: 'j7', request_id: 1 });
    await once(socket, 'close');
    const hasty = await rawClient(folder);
    hasty.socket.end('{"action":"get_job","job_id":"j8","request_id":1}\n{"action":"get_job","job_id":"j9","request_id":2}');
    // Answers come as they are ready (SCN1): which is first is the store's affair.
    const both = [await hasty.next(), await hasty.next()] as { request_id: number }[];
    expect(both.toSorted((a, b) => a.request_id - b.request_id)).toMatchObject([
      { job_id: 'j8', request_id: 1 },
      { job_id: 'j9', request_id: 2 },
    ]);
    await once(hasty.socket, 'close');
    const torn = await rawClient(folder);
    torn.socket.end('{"action":"get_job","jo');
    expect(await torn.next()).toMatchObject({ type: 'error', error_code: 'control.protocol' });
    await once(torn.socket, 'close');
  });

  it('an error keeps its code and its sentence', async () => {
    const folder = await newFolder('data');
    await owner(folder);
    await expect((await client(folder)).request('get_job', { job_id: 'nope' })).rejects.toMatchObject({
      code: 'job.not_found',
      message: 'No job has the id "nope".',
    });
  });

  it('B55: odd frames are answered, and nobody else is harmed', async () => {
    const folder = await newFolder('data');
    await owner(folder);
    const other = await client(folder);
    const { socket, next } = await rawClient(folder);
    for (const text of ['null', '[]', '123', '"x"', '{', '{}', '{"action":"nothing"}', '\u0000']) {
      socket.write(`${text}\n`);
      expect(await next()).toMatchObject({ type: 'error', error_code: 'control.protocol' });
      expect(await other.request('list_jobs')).toMatchObject({ tasks: [] });
    }
    socket.write(Buffer.from([0xff, 0xfe, 0x0a]));
    expect(await next()).toMatchObject({ error_code: 'control.protocol' });
    socket.write(Buffer.alloc(LIMITS.frameBytes + 1, 'x'));
    expect(await next()).toMatchObject({
      error_code: 'control.protocol',
      error: expect.stringContaining('more than 1048576 bytes'),
    });
    socket.write('\n{"action":"health","request_id":"still here"}\n');
    expect(await next()).toMatchObject({ type: 'result', request_id: 'still here' });
  });

  it('HND2: a client that goes away leaves no waiter, and its job runs on', async () => {
    const folder = await newFolder('data');
    const { gate, offstage } = await owner(folder);
    const leaving = await client(folder);
    await leaving.request('spawn_job', { kind: 'gate', job_id: 'g' });
    await gate.started('g');
    const waiting = leaving.request('await_jobs', { job_ids: ['g'], timeout: null });
    await (await client(folder)).request('health');
    leaving.close();
    expect(await codeOf(waiting)).toBe('engine.closing');
    while (requestsUnderWay(offstage) > 0) await new Promise((resolve) => setImmediate(resolve));
    await gate.release('g');
    expect((await offstage.wait('g')).status).toBe('completed');
  });

  it('the last answers and events of an owner that closes arrive before the end', async () => {
    const folder = await newFolder('data');
    const { gate, offstage } = await owner(folder);
    const asking = await client(folder);
    const events: unknown[] = [];
    asking.listen((frame) => void events.push([frame.type, frame.status]));
    await asking.request('subscribe', { job_id: 'g' });
    await asking.request('spawn_job', { kind: 'gate', job_id: 'g' });
    await gate.started('g');
    const waiting = asking.request('await_jobs', { job_ids: ['g'], timeout: null });
    await asking.request('health');
    await offstage.close();
    expect((await waiting).tasks).toMatchObject([{ job_id: 'g', status: 'errored', reason_code: 'abandoned.shutdown' }]);
    await asking.ended;
    expect(events).toContainEqual(['job_status', 'errored']);
    expect(await codeOf(asking.request('health'))).toBe('control.lost');
  });

  it('SCN2: a client that does not read holds up neither others nor the close', async () => {
    const folder = await newFolder('data');
    const { offstage } = await owner(folder);
    await offstage.spawn({ kind: 'echo', jobId: 'big', input: 'x'.repeat(1_000_000) });
    await offstage.wait('big');
    const { socket } = await rawClient(folder);
    socket.pause();
    for (let number = 0; number < 200; number++) socket.write('{"action":"get_job","job_id":"big"}\n');
    expect(await (await client(folder)).request('get_job', { job_id: 'big' })).toMatchObject({ job_id: 'big' });
    await offstage.close();
  });
});

describe('without an owner that serves', () => {
  it('CCL1: a folder in use without a socket is control.unavailable, with the pid', async () => {
    const folder = await newFolder('data');
    const offstage = await open({ dataDir: folder });
    cleanups.push(() => offstage.close());
    await expect(connectControl(folder)).rejects.toMatchObject({
      code: 'control.unavailable',
      message: expect.stringContaining(`process ${process.pid}`),
    });
  });

  it('a folder that nobody has open has nobody to talk to', async () => {
    expect(await connectControl(await newFolder('data'))).toBeNull();
  });
});
