/** H6: does a job cost the same beside many others, finished, live or queued? */
import { Ends, gate, quantile, runMany, submitMany } from './session.mjs';

const SAMPLE = 200;
const REPEATS = 4;

/** Waves of no-op jobs into one folder. Also fills the folders that H4 and H5 read. @returns jobs/s per wave, and some of the ids */
export async function waves(subject, { warmUp, waves: count, jobs, ...options }) {
  const ends = new Ends({ isKept: false });
  const session = await subject.open({ ...options, noop: async () => null, onEnd: ends.add });
  if (warmUp > 0) await runMany(session, ends, warmUp);
  const rates = [];
  const all = [];
  for (let wave = 0; wave < count; wave += 1) {
    const begun = performance.now();
    all.push(...(await runMany(session, ends, jobs, { isKept: true })));
    rates.push(jobs / ((performance.now() - begun) / 1_000));
  }
  await session.close();
  const step = Math.max(1, Math.floor(all.length / SAMPLE));
  const median = quantile(rates, 0.5);
  return {
    ids: all.filter((_, index) => index % step === 0),
    rates,
    slowestShare: Math.min(...rates) / median,
    medianRate: median,
  };
}

const usPerJob = async (jobs, work) => {
  const begun = performance.now();
  await work();
  return ((performance.now() - begun) * 1_000) / jobs;
};

/** Cost of spawn, cancel and end beside `levels[0]` live jobs and beside `levels[1]`, without a limit of workers. */
export async function besideLive(subject, { levels, probes, ...options }) {
  const ends = new Ends({ isKept: false });
  const bodies = gate();
  const session = await subject.open({ ...options, workers: null, noop: async () => null, hold: bodies.hold, onEnd: ends.add });
  const spawnHeld = async (jobs) => {
    const target = bodies.started + jobs;
    const ids = await submitMany(session, 'hold', jobs, { isKept: true });
    await bodies.reached(target);
    return ids;
  };
  const endAll = async (ids, verb) => {
    const target = ends.count + ids.length;
    for (const jobId of ids) verb(jobId);
    await ends.reached(target);
  };
  const figures = [];
  for (const level of levels) {
    await spawnHeld(level - bodies.held().length);
    const samples = { spawnUs: [], cancelUs: [], endUs: [] };
    for (let repeat = 0; repeat < REPEATS; repeat += 1) {
      let ids;
      samples.spawnUs.push(await usPerJob(probes, async () => (ids = await spawnHeld(probes))));
      samples.cancelUs.push(await usPerJob(probes, () => endAll(ids, session.cancel)));
      ids = await spawnHeld(probes);
      samples.endUs.push(await usPerJob(probes, () => endAll(ids, bodies.release)));
    }
    figures.push(best(level, samples));
  }
  return close(session, figures, bodies);
}

/** The same beside queued jobs: cancels are spread over the whole queue, an end lets the next one start. */
export async function besideQueued(subject, { levels, probes, workers, ...options }) {
  const ends = new Ends({ isKept: false });
  const bodies = gate();
  const session = await subject.open({ ...options, workers, noop: async () => null, hold: bodies.hold, onEnd: ends.add });
  let queued = await submitMany(session, 'hold', workers, { isKept: true });
  await bodies.reached(workers);
  queued = [];
  const figures = [];
  for (const level of levels) {
    queued.push(...(await submitMany(session, 'hold', level - queued.length, { isKept: true })));
    const samples = { spawnUs: [], cancelUs: [], endUs: [] };
    for (let repeat = 0; repeat < REPEATS; repeat += 1) {
      samples.spawnUs.push(
        await usPerJob(probes, async () => queued.push(...(await submitMany(session, 'hold', probes, { isKept: true })))),
      );
      const step = Math.floor(queued.length / probes);
      const picked = new Set(queued.filter((_, index) => index % step === step - 1).slice(0, probes));
      queued = queued.filter((jobId) => !picked.has(jobId));
      const target = ends.count + picked.size;
      samples.cancelUs.push(
        await usPerJob(picked.size, () => {
          for (const jobId of picked) session.cancel(jobId);
          return ends.reached(target);
        }),
      );
      samples.endUs.push(await usPerJob(probes, () => endOneByOne(bodies, probes)));
      queued = queued.slice(probes);
      queued.push(...(await submitMany(session, 'hold', probes, { isKept: true })));
    }
    figures.push(best(level, samples));
  }
  return close(session, figures, bodies);
}

/** Releases the oldest body and waits until the next has started, `count` times over. */
async function endOneByOne(bodies, count) {
  for (let ended = 0; ended < count; ended += 1) {
    const next = bodies.reached(bodies.started + 1);
    bodies.release(bodies.held()[0]);
    await next;
  }
}

/** The quickest of the repeats: the others had company. */
const best = (level, { spawnUs, cancelUs, endUs }) => ({
  level,
  spawnUs: Math.min(...spawnUs),
  cancelUs: Math.min(...cancelUs),
  endUs: Math.min(...endUs),
});

async function close(session, [few, many], bodies) {
  const closed = session.close();
  for (const jobId of bodies.held()) bodies.release(jobId);
  await closed;
  const growth = Math.max(many.spawnUs / few.spawnUs, many.cancelUs / few.cancelUs, many.endUs / few.endUs);
  return { few, many, growth };
}
