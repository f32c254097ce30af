/** Durations, ages, times and values as people say them, for sentences. */
import { counted, shortDuration, shortElapsed } from './words.ts';

const LONG: Readonly<Record<string, string>> = { ms: 'ms', s: 's', m: 'min', h: 'h', d: 'd' };

const inLong = (short: string): string => short.replace(/([\d.]+)(ms|[smhd])/g, (_, n, unit) => `${n} ${LONG[unit]}`);

/** "40 ms", "12 s", "3 min 20 s". */
export const duration = (ms: number): string => inLong(shortDuration(ms));

/** One that grows. */
export const elapsed = (ms: number): string => inLong(shortElapsed(ms));

/** "just now", "12 s ago", "3 min ago": the largest unit only. */
export const ago = (ms: number): string => (ms < 1_000 ? 'just now' : `${inLong(shortElapsed(ms).split(' ')[0] ?? '')} ago`);

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
