/**
 * Liveness 9: a crash between the decision to end something and its end. What was decided is in the process record, and the next start
 * finishes it before anything is accepted (seed 004).
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ProcessRecord, SessionRow } from '../../src/model/records.ts';
import { open } from '../../src/open.ts';
import { levelStore } from '../../src/persistence/level-store.ts';
import { KEYS } from '../../src/persistence/row-keys.ts';
import { json, offstage } from '../cli/offstage.ts';
import { endLeftBehind, tokenHolders, watchExecutionId } from '../executors/processes.ts';

const HOST = join(import.meta.dirname, 'stopping-host.mjs');
const NOTHING = { abandoned: [], sessions: [], lostTickets: [], processes: [] };

let folder: string;
let dataDir: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'offstage-stopping-'));
  dataDir = join(folder, 'data');
});
afterEach(async () => {
  await endLeftBehind();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs a host to its violent end; answers the executions that it had at work. */
async function killedHost(by: 'stop' | 'stall', when: string): Promise<readonly string[]> {
  const host = spawn(process.execPath, [HOST, by, when, dataDir], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(host, 'exit');
  const executions: string[] = [];
  for await (const line of createInterface({ input: host.stdout })) {
    const [what, executionId] = line.split(' ');
    if (what === 'execution' && executionId !== undefined) {
      executions.push(executionId);
      watchExecutionId(executionId);
    }
    if (line === 'told') host.kill('SIGKILL');
  }
  expect((await exited)[1]).toBe('SIGKILL');
  expect(executions).toHaveLength(2);
  return executions;
}

const alive = async (executions: readonly string[]): Promise<readonly boolean[]> =>
  Promise.all(executions.map(async (executionId) => (await tokenHolders(executionId)).length > 0));

async function storedRow(): Promise<string | undefined> {
  const store = await levelStore(dataDir);
  try {
    return await store.get(KEYS.session('s'));
  } finally {
    await store.close();
  }
}

/** What `offstage doctor --json` says of processes: it starts no recovery. */
const doctor = async () =>
  (await json<{ processes: readonly (ProcessRecord & { verdict: string })[] }>(['doctor', '--data-dir', dataDir])).processes;

const stateOf = (row: string | undefined): SessionRow => JSON.parse(row as string) as SessionRow;

describe.runIf(process.platform === 'linux')('a host that dies', () => {
  it.each([
    ['cancelled', 'stop', 'after'],
    ['cancelled', 'stop', 'told'],
    ['failed', 'stall', 'after'],
  ] as const)(
    'with a session %s by a %s, %s: the next start ends the tree, and the record stays as it is',
    async (state, by, when) => {
      const executions = await killedHost(by, when);
      const row = await storedRow();
      expect(stateOf(row)).toMatchObject({ state });
      expect(await alive(executions)).toEqual([true, true]);
      const left = await doctor();
      // A stall is of the session only.
      const intended = left.filter(({ teardownAt }) => teardownAt !== null);
      expect(intended.map(({ sessionId, jobId }) => sessionId ?? jobId).toSorted()).toEqual(by === 'stop' ? ['j', 's'] : ['s']);
      expect(left.map(({ verdict }) => verdict)).toEqual(['alive', 'alive']);
      const { stdout } = await offstage(['doctor', '--data-dir', dataDir]);
      expect(stdout.match(/pid \d+, to be ended {2}alive: At work/g)).toHaveLength(intended.length);

      const first = await open({ dataDir, killAfterMs: 300, control: true });
      expect(await alive(executions)).toEqual([false, false]);
      expect(first.recovery).toMatchObject({ abandoned: ['j'], sessions: [] });
      expect(first.recovery.processes.map(({ executionId }) => executionId).toSorted()).toEqual(executions.toSorted());
      for (const process of first.recovery.processes) {
        const { executionId, sessionId, jobId, pid, teardownAt } =
          left.find((one) => one.executionId === process.executionId) ?? {};
        expect(process).toMatchObject({ executionId, sessionId, jobId, pid, teardownAt, verdict: 'killed' });
      }
      expect(await first.sessions.get('s')).toMatchObject({ state, revision: stateOf(row).revision, foregroundActivity: null });
      expect(await first.get('j')).toMatchObject({ status: 'errored', reasonCode: 'abandoned.crash', detached: false });
      expect(await first.processes()).toEqual([]);
      expect(await doctor()).toEqual([]);
      await expect(first.tasks.stop('t')).rejects.toMatchObject({ code: 'stop.nothing_running' });
      const { seq } = await first.snapshot();
      await first.close();
      expect(await storedRow()).toBe(row);

      const second = await open({ dataDir });
      expect(second.recovery).toEqual(NOTHING);
      expect((await second.snapshot()).seq).toBe(seq);
      await second.close();
      expect(await storedRow()).toBe(row);
    },
  );

  it('before a stop is stored: nothing was decided; the start ends the tree, and the session waits for input', async () => {
    const executions = await killedHost('stop', 'before');
    expect(stateOf(await storedRow())).toMatchObject({ state: 'running' });
    expect(await alive(executions)).toEqual([true, true]);
    expect((await doctor()).map(({ teardownAt }) => teardownAt)).toEqual([null, null]);

    const first = await open({ dataDir, killAfterMs: 300 });
    expect(await alive(executions)).toEqual([false, false]);
    expect(first.recovery).toMatchObject({ abandoned: ['j'], sessions: ['s'] });
    expect(first.recovery.processes).toMatchObject(Array.from({ length: 2 }, () => ({ verdict: 'killed', teardownAt: null })));
    expect(await first.processes()).toEqual([]);
    const { seq } = await first.snapshot();
    await first.close();
    const row = await storedRow();
    expect(stateOf(row)).toMatchObject({ state: 'waiting_for_input', interrupted: true, pending: null });

    const second = await open({ dataDir });
    expect(second.recovery).toEqual(NOTHING);
    expect((await second.snapshot()).seq).toBe(seq);
    await second.close();
    expect(await storedRow()).toBe(row);
  });
});
