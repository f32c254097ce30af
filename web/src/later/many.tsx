/** What can be done with many jobs at once. */
import type { JSX } from 'preact';
import type { ShownRows } from '../list/use-rows.ts';
import { counted } from '../model/words.ts';
import { cancelJobs } from '../view/stop.ts';
import { ui } from '../view/ui-store.ts';
import { useUi } from '../view/use-source.ts';
import { markedJobs } from './keys.ts';

/** For the marked ones, else for all that the filter shows. */
export function Many({ list, operates }: { readonly list: ShownRows; readonly operates: boolean }): JSX.Element | null {
  const marked = useUi((state) => state.marked);
  if (!operates) return null;
  const live = list.isFiltered ? list.matching.filter(({ completedAt }) => completedAt === null) : [];
  if (marked.size === 0 && live.length === 0) return null;
  const jobs = marked.size > 0 ? markedJobs(marked) : live;
  return (
    <div class="many" role="group" aria-label="Several jobs">
      <span>{marked.size > 0 ? `${counted(marked.size, 'job')} marked` : `${counted(list.matching.length, 'job')} shown`}</span>
      <button
        type="button"
        class="button is-danger"
        disabled={jobs.length === 0}
        onClick={() => cancelJobs(jobs, marked.size > 0 ? 'the marked jobs' : 'the jobs this filter shows')}
      >
        {`Cancel ${counted(jobs.length, 'job')}`}
      </button>
      {marked.size > 0 && (
        <button type="button" class="button" onClick={() => ui.trigger.unmarked()}>
          Clear
        </button>
      )}
    </div>
  );
}
