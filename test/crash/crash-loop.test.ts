/** G5: real SIGKILL, again and again on one folder. The full figure comes from `node test/crash/run-crash-loop.mjs --kills 200`. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const KILLS = 25;
const SEED = Number(process.env.OFFSTAGE_CRASH_SEED ?? Math.floor(performance.timeOrigin % 1_000_000));

it(`G5, B45: ${KILLS} kills: nothing lost, nothing doubled, nothing revived, each unfinished job errored once (seed ${SEED})`, async () => {
  const script = join(import.meta.dirname, 'run-crash-loop.mjs');
  const args = [script, '--json', '--kills', String(KILLS), '--seed', String(SEED)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 1 << 24 }).catch((error) => error);
  const { summary, problems } = JSON.parse(stdout);
  expect(problems).toEqual([]);
  expect(summary).toMatchObject({ kills: KILLS, lost: 0, doubled: 0, revived: 0, orphans: 0 });
  // A loop in which nothing happens proves nothing.
  expect(summary.acknowledged).toBeGreaterThan(KILLS * 5);
  expect(summary.abandoned).toBeGreaterThan(KILLS);
  expect(summary.told).toBeGreaterThan(KILLS);
}, 180_000);
