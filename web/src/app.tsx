/** The page: the list on the left, what is selected on the right; on a small screen one of the two. */
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Header } from './header.tsx';
import { Filters } from './list/filters.tsx';
import { TreeList } from './list/tree-list.tsx';
import { loadLater, useIsMissing, useLater } from './view/later.ts';
import { useCurrent } from './view/live.ts';
import { useUi } from './view/use-source.ts';

export function App(): JSX.Element {
  const later = useLater();
  const search = useRef<HTMLInputElement>(null);
  const isMissing = useIsMissing();
  const isStale = useCurrent(({ connection }) => connection.status === 'lost');
  const hasSelection = useUi(({ selected }) => selected !== null);
  // The rest is at hand before anybody asks for it.
  useEffect(() => void loadLater(), []);
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
          {later && <later.Detail />}
          {isMissing && <p class="hint">This page is an old one, or its server has gone. Reload it.</p>}
        </section>
      </main>
      {later && <later.Dialogs />}
      {later && <later.Toasts />}
      {later && <later.Announcer />}
    </div>
  );
}
