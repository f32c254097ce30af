/**
 * What a person does here to the work: asks the engine, and says what came of it.
 *
 * DSH14  Nothing is shown as done because it was asked for: rows change when the record does.
 */
import type { JobRow } from '../model/client.ts';
import { announce } from './announce.ts';
import { ui } from './ui-store.ts';
import { verbs } from './verbs.ts';

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

export const cancelJob = (job: JobRow): Promise<unknown> =>
  act(verbs.cancelJob(job.jobId), ({ status }) =>
    status === 'running' ? `Cancelling “${job.subject}”.` : `“${job.subject}” is ${status}.`,
  );
