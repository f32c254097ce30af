/**
 * Keeps the address and what is shown the same: a selection is a step in the history, a filter is not.
 */
import { formatAddress, parseAddress } from '../model/address.ts';
import { ui } from './ui-store.ts';

export function followAddress(): void {
  let { selected } = ui.getSnapshot().context;
  ui.subscribe(({ context }) => {
    const address = formatAddress(context);
    if (address === (location.hash || '#/')) return;
    if (context.selected === selected) history.replaceState(null, '', address);
    else history.pushState(null, '', address);
    selected = context.selected;
  });
  const visit = (): void => {
    const address = parseAddress(location.hash);
    selected = address.selected;
    ui.trigger.visited({ address });
  };
  addEventListener('popstate', visit);
  addEventListener('hashchange', visit);
}
