/** Spec 6, recovery: what a killed host leaves at work is ended when it is provably ours, and left alone when it is not (B26, B27). */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ProcessRecord } from '../../src/model/records.ts';
import { open } from '../../src/open.ts';
import { levelStore } from '../../src/persistence/level-store.ts';
import { RANGES } from '../../src/persistence/row-keys.ts';

const HOST = join(import.meta.dirname, 'host.mjs');

let folder: string;
let dataDir: string;
let runLog: string;
/** Processes that a failed test would leave. */
let started: ChildProcess[];
let commands: Map<string, number>;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'offstage-orphans-'));
  dataDir = join(folder, 'data');
  runLog = join(folder, 'runs.log');
  started = [];
  commands = new Map();
});

afterEach(() => {
  for (const child of started) child.kill('SIGKILL');
  for (const [jobId, pid] of commands) if (isAlive(pid, jobId)) process.kill(pid, 'SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

/** Whether this very command is alive: it carries its job's id among its arguments. */
function isAlive(pid: number, jobId: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(jobId);
  } catch {
    return false;
  }
}

/** `[jobId, pid]` of the commands that have begun. */
const runs = (): readonly (readonly [string, number])[] =>
  readFileSync(runLog, 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [, jobId, pid] = /^(.*) (\d+)$/.exec(line) ?? [];
      return jobId === undefined ? [] : [[jobId, Number(pid)] as const];
    });

/** A host with two commands at work and three queued, killed. Answers the ids it had acknowledged. */
async function killedHost(): Promise<readonly string[]> {
  const host = spawn(process.execPath, [HOST, 'commands', dataDir, runLog, '1'], { stdio: ['ignore', 'pipe', 'inherit'] });
  started.push(host);
  const acknowledged: string[] = [];
  const lines = createInterface({ input: host.stdout });
  for await (const line of lines) {
    if (line.startsWith('ack ')) acknowledged.push(line.slice(4));
    if (line === 'launched') break;
  }
  commands = new Map(runs());
  host.kill('SIGKILL');
  await once(host, 'exit');
  return acknowledged;
}

const rowsOf = async (): Promise<readonly ProcessRecord[]> => {
  const store = await levelStore(dataDir);
  const rows: ProcessRecord[] = [];
  for await (const { value } of store.range(RANGES.processes)) rows.push(JSON.parse(value));
  await store.close();
  return rows;
};

describe.runIf(process.platform === 'linux')('a host killed with two commands at work and three queued', () => {
  it('B26: all five are abandoned once, the processes are gone, nothing runs again, a second open changes nothing', async () => {
    const acknowledged = await killedHost();
    const atWork = [...commands];
    expect(atWork.every(([jobId, pid]) => isAlive(pid, jobId))).toBe(true);
    const first = await open({ dataDir, killAfterMs: 500 });
    expect(first.recovery.abandoned.toSorted()).toEqual(acknowledged.toSorted());
    expect(first.recovery.processes.map(({ verdict }) => verdict)).toEqual(['killed', 'killed']);
    expect(atWork.filter(([jobId, pid]) => isAlive(pid, jobId))).toEqual([]);
    const records = await first.list();
    expect(records.map(({ status, reasonCode, detached, error }) => [status, reasonCode, detached, error?.message])).toEqual(
      Array.from({ length: 5 }, () => ['errored', 'abandoned.crash', false, 'worker died before completion']),
    );
    expect(
      records
        .filter(({ startedAt }) => startedAt !== null)
        .map(({ jobId }) => jobId)
        .toSorted(),
    ).toEqual(atWork.map(([jobId]) => jobId).toSorted());
    const { seq } = await first.snapshot();
    await first.close();
    expect(await rowsOf()).toEqual([]);
    const second = await open({ dataDir });
    expect(second.recovery).toEqual({ abandoned: [], sessions: [], lostTickets: [], processes: [] });
    expect(await second.list()).toEqual(records);
    expect((await second.snapshot()).seq).toBe(seq);
    await second.close();
    expect(runs()).toHaveLength(2);
  });

  it('B27: a pid that now belongs to another process is not touched', async () => {
    await killedHost();
    const bystander = spawn('sleep', ['60'], { stdio: 'ignore' });
    started.push(bystander);
    await once(bystander, 'spawn');
    // As if the number had been given anew: the noted process is long gone, and somebody else has its pid.
    const [noted] = await rowsOf();
    // Times count in ticks of 10 ms, and both processes may have begun within one.
    const longAgo = String(Number((noted as ProcessRecord).startTime) - 1_000);
    const rewritten = { ...(noted as ProcessRecord), pid: bystander.pid as number, startTime: longAgo };
    const original = commands.get(rewritten.jobId as string) as number;
    process.kill(-original, 'SIGKILL');
    const store = await levelStore(dataDir);
    for await (const { key, value } of store.range(RANGES.processes)) {
      if ((JSON.parse(value) as ProcessRecord).executionId !== rewritten.executionId) continue;
      await store.batch([{ type: 'put', key, value: JSON.stringify(rewritten) }], { sync: true });
    }
    await store.close();
    const offstage = await open({ dataDir, killAfterMs: 500 });
    const verdict = offstage.recovery.processes.find(({ jobId }) => jobId === rewritten.jobId);
    expect(verdict).toMatchObject({ verdict: 'not_ours', pid: bystander.pid });
    expect(bystander.exitCode ?? bystander.signalCode).toBeNull();
    expect(await offstage.get(rewritten.jobId as string)).toMatchObject({ status: 'errored', reasonCode: 'abandoned.crash' });
    await offstage.close();
    // Alive a moment later too, not merely not reaped yet.
    expect(process.kill(bystander.pid as number, 0)).toBe(true);
    expect(readFileSync(`/proc/${bystander.pid}/cmdline`, 'utf8')).toContain('sleep');
  });
});
