/**
 * The kinds of jobs that a host in the crash tests runs. Every body writes its line into the run log before it does anything else, with a
 * single write to a file opened for appending: what the log holds survives the death of the process that wrote it.
 */
import { openSync, writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

export function bodies(runLog) {
  const log = openSync(runLog, 'a');
  const began = ({ jobId }) => writeSync(log, `${jobId}\n`);
  return {
    noop: async (job) => {
      began(job);
      return 'done';
    },
    slow: async (job, { signal }) => {
      began(job);
      await delay(job.input.ms, undefined, { signal });
      return 'done';
    },
    failing: async (job) => {
      began(job);
      throw new Error('as it should');
    },
    family: async (job, context) => {
      began(job);
      await context.spawn({ kind: 'slow', input: { ms: 5 } });
      const child = await context.run({ kind: 'noop' });
      return child.status;
    },
  };
}

/** A command that writes its line itself, in one write, and then lingers. Its job id is one of its arguments, so that `ps` shows it. */
export const lingering = (jobId, runLog, seconds) => ({
  kind: 'command',
  jobId,
  input: { command: 'sh', args: ['-c', 'echo "$1 $$" >> "$2"; sleep "$3" & wait', 'sh', jobId, runLog, String(seconds)] },
});
