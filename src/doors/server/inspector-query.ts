/** The query of `/inspect`: what an inspector wants to see. */
import { offstageError } from '../../model/errors.ts';
import type { InspectorFilter } from '../inspector/watched-actor.ts';

const FIELDS: Readonly<Record<string, keyof InspectorFilter | null>> = {
  job: 'jobId',
  session: 'sessionId',
  task: 'taskId',
  // Not a filter, but it stands there.
  token: null,
};

/** @throws OffstageError `input.invalid` */
export function inspectorFilter(query: URLSearchParams): InspectorFilter {
  const filter: Partial<Record<keyof InspectorFilter, string>> = {};
  for (const [name, value] of query) {
    const field = Object.hasOwn(FIELDS, name) ? FIELDS[name] : undefined;
    if (field === undefined) throw invalid(name, 'there is no such parameter; there are job, session and task');
    if (field === null) continue;
    if (value === '' || filter[field] !== undefined) throw invalid(name, 'it must be one id');
    filter[field] = value;
  }
  return filter;
}

const invalid = (argument: string, message: string) =>
  offstageError('input.invalid', { argument: argument.slice(0, 80), message });
