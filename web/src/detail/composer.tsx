/**
 * Talks to a session's agent, and says whether what was written has gone to it or waits (liveness 3).
 *
 * DSH18  "Sent" and "Queued" are the engine's answers; only the words before sending are foretold from the state that is shown.
 */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { PromptAnswer, SessionView } from '../../../src/doors/client/index.ts';
import { Icon } from '../icons.tsx';
import { SEND } from '../later/icon-paths.ts';
import { act } from '../view/act.ts';
import { announce } from '../view/announce.ts';
import { client, useCurrent } from '../view/live.ts';
import { verbs } from '../view/verbs.ts';

const answerInWords = (answer: PromptAnswer): string =>
  'queued' in answer ? `Queued, number ${answer.position} in line` : 'Sent';

/** What has become of a message that waited. */
const TICKET_WORDS = {
  accepted: 'Sent, after it had waited',
  failed: 'Not sent: the agent did not take it',
  cancelled: 'Taken back',
  dropped: 'Dropped',
  stopped: 'Not sent: the session was stopped',
} as const;

export function Composer({ session }: { readonly session: SessionView }): JSX.Element {
  const { sessionId, state, foregroundActivity, pending } = session;
  const [text, setText] = useState('');
  const [isSending, setSending] = useState(false);
  const [outcome, setOutcome] = useState<{ readonly kind: string; readonly words: string; readonly ticketId?: string } | null>(
    null,
  );
  const isOpen = useCurrent(({ connection }) => connection.status === 'open');
  const isOver = state === 'failed' || state === 'cancelled';
  const isBusy = foregroundActivity === 'generating' || pending !== null;
  const ticketId = outcome?.ticketId;
  useEffect(() => {
    if (ticketId === undefined) return;
    return client.onEvent((event) => {
      if (event.type !== 'session.ticket' || event.ticketId !== ticketId || event.status === 'queued') return;
      setOutcome({ kind: event.status === 'accepted' ? 'sent' : 'none', words: TICKET_WORDS[event.status] });
    });
  }, [ticketId]);
  const send = async (): Promise<void> => {
    if (text.trim() === '' || isSending) return;
    setSending(true);
    setOutcome(null);
    const answer = await act(verbs.prompt(sessionId, { content: text, whenBusy: 'queue' }));
    setSending(false);
    if (answer === null) return;
    setText('');
    const words = answerInWords(answer);
    setOutcome('queued' in answer ? { kind: 'queued', words, ticketId: answer.ticketId } : { kind: 'sent', words });
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
          {isSending
            ? 'Sending…'
            : (outcome?.words ?? (isOver ? '' : `Enter ${isBusy ? 'queues' : 'sends'}, Shift+Enter breaks the line`))}
        </span>
        <button type="submit" class="button is-primary" disabled={isOver || isSending || !isOpen || text.trim() === ''}>
          <Icon path={SEND} /> {isBusy ? 'Queue' : 'Send'}
        </button>
      </div>
    </form>
  );
}
