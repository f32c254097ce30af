/** The selected thing; what has gone says so. */
import type { JSX } from 'preact';
import { useShown } from '../view/live.ts';
import { useUi } from '../view/use-source.ts';
import { JobDetail } from './job.tsx';
import { SessionDetail } from './session.tsx';
import { TaskDetail } from './task.tsx';

export function Detail(): JSX.Element | null {
  const selected = useUi((state) => state.selected);
  const kind = selected?.kind;
  const id = selected?.id ?? '';
  const task = useShown(({ tasks }) => (kind === 'task' ? tasks.get(id) : undefined));
  const session = useShown(({ sessions }) => (kind === 'session' ? sessions.get(id) : undefined));
  const job = useShown(({ jobs }) => (kind === 'job' ? jobs.get(id) : undefined));
  const isLoading = useShown(({ connection, isComplete }) => connection.status === 'connecting' || !isComplete);
  if (task) return <TaskDetail key={id} task={task} />;
  if (session) return <SessionDetail key={id} session={session} />;
  if (job) return <JobDetail key={id} row={job} />;
  return (
    <div class="nothing">
      {kind === undefined ? (
        <>
          <p>Select something to see what it is doing.</p>
          <p class="muted">
            In the list: <kbd>j</kbd> <kbd>k</kbd> move, <kbd>Enter</kbd> opens, <kbd>c</kbd> cancels, <kbd>/</kbd> searches,{' '}
            <kbd>?</kbd> tells the rest.
          </p>
        </>
      ) : (
        <p>{isLoading ? 'Loading…' : `This ${kind} is not here: it was deleted, or it is older than what is kept.`}</p>
      )}
    </div>
  );
}
