/** Asks for a token: the server does not let this page in. */
import type { JSX } from 'preact';
import { Icon } from '../icons.tsx';

export function Login({ message }: { readonly message: string }): JSX.Element {
  return (
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
  );
}
