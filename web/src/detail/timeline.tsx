/**
 * Every transition of a job, and how long each part took: waiting, running, being cancelled.
 */
import type { JSX } from 'preact';
import type { HistoryEntry } from '../../../src/doors/client/index.ts';
import type { JobRow } from '../model/client.ts';
import { clockTime, dateTime, duration, elapsed } from '../model/long-words.ts';
import { Section } from './parts.tsx';

const WORDS: Readonly<Record<HistoryEntry['type'], string>> = {
  transition: '',
  cancel_requested: 'Cancel requested',
  ending: 'Told to end',
  late_result_dropped: 'A late result was dropped',
  detached_settled: 'The work has ended after all',
  process_launched: 'Process launched',
  note: 'Note',
  now: 'Now',
};

const STATUS: Readonly<Record<string, string>> = {
  pending: 'Accepted',
  queued: 'Queued',
  running: 'Started',
  completed: 'Completed',
  cancelled: 'Cancelled',
  errored: 'Failed',
};

interface Part {
  readonly name: 'wait' | 'run' | 'cancel';
  readonly word: string;
  readonly ms: number;
}

function partsOf({ createdAt, startedAt, completedAt, cancelRequestedAt }: JobRow, now: number): readonly Part[] {
  const end = completedAt ?? now;
  if (startedAt === null) return [{ name: 'wait', word: 'waited', ms: end - createdAt }];
  const asked = cancelRequestedAt === null ? end : Math.min(end, Math.max(startedAt, cancelRequestedAt));
  const parts: Part[] = [
    { name: 'wait', word: 'waited', ms: startedAt - createdAt },
    { name: 'run', word: completedAt === null ? 'running' : 'ran', ms: asked - startedAt },
  ];
  if (cancelRequestedAt !== null) parts.push({ name: 'cancel', word: 'cancelling', ms: end - asked });
  return parts;
}

interface TimelineProps {
  readonly job: JobRow;
  readonly history: readonly HistoryEntry[];
  readonly now: number;
}

export function Timeline({ job, history, now }: TimelineProps): JSX.Element {
  const parts = partsOf(job, now);
  // Only the last part can still grow.
  const words = (ms: number, index: number): string =>
    job.completedAt === null && index === parts.length - 1 ? elapsed(ms) : duration(ms);
  return (
    <Section title="Timeline">
      <div class="spans" aria-hidden="true">
        {parts.map(({ name, ms }) => (
          <span key={name} class={`span is-${name}`} style={{ flexGrow: Math.max(ms, 1) }} />
        ))}
      </div>
      <ul class="spans-words" data-testid="durations">
        {parts.map(({ name, word, ms }, index) => (
          <li key={name} class={`is-${name}`}>
            {word} <strong>{words(ms, index)}</strong>
          </li>
        ))}
      </ul>
      <ol class="timeline">
        {history.map((entry, index) => {
          const next = history[index + 1];
          return (
            <li key={index} data-to={entry.to}>
              <time title={dateTime(entry.at)}>{clockTime(entry.at)}</time>
              <span>
                {entry.type === 'transition' ? (STATUS[entry.to ?? ''] ?? entry.to) : WORDS[entry.type]}
                {entry.reasonCode && entry.reasonCode !== 'completed' && <code>{entry.reasonCode}</code>}
                {entry.detail && <span class="muted"> {entry.detail}</span>}
              </span>
              {next && next.at - entry.at >= 1 && <span class="timeline-took">{duration(next.at - entry.at)}</span>}
            </li>
          );
        })}
      </ol>
    </Section>
  );
}
