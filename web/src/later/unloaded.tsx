/** The foot of the list. */
import type { JSX } from 'preact';
import { MOST_JOBS, useShown } from '../view/live.ts';

/** Says that there is more than can be seen, or that there is nothing yet. */
export function Unloaded(): JSX.Element | null {
  const status = useShown(({ connection }) => connection.status);
  const isComplete = useShown((state) => state.isComplete);
  const isEmpty = useShown(({ tasks, jobs }) => tasks.size + jobs.size === 0);
  const isFull = useShown(({ jobs }) => jobs.size >= MOST_JOBS);
  if (status === 'connecting') return <p class="hint">Loading…</p>;
  if (isEmpty) return <p class="hint">Nothing here yet. Start a job, or a task with an agent.</p>;
  if (isComplete) return null;
  return <p class="hint">{isFull ? 'Only the newest jobs are listed.' : 'Loading older jobs…'}</p>;
}
