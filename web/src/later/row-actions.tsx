/** What can be done with a job from its row. */
import type { JSX } from 'preact';
import { Icon } from '../icons.tsx';
import type { JobRow } from '../model/client.ts';
import { cancelJob } from '../view/act.ts';
import { ui } from '../view/ui-store.ts';
import { STOP } from './icon-paths.ts';

export interface RowActionsProps {
  readonly job: JobRow;
  /** Of its row. */
  readonly rowKey: string;
  readonly tabIndex: number;
  readonly isMarked: boolean;
}

export function RowActions({ job, rowKey, tabIndex, isMarked }: RowActionsProps): JSX.Element {
  return (
    <>
      {job.completedAt === null && job.cancelRequestedAt === null && (
        <button
          type="button"
          class="icon-button"
          tabIndex={tabIndex}
          title="Cancel this job"
          aria-label={`Cancel this job: ${job.subject}`}
          onClick={(event) => {
            event.stopPropagation();
            void cancelJob(job);
          }}
        >
          <Icon path={STOP} />
        </button>
      )}
      <input
        type="checkbox"
        class="mark"
        tabIndex={tabIndex}
        aria-label={`Mark ${job.subject}`}
        checked={isMarked}
        onClick={(event) => event.stopPropagation()}
        onChange={(event) => ui.trigger.marked({ key: rowKey, isMarked: event.currentTarget.checked })}
      />
    </>
  );
}
