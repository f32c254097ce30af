/** Durations, ages and counts as people say them; short forms for rows, whole ones for sentences. */

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
    return rest === 0 ? `${Math.floor(ms / unitMs)}${unit}` : `${Math.floor(ms / unitMs)}${unit} ${rest}${part}`;
  }
  return `${Math.floor(ms / 1_000)}s`;
}

const LONG: Readonly<Record<string, string>> = { ms: 'ms', s: 's', m: 'min', h: 'h', d: 'd' };

/** "40 ms", "12 s", "3 min 20 s". */
export const duration = (ms: number): string =>
  shortDuration(ms).replace(/([\d.]+)(ms|[smhd])/g, (_, n, unit) => `${n} ${LONG[unit]}`);

/** A duration that grows: whole seconds from the first on, so that it does not flicker. */
export const elapsed = (ms: number): string =>
  duration(ms < 10_000 ? Math.floor(Math.max(0, ms) / 1_000) * 1_000 : ms)
    .replace(/^0 ms$/, '0 s')
    .replace('.0', '');

/** "just now", "12 s ago", "3 min ago": the largest unit only. */
export function ago(ms: number): string {
  if (ms < 1_000) return 'just now';
  return `${duration(ms < 10_000 ? Math.floor(ms / 1_000) * 1_000 : ms)
    .replace('.0', '')
    .split(' ')
    .slice(0, 2)
    .join(' ')} ago`;
}

const two = (value: number): string => String(value).padStart(2, '0');

/** "14:02:11", local time. */
export function clockTime(at: number): string {
  const date = new Date(at);
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** "2026-03-01 14:02:11", local time. */
export function dateTime(at: number): string {
  const date = new Date(at);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${clockTime(at)}`;
}

/** "2 agents, 1 shell"; parts of zero are left out. */
export const listed = (parts: readonly (readonly [number, string])[]): string =>
  parts
    .filter(([count]) => count > 0)
    .map(([count, noun]) => counted(count, noun))
    .join(', ');

/** One line, at most so long. */
export function clipped(text: string, characters: number): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > characters ? `${line.slice(0, characters - 1)}…` : line;
}

/** Any JSON as text: strings as they are, everything else indented. */
export const jsonText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value, null, 2));
