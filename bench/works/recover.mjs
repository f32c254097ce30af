/**
 * H4: a host is killed with unfinished jobs; a new process opens the same data until nothing is unfinished.
 *
 * REC1  Ours ends such jobs as errored (nothing is run twice); BullMQ runs those that waited. Its few active ones come back only after
 *       their lock has run out (30 s by default): they are not waited for, in its favour.
 * REC2  Redis itself goes on running, in its favour: only the host dies.
 */
import { cpSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Level } from 'level';
import { Ends, gate, submitMany } from './session.mjs';

/** The host: submits jobs that never end, tells when it holds them, and stays until it is killed. */
export async function holdUntilKilled(subject, { unfinished, workers, ...options }, tell) {
  const bodies = gate({ watchesSignal: false });
  const session = await subject.open({ ...options, workers, noop: async () => null, hold: bodies.hold, onEnd: () => {} });
  const ids = await submitMany(session, 'hold', unfinished, { isKept: true });
  await bodies.reached(Math.min(workers, unfinished));
  tell({ ids, active: bodies.held() });
  await new Promise(() => setInterval(() => {}, 60_000));
}

export async function recover(subject, { ids, active, ...options }) {
  const ends = new Ends({ isKept: true });
  const noop = async () => null;
  const begun = performance.now();
  const session = await subject.open({ ...options, noop, hold: noop, onEnd: ends.add });
  const openMs = performance.now() - begun;
  if (session.hasUnfinished === undefined) {
    const isActive = new Set(active);
    for (const jobId of ids) if (!isActive.has(jobId)) await ends.of(jobId);
  } else if (await session.hasUnfinished()) {
    throw new Error('open resolved with unfinished jobs left');
  }
  const totalMs = performance.now() - begun;
  if (subject.isOurs) {
    for (const jobId of [ids[0], ids.at(-1)]) {
      const { status, reasonCode } = await session.get(jobId);
      if (status !== 'errored' || reasonCode !== 'abandoned.crash') throw new Error(`${jobId} is ${status} (${reasonCode})`);
    }
  }
  await session.close();
  return { openMs, totalMs };
}

/** LevelDB alone on a copy of the folder: what of our `open` is the database's own. */
export async function openRaw(_subject, { dataDir }) {
  const copy = `${dataDir}-raw`;
  cpSync(dataDir, copy, { recursive: true });
  const current = readdirSync(copy, { recursive: true }).find((path) => path === 'CURRENT' || path.endsWith('/CURRENT'));
  const db = new Level(dirname(join(copy, current)), { keyEncoding: 'utf8', valueEncoding: 'utf8' });
  const begun = performance.now();
  await db.open();
  const rawOpenMs = performance.now() - begun;
  await db.close();
  rmSync(copy, { recursive: true });
  return { rawOpenMs };
}
