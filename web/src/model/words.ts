/** Durations, ages and counts in short, as rows have room for them. Whole sentences are made with `long-words.ts`. */
import type { JobRow } from './client.ts';

export const counted = (count: number, noun: string, plural = `${noun}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? noun : plural}`;

const UNITS = [
  [86_400_000, 'd', 3_600_000, 'h'],
  [3_600_000, 'h', 60_000, 'm'],
  [60_000, 'm', 1_000, 's'],
] as const;

/** "40ms", "3.2s", "12s", "3m 20s", "2h 5m". Never negative, whatever the clocks say. */
export function shortDuration(durationMs: number): string {
  const ms = Math.max(0, durationMs);
  if (ms < 1_000) return `${Math.round(ms)}ms`;
  if (ms < 9_950) return `${(ms / 1_000).toFixed(1)}s`;
  for (const [unitMs, unit, partMs, part] of UNITS) {
    if (ms < unitMs) continue;
    const rest = Math.floor((ms % unitMs) / partMs);
    return `${Math.floor(ms / unitMs)}${unit}${rest === 0 ? '' : ` ${rest}${part}`}`;
  }
  return `${Math.floor(ms / 1_000)}s`;
}

/** The same for one that grows: whole seconds from the first on, so that it does not flicker. */
export const shortElapsed = (ms: number): string => (ms < 10_000 ? `${Math.max(0, Math.floor(ms / 1_000))}s` : shortDuration(ms));

/** The time in a job's row: growing while it works, then what it took. */
export function jobTime(job: JobRow, now: number): string {
  const { status, createdAt, startedAt, completedAt } = job;
  if (completedAt !== null) return startedAt === null ? '' : shortDuration(completedAt - startedAt);
  const from = status === 'running' ? (startedAt ?? createdAt) : createdAt;
  return shortElapsed(now - from);
}
