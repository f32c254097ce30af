/** One row: what it is and how it stands. What can be done from here comes later than the first view. */
import type { JSX } from 'preact';
import { Icon, StateIcon } from '../icons.tsx';
import type { Row } from '../model/rows.ts';
import { isWorking, mayStillRun, STATES } from '../model/states.ts';
import { jobTime, shortElapsed } from '../model/words.ts';
import type { useLater } from '../view/later.ts';
import { useNow } from '../view/live.ts';
import { select, ui } from '../view/ui-store.ts';
import { ROW_HEIGHT } from './virtual-rows.tsx';

/** Deeper ones are not indented further. */
const DEEPEST = 6;

export interface RowViewProps {
  readonly row: Row;
  readonly index: number;
  readonly isActive: boolean;
  readonly isSelected: boolean;
  readonly isMarked: boolean;
  readonly canOperate: boolean;
  readonly later: ReturnType<typeof useLater>;
}

export function RowView({ row, index, isActive, isSelected, isMarked, canOperate, later }: RowViewProps): JSX.Element {
  const { key, kind, id, state, title, level, hasChildren, isOpen } = row;
  const now = useNow(isWorking(state));
  const tabIndex = isActive ? 0 : -1;
  const note = later?.rowNote(row, now) ?? '';
  return (
    <div
      class={`row${isMarked ? ' is-marked' : ''}`}
      role="row"
      data-key={key}
      data-kind={kind}
      data-id={id}
      data-state={state}
      tabIndex={tabIndex}
      aria-level={level}
      aria-rowindex={index + 1}
      aria-posinset={row.place}
      aria-setsize={row.siblings}
      aria-selected={isSelected}
      {...(hasChildren ? { 'aria-expanded': isOpen } : {})}
      style={{ top: `${index * ROW_HEIGHT}px`, height: `${ROW_HEIGHT}px` }}
      onClick={() => select({ kind, id })}
    >
      <span role="gridcell" class="row-name" style={{ paddingLeft: `${(Math.min(level, DEEPEST) - 1) * 18}px` }}>
        {hasChildren ? (
          <button
            type="button"
            class={`twist${isOpen ? ' is-open' : ''}`}
            tabIndex={-1}
            aria-label={`${isOpen ? 'Close' : 'Open'} ${title}`}
            onClick={(event) => {
              event.stopPropagation();
              ui.trigger.activated({ key });
              ui.trigger.rowToggled({ key });
            }}
          >
            <Icon name="chevron" />
          </button>
        ) : (
          <span class="twist" />
        )}
        <StateIcon state={state} of={kind} />
        <span class="row-title" title={title}>
          {title}
        </span>
        {note !== '' && <span class="row-note">{note}</span>}
        {row.kind === 'job' && mayStillRun(row.item) && (
          <span class="row-warning" title="The record is over, its work may still be running">
            <Icon name="warning" /> may still be running
          </span>
        )}
      </span>
      <span role="gridcell" class="row-state">
        {wordOf(row)}
        <span class="row-time">{timeOf(row, now)}</span>
      </span>
      <span role="gridcell" class="row-actions">
        {row.kind === 'job' && canOperate && later && (
          <later.RowActions job={row.item} rowKey={key} tabIndex={tabIndex} isMarked={isMarked} />
        )}
      </span>
    </div>
  );
}

/** A job is not in the background of anything: it runs. */
const wordOf = ({ kind, state }: Row): string =>
  kind === 'job' && state === 'background-running' ? 'Running' : STATES[state].word;

function timeOf(row: Row, now: number): string {
  if (row.kind === 'job') return jobTime(row.item, now);
  if (row.kind === 'session' && row.state === 'generating' && row.item.turn) return shortElapsed(now - row.item.turn.startedAt);
  return '';
}
