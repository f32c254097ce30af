/** Ends many at once: jobs that were chosen, or all that a task or a session has. */
import type { StopReport } from '../../../src/doors/client/index.ts';
import type { Selected } from '../model/address.ts';
import type { JobRow } from '../model/client.ts';
import { listed } from '../model/long-words.ts';
import { counted } from '../model/words.ts';
import { act, cancelJob } from './act.ts';
import { shown } from './live.ts';
import { open, ui } from './ui-store.ts';
import { verbs } from './verbs.ts';

/** Of so many the engine is asked at once. */
const BATCH = 1_000;

/** Asks first where it is more than one. */
export function cancelJobs(jobs: readonly JobRow[], which: string): void {
  const [only] = jobs;
  if (only === undefined) return;
  if (jobs.length === 1) return void cancelJob(only);
  open({
    name: 'confirm',
    question: {
      title: `Cancel ${counted(jobs.length, 'job')}?`,
      text: [`These are ${which} that have not ended. What they have done so far is kept.`],
      action: `Cancel ${counted(jobs.length, 'job')}`,
      isDangerous: true,
      confirm: () => act(cancelAll(jobs), (count) => `${counted(count, 'job')} told to end.`),
    },
  });
}

async function cancelAll(jobs: readonly JobRow[]): Promise<number> {
  let count = 0;
  for (let from = 0; from < jobs.length; from += BATCH) {
    const ids = jobs.slice(from, from + BATCH).map(({ jobId }) => jobId);
    const { cancelled, cancelling } = await verbs.cancelJobs({ ids });
    count += cancelled.length + cancelling.length;
  }
  ui.trigger.unmarked();
  return count;
}

/** Whether something of it was told to end and has not. */
export function isEnding({ kind, id }: Selected): boolean {
  const { sessions, jobs } = shown.get();
  const isIn = ({ taskId, sessionId }: { readonly taskId: string; readonly sessionId: string }): boolean =>
    id === (kind === 'task' ? taskId : sessionId);
  for (const session of sessions.values()) if (session.endingAgents > 0 && isIn(session)) return true;
  for (const job of jobs.values()) if (job.cancelRequestedAt !== null && job.completedAt === null && isIn(job)) return true;
  return false;
}

/** "2 agents, 1 shell": what a stop of it would end; empty where nothing lives. */
export function stopScope({ kind, id }: Selected): string {
  const { sessions, jobs } = shown.get();
  const counts = { agent: 0, shell: 0, job: 0 };
  for (const session of sessions.values()) {
    const isIn = kind === 'task' ? session.taskId === id : session.sessionId === id;
    if (isIn && (session.executionId !== null || session.state === 'starting' || session.foregroundActivity)) counts.agent += 1;
  }
  for (const job of jobs.values()) {
    const isIn = kind === 'task' ? job.taskId === id : job.sessionId === id || job.callerSessionId === id;
    if (isIn && job.completedAt === null) counts[job.kind === 'agent' ? 'agent' : job.kind === 'command' ? 'shell' : 'job'] += 1;
  }
  return listed([
    [counts.agent, 'agent'],
    [counts.shell, 'shell'],
    [counts.job, 'job'],
  ]);
}

/** @param force no grace: what can be killed is killed, what cannot is not waited for */
export const stopAll = ({ kind, id }: Selected, force = false): Promise<unknown> =>
  act(kind === 'task' ? verbs.stopTask(id, { force }) : verbs.stopSession(id, { force }), reportInWords);

function reportInWords(report: StopReport): string {
  const parts = [
    [report.stopped, 'told to end'],
    [report.recovered, 'told to end although over by the record'],
    [report.alreadyStopping, 'ending already'],
    [report.detached, 'may still be running'],
    [report.failed, 'could not be stopped'],
    [report.loadErrors, 'could not be read'],
  ] as const;
  const said = parts.flatMap(([entries, words]) => (entries.length === 0 ? [] : [`${entries.length} ${words}`]));
  return said.length === 0 ? 'Nothing was running.' : `Stop: ${said.join(', ')}.`;
}
