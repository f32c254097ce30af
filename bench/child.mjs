/**
 * One work for one subject in a process of its own, so that heaps, compiled code and timers of one never weigh on another.
 * Takes `{work, subject, params}` as its first message, answers `{result}` or `{error}`, and then must exit by itself.
 */
import { subjects } from './subjects.mjs';
import { cancel, cancelUnderLoad } from './works/cancel.mjs';
import { besideLive, besideQueued, waves } from './works/growth.mjs';
import { latency } from './works/latency.mjs';
import { finishedMemory, heldMemory } from './works/memory.mjs';
import { read } from './works/read.mjs';
import { holdUntilKilled, openRaw, recover } from './works/recover.mjs';
import { frameCost, sessionMemory } from './works/sessions.mjs';
import { throughput } from './works/throughput.mjs';

const works = {
  throughput,
  latency,
  cancel,
  cancelUnderLoad,
  holdUntilKilled,
  recover,
  openRaw,
  read,
  waves,
  besideLive,
  besideQueued,
  finishedMemory,
  heldMemory,
  frameCost,
  sessionMemory,
};

/** Loading a package is not what is measured. */
async function run(work, subject, params, tell) {
  await subject.load?.();
  return work(subject, params, tell);
}

process.once('message', ({ work, subject, params }) => {
  const tell = (result) => process.send({ result });
  run(works[work], subjects[subject], params, tell).then(
    (result) => process.send({ result }, () => process.disconnect()),
    (error) => process.send({ error: error.stack ?? String(error) }, () => process.exit(1)),
  );
});
