/** H2: one job at a time, from the call that submits it to its stored end. */
import { Ends, quantile } from './session.mjs';

export async function latency(subject, { warmUp, jobs, ...options }) {
  const ends = new Ends({ isKept: true });
  const session = await subject.open({ ...options, noop: async () => null, onEnd: ends.add });
  const end = session.end ?? ((jobId) => ends.of(jobId));
  const times = [];
  for (let index = 0; index < warmUp + jobs; index += 1) {
    const begun = performance.now();
    await end(await session.submit('noop'));
    if (index >= warmUp) times.push(performance.now() - begun);
  }
  await session.close();
  return { p50Ms: quantile(times, 0.5), p95Ms: quantile(times, 0.95) };
}
