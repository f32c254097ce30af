/** Stop, removal and archive from a second terminal (spec 15, liveness 11 and 12): real agents, real commands, real processes. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { SessionView, TaskView } from '../../src/model/activity.ts';
import type { JobView } from '../../src/model/records.ts';
import type { StopReport } from '../../src/model/stop.ts';
import { json, newFolder, offstage, processesWith, start, uniqueSleep, until } from './offstage.ts';

const owners: ReturnType<typeof spawn>[] = [];
const leftovers: number[] = [];
afterEach(async () => {
  for (const owner of owners.splice(0)) {
    if (owner.exitCode !== null || owner.signalCode !== null) continue;
    owner.kill('SIGKILL');
    await once(owner, 'exit');
  }
  // What a killed owner leaves behind.
  for (const pid of leftovers.splice(0)) {
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // It had gone already.
    }
  }
});

type Scene = 'work' | 'stubborn' | 'deaf' | 'quiet';

/** A folder that a program with an agent owns: the session `s` of the task `t`, and the job `j`. */
async function stage(scene: Scene) {
  const data = join(await newFolder(), 'data');
  const marker = uniqueSleep();
  const owner = spawn(process.execPath, [join(import.meta.dirname, 'stop-host.mjs'), scene, data, marker], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  owners.push(owner);
  await once(owner.stdout as NonNullable<typeof owner.stdout>, 'data');
  const at = ['--data-dir', data] as const;
  const { processes } = await json<{ processes: readonly { readonly pid: number | null }[] }>(['doctor', ...at]);
  leftovers.push(...processes.flatMap(({ pid }) => pid ?? []));
  return {
    at,
    owner,
    processes: () => processesWith(`sleep ${marker}`),
    get: <Row>(rows: string, id: string) => json<Row>([rows, 'get', id, ...at]),
    run: (...args: readonly string[]) => offstage([...args, ...at]),
    start: (...args: readonly string[]) => start([...args, ...at]),
  };
}

const lastLine = (text: string): string => text.trimEnd().split('\n').at(-1) ?? '';

describe('tasks stop', () => {
  it('ends the agent and the job of the task, waits until they have ended, and says so', async () => {
    const { run, get, processes, at } = await stage('work');
    expect(await processes()).not.toEqual([]);
    expect(await run('tasks', 'stop', 't', '--reason', 'enough')).toEqual({
      code: 0,
      signal: null,
      stdout: expect.stringMatching(
        /^Stopped:\n {2}s {2}job j +a long sleep\n {2}s {2}agent exec_\w+\n2 stopped\.\n$|^Stopped:\n {2}s {2}agent exec_\w+\n {2}s {2}job j +a long sleep\n2 stopped\.\n$/,
      ),
      stderr: '',
    });
    expect(await processes()).toEqual([]);
    expect((await json<{ processes: unknown[] }>(['doctor', ...at])).processes).toEqual([]);
    expect(await get<JobView>('jobs', 'j')).toMatchObject({
      status: 'cancelled',
      reasonCode: 'cancel.stop',
      cancelReason: 'enough',
      detached: false,
    });
    expect(await get<SessionView>('sessions', 's')).toMatchObject({
      state: 'cancelled',
      foregroundActivity: null,
      activeSubagentCount: 0,
      executionId: null,
    });
    expect(await run('tasks', 'stop', 't')).toMatchObject({ code: 0, stdout: 'Nothing is running.\n', stderr: '' });
  });

  it('--json prints the last report; --no-wait the first one', async () => {
    const first = await stage('work');
    const { stopped, ...rest } = await json<StopReport>(['tasks', 'stop', 't', ...first.at]);
    expect(stopped).toHaveLength(2);
    expect(stopped).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ sessionId: 's', jobId: 'j' }),
        { sessionId: 's', executionId: expect.stringMatching(/^exec_/) },
      ]),
    );
    expect(rest).toEqual({
      recovered: [],
      alreadyStopping: [],
      detached: [],
      absent: [],
      failed: [],
      loadErrors: [],
      sourceError: null,
      durable: true,
    });
    const { run, get } = await stage('stubborn');
    expect(await run('tasks', 'stop', 't', '--no-wait')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Told to end:\n {2}s {2}job j +a long sleep\n1 told to end\.\n$/),
    });
    expect(await get<JobView>('jobs', 'j')).toMatchObject({ status: 'running', cancelRequestedAt: expect.any(Number) });
  });

  it('--force ends at once what does not listen to TERM', async () => {
    const { run, get, processes } = await stage('stubborn');
    expect(await run('tasks', 'stop', 't', '--force')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Stopped:\n {2}s {2}job j +a long sleep\n1 stopped\.\n$/),
    });
    expect(await processes()).toEqual([]);
    expect(await get<JobView>('jobs', 'j')).toMatchObject({ status: 'cancelled', detached: false });
  });

  it('Ctrl-C leaves at once, and the stop goes on; a second one with --force joins it', async () => {
    const { run, get, start: begin, processes } = await stage('stubborn');
    const stop = begin('tasks', 'stop', 't');
    await until(async () => ((await get<JobView>('jobs', 'j')).cancelRequestedAt === null ? null : true));
    stop.child.kill('SIGINT');
    expect(await stop.ended).toEqual({
      code: 130,
      signal: null,
      stdout: '',
      stderr: 'offstage: the stop goes on without this terminal.\n',
    });
    expect(await get<JobView>('jobs', 'j')).toMatchObject({ status: 'running' });
    expect(await processes()).not.toEqual([]);
    const again = await run('tasks', 'stop', 't', '--force');
    expect(again).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Stopping already, by an earlier request; they have ended:\n {2}s {2}job j/),
    });
    expect(await processes()).toEqual([]);
  });

  it('what does not end within its grace may still be running: it is told, now and by the next stop', async () => {
    const { run, at } = await stage('deaf');
    expect(await run('tasks', 'stop', 't')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^May still be running: told to end, and not seen to:\n {2}s {2}job j +a long sleep.*\n1 may still be running\.\n$/,
      ),
    });
    expect(await run('tasks', 'stop', 't')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^May still be running: .+\n {2}s {2}job j +a long sleep.*\nNothing else is running\.\n$/),
    });
    const { code, stdout, stderr } = await offstage(['tasks', 'stop', 't', '--json', ...at]);
    expect([code, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toMatchObject({
      error: { code: 'stop.nothing_running', details: { id: 't', detached: [{ sessionId: 's', jobId: 'j' }] } },
    });
  });

  it('where nobody owns the folder, nothing is running once it was opened', async () => {
    const { run, owner, processes } = await stage('work');
    owner.kill('SIGKILL');
    await once(owner, 'exit');
    expect(await run('tasks', 'stop', 't')).toMatchObject({ code: 0, stdout: 'Nothing is running.\n' });
    expect(await processes()).toEqual([]);
  });
});

describe('sessions stop', () => {
  it('ends that session only', async () => {
    const { run, get } = await stage('work');
    expect(await run('sessions', 'stop', 's')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/\n2 stopped\.\n$/),
      stderr: '',
    });
    expect(await get<SessionView>('sessions', 's')).toMatchObject({ state: 'cancelled' });
    expect(await run('sessions', 'stop', 's')).toMatchObject({ code: 0, stdout: 'Nothing is running.\n' });
  });
});

describe('rm', () => {
  it.each(['tasks', 'sessions'] as const)('%s: says what lives, and removes it with --yes', async (rows) => {
    const { run, at, processes } = await stage('work');
    const id = rows === 'tasks' ? 't' : 's';
    expect(await run(rows, 'rm', id)).toMatchObject({
      code: 1,
      stdout: '',
      stderr:
        'offstage: 1 session works in the background, 1 subagent is at work, 1 job has not ended. Nothing was removed; repeat with --yes to stop that, and to remove it.\n',
    });
    const warned = await offstage([rows, 'rm', id, '--json', ...at]);
    expect([warned.code, warned.stderr]).toEqual([1, '']);
    expect(JSON.parse(warned.stdout)).toEqual({
      done: false,
      warning: { generating: 0, background: 1, activeSubagentCount: 1, jobs: 1 },
    });
    expect(await processes()).not.toEqual([]);
    expect(await run(rows, 'rm', id, '--yes')).toMatchObject({ code: 0, stdout: `${id} was removed.\n`, stderr: '' });
    expect(await processes()).toEqual([]);
    expect(await run(rows, 'get', id)).toMatchObject({ code: 2 });
    expect(await run('jobs', 'get', 'j')).toMatchObject({ code: 2, stderr: expect.stringContaining('was pruned') });
    expect(await run(rows, 'rm', id)).toMatchObject({ code: 2, stdout: '' });
  });

  it('what is quiet goes without a question; --json says done', async () => {
    const { at, run } = await stage('quiet');
    expect(await json(['sessions', 'rm', 's', ...at])).toEqual({ done: true });
    expect(await run('tasks', 'rm', 't')).toMatchObject({ code: 0, stdout: 't was removed.\n' });
    expect(await run('tasks', 'list')).toMatchObject({ code: 0, stdout: 'No tasks.\n' });
  });

  it('--force does not wait for what does not listen', async () => {
    const { run, processes } = await stage('stubborn');
    expect(await run('tasks', 'rm', 't', '--yes', '--force')).toMatchObject({ code: 0, stdout: 't was removed.\n' });
    expect(await processes()).toEqual([]);
  });
});

describe('tasks archive', () => {
  it('asks first where something lives, leaves it running, and lists it until it has ended', async () => {
    const { run, get, at, processes } = await stage('work');
    const listed = async (...more: readonly string[]) =>
      (await json<TaskView[]>(['tasks', 'list', ...more, ...at])).map(({ taskId }) => taskId);
    const asked = await run('tasks', 'archive', 't');
    expect([asked.code, asked.stdout]).toEqual([1, '']);
    expect(lastLine(asked.stderr)).toMatch(
      /^offstage: 1 session works .+ Nothing was archived; repeat with --yes to archive it all the same; what runs goes on\.$/,
    );
    expect((await get<TaskView>('tasks', 't')).state).toBe('open');
    expect(await run('tasks', 'archive', 't', '--yes')).toMatchObject({ code: 0, stdout: 't was archived.\n', stderr: '' });
    expect((await get<TaskView>('tasks', 't')).state).toBe('archived');
    expect(await processes()).not.toEqual([]);
    expect(await listed()).toEqual(['t']);
    await run('tasks', 'stop', 't');
    expect([await listed(), await listed('--archived')]).toEqual([[], ['t']]);
  });
});

describe('wrong usage', () => {
  it('unknown ids and options exit 2, also where there is no data', async () => {
    const { at } = await stage('quiet');
    const empty = ['--data-dir', join(await newFolder(), 'data')];
    for (const [args, said] of [
      [['tasks', 'stop', 'x', ...at], 'offstage: No task has the id "x".\n'],
      [['tasks', 'stop', 'x', ...empty], 'offstage: No task has the id "x".\n'],
      [['tasks', 'rm', 'x', '--yes', ...at], 'offstage: No task has the id "x".\n'],
      [['tasks', 'archive', 'x', ...empty], 'offstage: No task has the id "x".\n'],
      [['sessions', 'stop', 'x', ...at], 'offstage: No session has the id "x".\n'],
      [['sessions', 'rm', 'x', ...empty], 'offstage: No session has the id "x".\n'],
      [['tasks', 'stop'], "error: missing required argument 'id'\n"],
      [['tasks', 'stop', 't', '--yes'], "error: unknown option '--yes'\n"],
      [['tasks', 'archive', 't', '--force'], "error: unknown option '--force'\n"],
      [['sessions', 'archive', 's'], "error: unknown command 'archive'\n"],
      [['sessions', 'list', '--archived'], "error: unknown option '--archived'\n"],
    ] as const) {
      expect(await offstage(args), args.join(' ')).toEqual({ code: 2, signal: null, stdout: '', stderr: said });
    }
    const { code, stdout, stderr } = await offstage(['tasks', 'stop', 'x', '--json', ...at]);
    expect([code, stdout]).toEqual([2, '']);
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'task.not_found', details: { taskId: 'x' } } });
  });
});
