/** `offstage inspect` beside a program that serves its folder. */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { InspectedFrame } from '../support/inspector-host.ts';
import { host, newFolder, offstage, program, start } from './offstage.ts';

const HOST = join(import.meta.dirname, 'inspect-host.mjs');

async function served(ids = 'held', token?: string) {
  const folder = await newFolder();
  const data = join(folder, 'data');
  const begin = (jobs: string) => program(process.execPath, [HOST, data, jobs, ...(token === undefined ? [] : [token])]);
  const owner = begin(ids);
  await owner.saw('ready');
  return { folder, data, owner, begin, at: ['--data-dir', data] as const };
}

const framesOf = (text: string): InspectedFrame[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as InspectedFrame);

describe('offstage inspect', () => {
  it('says where inspectors can look, follows every change, and ends with the server', async () => {
    const { owner, at } = await served();
    const inspecting = start(['inspect', ...at]);
    await inspecting.saw(/job held "held" {2}running\.active\n/);
    expect(inspecting.stdout).toMatch(
      /^Stately inspector, in a browser: http:\/\/127\.0\.0\.1:\d+\/inspect\?token=[\w.-]+\nAddress for other inspectors: +ws:\/\/127\.0\.0\.1:\d+\/inspect\?token=[\w.-]+\n\d\d:\d\d:\d\d {2}supervisor {2}accepting\.healthy\n/,
    );
    await offstage(['jobs', 'cancel', 'held', ...at]);
    await inspecting.saw(/job held "held" {2}running\.active -> running\.ending {2}\(job cancel\)\n/);
    await inspecting.saw(/job held "held" {2}running\.ending -> cancelled {2}\(body threw\)\n/);
    owner.child.kill('SIGTERM');
    expect(await inspecting.ended).toMatchObject({ code: 0, stderr: 'offstage: the server has closed.\n' });
  });

  it('hands out addresses with which nothing can be changed', async () => {
    const { at } = await served();
    const inspecting = start(['inspect', ...at]);
    await inspecting.saw('supervisor');
    const [, url, token] = /(http:\/\/\S+\/)inspect\?token=([\w.-]+)/.exec(inspecting.stdout) ?? [];
    const ask = (path: string, init = {}) =>
      fetch(new URL(path, url), { headers: { authorization: `Bearer ${token}` }, ...init }).then(({ status }) => status);
    expect([await ask('api/jobs/held'), await ask('api/jobs/held/cancel', { method: 'POST' })]).toEqual([200, 403]);
  });

  it('--job shows one job, and ends with it', async () => {
    const { at } = await served('held,other');
    const inspecting = start(['inspect', '--job', 'held', ...at]);
    await inspecting.saw('job held "held"  running.active');
    await offstage(['jobs', 'cancel', 'held', ...at]);
    const { code, stdout, stderr } = await inspecting.ended;
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain('-> cancelled');
    expect(stdout).not.toContain('job other');
    expect(stdout).toContain('&job=held');
  });

  it('--json prints the frames of the protocol, and nothing else', async () => {
    const { at } = await served();
    const inspecting = start(['inspect', '--job', 'held', '--json', ...at]);
    await inspecting.saw('running');
    await offstage(['jobs', 'cancel', 'held', ...at]);
    const { code, stdout, stderr } = await inspecting.ended;
    expect([code, stderr]).toEqual([0, expect.stringContaining('ws://127.0.0.1:')]);
    const frames = framesOf(stdout);
    expect(frames.every(({ _version, type }) => _version === '0.7.2' && type.startsWith('@xstate.'))).toBe(true);
    expect(frames.at(-1)).toMatchObject({ type: '@xstate.snapshot', snapshot: { status: 'done', value: 'cancelled' } });
  });

  it('IWA1: is not confused by a restart, which gives the same ids of XState to others', async () => {
    const { owner, at, begin } = await served('first');
    const before = start(['inspect', '--json', ...at]);
    await before.saw('job first');
    owner.child.kill('SIGKILL');
    expect(await before.ended).toMatchObject({ code: 1, stderr: expect.stringContaining('was lost') });
    const next = begin('second');
    await next.saw('ready');
    const after = start(['inspect', '--json', ...at]);
    await after.saw('job second');
    after.child.kill('SIGINT');
    const names = async (text: string) =>
      new Map(
        framesOf(text)
          .filter(({ name }) => name !== undefined)
          .map(({ sessionId, name }) => [sessionId, name]),
      );
    const [old, now] = [await names(before.stdout), await names((await after.ended).stdout)];
    expect([...old.keys()].filter((id) => now.has(id)).length).toBeGreaterThan(4);
    expect([...now.values()].filter((name) => name?.startsWith('job '))).toEqual(['job second "second"']);
  });

  it('ends on Ctrl-C', async () => {
    const { at } = await served();
    const inspecting = start(['inspect', ...at]);
    await inspecting.saw('job held');
    inspecting.child.kill('SIGINT');
    expect((await inspecting.ended).code).toBe(130);
  });

  it('takes the token of a server that was given one', async () => {
    const token = 'a-token-of-its-own-0123456789';
    const { folder, at } = await served('held', token);
    expect(await offstage(['inspect', ...at])).toMatchObject({ code: 1, stderr: expect.stringContaining('--token-file') });
    const file = join(folder, 'their-token');
    await writeFile(file, `${token}\n`);
    const inspecting = start(['inspect', '--token-file', file, ...at]);
    await inspecting.saw('job held');
    expect(await offstage(['inspect', '--token-file', join(folder, 'none'), ...at])).toMatchObject({ code: 2 });
  });
});

describe('offstage inspect, where there is nothing to look at', () => {
  it.each([
    ['a job that nobody knows', ['--job', 'nobody'], 2, 'No job has the id'],
    ['a session that nobody knows', ['--session', 'nobody'], 2, 'nobody'],
    ['a task that nobody knows', ['--task', 'nobody'], 2, 'nobody'],
    ['a job that has ended', ['--job', 'done-1'], 0, 'done-1 has ended (completed)'],
  ])('%s', async (_, more, code, text) => {
    const { at } = await served('done-1,held');
    expect(await offstage(['inspect', ...more, ...at])).toMatchObject({
      code,
      stdout: '',
      stderr: expect.stringContaining(text),
    });
  });

  it('a program that serves nothing', async () => {
    const { at } = await served('held', 'none');
    expect(await offstage(['inspect', ...at])).toMatchObject({ code: 1, stderr: expect.stringContaining('serves nothing') });
  });

  it('nobody at all; the folder is not made', async () => {
    const data = join(await newFolder(), 'data');
    const { code, stdout, stderr } = await offstage(['inspect', '--json', '--data-dir', data]);
    expect([code, stdout, JSON.parse(stderr).error.code]).toEqual([1, '', 'inspector.unavailable']);
    expect(await offstage(['jobs', 'list', '--data-dir', data])).toMatchObject({ stderr: expect.stringContaining('no data') });
  });

  it('a program without a control socket', async () => {
    const data = join(await newFolder(), 'data');
    const owner = host('hold', data);
    await owner.saw('ready');
    expect(await offstage(['inspect', '--data-dir', data])).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('control'),
    });
    owner.child.kill('SIGKILL');
    await once(owner.child, 'exit');
  });
});
