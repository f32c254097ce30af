/** The jobs that an answer of a verb shows. */
import type { JobRecord, JobView } from '../../../model/records.ts';
import type { WaitManyEntry } from '../../../model/requests.ts';
import type { FactOf } from '../facts.ts';
import { asStored } from './stored-jobs.ts';

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

/** The part of a view that is stored. */
export function recordOf(view: JobView): JobRecord {
  const { bodyLive: _, progress: __, partialText: ___, timedOut: ____, durable: _____, ...record } = view;
  return asStored(record);
}
