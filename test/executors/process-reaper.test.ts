import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/actors/clock.ts';
import { describeProcess, reapProcess } from '../../src/executors/process-reaper.ts';
import { UNREADABLE_TABLE } from '../../src/executors/process-table.ts';
import { bootId, processStartTime } from '../../src/executors/process-tree.ts';
import type { ProcessRecord } from '../../src/model/records.ts';
import { endLeftBehind, isLiving, newExecutionId, tokenHolders } from './processes.ts';

const options = { clock: systemClock, killAfterMs: 200, deadlineMs: 5_000 };
const started: ChildProcess[] = [];

/** Starts a tree as a host would have, and waits until it says so. */
async function orphan(script = 'echo ready; sleep 600 & wait', carriesToken = true): Promise<ProcessRecord> {
  const executionId = newExecutionId();
  const child = spawn('sh', ['-c', script], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { PATH: process.env.PATH, ...(carriesToken ? { OFFSTAGE_EXECUTION: executionId } : {}) },
  });
  started.push(child);
  const pid = child.pid ?? 0;
  const startTime = processStartTime(pid);
  await once(child.stdout as NonNullable<typeof child.stdout>, 'data');
  return { executionId, jobId: 'job_1', sessionId: null, pid, startTime, bootId: bootId(), at: 1, teardownAt: null };
}

afterEach(async () => {
  await endLeftBehind();
  for (const child of started.splice(0)) {
    if (child.exitCode === null && child.signalCode === null && child.pid !== undefined) signalGroupOf(child.pid);
  }
});

function signalGroupOf(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has just ended by itself.
  }
}

describe('RPR1: what is provably ours is ended', () => {
  it('a tree whose pid, start time and boot agree', async () => {
    const record = await orphan();
    expect(await describeProcess(record, options)).toMatchObject({ verdict: 'alive' });
    const verdict = await reapProcess(record, options);
    expect(verdict.verdict).toBe('killed');
    expect(verdict.pids).toContain(record.pid);
    expect(verdict.pids).toHaveLength(2);
    expect(await tokenHolders(record.executionId)).toEqual([]);
    // Twice in a row: the second changes nothing.
    expect(await reapProcess(record, options)).toMatchObject({ verdict: 'gone', pids: [] });
    expect(await describeProcess(record, options)).toMatchObject({ verdict: 'gone' });
  });

  it('also one that ignores TERM', async () => {
    const record = await orphan("trap '' TERM; echo ready; while :; do sleep 0.1; done");
    expect(await reapProcess(record, options)).toMatchObject({ verdict: 'killed' });
    expect(await isLiving(record.pid ?? 0)).toBe(false);
  });

  it('also when the environment is gone, as long as the process is proven', async () => {
    const record = await orphan(undefined, false);
    expect(await reapProcess(record, options)).toMatchObject({ verdict: 'killed' });
    expect(await isLiving(record.pid ?? 0)).toBe(false);
  });

  it('a launch without a recorded pid is found by its token', async () => {
    const { pid, executionId } = await orphan();
    const record: ProcessRecord = {
      executionId,
      jobId: 'job_1',
      sessionId: null,
      pid: null,
      startTime: null,
      bootId: null,
      at: 1,
      teardownAt: null,
    };
    expect(await reapProcess(record, options)).toMatchObject({ verdict: 'killed' });
    expect(await isLiving(pid ?? 0)).toBe(false);
    expect(await reapProcess(record, options)).toMatchObject({ verdict: 'gone' });
  });

  it('a daemon with the token whose noted process is long gone', async () => {
    const record = await orphan("setsid sh -c 'echo ready; exec sleep 600' & exit 0");
    while (processStartTime(record.pid ?? 0) !== null) await new Promise(setImmediate);
    expect(await reapProcess(record, options)).toMatchObject({ verdict: 'killed' });
    expect(await tokenHolders(record.executionId)).toEqual([]);
  });
});

describe('RPR2, RPR3, RPR4: what is not proven is left alone', () => {
  it('RPR2: a reused pid is not touched', async () => {
    const record = await orphan(undefined, false);
    const verdict = await reapProcess({ ...record, startTime: '1' }, options);
    expect(verdict).toMatchObject({ verdict: 'not_ours', pids: [] });
    expect(await describeProcess({ ...record, startTime: '1' }, options)).toMatchObject({ verdict: 'not_ours' });
    expect(processStartTime(record.pid ?? 0)).toBe(record.startTime);
    expect(await isLiving(record.pid ?? 0)).toBe(true);
  });

  it('RPR2: but holders of the token next to a reused pid are ended', async () => {
    const other = await orphan(undefined, false);
    const ours = await orphan();
    const record = { ...ours, pid: other.pid, startTime: '1' };
    expect(await reapProcess(record, options)).toMatchObject({ verdict: 'killed' });
    expect(await isLiving(ours.pid ?? 0)).toBe(false);
    expect(await isLiving(other.pid ?? 0)).toBe(true);
  });

  it('a pid without a known boot proves nothing', async () => {
    const record = await orphan(undefined, false);
    await reapProcess({ ...record, bootId: null }, options);
    expect(await isLiving(record.pid ?? 0)).toBe(true);
  });

  it('RPR3: another boot means gone, without any search', async () => {
    const record = { ...(await orphan()), bootId: '00000000-0000-0000-0000-000000000000/pid:[1]' };
    const readTable = () => Promise.reject(new Error('searched'));
    expect(await reapProcess(record, { ...options, readTable })).toMatchObject({ verdict: 'gone', pids: [] });
    expect(await isLiving(record.pid ?? 0)).toBe(true);
  });

  it('RPR4: the same boot in another container is unverified', async () => {
    const record = { ...(await orphan()), bootId: `${bootId()?.split('/')[0]}/pid:[1]` };
    expect(await reapProcess(record, options)).toMatchObject({ verdict: 'unverified' });
    expect(await isLiving(record.pid ?? 0)).toBe(true);
  });

  it('RPR4: without a reading nothing is called gone', async () => {
    const record: ProcessRecord = {
      executionId: 'exe_x',
      jobId: 'job_1',
      sessionId: null,
      pid: null,
      startTime: null,
      bootId: null,
      at: 1,
      teardownAt: null,
    };
    const readTable = () => Promise.resolve(UNREADABLE_TABLE);
    expect(await reapProcess(record, { ...options, deadlineMs: 50, readTable })).toMatchObject({ verdict: 'unverified' });
    expect(await describeProcess(record, { clock: systemClock, readTable })).toMatchObject({ verdict: 'unverified' });
  });

  it('RPR4: a group that outlived its proof is reported, not ended', async () => {
    const record = await orphan('(echo ready; exec sleep 600) & exit 0', false);
    while (processStartTime(record.pid ?? 0) !== null) await new Promise(setImmediate);
    const verdict = await reapProcess(record, options);
    expect(verdict.verdict).toBe('unverified');
    const [survivor] = verdict.pids;
    expect(await isLiving(survivor ?? 0)).toBe(true);
    process.kill(survivor ?? 0, 'SIGKILL');
  });
});
