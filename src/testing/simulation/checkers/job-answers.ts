/** The jobs that an answer of a verb shows. */
import type { JobView } from '../../../model/records.ts';
import type { WaitManyEntry } from '../../../model/requests.ts';
import type { FactOf } from '../facts.ts';

/** Those that may not be stored yet (`durable: false`) as well. */
export function jobViewsOf({ verb, value }: FactOf<'answered'>): readonly JobView[] {
  switch (verb) {
    case 'spawn':
    case 'run':
    case 'get':
    case 'wait':
    case 'cancel':
      return [value as JobView];
    case 'list':
      return value as readonly JobView[];
    case 'waitMany':
    case 'plan.run':
      return (value as readonly WaitManyEntry[]).filter((entry) => 'status' in entry);
    case 'snapshot':
      return (value as { readonly jobs: readonly JobView[] }).jobs;
    default:
      return [];
  }
}

/** What a view adds to the record that is stored. */
export const VIEW_ONLY: ReadonlySet<string> = new Set(['bodyLive', 'progress', 'partialText', 'timedOut', 'durable']);
