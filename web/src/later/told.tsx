/** What came of one's actions, for those who look; and what happens, for those who listen. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Icon } from '../icons.tsx';
import { ui } from '../view/ui-store.ts';
import { useUi } from '../view/use-source.ts';
import { announceTo } from './announcements.ts';

export function Toasts(): JSX.Element {
  const toasts = useUi((state) => state.toasts);
  return (
    <section class="toasts" aria-label="Messages">
      {toasts.map(({ id, text, isError }) => (
        <div key={id} class={`toast${isError ? ' is-error' : ''}`} data-testid="toast">
          {isError && <Icon name="warning" />}
          <span>{text}</span>
          <button type="button" class="icon-button" aria-label="Dismiss" onClick={() => ui.trigger.untoasted({ id })}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </section>
  );
}

/** The only live region. */
export function Announcer(): JSX.Element {
  const [text, setText] = useState('');
  useEffect(() => announceTo(setText), []);
  return (
    <div class="unseen" role="status" aria-live="polite">
      {text}
    </div>
  );
}
