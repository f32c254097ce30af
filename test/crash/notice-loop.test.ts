/**
 * G4, NTC1: real SIGKILL, again and again on one folder with agents. The full figure comes from
 * `node test/crash/run-crash-loop.mjs --loop notices --kills 200`.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const KILLS = 15;
const SEED = Number(process.env.OFFSTAGE_CRASH_SEED ?? Math.floor(performance.timeOrigin % 1_000_000));

it(`G4, NTC1: ${KILLS} kills: every card as its job, no notice lost, none told twice but what was not stored (seed ${SEED})`, async () => {
  const script = join(import.meta.dirname, 'run-crash-loop.mjs');
  const args = [script, '--loop', 'notices', '--json', '--kills', String(KILLS), '--seed', String(SEED)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 1 << 24 }).catch((error) => error);
  const { summary, problems } = JSON.parse(stdout);
  expect(problems).toEqual([]);
  expect(summary).toMatchObject({ kills: KILLS, lost: 0, doubled: 0, waiting: 0 });
  // A loop in which nothing happens proves nothing.
  expect(summary.told).toBeGreaterThan(KILLS * 3);
  expect(summary.pruned).toBeGreaterThan(0);
}, 180_000);
