/** The page: the list on the left, what is selected on the right; on a small screen one of the two. */
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Header } from './header.tsx';
import { Filters } from './list/filters.tsx';
import { TreeList } from './list/tree-list.tsx';
import { loadLater, useLater } from './view/later.ts';
import { lazily } from './view/lazily.tsx';
import { useCurrent } from './view/live.ts';
import { useUi } from './view/use-source.ts';

const Detail = lazily(async () => (await import('./detail/detail.tsx')).Detail);
const Dialogs = lazily(async () => (await import('./dialogs/dialogs.tsx')).Dialogs);

export function App(): JSX.Element {
  const later = useLater();
  const search = useRef<HTMLInputElement>(null);
  const isAsked = useUi(({ dialog }) => dialog !== null);
  const isStale = useCurrent(({ connection }) => connection.status === 'lost');
  const hasSelection = useUi(({ selected }) => selected !== null);
  // The rest is at hand before anybody asks for it.
  useEffect(() => void loadLater().then(() => Promise.all([Detail.load(), Dialogs.load()])), []);
  return (
    <div class={`app${hasSelection ? ' has-selection' : ''}${isStale ? ' is-stale' : ''}`}>
      <Header />
      {later && <later.Banner />}
      <main class="panes">
        <section class="side" aria-label="List">
          <Filters input={search} />
          <TreeList onSearch={() => search.current?.focus()} />
          {later && <later.Unloaded />}
        </section>
        <section class="detail" aria-label="Detail">
          <Detail />
        </section>
      </main>
      {isAsked && <Dialogs />}
      {later && <later.Toasts />}
      {later && <later.Announcer />}
    </div>
  );
}
