/** Says that what is shown is not what is: the connection is lost, or the page was paused, or it is not let in. */
import type { JSX } from 'preact';
import { Icon } from '../icons.tsx';
import { clockTime } from '../model/long-words.ts';
import { setPaused, useCurrent, useNow, usePausedAt } from '../view/live.ts';
import { PAUSE } from './icon-paths.ts';

export function Banner(): JSX.Element | null {
  const connection = useCurrent((state) => state.connection);
  const pausedAt = usePausedAt();
  useNow(connection.status === 'lost');
  const { status, lastHeardAt, retryAt, error } = connection;
  if (status === 'lost') {
    const seconds = retryAt === null ? 0 : Math.ceil((retryAt - Date.now()) / 1_000);
    return (
      <aside class="banner is-warning" aria-label="Connection" data-testid="banner">
        <Icon name="warning" />
        <strong>{lastHeardAt === null ? 'Disconnected' : `Disconnected, showing the state of ${clockTime(lastHeardAt)}`}</strong>
        <span>{seconds > 0 ? `Trying again in ${seconds} s` : 'Trying again…'}</span>
      </aside>
    );
  }
  if (status === 'refused') return <Login message={error?.message ?? 'The server does not let this page in.'} />;
  if (pausedAt === null) return null;
  return (
    <aside class="banner" aria-label="Live updates" data-testid="banner">
      <Icon path={PAUSE} />
      <strong>{`Paused, showing the state of ${clockTime(pausedAt)}`}</strong>
      <button type="button" class="button" onClick={() => setPaused(false)}>
        Resume
      </button>
    </aside>
  );
}

function Login({ message }: { readonly message: string }): JSX.Element {
  return (
    <aside aria-label="Access">
      <form class="banner is-warning" method="post" action="login" data-testid="banner">
        <Icon name="warning" />
        <strong>{message}</strong>
        <label>
          Token <input name="token" type="password" autocomplete="off" required />
        </label>
        <button type="submit" class="button is-primary">
          Let me in
        </button>
      </form>
    </aside>
  );
}
