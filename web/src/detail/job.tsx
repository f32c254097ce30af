/** One job: how it stands, how it came there, what it was given, what it printed and what came of it. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Icon, StateIcon } from '../icons.tsx';
import { STOP } from '../later/icon-paths.ts';
import type { JobRow } from '../model/client.ts';
import { dateTime, duration } from '../model/long-words.ts';
import { sessionTitle, shortId } from '../model/rows.ts';
import { jobSentence, reasonWord } from '../model/sentences.ts';
import { isWorking, jobState, mayStillRun } from '../model/states.ts';
import { cancelJob } from '../view/act.ts';
import { client, shown, useNow, useShown } from '../view/live.ts';
import { canOperate } from '../view/ui-store.ts';
import { useLoad } from '../view/use-load.ts';
import { useUi } from '../view/use-source.ts';
import { verbs } from '../view/verbs.ts';
import { CardView } from './card.tsx';
import { ChartPane } from './chart-pane.tsx';
import { Output } from './output.tsx';
import { Code, type Fact, Facts, Head, LinkTo, Section } from './parts.tsx';
import { Progress } from './progress.tsx';
import { Timeline } from './timeline.tsx';

/** A running job reports text of which no row tells: it is read anew when something of it is heard, and not more often than this. */
const REREAD_MS = 1_000;
/** No event tells when a detached body has settled after all: it is looked up. */
const LOOK_MS = 2_000;
/** How old the last line of the timeline of a job that lives may be. */
const HISTORY_MS = 2_000;

/** Grows when there may be something new to read of the job. */
function useHeard(jobId: string, isDetached: boolean): number {
  const [heard, setHeard] = useState(0);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | null = null;
    const hear = (): void => setHeard((count) => count + 1);
    const stop = client.onEvent((event) => {
      if (timer !== null || event.type !== 'job.progress' || event.jobId !== jobId) return;
      timer = setTimeout(() => {
        timer = null;
        hear();
      }, REREAD_MS);
    });
    const look = isDetached ? setInterval(hear, LOOK_MS) : undefined;
    return () => {
      stop();
      clearInterval(look);
      if (timer !== null) clearTimeout(timer);
    };
  }, [jobId, isDetached]);
  return heard;
}

export function JobDetail({ row: listed }: { readonly row: JobRow }): JSX.Element {
  const { jobId, subject, status, revision, error, completedAt, cancelRequestedAt } = listed;
  const state = jobState(listed);
  const now = useNow();
  const operates = useUi(canOperate);
  const heard = useHeard(jobId, mayStillRun(listed));
  const { value: job, error: failure } = useLoad(jobId, `${revision} ${heard} ${listed.bodyLive}`, () => verbs.getJob(jobId));
  const row = job !== null && listed.detached ? { ...listed, bodyLive: listed.bodyLive && job.bodyLive } : listed;
  // Of a job that lives its last line tells how it stands now.
  const beat = completedAt === null ? Math.floor(now / HISTORY_MS) : 0;
  const { value: history } = useLoad(jobId, `${revision} ${row.bodyLive} ${beat}`, () => verbs.history(jobId));
  const text = job?.resultText ?? job?.partialText ?? null;
  return (
    <article class="thing">
      <Head kind="job" state={state} title={subject} sentence={jobSentence(row, now)} path={pathTo(row)}>
        {operates && completedAt === null && (
          <button type="button" class="button is-danger" disabled={cancelRequestedAt !== null} onClick={() => cancelJob(row)}>
            <Icon path={STOP} /> {cancelRequestedAt === null ? 'Cancel this job' : 'Cancelling…'}
          </button>
        )}
      </Head>
      {mayStillRun(row) && (
        <p class="note is-warning">
          <Icon name="warning" /> The record is over, but nobody has seen the work end: it may still be running in the background.
        </p>
      )}
      {error && (
        <Section title={status === 'cancelled' ? 'Why it was cancelled' : 'Error'} aside={<code class="tag">{error.code}</code>}>
          <p class="error-text">{error.message}</p>
        </Section>
      )}
      {row.progress !== null && status === 'running' && <Progress value={row.progress} />}
      {history && <Timeline job={row} history={history} now={now} />}
      <Output job={row} />
      {text !== null && text !== '' && <Code title={status === 'completed' ? 'Result' : 'Text so far'} value={text} />}
      {job && job.result !== null && <Code title="Result value" value={job.result} />}
      {job && job.description !== '' && <Code title="Prompt" value={job.description} />}
      {job && job.input !== null && <Code title="Input" value={job.input} />}
      {failure !== null && <p class="note is-warning">{failure}</p>}
      <Relatives job={row} />
      <CardView cardId={row.cardId} version={revision} />
      <ChartPane kind="job" id={jobId} active={chartStates(row)} />
      <Section title="Facts">
        <Facts facts={factsOf(row)} />
      </Section>
    </article>
  );
}

/** On its chart, as far as the record tells. */
const chartStates = ({ status, cancelRequestedAt }: JobRow): readonly string[] =>
  status === 'running' ? [status, cancelRequestedAt === null ? 'running.active' : 'running.ending'] : [status];

function pathTo({ taskId, sessionId }: JobRow) {
  const { tasks, sessions } = shown.get();
  const task = tasks.get(taskId);
  const session = sessions.get(sessionId);
  return [
    ...(task ? [{ kind: 'task' as const, id: taskId, title: task.title || taskId }] : []),
    ...(session ? [{ kind: 'session' as const, id: sessionId, title: sessionTitle(session) }] : []),
  ];
}

function factsOf(job: JobRow): readonly Fact[] {
  const { jobId, kind, agentId, sessionId, callerSessionId, parentMessageId, headId, sourceCommitId } = job;
  const facts: (readonly [string, string | null, boolean?])[] = [
    ['Id', jobId, true],
    ['Kind', kind],
    ['Agent', agentId],
    ['Runs on session', sessionId, true],
    ['Asked for by session', callerSessionId, true],
    ['Plan', parentMessageId, true],
    ['Waited for', job.wait ? 'yes: a foreground job' : null],
    ['Context', kind === 'agent' ? job.contextMode : null],
    ['Time limit', job.timeoutMs === null ? null : duration(job.timeoutMs)],
    ['Silence limit', job.idleTimeoutMs === null ? null : duration(job.idleTimeoutMs)],
    ['Cancel reason', job.cancelReason],
    ['End', job.reasonCode === null ? null : `${reasonWord(job)} (${job.reasonCode})`],
    ['Head', headId, true],
    ['Source commit', sourceCommitId, true],
    ['Created', dateTime(job.createdAt)],
    ['Ended', job.completedAt === null ? null : dateTime(job.completedAt)],
  ];
  return facts.flatMap(([name, value, canCopy]) =>
    value === null ? [] : [{ name, value, ...(canCopy ? { text: value } : {}) }],
  );
}

/** Parent, children, and the rest of the same plan. */
function Relatives({ job }: { readonly job: JobRow }): JSX.Element | null {
  useShown(({ version }) => version);
  const { jobs } = shown.get();
  const parent = job.parentJobId === null ? null : (jobs.get(job.parentJobId) ?? null);
  const children: JobRow[] = [];
  const plan: JobRow[] = [];
  for (const other of jobs.values()) {
    if (other.parentJobId === job.jobId) children.push(other);
    else if (job.parentMessageId !== null && other.parentMessageId === job.parentMessageId && other !== job) plan.push(other);
  }
  const groups = [
    ['Parent', parent === null ? [] : [parent]],
    ['Children', children],
    ['Same plan', plan],
  ] as const;
  if (groups.every(([, members]) => members.length === 0)) return null;
  return (
    <Section title="Related jobs">
      {groups.map(([name, members]) =>
        members.length === 0 ? null : (
          <ul key={name} class="links" aria-label={name}>
            {members.slice(0, 50).map((other) => (
              <li key={other.jobId}>
                <span class="links-kind">{name}</span>
                <StateIcon state={jobState(other)} of="related" />
                <LinkTo kind="job" id={other.jobId} title={other.subject} />
                <span class="muted">{isWorking(jobState(other)) ? '' : shortId(other.jobId)}</span>
              </li>
            ))}
          </ul>
        ),
      )}
    </Section>
  );
}
