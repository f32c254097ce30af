/** Liveness 9 and 13: hosts that stop tasks and sessions, killed at any instant. More of it: `node test/crash/run-crash-loop.mjs --loop stops --kills 100`. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const KILLS = 12;
const SEED = Number(process.env.OFFSTAGE_CRASH_SEED ?? Math.floor(performance.timeOrigin % 1_000_000));

it.runIf(process.platform === 'linux')(
  `${KILLS} kills while tasks are stopped: no process is left, every job has ended, every session is settled (seed ${SEED})`,
  async () => {
    const script = join(import.meta.dirname, 'run-crash-loop.mjs');
    const args = [script, '--loop', 'stops', '--json', '--kills', String(KILLS), '--seed', String(SEED)];
    const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 1 << 24 }).catch((error) => error);
    const { summary, problems } = JSON.parse(stdout);
    expect(problems).toEqual([]);
    expect(summary).toMatchObject({ kills: KILLS, left: 0 });
    // A loop in which nothing happens proves nothing.
    expect(summary.settled).toBeGreaterThan(KILLS / 6);
    expect(summary.killed).toBeGreaterThan(KILLS / 4);
    expect(summary.abandoned).toBeGreaterThan(KILLS / 4);
    expect(summary.finished).toBeGreaterThan(0);
  },
  180_000,
);
