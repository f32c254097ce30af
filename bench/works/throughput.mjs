/** H1 and H8: no-op jobs until all have ended and are stored, and the delay of the event loop meanwhile. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Ends, runMany } from './session.mjs';

export async function throughput(subject, { warmUp, jobs, ...options }) {
  const ends = new Ends({ isKept: false });
  let runs = 0;
  const noop = async () => {
    runs += 1;
    return null;
  };
  const session = await subject.open({ ...options, noop, onEnd: ends.add });
  await runMany(session, ends, warmUp);
  const loop = monitorEventLoopDelay({ resolution: 1 });
  loop.enable();
  const cpu = process.cpuUsage();
  const begun = performance.now();
  await runMany(session, ends, jobs);
  const seconds = (performance.now() - begun) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  loop.disable();
  await session.close();
  if (runs !== warmUp + jobs) throw new Error(`${runs} bodies were run for ${warmUp + jobs} jobs`);
  return {
    jobsPerSecond: jobs / seconds,
    cpuUsPerJob: (user + system) / jobs,
    loopP50Ms: loop.percentile(50) / 1e6,
    loopP99Ms: loop.percentile(99) / 1e6,
    loopMaxMs: loop.max / 1e6,
  };
}
