/**
 * A host's executors in the simulation, with a rule of the host's own: of two ways to hold a lock, one is wrong, and how is found and told.
 *
 *   node examples/simulation.mjs
 *
 * Both upload to a site, one job at a time. The simulation spawns such jobs, cancels them, lets their time run out, kills the process, and
 * so on; none of that is written here.
 */
import { CHECKERS, simulateMany, Violation } from 'offstage/testing';

/** Wrong: it gives its lock back as soon as it is told to end, and its upload goes on for as long as it takes. */
const hasty = (life) => {
  const locks = new Set();
  return {
    async publish(job, { signal }) {
      const { site } = job.input;
      await lock(life, locks, site, signal);
      signal.addEventListener('abort', () => locks.delete(site));
      await upload(life, job);
      locks.delete(site);
      return `${site} is published`;
    },
  };
};

/** Right: whatever happens, the lock is held until nothing is uploaded any more. */
const patient = (life) => {
  const locks = new Set();
  return {
    async publish(job, { signal }) {
      const { site } = job.input;
      await lock(life, locks, site, signal);
      try {
        await upload(life, job);
      } finally {
        locks.delete(site);
      }
      return `${site} is published`;
    },
  };
};

async function lock(life, locks, site, signal) {
  while (locks.has(site)) await life.pause(1_000, signal);
  locks.add(site);
}

/** Stands for a request, which nothing can stop once it is under way. */
async function upload(life, { jobId, input: { site } }) {
  life.note('uploads', { site, jobId });
  await life.pause(3_000);
  await life.hop('upload');
  life.note('has uploaded', { site, jobId });
}

/** The rule of this host, judged by what the executors note. */
const oneAtATime = {
  guarantee: 'one upload',
  promise: 'one upload to a site at a time',
  begin() {
    const uploading = new Map();
    return (fact) => {
      // With their process the uploads are gone.
      if (fact.type === 'crashed' || fact.type === 'closed') uploading.clear();
      if (fact.type !== 'own') return;
      const { site, jobId } = fact.value;
      if (fact.what === 'has uploaded') uploading.delete(site);
      else if (!uploading.has(site)) uploading.set(site, jobId);
      else throw new Violation('one upload', `${jobId} uploads to ${site}, and ${uploading.get(site)} has not finished`);
    };
  },
};

for (const [name, executors] of Object.entries({ hasty, patient })) {
  console.log(`--- ${name}`);
  const { failure, steps } = await simulateMany({
    executors,
    inputs: { publish: (random) => ({ site: random.pick(['shop', 'blog']) }) },
    options: { workers: 2 },
    checkers: [...CHECKERS, oneAtATime],
    steps: 1_500,
    length: 300,
  });
  console.log(failure?.story ?? `${steps} steps, and every guarantee held.`);
}
