/** `offstage serve` in the shell: what it prints, how it ends, who may have the folder meanwhile (spec 12 and 15; B63, B65, B66, B74). */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmod, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { JobView } from '../../src/model/records.ts';
import { json, listed, newFolder, offstage, onlyJob, processesWith, script, start, uniqueSleep, until } from './offstage.ts';
import { type Serving, serving } from './serving.ts';

const newData = async (): Promise<string> => join(await newFolder(), 'data');
const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;
const lineCount = (text: string): number => text.split('\n').length - 1;

/** A module for `--config`. */
async function module(text: string): Promise<string> {
  const path = join(await newFolder(), 'config.mjs');
  await writeFile(path, text);
  return path;
}

/** A body that hears nothing, and a timer of its own that would keep the process for ever. */
const STUBBORN = `export const executors = { stubborn: () => new Promise(() => setInterval(() => {}, 1_000)) };
export const shutdownGraceMs = 700;`;

async function stubbornJob(server: Serving): Promise<string> {
  const response = await server.api('api/jobs', { kind: 'stubborn', job_id: 'stubborn' });
  expect(response.status).toBeLessThan(300);
  await until(async () =>
    ((await (await server.api('api/jobs/stubborn')).json()) as { status: string }).status === 'running' ? true : null,
  );
  return 'stubborn';
}

describe('what it prints', () => {
  it('the address alone in the first line, then a URL that works once; the token nowhere', async () => {
    const data = await newData();
    const server = await serving(data);
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/);
    expect(lineCount(server.stdout)).toBe(2);
    expect((await fetch(new URL('healthz', server.url))).status).toBe(200);
    expect((await fetch(new URL('api/jobs', server.url))).status).toBe(401);
    const first = await fetch(server.oneTimeUrl, { redirect: 'manual' });
    expect(first.status).toBeGreaterThanOrEqual(300);
    expect(first.headers.get('set-cookie')).toMatch(/HttpOnly/i);
    const cookie = (first.headers.get('set-cookie') ?? '').split(';')[0] as string;
    expect((await fetch(new URL('api/jobs', server.url), { headers: { cookie } })).status).toBe(200);
    expect((await fetch(server.oneTimeUrl, { redirect: 'manual' })).headers.get('set-cookie')).toBeNull();

    expect(await modeOf(join(data, 'token'))).toBe(0o600);
    expect(server.token).toMatch(/^[\w.-]{32,}$/);
    // B74: everybody can see command lines.
    const { stdout: ps } = await promisify(execFile)('ps', ['-eo', 'args='], { maxBuffer: 64 * 1024 * 1024 });
    expect(ps).toContain(data);
    expect(ps).not.toContain(server.token);
    server.child.kill('SIGTERM');
    const { code, stdout, stderr } = await server.ended;
    expect(code).toBe(0);
    expect(stdout + stderr).not.toContain(server.token);
    expect(stderr).toBe('offstage: closing.\n');
  });

  it('the token is kept over a restart, with its mode; other files may hold it', async () => {
    const data = await newData();
    const first = await serving(data);
    first.child.kill('SIGINT');
    await first.ended;
    const second = await serving(data);
    expect(second.token).toBe(first.token);
    expect(await modeOf(join(data, 'token'))).toBe(0o600);
    second.child.kill('SIGINT');
    await second.ended;

    const elsewhere = join(await newFolder(), 'secret');
    const tokens: string[] = [];
    for (const _ of [1, 2]) {
      const third = await serving(data, ['--token-file', elsewhere]);
      const token = (await readFile(elsewhere, 'utf8')).trim();
      tokens.push(token);
      expect(await modeOf(elsewhere)).toBe(0o600);
      const authorization = `Bearer ${token}`;
      expect((await fetch(new URL('api/whoami', third.url), { headers: { authorization } })).status).toBe(200);
      expect((await third.api('api/whoami')).status).toBe(401);
      const { stdout: ps } = await promisify(execFile)('ps', ['-eo', 'args='], { maxBuffer: 64 * 1024 * 1024 });
      expect(ps).not.toContain(token);
      third.child.kill('SIGINT');
      expect((await third.ended).stdout).not.toContain(token);
    }
    expect(tokens[0]).toBe(tokens[1]);
    await chmod(elsewhere, 0o644);
    const open = await serving(data, ['--token-file', elsewhere]);
    await open.saw(`others can read the token in ${elsewhere}`, 'stderr');
  });

  it('with --json one document, in one line', async () => {
    const data = await newData();
    const server = start(['serve', '--json', '--port', '0', '--data-dir', data]);
    await server.saw(/\n/);
    const told = JSON.parse(server.stdout) as Record<string, unknown>;
    expect(told).toEqual({
      url: `http://127.0.0.1:${told.port}/`,
      oneTimeUrl: expect.stringContaining(`${told.url}?code=`),
      host: '127.0.0.1',
      port: expect.any(Number),
      dataDir: data,
      pid: server.pid,
    });
    server.child.kill('SIGTERM');
    expect((await server.ended).code).toBe(0);
  });

  it('B63: goes on when nobody reads what it prints, without a stack', async () => {
    const data = await newData();
    const server = await serving(data);
    server.child.stdout?.destroy();
    expect((await offstage(['run', '--data-dir', data, '--', 'true'])).code).toBe(0);
    server.child.kill('SIGTERM');
    expect(await server.ended).toMatchObject({ code: 0, stderr: 'offstage: closing.\n' });
  });
});

describe('B65: how it ends', () => {
  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    '%s with two idle clients and a stubborn job: the clients get a close, it exits 0 within the grace, the job is errored',
    async (signal) => {
      const data = await newData();
      const server = await serving(data, ['--config', await module(STUBBORN)]);
      const clients = [await server.idle(), await server.idle()];
      const jobId = await stubbornJob(server);
      const since = performance.now();
      server.child.kill(signal);
      expect(await Promise.all(clients.map(({ closed }) => closed))).toEqual([1001, 1001]);
      const { code, stderr } = await server.ended;
      expect(code).toBe(0);
      expect(performance.now() - since).toBeLessThan(10_000);
      expect(stderr).toContain('offstage: closing; waiting for 1 job to end (job). Ctrl-C exits at once.');
      expect(await onlyJob(data)).toMatchObject({ jobId, status: 'errored', reasonCode: 'abandoned.shutdown', detached: true });
    },
  );

  it('a second SIGINT during the wait: exits at once, not with 0; the next start recovers the job to errored', async () => {
    const data = await newData();
    // A grace that nobody would wait for.
    const config = await module(STUBBORN.replace('700', '600_000'));
    const marker = uniqueSleep();
    const server = await serving(data, ['--config', config]);
    const { closed } = await server.idle();
    await stubbornJob(server);
    await server.api('api/jobs', {
      kind: 'command',
      job_id: 'tree',
      input: { command: 'sh', args: ['-c', `trap '' TERM; sleep ${marker}`] },
    });
    await until(async () => ((await processesWith(marker)).length > 0 ? true : null));
    server.child.kill('SIGINT');
    await server.saw('waiting for 2 jobs to end', 'stderr');
    server.child.kill('SIGINT');
    expect(await server.ended).toMatchObject({ code: 130 });
    expect(await closed).toBeGreaterThan(1000);
    const next = await serving(data, ['--config', config]);
    for (const jobId of ['stubborn', 'tree'])
      expect(await (await next.api(`api/jobs/${jobId}`)).json()).toMatchObject({
        status: 'errored',
        reason_code: 'abandoned.crash',
      });
    expect(next.stderr).toContain('2 jobs were abandoned by an earlier process.');
    expect(await processesWith(marker)).toEqual([]);
    // Nothing runs any more: it has nothing to wait for.
    next.child.kill('SIGTERM');
    expect(await next.ended).toMatchObject({ code: 0 });
  });

  it('a signal while it is still opening: ends it all the same', async () => {
    const data = await newData();
    const config = await module(`process.stderr.write('loading\\n');
      await new Promise((resolve) => setTimeout(resolve, 500));
      export const workers = 2;`);
    const server = start(['serve', '--config', config, '--data-dir', data]);
    await server.saw('loading', 'stderr');
    server.child.kill('SIGINT');
    expect((await server.ended).code).toBe(0);
    expect((await offstage(['jobs', 'list', '--data-dir', data])).code).toBe(0);
  });
});

describe('B63, B66: other verbs while it serves', () => {
  it('work through it, and exit right after their output, far before their time-outs', async () => {
    const data = await newData();
    const server = await serving(data);
    const at = ['--data-dir', data];
    const since = performance.now();
    expect(await offstage(['run', ...at, '--timeout', '10m', '--', 'sh', '-c', 'echo out; exit 3'])).toMatchObject({
      code: 1,
      stdout: 'out\n',
    });
    const job = await onlyJob(data);
    expect(await offstage(['jobs', 'wait', '--timeout', '10m', job.jobId, ...at])).toMatchObject({ code: 1 });
    // With the grace of half a minute that a cancel has.
    const sleeping = start(['run', ...at, '--', 'sleep', uniqueSleep()]);
    const running = await until(async () => (await listed(data)).find(({ status }) => status === 'running') ?? null);
    expect(await offstage(['jobs', 'cancel', running.jobId, ...at])).toMatchObject({ code: 0 });
    expect((await sleeping.ended).code).toBe(130);
    for (const verb of [['jobs', 'list'], ['sessions', 'list'], ['tasks', 'list'], ['doctor']])
      expect(await offstage([...verb, ...at]), verb.join(' ')).toMatchObject({ code: 0, stderr: '' });
    expect(performance.now() - since).toBeLessThan(25_000);
    // The same over HTTP.
    expect(((await (await server.api('api/jobs')).json()) as { tasks: unknown[] }).tasks).toHaveLength(2);
    server.child.kill('SIGINT');
    const ending = performance.now();
    expect((await server.ended).code).toBe(0);
    expect(performance.now() - ending).toBeLessThan(4_000);
  });

  it('lists that nobody reads to their end: quiet', async () => {
    const data = await newData();
    const config = await module(`export const executors = { noop: () => null };
      export const onServe = async (offstage) => {
        const spec = { kind: 'noop', subject: 'one of many '.repeat(8) };
        await Promise.all(Array.from({ length: 5_000 }, () => offstage.spawn(spec)));
      };`);
    const server = await serving(data, ['--config', config]);
    for (const line of [
      'jobs list --all --data-dir "$DATA" | head -1',
      'jobs list --all --json --data-dir "$DATA" | head -c 10',
    ]) {
      const { code, stdout, stderr } = await script(`$OFFSTAGE ${line}`, { env: { DATA: data } });
      expect({ code, stderr }, line).toEqual({ code: 0, stderr: '' });
      expect(stdout).not.toBe('');
    }
    server.child.kill('SIGTERM');
    expect(await server.ended).toMatchObject({ code: 0, stderr: 'offstage: closing.\n' });
  });
});

describe('what it refuses', () => {
  it('a folder that is in use: exit 4, and who has it', async () => {
    const data = await newData();
    const server = await serving(data);
    const second = await offstage(['serve', '--data-dir', data]);
    expect(second).toMatchObject({ code: 4, stdout: '' });
    expect(second.stderr).toContain(`process ${server.pid}`);
    const asData = await offstage(['serve', '--json', '--data-dir', data]);
    expect(JSON.parse(asData.stderr)).toMatchObject({ error: { code: 'store.locked', details: { pid: server.pid } } });
    expect((await server.api('api/whoami')).status).toBe(200);
  });

  it('a port that is in use, or is none; an address of others without a token', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as { port: number };
    try {
      for (const [args, words] of [
        [['--port', String(port)], `port ${port} (EADDRINUSE)`],
        [['--port', '70000'], '--port is not valid'],
        [['--port', 'http'], '--port is not valid'],
        [['--host', '0.0.0.0'], 'token'],
        [['--host', 'no.such.host.invalid'], 'host'],
        [['--token-file', join(await newFolder(), 'no', 'folder')], 'ENOENT'],
      ] as const) {
        const data = await newData();
        const { code, stdout, stderr } = await offstage(['serve', ...args, '--data-dir', data]);
        expect({ code, stdout }, args.join(' ')).toEqual({ code: 2, stdout: '' });
        expect(stderr).toContain(words);
        expect(lineCount(stderr)).toBe(1);
        // The folder is free again.
        expect((await offstage(['jobs', 'list', '--data-dir', data])).code).toBe(0);
      }
    } finally {
      taken.close();
    }
  });

  it('a module that cannot be loaded, or says what is not for it to say', async () => {
    for (const [text, words] of [
      ['export const executors = {', 'could not be loaded'],
      ["import 'no-such-package'", 'no-such-package'],
      ["throw new Error('bang')", 'bang'],
      ['export const excutors = {}', 'excutors'],
      ['export const options = []', 'options must be an object'],
      ["export const options = { dataDir: '/x' }", 'dataDir is not for it to say'],
      ['export const control = false', 'control is not for it to say'],
      ['export default { workers: 2 }', 'default export'],
      ['// nothing', 'it exports nothing'],
      ['export const onServe = 5', 'onServe must be a function'],
      ['export const onServe = () => 5', 'onServe must return'],
      ['export const workers = 0', 'workers'],
    ] as const) {
      const { code, stdout, stderr } = await offstage([
        'serve',
        '--json',
        '--config',
        await module(text),
        '--data-dir',
        await newData(),
      ]);
      expect({ code, stdout }, text).toEqual({ code: 2, stdout: '' });
      const { error } = JSON.parse(stderr) as { error: { code: string; message: string } };
      expect(error.code).toBe('config.invalid');
      expect(error.message).toContain(words);
    }
    const missing = await offstage(['serve', '--config', '/no/such/module.mjs', '--data-dir', await newData()]);
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining('there is no file /no/such/module.mjs') });
  });
});

describe('its module', () => {
  it('brings executors, agents and limits; onServe gets the engine, and its end comes before that of the engine', async () => {
    const data = await newData();
    const log = join(await newFolder(), 'log');
    const config = await module(`import { appendFileSync } from 'node:fs';
      const note = (text) => appendFileSync(${JSON.stringify(log)}, text + '\\n');
      export const options = { workers: 3, executors: { shout: async (job) => String(job.input).toUpperCase() } };
      export const helper = 'not an option';
      export async function onServe(offstage) {
        const job = await offstage.spawn({ kind: 'shout', input: 'hi', jobId: 'first' });
        note((await offstage.wait(job.jobId)).resultText);
        return { async [Symbol.asyncDispose]() { note('workers ' + offstage.health().pool.workers); await offstage.spawn({ kind: 'shout', input: 'bye', jobId: 'last' }); } };
      }`);
    const server = await serving(data, ['--config', config]);
    await server.api('api/jobs', { kind: 'shout', input: 'from outside', job_id: 'outside' });
    server.child.kill('SIGINT');
    expect((await server.ended).code).toBe(0);
    expect(await readFile(log, 'utf8')).toBe('HI\nworkers 3\n');
    expect((await listed(data)).map(({ jobId }) => jobId).sort()).toEqual(['first', 'last', 'outside']);
  });

  it('an end of onServe that hangs or throws keeps nothing', async () => {
    for (const [ending, words] of [
      ['() => new Promise(() => {})', 'has not ended within 2 s'],
      ["() => { throw new Error('bang'); }", 'did not end well: bang'],
    ] as const) {
      const server = await serving(await newData(), ['--config', await module(`export const onServe = () => ${ending};`)]);
      server.child.kill('SIGINT');
      expect(await server.ended).toMatchObject({ code: 0, stderr: expect.stringContaining(words) });
    }
  });

  it('a module, or an onServe, that never comes to its end keeps nothing: one signal ends it', async () => {
    for (const text of [
      "process.stderr.write('begun\\n'); setInterval(() => {}, 1_000); await new Promise(() => {}); export const workers = 1;",
      "export const onServe = () => { process.stderr.write('begun\\n'); setInterval(() => {}, 1_000); return new Promise(() => {}); };",
    ]) {
      const server = start(['serve', '--data-dir', await newData(), '--config', await module(text)]);
      await server.saw(/begun/, 'stderr');
      server.child.kill('SIGTERM');
      expect(await server.ended, text).toMatchObject({ code: 0, stdout: '' });
    }
  });

  it('an onServe that throws ends it, with its reason', async () => {
    const config = await module("export const onServe = () => { throw new Error('no scene today'); };");
    const { code, stdout, stderr } = await offstage(['serve', '--config', config, '--data-dir', await newData()]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('no scene today');
  });
});

describe('B74: secrets', () => {
  it('children get none of its environment; the audit has ids, and no text, no token', async () => {
    const data = await newData();
    const server = await serving(data, [], { env: { CANARY_TOKEN: 'zz1' } });
    const print = { command: 'sh', args: ['-c', 'env'], env: { KEY: 'zz2' } };
    const spawned = await server.api('api/jobs', { kind: 'command', job_id: 'printer', description: 'zz3', input: print });
    expect(spawned.ok).toBe(true);
    await server.api('api/jobs/await', { job_ids: ['printer'], mode: 'all', timeout: 30_000 });
    const { stdout } = await offstage(['jobs', 'output', 'printer', '--data-dir', data]);
    expect(stdout).not.toContain('zz1');
    expect(stdout).toContain('KEY=zz2');
    expect(JSON.stringify(await json<JobView>(['jobs', 'get', 'printer', '--data-dir', data]))).not.toMatch(/"KEY":"zz2"/);
    await server.api('api/jobs/printer/cancel', { reason: 'zz4' });
    await server.api('api/jobs/nobody/cancel', {});
    server.child.kill('SIGTERM');
    await server.ended;
    const path = join(data, 'audit.ndjson');
    expect(await modeOf(path)).toBe(0o600);
    const text = await readFile(path, 'utf8');
    expect(text).not.toMatch(/zz\d/);
    expect(text).not.toContain(server.token);
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.map(({ action, outcome }) => `${action} ${outcome}`)).toEqual(
      expect.arrayContaining(['spawn_job ok', 'cancel_job ok', 'cancel_job job.not_found']),
    );
    expect(lines[0]).toEqual({
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.+Z$/),
      action: 'spawn_job',
      scope: 'operate',
      caller: expect.any(String),
      remote: '127.0.0.1',
      ids: expect.objectContaining({ job_id: 'printer' }),
      outcome: 'ok',
      duration_ms: expect.any(Number),
    });
    // What was there is kept, over restarts.
    const again = await serving(data);
    await again.api('api/jobs/printer/cancel', {});
    again.child.kill('SIGTERM');
    await again.ended;
    expect(lineCount(await readFile(path, 'utf8'))).toBe(lines.length + 1);
  });
});
