/** Search, and a chip for each state with how many there are. */
import type { JSX, RefObject } from 'preact';
import { Icon, StateIcon } from '../icons.tsx';
import { FILTERS, type Filter, filterCounts } from '../model/rows.ts';
import { useShown } from '../view/live.ts';
import { ui } from '../view/ui-store.ts';
import { useUi } from '../view/use-source.ts';

const WORDS: Readonly<Record<Filter, string>> = {
  'needs-you': 'Needs you',
  generating: 'Generating',
  background: 'Background',
  running: 'Running',
  queued: 'Queued',
  errored: 'Failed',
  cancelled: 'Cancelled',
  completed: 'Completed',
};

const NAMES = Object.keys(FILTERS) as readonly Filter[];

export function Filters({ input }: { readonly input: RefObject<HTMLInputElement | null> }): JSX.Element {
  const search = useUi((state) => state.search);
  const show = useUi((state) => state.show);
  useShown((state) => state.version);
  return (
    <div class="filters" role="search">
      <div class="search">
        <Icon name="search" />
        <input
          ref={input}
          type="search"
          aria-label="Search tasks, sessions and jobs"
          placeholder="Search"
          value={search}
          onInput={(event) => ui.trigger.searched({ search: event.currentTarget.value })}
          onKeyDown={(event) => {
            if (event.key === 'Escape') ui.trigger.searched({ search: '' });
          }}
        />
        {(search !== '' || show.length > 0) && (
          <button
            type="button"
            class="icon-button"
            aria-label="Show everything"
            title="Show everything"
            onClick={() => ui.trigger.filterCleared()}
          >
            <Icon name="close" />
          </button>
        )}
      </div>
      <Chips show={show} of="session" label="Sessions" />
      <Chips show={show} of="job" label="Jobs" />
    </div>
  );
}

function Chips({
  show,
  of,
  label,
}: {
  readonly show: readonly Filter[];
  readonly of: 'session' | 'job';
  readonly label: string;
}): JSX.Element {
  const counts = useShown((state) => JSON.stringify(filterCounts(state, state.counts)));
  const count = JSON.parse(counts) as Record<Filter, number>;
  return (
    <div class="chips" role="group" aria-label={label}>
      {NAMES.filter((name) => FILTERS[name].of === of).map((name) => (
        <button
          key={name}
          type="button"
          class={`chip${count[name] === 0 ? ' is-empty' : ''}`}
          data-filter={name}
          aria-pressed={show.includes(name)}
          onClick={() => ui.trigger.filterToggled({ filter: name })}
        >
          <StateIcon state={FILTERS[name].states[0]} of="chip" isMute />
          {WORDS[name]} <span class="chip-count">{count[name].toLocaleString('en')}</span>
        </button>
      ))}
    </div>
  );
}
