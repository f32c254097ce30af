/** A new task, and a new conversation in one. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { act } from '../view/act.ts';
import { shown } from '../view/live.ts';
import { select } from '../view/ui-store.ts';
import { verbs } from '../view/verbs.ts';
import { Field, Modal } from './dialogs.tsx';

export function NewTask(): JSX.Element {
  const [title, setTitle] = useState('');
  const [hasSession, setHasSession] = useState(true);
  const [agentId, setAgentId] = useState('');
  return (
    <Modal
      title="New task"
      action="Create the task"
      isReady={title.trim() !== ''}
      submit={async () => {
        const made = await act(create(title.trim(), hasSession, agentId.trim()));
        if (made !== null) select(made);
        return made !== null;
      }}
    >
      <Field label="Title">
        <input class="input" value={title} required onInput={(event) => setTitle(event.currentTarget.value)} />
      </Field>
      <label class="check">
        <input
          type="checkbox"
          class="mark"
          checked={hasSession}
          onChange={(event) => setHasSession(event.currentTarget.checked)}
        />{' '}
        With a session
      </label>
      {hasSession && <AgentField agentId={agentId} setAgentId={setAgentId} />}
    </Modal>
  );
}

async function create(title: string, hasSession: boolean, agentId: string) {
  const { taskId } = await verbs.createTask({ title });
  if (!hasSession) return { kind: 'task', id: taskId } as const;
  const { sessionId } = await verbs.createSession({ taskId, ...(agentId === '' ? {} : { agentId }) });
  return { kind: 'session', id: sessionId } as const;
}

export function NewSession({ taskId }: { readonly taskId: string | null }): JSX.Element {
  const [agentId, setAgentId] = useState('');
  return (
    <Modal
      title="New session"
      action="Create the session"
      submit={async () => {
        const options = { ...(taskId === null ? {} : { taskId }), ...(agentId.trim() === '' ? {} : { agentId: agentId.trim() }) };
        const made = await act(verbs.createSession(options));
        if (made !== null) select({ kind: 'session', id: made.sessionId });
        return made !== null;
      }}
    >
      <AgentField agentId={agentId} setAgentId={setAgentId} />
    </Modal>
  );
}

export function AgentField({
  agentId,
  setAgentId,
}: {
  readonly agentId: string;
  readonly setAgentId: (agentId: string) => void;
}): JSX.Element {
  const known = new Set([...shown.get().sessions.values()].flatMap((session) => session.agentId ?? []));
  return (
    <Field label="Agent" hint="A name from the engine’s configuration; empty: the default one">
      <input class="input" list="agents" value={agentId} onInput={(event) => setAgentId(event.currentTarget.value)} />
      <datalist id="agents">
        {[...known].map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </Field>
  );
}
