/** H7: heap per finished, live and queued job, after garbage collection (needs `--expose-gc`). */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Ends, gate, runMany, submitMany } from './session.mjs';

async function heapUsed() {
  for (let pass = 0; pass < 4; pass += 1) {
    await nextTurn();
    globalThis.gc();
  }
  return process.memoryUsage().heapUsed;
}

const open = async (subject, options, workers) => {
  const ends = new Ends({ isKept: false });
  const bodies = gate({ watchesSignal: false });
  const session = await subject.open({ ...options, workers, noop: async () => null, hold: bodies.hold, onEnd: ends.add });
  return { session, ends, bodies };
};

export async function finishedMemory(subject, { warmUp, jobs, workers, ...options }) {
  const { session, ends } = await open(subject, options, workers);
  await runMany(session, ends, warmUp);
  const before = await heapUsed();
  await runMany(session, ends, jobs);
  const after = await heapUsed();
  await session.close();
  return { bytesPerJob: (after - before) / jobs };
}

/** `isQueued`: one worker, held. Otherwise every job is live; the bodies' own share is measured beside it and taken off. */
export async function heldMemory(subject, { warmUp, jobs, isQueued, ...options }) {
  const { session, bodies } = await open(subject, options, isQueued ? 1 : null);
  await submitMany(session, 'hold', warmUp);
  await bodies.reached(isQueued ? 1 : warmUp);
  const before = await heapUsed();
  await submitMany(session, 'hold', jobs);
  await bodies.reached(isQueued ? 1 : warmUp + jobs);
  const after = await heapUsed();
  const ownBytes = isQueued ? 0 : await bodiesAlone(jobs);
  for (const jobId of bodies.held()) bodies.release(jobId);
  const closed = session.close();
  while (bodies.held().length > 0) {
    for (const jobId of bodies.held()) bodies.release(jobId);
    await nextTurn();
  }
  await closed;
  return { bytesPerJob: (after - before) / jobs - ownBytes, ownBytes };
}

async function bodiesAlone(jobs) {
  const bodies = gate({ watchesSignal: false });
  const before = await heapUsed();
  const held = [];
  for (let index = 0; index < jobs; index += 1) held.push(bodies.hold(null, `body ${index}`));
  const after = await heapUsed();
  if (held.length + bodies.held().length !== 2 * jobs) throw new Error('bodies were lost');
  return (after - before) / jobs;
}
