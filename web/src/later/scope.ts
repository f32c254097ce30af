/** Follows what the token allows. */
import { current } from '../view/live.ts';
import { ui } from '../view/ui-store.ts';
import { verbs } from '../view/verbs.ts';

/** What the token allows is asked with every new connection: it may be another server by now. */
export function followScope(): void {
  let since = -1;
  const look = (): void => {
    const { connection } = current.get();
    if (connection.status !== 'open' || connection.since === since) return;
    since = connection.since;
    verbs.whoami().then(
      ({ scope }) => ui.trigger.scoped({ scope }),
      () => {},
    );
  };
  current.subscribe(look);
  look();
}
