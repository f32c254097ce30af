/** Follows what the token allows. */
import { client, current } from '../view/live.ts';
import { ui } from '../view/ui-store.ts';

/** What the token allows is asked with every new connection: it may be another server by now. */
export function followScope(): void {
  let since = -1;
  const look = (): void => {
    const { connection } = current.get();
    if (connection.status !== 'open' || connection.since === since) return;
    since = connection.since;
    client.whoami().then(
      ({ scope }) => ui.trigger.scoped({ scope }),
      () => {},
    );
  };
  current.subscribe(look);
  look();
}
