/**
 * Selection and filters in the URL's fragment: `#/job/job_1?show=running,queued&q=build`. Below the fragment the page knows no path.
 *
 * DSH10  Whatever is in the address, something sensible is shown: unknown words are left out.
 */
import { FILTERS, type Filter, type Kind } from './rows.ts';

export interface Selected {
  readonly kind: Kind;
  readonly id: string;
}

export interface Address {
  readonly selected: Selected | null;
  readonly search: string;
  readonly show: readonly Filter[];
}

const KINDS: readonly string[] = ['task', 'session', 'job'] satisfies Kind[];

export function parseAddress(hash: string): Address {
  const [path = '', query = ''] = hash.replace(/^#/, '').split('?');
  const [, kind = '', id = ''] = path.split('/');
  const fields = new URLSearchParams(query);
  const shown = (fields.get('show') ?? '').split(',').filter((name): name is Filter => Object.hasOwn(FILTERS, name));
  return {
    selected: KINDS.includes(kind) && id !== '' ? { kind: kind as Kind, id: decoded(id) } : null,
    search: fields.get('q') ?? '',
    show: [...new Set(shown)],
  };
}

function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}

export function formatAddress({ selected, search, show }: Address): string {
  const fields = new URLSearchParams();
  if (show.length > 0) fields.set('show', show.join(','));
  if (search !== '') fields.set('q', search);
  const query = fields.toString().replaceAll('%2C', ',');
  const path = selected === null ? '/' : `/${selected.kind}/${encodeURIComponent(selected.id)}`;
  return `#${path}${query === '' ? '' : `?${query}`}`;
}
