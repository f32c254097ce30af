/** What an agent asks a person, and the answers it offers. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { JsonValue, PendingRequest } from '../../../src/doors/client/index.ts';
import { StateIcon } from '../icons.tsx';
import { clipped, jsonText } from '../model/long-words.ts';
import { STATES } from '../model/states.ts';
import { act } from '../view/act.ts';
import { verbs } from '../view/verbs.ts';
import { Actions } from './parts.tsx';

interface Choice {
  readonly label: string;
  readonly value: JsonValue;
  readonly isRefusal: boolean;
  readonly detail: string | null;
}

/** Options come as their provider words them. */
function choiceOf(option: JsonValue): Choice {
  if (typeof option !== 'object' || option === null || Array.isArray(option)) {
    return { label: clipped(jsonText(option), 60), value: option, isRefusal: false, detail: null };
  }
  const { optionId, id, name, label, title, kind, tool, input } = option as Readonly<Record<string, JsonValue>>;
  const value = optionId ?? id ?? option;
  const text = [name, label, title, optionId, id].find((part) => typeof part === 'string') as string | undefined;
  const about = [typeof tool === 'string' ? tool : '', input === undefined ? '' : jsonText(input)].filter(Boolean).join(' ');
  return {
    label: text ?? clipped(JSON.stringify(option), 60),
    value,
    isRefusal: /deny|reject|refuse/i.test(`${String(kind ?? '')} ${String(value)}`),
    detail: about === '' ? null : about,
  };
}

interface PendingQuestionProps {
  readonly sessionId: string;
  readonly pending: PendingRequest;
  readonly canAnswer: boolean;
}

export function PendingQuestion({ sessionId, pending, canAnswer }: PendingQuestionProps): JSX.Element {
  const { kind, requestId, title, options } = pending;
  const [isSent, setSent] = useState(false);
  const [text, setText] = useState('');
  const choices = options.map(choiceOf);
  const details = [...new Set(choices.flatMap(({ detail }) => (detail === null ? [] : [detail])))];
  const answer = async (choice: JsonValue): Promise<void> => {
    setSent(true);
    await act(verbs.answer(sessionId, requestId, choice), () => 'Answered.');
    setSent(false);
  };
  return (
    <section class={`ask is-${kind}`} aria-label={STATES[kind].label} data-testid="pending" data-request={requestId}>
      <h3>
        <StateIcon state={kind} of="pending" isMute />
        {kind === 'permission' ? 'The agent asks for permission' : 'The agent has a question'}
      </h3>
      {title !== undefined && <p>{title}</p>}
      {details.map((detail) => (
        <pre key={detail} class="code" tabIndex={0} aria-label="What it is about">
          {detail}
        </pre>
      ))}
      {canAnswer && (
        <Actions>
          {choices.map(({ label, value, isRefusal }, index) => (
            <button
              key={label}
              type="button"
              class={`button${isRefusal ? '' : index === 0 ? ' is-primary' : ''}`}
              disabled={isSent}
              onClick={() => answer(value)}
            >
              {label}
            </button>
          ))}
        </Actions>
      )}
      {canAnswer && kind === 'clarification' && (
        <form
          class="composer"
          onSubmit={(event) => {
            event.preventDefault();
            void answer(text);
          }}
        >
          <input class="input" aria-label="Your answer" value={text} onInput={(event) => setText(event.currentTarget.value)} />
          <button type="submit" class="button is-primary" disabled={isSent || text === ''}>
            Answer
          </button>
        </form>
      )}
    </section>
  );
}
