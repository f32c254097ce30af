/** The page: the list on the left, what is selected on the right; on a small screen one of the two. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Banner, Header } from './header.tsx';
import { Icon } from './icons.tsx';
import { Filters } from './list/filters.tsx';
import { TreeList } from './list/tree-list.tsx';
import { onAnnouncement } from './view/announce.ts';
import { lazily } from './view/lazily.tsx';
import { useShown } from './view/live.ts';
import { ui } from './view/ui-store.ts';
import { useUi } from './view/use-source.ts';

const Detail = lazily(async () => (await import('./detail/detail.tsx')).Detail);
const Dialogs = lazily(async () => (await import('./dialogs/dialogs.tsx')).Dialogs);

export function App(): JSX.Element {
  const search = useRef<HTMLInputElement>(null);
  const isAsked = useUi(({ dialog }) => dialog !== null);
  const hasSelection = useUi(({ selected }) => selected !== null);
  // The rest is at hand before anybody asks for it.
  useEffect(() => void Promise.all([Detail.load(), Dialogs.load()]), []);
  return (
    <div class={`app${hasSelection ? ' has-selection' : ''}`}>
      <Header />
      <Banner />
      <main class="panes">
        <section class="side" aria-label="List">
          <Filters input={search} />
          <TreeList onSearch={() => search.current?.focus()} />
          <Unloaded />
        </section>
        <section class="detail" aria-label="Detail">
          <Detail />
        </section>
      </main>
      {isAsked && <Dialogs />}
      <Toasts />
      <Announcer />
    </div>
  );
}

/** Says that there is more than can be seen, or that there is nothing yet. */
function Unloaded(): JSX.Element | null {
  const status = useShown(({ connection }) => connection.status);
  const isComplete = useShown((state) => state.isComplete);
  const isEmpty = useShown(({ tasks, jobs }) => tasks.size + jobs.size === 0);
  if (status === 'connecting') return <p class="hint">Loading…</p>;
  if (isEmpty) return <p class="hint">Nothing here yet. Start a job, or a task with an agent.</p>;
  return isComplete ? null : <p class="hint">Older jobs are not all loaded.</p>;
}

function Toasts(): JSX.Element {
  const toasts = useUi((state) => state.toasts);
  return (
    <div class="toasts">
      {toasts.map(({ id, text, isError }) => (
        <div key={id} class={`toast${isError ? ' is-error' : ''}`} data-testid="toast">
          {isError && <Icon name="warning" />}
          <span>{text}</span>
          <button type="button" class="icon-button" aria-label="Dismiss" onClick={() => ui.trigger.untoasted({ id })}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}

/** The only live region. */
function Announcer(): JSX.Element {
  const [text, setText] = useState('');
  useEffect(() => onAnnouncement(setText), []);
  return (
    <div class="unseen" role="status" aria-live="polite">
      {text}
    </div>
  );
}
