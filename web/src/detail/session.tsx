/** One session: what its agent does and asks, what runs behind it, what waits, and the way to talk to it. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { SessionView, WorkloadView } from '../../../src/doors/client/index.ts';
import { Icon, StateIcon } from '../icons.tsx';
import { PAUSE, TRASH } from '../later/icon-paths.ts';
import { ago, dateTime, elapsed } from '../model/long-words.ts';
import { sessionTitle, shortId } from '../model/rows.ts';
import { sessionSentence } from '../model/sentences.ts';
import { jobState, STATES, sessionState } from '../model/states.ts';
import { counted } from '../model/words.ts';
import { act } from '../view/act.ts';
import { client, shown, useNow, useShown } from '../view/live.ts';
import { remove } from '../view/remove.ts';
import { canOperate } from '../view/ui-store.ts';
import { useLoad } from '../view/use-load.ts';
import { useUi } from '../view/use-source.ts';
import { verbs } from '../view/verbs.ts';
import { ChartPane } from './chart-pane.tsx';
import { Composer } from './composer.tsx';
import { Conversation } from './conversation.tsx';
import { Facts, Head, LinkTo, Section } from './parts.tsx';
import { PendingQuestion } from './pending.tsx';
import { StopButton } from './task.tsx';

/** When its agent was last heard of, while it is silent. */
function useHeardAt(sessionId: string, seq: number): number | undefined {
  const [silent, setSilent] = useState<{ readonly at: number; readonly seq: number } | null>(null);
  useEffect(
    () =>
      client.onEvent((event) => {
        if (event.type === 'session.quiet' && event.sessionId === sessionId) {
          setSilent({ at: event.at - event.silentMs, seq: shown.get().sessions.get(sessionId)?.sessionSeq ?? 0 });
        }
      }),
    [sessionId],
  );
  return silent?.seq === seq ? silent.at : undefined;
}

export function SessionDetail({ session }: { readonly session: SessionView }): JSX.Element {
  const { sessionId, taskId, turn, agentId, usage } = session;
  const state = sessionState(session);
  const now = useNow();
  const operates = useUi(canOperate);
  const heardAt = useHeardAt(sessionId, session.sessionSeq);
  const task = useShown(({ tasks }) => tasks.get(taskId));
  const used = Object.entries(usage ?? {}).filter(([, amount]) => amount > 0);
  return (
    <article class="thing">
      <Head
        kind="session"
        state={state}
        title={sessionTitle(session)}
        sentence={sessionSentence(session, state, now, heardAt)}
        path={task ? [{ kind: 'task', id: taskId, title: task.title || taskId }] : []}
      >
        {operates && (
          <>
            {(turn !== null || session.foregroundActivity === 'generating') && (
              <button
                type="button"
                class="button"
                onClick={() =>
                  act(verbs.interrupt(sessionId), ({ changed }) => (changed ? 'The turn is interrupted.' : 'No turn was open.'))
                }
              >
                <Icon path={PAUSE} /> Interrupt the turn
              </button>
            )}
            <StopButton kind="session" id={sessionId} />
            <span class="actions-end">
              <button type="button" class="button is-quiet is-danger" onClick={() => remove({ kind: 'session', id: sessionId })}>
                <Icon path={TRASH} /> Delete
              </button>
            </span>
          </>
        )}
      </Head>
      {(state === 'permission' || state === 'clarification') && session.pending && (
        <PendingQuestion sessionId={sessionId} pending={session.pending} canAnswer={operates} />
      )}
      <Conversation sessionId={sessionId} />
      {operates && <Composer session={session} />}
      <Tickets session={session} canOperate={operates} />
      <Workloads session={session} now={now} canOperate={operates} />
      <SessionJobs sessionId={sessionId} />
      <ChartPane kind="session" id={sessionId} active={[session.state]} />
      <Section title="Facts">
        <Facts
          facts={[
            { name: 'Id', value: sessionId, text: sessionId },
            ...(agentId === null ? [] : [{ name: 'Agent', value: agentId }]),
            { name: 'State', value: session.state.replaceAll('_', ' ') },
            { name: 'Created', value: `${dateTime(session.createdAt)}, ${ago(now - session.createdAt)}` },
            ...used.map(([name, amount]) => ({ name: name.replaceAll('_', ' '), value: amount.toLocaleString('en') })),
          ]}
        />
      </Section>
    </article>
  );
}

/** Prompts that wait for their turn. */
function Tickets({ session, canOperate }: { readonly session: SessionView; readonly canOperate: boolean }): JSX.Element | null {
  const { sessionId, queuedPrompts, sessionSeq } = session;
  const { value: tickets } = useLoad(sessionId, `${queuedPrompts} ${sessionSeq}`, () => verbs.tickets(sessionId));
  if (queuedPrompts === 0 || tickets === null || tickets.length === 0) return null;
  return (
    <Section title="Queued prompts">
      <ul class="links" data-testid="tickets">
        {tickets.map(({ ticketId, position, origin, createdAt }) => (
          <li key={ticketId}>
            <StateIcon state="queued" of="ticket" />
            <span>{`${position}. ${origin === 'human' ? 'From a person' : 'A notice'}`}</span>
            <span class="muted">{dateTime(createdAt)}</span>
            {canOperate && (
              <button
                type="button"
                class="button is-small"
                onClick={() =>
                  act(verbs.cancelTicket(ticketId), ({ changed }) =>
                    changed ? 'The prompt is taken back.' : 'It was sent already.',
                  )
                }
              >
                Take it back
              </button>
            )}
          </li>
        ))}
      </ul>
    </Section>
  );
}

interface WorkloadsProps {
  readonly session: SessionView;
  readonly now: number;
  readonly canOperate: boolean;
}

/** What runs behind the conversation: jobs of the engine, and what the agent runs itself. */
function Workloads({ session, now, canOperate }: WorkloadsProps): JSX.Element | null {
  const { sessionId, sessionSeq, foregroundActivity, uncertainCount, quietCount } = session;
  const version = `${sessionSeq} ${foregroundActivity} ${uncertainCount} ${quietCount}`;
  const { value: workloads } = useLoad(sessionId, version, () => verbs.workloads(sessionId));
  if (workloads === null || workloads.length === 0) return null;
  return (
    <Section title="Background work">
      <ul class="links" data-testid="workloads">
        {workloads.map((work) => (
          <li key={`${work.executionId} ${work.workloadId}`}>
            <StateIcon state={work.phase === 'queued' ? 'queued' : 'background-running'} of="workload" />
            <span>{work.kind}</span>
            <WorkName work={work} />
            <span class="muted">{[`for ${elapsed(now - work.startedAt)}`, ...labelsOf(work)].join(', ')}</span>
            {canOperate && work.source === 'provider' && (
              <button
                type="button"
                class="button is-small"
                title="Take it from the list: it has ended, and its agent has not said so"
                onClick={() => act(verbs.dismissWorkload(sessionId, work.workloadId), () => 'Dismissed.')}
              >
                Dismiss
              </button>
            )}
          </li>
        ))}
      </ul>
    </Section>
  );
}

function WorkName({ work }: { readonly work: WorkloadView }): JSX.Element {
  const job = shown.get().jobs.get(work.workloadId);
  return job === undefined ? <span>{shortId(work.workloadId)}</span> : <LinkTo kind="job" id={job.jobId} title={job.subject} />;
}

const labelsOf = ({ uncertain, quiet, hosted }: WorkloadView): readonly string[] => [
  ...(uncertain ? ['perhaps ended'] : []),
  ...(quiet ? ['nothing heard for a while'] : []),
  ...(hosted ? ['asked for by another session'] : []),
];

/** Its newest jobs. */
const SHOWN = 20;

function SessionJobs({ sessionId }: { readonly sessionId: string }): JSX.Element | null {
  useShown(({ version }) => version);
  const own = [...shown.get().jobs.values()].filter((job) => job.sessionId === sessionId || job.callerSessionId === sessionId);
  if (own.length === 0) return null;
  own.sort((a, b) => STATES[jobState(a)].rank - STATES[jobState(b)].rank || b.createdAt - a.createdAt);
  return (
    <Section title="Jobs" aside={<span class="muted">{counted(own.length, 'job')}</span>}>
      <ul class="links">
        {own.slice(0, SHOWN).map((job) => (
          <li key={job.jobId}>
            <StateIcon state={jobState(job)} of="related" />
            <LinkTo kind="job" id={job.jobId} title={job.subject} />
            <span class="muted">{job.kind}</span>
          </li>
        ))}
      </ul>
      {own.length > SHOWN && <p class="muted">{`and ${own.length - SHOWN} more in the list`}</p>}
    </Section>
  );
}
