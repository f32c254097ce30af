/** The foot of the list. */
import type { JSX } from 'preact';
import { useShown } from '../view/live.ts';

/** Says that there is more than can be seen, or that there is nothing yet. */
export function Unloaded(): JSX.Element | null {
  const status = useShown(({ connection }) => connection.status);
  const isComplete = useShown((state) => state.isComplete);
  const isEmpty = useShown(({ tasks, jobs }) => tasks.size + jobs.size === 0);
  if (status === 'connecting') return <p class="hint">Loading…</p>;
  if (isEmpty) return <p class="hint">Nothing here yet. Start a job, or a task with an agent.</p>;
  return isComplete ? null : <p class="hint">Older jobs are not all loaded.</p>;
}
