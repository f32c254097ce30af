/**
 * What a person does here to the work: asks the engine, and says what came of it.
 *
 * DSH14  Nothing is shown as done because it was asked for: rows change when the record does.
 */
import type { StopReport } from '../../../src/doors/client/index.ts';
import type { Selected } from '../model/address.ts';
import type { JobRow } from '../model/client.ts';
import { counted, listed } from '../model/words.ts';
import { announce } from './announce.ts';
import { client, shown } from './live.ts';
import { type Dialog, ui } from './ui-store.ts';

const TOAST_MS = 5_000;

export function toast(text: string, isError = false): void {
  ui.trigger.toasted({ toast: { text, isError } });
  announce(text);
  const id = ui.getSnapshot().context.toasts.at(-1)?.id ?? 0;
  if (!isError) setTimeout(() => ui.trigger.untoasted({ id }), TOAST_MS);
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** @param done what to say of the answer; null says nothing */
export async function act<Answer>(
  work: Promise<Answer>,
  done: (answer: Answer) => string | null = () => null,
): Promise<Answer | null> {
  try {
    const answer = await work;
    const text = done(answer);
    if (text !== null) toast(text);
    return answer;
  } catch (error) {
    toast(messageOf(error), true);
    return null;
  }
}

export const open = (dialog: Dialog | null): void => ui.trigger.asked({ dialog });

export const select = (selected: Selected | null): void => ui.trigger.selected({ selected });

export const cancelJob = (job: JobRow): Promise<unknown> =>
  act(client.cancelJob(job.jobId), ({ status }) =>
    status === 'running' ? `Cancelling “${job.subject}”.` : `“${job.subject}” is ${status}.`,
  );

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
    const { cancelled, cancelling } = await client.cancelJobs({ ids });
    count += cancelled.length + cancelling.length;
  }
  ui.trigger.unmarked();
  return count;
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

export const stopAll = ({ kind, id }: Selected): Promise<unknown> =>
  act(kind === 'task' ? client.stopTask(id) : client.stopSession(id), reportInWords);

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

export async function copy(text: string): Promise<void> {
  await act(navigator.clipboard.writeText(text), () => 'Copied.');
}
