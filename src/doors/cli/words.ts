/**
 * Durations and ages as people say them, and as they type them.
 */
import { offstageError } from '../../model/errors.ts';
import { clipped } from './terminal.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: SECOND_MS, m: MINUTE_MS, h: HOUR_MS, d: DAY_MS };

export const counted = (count: number, noun: string, plural = `${noun}s`): string => `${count} ${count === 1 ? noun : plural}`;

/** "14 milliseconds", "0.3 seconds", "12 seconds", "3 minutes 20 seconds", "2 hours 5 minutes". */
export function durationInWords(durationMs: number): string {
  const ms = Math.max(0, durationMs);
  if (ms < 100) return counted(Math.round(ms), 'millisecond');
  if (ms < 10 * SECOND_MS) {
    const seconds = Math.round(ms / 100) / 10;
    return `${seconds} ${seconds === 1 ? 'second' : 'seconds'}`;
  }
  const pairs: readonly (readonly [number, string, number, string])[] = [
    [DAY_MS, 'day', HOUR_MS, 'hour'],
    [HOUR_MS, 'hour', MINUTE_MS, 'minute'],
    [MINUTE_MS, 'minute', SECOND_MS, 'second'],
  ];
  for (const [unitMs, unit, partMs, part] of pairs) {
    if (ms < unitMs) continue;
    const rest = Math.floor((ms % unitMs) / partMs);
    const whole = counted(Math.floor(ms / unitMs), unit);
    return rest === 0 ? whole : `${whole} ${counted(rest, part)}`;
  }
  return counted(Math.floor(ms / SECOND_MS), 'second');
}

/** "just now", "12 seconds ago", "3 minutes ago". */
export function ageInWords(ageMs: number): string {
  if (ageMs < SECOND_MS) return 'just now';
  for (const [unitMs, unit] of [
    [DAY_MS, 'day'],
    [HOUR_MS, 'hour'],
    [MINUTE_MS, 'minute'],
  ] as const) {
    if (ageMs >= unitMs) return `${counted(Math.floor(ageMs / unitMs), unit)} ago`;
  }
  return `${counted(Math.floor(ageMs / SECOND_MS), 'second')} ago`;
}

/**
 * Milliseconds of "500ms", "30s", "5m", "1h30m", "2d"; a plain number is seconds.
 * @throws OffstageError `input.invalid`
 */
export function parseDuration(option: string, text: string): number {
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text) * SECOND_MS;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== text) {
    throw offstageError('input.invalid', {
      argument: option,
      message: `it must be a duration such as 500ms, 30s, 5m or 1h30m, not ${shown(text)}`,
    });
  }
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * (UNIT_MS[unit as string] as number), 0);
}

/** A whole number of at least `least`. @throws OffstageError `input.invalid` */
export function parseCount(option: string, text: string, least = 1): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && count >= least && Number.isSafeInteger(count)) return count;
  throw offstageError('input.invalid', {
    argument: option,
    message: `it must be a number of ${least} or more, not ${shown(text)}`,
  });
}

/** What was typed, in a sentence about it. */
const shown = (text: string): string => JSON.stringify(clipped(text, 80));

/** Local date and time, to the second. */
export function dateInWords(at: number): string {
  const date = new Date(at);
  const two = (value: number): string => String(value).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${timeInWords(at)}`;
}

export function timeInWords(at: number): string {
  const date = new Date(at);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map((value) => String(value).padStart(2, '0')).join(':');
}
