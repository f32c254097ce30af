/** One task: what its sessions do, and what can be done to all of it. */
import type { JSX } from 'preact';
import { TASK_STATES, type TaskState, type TaskView } from '../../../src/doors/client/index.ts';
import { Icon, StateIcon } from '../icons.tsx';
import { ARCHIVE, PLUS, STOP, TRASH } from '../later/icon-paths.ts';
import { ago, dateTime } from '../model/long-words.ts';
import { sessionTitle } from '../model/rows.ts';
import { sessionSentence, taskSentence } from '../model/sentences.ts';
import { jobState, STATES, type StateKey, sessionState, taskState } from '../model/states.ts';
import { act } from '../view/act.ts';
import { shown, useNow, useShown } from '../view/live.ts';
import { archive, remove } from '../view/remove.ts';
import { isEnding, stopAll, stopScope } from '../view/stop.ts';
import { canOperate, open } from '../view/ui-store.ts';
import { useUi } from '../view/use-source.ts';
import { verbs } from '../view/verbs.ts';
import { ChartPane } from './chart-pane.tsx';
import { Facts, Head, LinkTo, Section } from './parts.tsx';

const STATE_WORDS: Readonly<Record<TaskState, string>> = {
  open: 'Open',
  in_progress: 'In progress',
  review: 'In review',
  done: 'Done',
  cancelled: 'Cancelled',
  archived: 'Archived',
};

export function TaskDetail({ task }: { readonly task: TaskView }): JSX.Element {
  const { taskId, title, state } = task;
  useShown(({ version }) => version);
  const now = useNow();
  const operates = useUi(canOperate);
  const { sessions, jobs } = shown.get();
  const own = [...sessions.values()].filter((session) => session.taskId === taskId);
  const counts = new Map<StateKey, number>();
  for (const job of jobs.values()) if (job.taskId === taskId) counts.set(jobState(job), (counts.get(jobState(job)) ?? 0) + 1);
  const within = new Set([...own.map(sessionState), ...counts.keys()]);
  const shownState = taskState(task, within);
  const me = { kind: 'task', id: taskId } as const;
  return (
    <article class="thing">
      <Head kind="task" state={shownState} title={title || taskId} sentence={taskSentence(task, shownState)} path={[]}>
        {operates && (
          <>
            <StopButton kind="task" id={taskId} />
            <button type="button" class="button" onClick={() => open({ name: 'new-session', about: me })}>
              <Icon path={PLUS} /> Session
            </button>
            <select
              class="select"
              aria-label="State on the board"
              value={state}
              onChange={(event) => {
                const wanted = event.currentTarget.value as TaskState;
                event.currentTarget.value = state;
                void (wanted === 'archived' ? archive(taskId) : act(verbs.setTaskState(taskId, wanted)));
              }}
            >
              {TASK_STATES.map((name) => (
                <option key={name} value={name}>
                  {STATE_WORDS[name]}
                </option>
              ))}
            </select>
            <span class="actions-end">
              {state !== 'archived' && (
                <button type="button" class="button is-quiet" onClick={() => archive(taskId)}>
                  <Icon path={ARCHIVE} /> Archive
                </button>
              )}
              <button type="button" class="button is-quiet is-danger" onClick={() => remove(me)}>
                <Icon path={TRASH} /> Delete
              </button>
            </span>
          </>
        )}
      </Head>
      <Section title="Sessions">
        {own.length === 0 && <p class="muted">None yet.</p>}
        <ul class="links">
          {own.map((session) => (
            <li key={session.sessionId}>
              <StateIcon state={sessionState(session)} of="session" />
              <LinkTo kind="session" id={session.sessionId} title={sessionTitle(session)} />
              <span class="muted">{sessionSentence(session, sessionState(session), now)}</span>
            </li>
          ))}
        </ul>
      </Section>
      {counts.size > 0 && (
        <Section title="Jobs">
          <ul class="tally">
            {[...counts]
              .sort(([a], [b]) => STATES[a].rank - STATES[b].rank)
              .map(([name, count]) => (
                <li key={name}>
                  <StateIcon state={name} of="tally" isMute /> <strong>{count.toLocaleString('en')}</strong>{' '}
                  {name === 'background-running' ? 'Running' : STATES[name].word}
                </li>
              ))}
          </ul>
        </Section>
      )}
      <ChartPane kind="task" id={taskId} active={[state]} />
      <Section title="Facts">
        <Facts
          facts={[
            { name: 'Id', value: taskId, text: taskId },
            { name: 'On the board', value: STATE_WORDS[state] },
            { name: 'Created', value: `${dateTime(task.createdAt)}, ${ago(now - task.createdAt)}` },
          ]}
        />
      </Section>
    </article>
  );
}

/** Names all that it ends; not there when nothing lives. What was told to end and does not can be ended without grace. */
export function StopButton({ kind, id }: { readonly kind: 'task' | 'session'; readonly id: string }): JSX.Element | null {
  const scope = useShown(() => stopScope({ kind, id }));
  const ends = useShown(() => isEnding({ kind, id }));
  return (
    <>
      {scope !== '' && (
        <button type="button" class="button is-danger" onClick={() => stopAll({ kind, id })}>
          <Icon path={STOP} /> {`Stop everything in this ${kind} (${scope})`}
        </button>
      )}
      {ends && (
        <button
          type="button"
          class="button is-danger"
          title="Without waiting any longer"
          onClick={() => stopAll({ kind, id }, true)}
        >
          Stop by force
        </button>
      )}
    </>
  );
}
