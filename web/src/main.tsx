/** The dashboard: a page on which a person sees what every task, session and job is doing, and starts and stops work. */
import { render } from 'preact';
import { App } from './app.tsx';
import './styles/theme.css';
import './styles/controls.css';
import './styles/list.css';
import './styles/detail.css';
import { client, current } from './view/live.ts';
import { followAddress } from './view/navigation.ts';
import { applyTheme, ui } from './view/ui-store.ts';

applyTheme(ui.getSnapshot().context.theme);
followAddress();
followScope();
const app = document.getElementById('app');
if (app !== null) render(<App />, app);

/** What the token allows is asked with every new connection: it may be another server by now. */
function followScope(): void {
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
