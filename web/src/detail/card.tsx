/** The job's card, as the conversation that asked for it shows it. */
import type { JSX } from 'preact';
import { CARD_BADGES } from '../../../src/model/cards.ts';
import { StateIcon } from '../icons.tsx';
import { useLoad } from '../view/use-load.ts';
import { verbs } from '../view/verbs.ts';
import { Section } from './parts.tsx';

export function CardView({ cardId, version }: { readonly cardId: string; readonly version: number }): JSX.Element | null {
  const { value: card } = useLoad(cardId, version, () => verbs.getCard(cardId));
  if (card === null) return null;
  const { status, label } = card.attach;
  return (
    <Section title="Card in the conversation">
      <figure class="card" data-testid="card">
        <figcaption>
          <StateIcon state={status === 'running' ? 'background-running' : status} of="card" isMute />
          <span class="card-label">{label}</span>
          <span class="tag">{CARD_BADGES[status]}</span>
        </figcaption>
        <pre tabIndex={0} aria-label="Content of the card">
          {card.content}
        </pre>
      </figure>
    </Section>
  );
}
