/**
 * Talks to a session's agent, and says whether what was written has gone to it or waits (liveness 3).
 *
 * DSH18  "Sent" and "Queued" are the engine's answers; only the words before sending are foretold from the state that is shown.
 */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { PromptAnswer, SessionView } from '../../../src/doors/client/index.ts';
import { Icon } from '../icons.tsx';
import { act } from '../view/act.ts';
import { announce } from '../view/announce.ts';
import { client, useCurrent } from '../view/live.ts';
import { SEND } from './icon-paths.ts';

const answerInWords = (answer: PromptAnswer): string =>
  'queued' in answer ? `Queued, number ${answer.position} in line` : 'Sent';

export function Composer({ session }: { readonly session: SessionView }): JSX.Element {
  const { sessionId, state, foregroundActivity, pending } = session;
  const [text, setText] = useState('');
  const [isSending, setSending] = useState(false);
  const [outcome, setOutcome] = useState<{ readonly kind: string; readonly words: string } | null>(null);
  const isOpen = useCurrent(({ connection }) => connection.status === 'open');
  const isOver = state === 'failed' || state === 'cancelled';
  const isBusy = foregroundActivity === 'generating' || pending !== null;
  const send = async (): Promise<void> => {
    if (text.trim() === '' || isSending) return;
    setSending(true);
    setOutcome(null);
    const answer = await act(client.prompt(sessionId, { content: text, whenBusy: 'queue' }));
    setSending(false);
    if (answer === null) return;
    setText('');
    const words = answerInWords(answer);
    setOutcome({ kind: 'queued' in answer ? 'queued' : 'sent', words });
    announce(`${words}.`);
  };
  return (
    <form
      class="composer"
      data-testid="composer"
      data-busy={isBusy}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <textarea
        class="input"
        rows={2}
        aria-label={isBusy ? 'Queue a message' : 'Message the agent'}
        placeholder={isOver ? 'This conversation is over' : isBusy ? 'Queue a message' : 'Message the agent'}
        value={text}
        disabled={isOver}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          void send();
        }}
      />
      <div class="composer-foot">
        <span
          class={`outcome is-${outcome?.kind ?? 'none'}`}
          data-testid="outcome"
          data-outcome={outcome?.kind ?? (isSending ? 'sending' : 'none')}
        >
          {isSending ? 'Sending…' : (outcome?.words ?? (isOver ? '' : 'Enter sends, Shift+Enter breaks the line'))}
        </span>
        <button type="submit" class="button is-primary" disabled={isOver || isSending || !isOpen || text.trim() === ''}>
          <Icon path={SEND} /> {isBusy ? 'Queue' : 'Send'}
        </button>
      </div>
    </form>
  );
}
