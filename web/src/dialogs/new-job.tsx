/** A new job: a command line, a prompt for an agent, or any kind with its input as JSON. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ClientSpawnOptions } from '../../../src/doors/client/index.ts';
import { act } from '../view/act.ts';
import { shown } from '../view/live.ts';
import { select, ui } from '../view/ui-store.ts';
import { verbs } from '../view/verbs.ts';
import { Field, Modal } from './dialogs.tsx';
import { AgentField } from './new-task.tsx';

const MODES = [
  ['command', 'Command'],
  ['agent', 'Agent'],
  ['other', 'Other kind'],
] as const;

type Mode = (typeof MODES)[number][0];

/** Undefined: it is no JSON. */
function parsed(json: string): unknown {
  try {
    return json.trim() === '' ? null : JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** The session that is shown, or that what is shown lies in. */
function sessionAtHand(): string {
  const { selected } = ui.getSnapshot().context;
  if (selected?.kind === 'session') return selected.id;
  const { jobs, tasks } = shown.get();
  if (selected?.kind === 'job') return jobs.get(selected.id)?.sessionId ?? '';
  return (selected && tasks.get(selected.id)?.sessions[0]) ?? '';
}

export function NewJob(): JSX.Element {
  const [mode, setMode] = useState<Mode>('command');
  const [kind, setKind] = useState('');
  const [text, setText] = useState('');
  const [json, setJson] = useState('');
  const [subject, setSubject] = useState('');
  const [sessionId, setSessionId] = useState(sessionAtHand);
  const [agentId, setAgentId] = useState('');
  const [cwd, setCwd] = useState('');
  const [seconds, setSeconds] = useState('');
  const input = parsed(json);
  const isReady = mode === 'other' ? kind.trim() !== '' && input !== undefined : text.trim() !== '';
  const { sessions, tasks, jobs } = shown.get();
  const kinds = new Set([...jobs.values()].map((job) => job.kind));

  const options = (): ClientSpawnOptions => {
    const common = {
      ...(subject.trim() === '' ? {} : { subject: subject.trim() }),
      ...(sessionId === '' ? {} : { sessionId }),
      ...(Number(seconds) > 0 ? { timeoutMs: Number(seconds) * 1_000 } : {}),
    };
    if (mode === 'other') return { ...common, kind: kind.trim(), input };
    if (mode === 'agent') {
      const who = agentId.trim() === '' ? {} : { agentId: agentId.trim() };
      return { ...common, ...who, kind: 'agent', description: text, input: { prompt: text } };
    }
    const where = cwd.trim() === '' ? {} : { cwd: cwd.trim() };
    return { subject: text.trim().slice(0, 60), ...common, kind: 'command', input: { command: text, shell: true, ...where } };
  };

  return (
    <Modal
      title="New job"
      action="Start the job"
      isReady={isReady}
      submit={async () => {
        const made = await act(verbs.spawn(options()), ({ status }) => `The job is ${status}.`);
        if (made !== null) select({ kind: 'job', id: made.jobId });
        return made !== null;
      }}
    >
      <div class="segments" role="group" aria-label="What to run">
        {MODES.map(([name, word]) => (
          <button key={name} type="button" class="toggle" aria-pressed={mode === name} onClick={() => setMode(name)}>
            {word}
          </button>
        ))}
      </div>
      {mode === 'other' ? (
        <>
          <Field label="Kind" hint="As it is registered with the engine">
            <input class="input" list="kinds" value={kind} onInput={(event) => setKind(event.currentTarget.value)} />
            <datalist id="kinds">
              {[...kinds].map((name) => (
                <option key={name} value={name} />
              ))}
            </datalist>
          </Field>
          <Field label="Input (JSON)" hint={input === undefined ? 'This is not JSON yet' : null}>
            <textarea
              class="input is-code"
              rows={6}
              value={json}
              aria-invalid={input === undefined}
              onInput={(event) => setJson(event.currentTarget.value)}
            />
          </Field>
        </>
      ) : (
        <Field label={mode === 'command' ? 'Command' : 'Prompt'} hint={mode === 'command' ? 'A script for /bin/sh' : null}>
          <textarea
            class={`input${mode === 'command' ? ' is-code' : ''}`}
            rows={3}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </Field>
      )}
      {mode === 'agent' && <AgentField agentId={agentId} setAgentId={setAgentId} />}
      <Field label="Title" hint="One line; empty: made from the above">
        <input class="input" value={subject} onInput={(event) => setSubject(event.currentTarget.value)} />
      </Field>
      <div class="field-row">
        <Field label="Session">
          <select class="select" value={sessionId} onChange={(event) => setSessionId(event.currentTarget.value)}>
            <option value="">Default</option>
            {[...sessions.values()].map((session) => (
              <option key={session.sessionId} value={session.sessionId}>
                {`${tasks.get(session.taskId)?.title || session.taskId} / ${session.sessionId}`}
              </option>
            ))}
          </select>
        </Field>
        <Field label="Time limit (s)">
          <input
            class="input"
            type="number"
            min={0}
            step="any"
            placeholder="none"
            value={seconds}
            onInput={(event) => setSeconds(event.currentTarget.value)}
          />
        </Field>
      </div>
      {mode === 'command' && (
        <Field label="Folder" hint="Empty: the engine’s own">
          <input class="input is-code" value={cwd} onInput={(event) => setCwd(event.currentTarget.value)} />
        </Field>
      )}
    </Modal>
  );
}
