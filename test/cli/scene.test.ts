/** `examples/scene.mjs`: all that it promises is on stage at once, as other terminals see it, and nothing of it outlives it. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import type { SessionView, TaskView } from '../../src/model/activity.ts';
import type { JobView } from '../../src/model/records.ts';
import { json, newFolder, offstage, ROOT, until } from './offstage.ts';

const SCENE = join(ROOT, 'examples', 'scene.mjs');

interface Row {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

/** Everything that runs; what has ended and was not collected yet does not. */
async function processes(): Promise<readonly Row[]> {
  const { stdout } = await promisify(execFile)('ps', ['-eo', 'pid=,ppid=,stat=,args='], { maxBuffer: 64 * 1024 * 1024 });
  return [...stdout.matchAll(/^ *(\d+) +(\d+) +([^Z ]\S*) +(.*)$/gm)].map(([, pid, parent, , command = '']) => ({
    pid: Number(pid),
    parent: Number(parent),
    command,
  }));
}

const below = (rows: readonly Row[], pid: number): readonly Row[] =>
  rows.filter(({ parent }) => parent === pid).flatMap((row) => [row, ...below(rows, row.pid)]);

it('three tasks, sessions in every state, a plan, failures, a stuck job, progress, long output, nested jobs; then nothing', async () => {
  const data = join(await newFolder(), 'data');
  const scene = spawn(process.execPath, [SCENE], {
    env: { ...process.env, OFFSTAGE_DATA_DIR: data },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(scene, 'exit');
  let said = '';
  scene.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  try {
    await until(async () => (said.includes('Everything is on stage.') ? true : null));
    const at = ['--data-dir', data];
    const [tasks, sessions, jobs] = await Promise.all([
      json<readonly TaskView[]>(['tasks', 'list', ...at]),
      json<readonly SessionView[]>(['sessions', 'list', ...at]),
      json<readonly JobView[]>(['jobs', 'list', '--all', ...at]),
    ]);
    expect(tasks.map(({ title }) => title)).toEqual(
      expect.arrayContaining(['Checkout times out under load', 'Release 2.4', 'Nightly checks']),
    );
    expect(tasks).toHaveLength(3);
    const shows = sessions.map(({ foregroundActivity, turn, pending, state, activeSubagentCount }) =>
      pending !== null ? pending.kind : turn !== null ? 'turn' : `${state} ${foregroundActivity} ${activeSubagentCount}`,
    );
    expect(shows).toEqual(
      expect.arrayContaining(['permission', 'turn', 'waiting_for_input background 2', 'waiting_for_input null 0']),
    );
    expect(sessions.filter(({ queuedPrompts }) => queuedPrompts === 1)).toHaveLength(1);
    const of = (matches: (job: JobView) => boolean): JobView => jobs.find(matches) as JobView;
    expect(of(({ subject }) => subject === 'migration test').error?.message).toContain('exit code 3');
    expect(of(({ subject }) => subject === 'dependency audit').reasonCode).toBe('timed_out');
    expect(of(({ subject }) => subject === 'follow the log')).toMatchObject({ reasonCode: 'cancel.user', detached: false });
    expect(of(({ subject }) => subject === 'a check that hangs')).toMatchObject({ detached: true, bodyLive: true });
    const plan = jobs.filter(({ parentMessageId }) => parentMessageId !== null);
    expect(plan).toHaveLength(10);
    expect(plan.map(({ status }) => status)).toEqual(expect.arrayContaining(['running', 'queued']));
    const research = of(({ kind }) => kind === 'research');
    expect(research.progress).toMatchObject({ total: 10 });
    const digest = of(({ parentJobId }) => parentJobId === research.jobId);
    expect(jobs.some(({ parentJobId, kind }) => parentJobId !== null && kind === 'digest')).toBe(true);
    expect(digest).toBeDefined();
    const output = await offstage(['jobs', 'output', of(({ subject }) => subject === 'load test').jobId, ...at]);
    expect(output.stdout.split('\n').length).toBeGreaterThan(3_000);

    const started = below(await processes(), scene.pid as number);
    expect(started.filter(({ command }) => command.includes('agent.mjs')).length).toBeGreaterThan(3);
    scene.kill('SIGINT');
    expect(await ended).toEqual([0, null]);
    const left = new Set((await processes()).map(({ pid, command }) => `${pid} ${command}`));
    expect(started.filter(({ pid, command }) => left.has(`${pid} ${command}`))).toEqual([]);
  } finally {
    scene.kill('SIGKILL');
  }
  // What was cut off is told as such, and none of it runs.
  const left = await json<readonly JobView[]>(['jobs', 'list', '--status', 'running', 'queued', 'pending', '--data-dir', data]);
  expect(left).toEqual([]);
});
