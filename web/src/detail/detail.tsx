/** The selected thing; what has gone says so; nothing selected: the whole. */
import type { JSX } from 'preact';
import { useShown } from '../view/live.ts';
import { useLoad } from '../view/use-load.ts';
import { useUi } from '../view/use-source.ts';
import { verbs } from '../view/verbs.ts';
import { JobDetail } from './job.tsx';
import { Overview } from './overview.tsx';
import { SessionDetail } from './session.tsx';
import { TaskDetail } from './task.tsx';

export function Detail(): JSX.Element {
  const selected = useUi((state) => state.selected);
  const kind = selected?.kind;
  const id = selected?.id ?? '';
  const task = useShown(({ tasks }) => (kind === 'task' ? tasks.get(id) : undefined));
  const session = useShown(({ sessions }) => (kind === 'session' ? sessions.get(id) : undefined));
  const job = useShown(({ jobs }) => (kind === 'job' ? jobs.get(id) : undefined));
  const isLoading = useShown(({ connection }) => connection.status === 'connecting');
  if (task) return <TaskDetail key={id} task={task} />;
  if (session) return <SessionDetail key={id} session={session} />;
  if (job) return <JobDetail key={id} row={job} />;
  if (kind === undefined) return <Overview />;
  return kind === 'job' && !isLoading ? (
    <UnlistedJob key={id} jobId={id} />
  ) : (
    <Nothing text={isLoading ? 'Loading…' : `This ${kind} is not here.`} />
  );
}

/** One that is older than what is listed, or was deleted. */
function UnlistedJob({ jobId }: { readonly jobId: string }): JSX.Element {
  const { value: job, error } = useLoad(jobId, null, () => verbs.getJob(jobId));
  return job === null ? <Nothing text={error ?? 'Loading…'} /> : <JobDetail row={job} />;
}

const Nothing = ({ text }: { readonly text: string }): JSX.Element => <p class="nothing">{text}</p>;
