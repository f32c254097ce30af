/** H3 and H8: from the call that cancels a running job to its stored end; one by one, and while no-op jobs load the engine. */
import { setTimeout as delay } from 'node:timers/promises';
import { Ends, gate, quantile, submitMany } from './session.mjs';

const BETWEEN_CANCELS_MS = 4;

async function openWithHeld(subject, held, { noop = async () => null, ...options }) {
  const ends = new Ends({ isKept: true });
  const bodies = gate();
  const session = await subject.open({ ...options, noop, hold: bodies.hold, onEnd: ends.add });
  const ids = await submitMany(session, 'hold', held, { isKept: true });
  await bodies.reached(held);
  const end = session.end ?? ((jobId) => ends.of(jobId));
  const cancelTimed = async (jobId) => {
    const begun = performance.now();
    const [stored] = await Promise.all([end(jobId), session.cancel(jobId)]);
    const ms = performance.now() - begun;
    if (subject.isOurs && stored.status !== 'cancelled') throw new Error(`${jobId} ended ${stored.status}`);
    return ms;
  };
  return { session, ends, ids, cancelTimed };
}

/** `held` running jobs, cancelled one by one; then as many again, all in one turn. */
export async function cancel(subject, { warmUp, held, ...options }) {
  const { session, ids, cancelTimed } = await openWithHeld(subject, warmUp + held, { ...options, workers: warmUp + held });
  const times = [];
  for (const jobId of ids) times.push(await cancelTimed(jobId));
  times.splice(0, warmUp);
  await session.close();
  const { dataDir, queueName } = options;
  const again = { ...options, workers: held, dataDir: `${dataDir}-burst`, queueName: `${queueName}-burst` };
  const burst = await openWithHeld(subject, held, again);
  const begun = performance.now();
  await Promise.all(burst.ids.map(burst.cancelTimed));
  const burstMs = performance.now() - begun;
  await burst.session.close();
  return { p50Ms: quantile(times, 0.5), p95Ms: quantile(times, 0.95), burstMs };
}

/** Cancels one every few milliseconds while `jobs` no-op jobs run beside them; only cancels that were over before the load count. */
export async function cancelUnderLoad(subject, { held, jobs, workers, ...options }) {
  let runs = 0;
  const noop = async () => {
    runs += 1;
    return null;
  };
  const { session, ends, ids, cancelTimed } = await openWithHeld(subject, held, { ...options, workers: workers + held, noop });
  const load = submitMany(session, 'noop', jobs);
  const times = [];
  const cancels = [];
  for (const jobId of ids) {
    await delay(BETWEEN_CANCELS_MS);
    const cancelled = cancelTimed(jobId);
    cancels.push(cancelled.then((ms) => runs < jobs && times.push(ms)));
  }
  await Promise.all([load, ...cancels]);
  await ends.reached(held + jobs);
  await session.close();
  return { cancels: times.length, p50Ms: quantile(times, 0.5), p99Ms: quantile(times, 0.99) };
}
