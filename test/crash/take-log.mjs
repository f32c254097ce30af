/** The notices that agents have taken, on the disk before anybody is told that they were: what the log holds, its agent knows. */
import { existsSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';

/** The jobs that a prompt tells of, with their ends; empty for what a person says. */
export const noticesIn = (content) =>
  [...String(content).matchAll(/^\[task (\S+) (completed|cancelled|errored)\] /gm)].map(([, jobId, status]) => ({
    jobId,
    status,
  }));

export function takeLogOf(file, life) {
  const log = openSync(file, 'a');
  return {
    /** Answers how many notices were in it. */
    take(sessionId, content) {
      const notices = noticesIn(content);
      if (notices.length === 0) return 0;
      writeSync(log, `${life} ${sessionId} ${notices.map(({ jobId, status }) => `${jobId}=${status}`).join(' ')}\n`);
      fsyncSync(log);
      return notices.length;
    },
  };
}

/** All prompts that were taken so far, in order. */
export function takesIn(file) {
  if (!existsSync(file)) return [];
  // A line without its end was never accepted: it is whole in the next life, or told anew.
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => {
    const [life, sessionId, ...notices] = line.split(' ');
    return {
      life,
      sessionId,
      notices: notices.map((one) => {
        const [jobId, status] = one.split('=');
        return { jobId, status };
      }),
    };
  });
}
