/** What a job says of how far it is: a bar where a number can be made of it, else the value as it is. */
import type { JSX } from 'preact';
import { jsonText } from '../model/long-words.ts';
import { Section } from './parts.tsx';

const TEXTS = ['message', 'text', 'step', 'stage', 'label'];

/** 0 to 1; null where none can be read: a share or a percentage, or done of total. */
export function shareOf(value: unknown): number | null {
  if (typeof value === 'number') return value >= 0 && value <= 1 ? value : value > 1 && value <= 100 ? value / 100 : null;
  if (typeof value !== 'object' || value === null) return null;
  const { percent, fraction, progress, done, completed, current, total } = value as Record<string, unknown>;
  if (typeof percent === 'number') return Math.min(1, Math.max(0, percent / 100));
  const part = [done, completed, current].find((number) => typeof number === 'number') as number | undefined;
  if (part !== undefined && typeof total === 'number' && total > 0) return Math.min(1, Math.max(0, part / total));
  return shareOf(fraction ?? progress);
}

export function Progress({ value }: { readonly value: unknown }): JSX.Element {
  const share = shareOf(value);
  const fields = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  const said = TEXTS.map((name) => fields[name]).find((text) => typeof text === 'string');
  const text = typeof value === 'string' ? value : said;
  return (
    <Section title="Progress" aside={share === null ? null : <strong>{Math.round(share * 100)} %</strong>}>
      {share !== null && <progress aria-label="Progress" value={share} max={1} />}
      <p class="progress-text">
        {text === undefined ? (share === null || typeof value === 'object' ? jsonText(value) : '') : String(text)}
      </p>
    </Section>
  );
}
