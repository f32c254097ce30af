/** The query of `/inspect`: what an inspector wants to see. */
import { LIMITS } from '../../model/limits.ts';
import type { InspectorFilter } from '../inspector/watched-actor.ts';
import { invalidField } from '../requests/request-fields.ts';

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
    if (field === undefined) throw invalidField(name.slice(0, 80), 'there is no such parameter; there are job, session and task');
    if (field === null) continue;
    const isId = value !== '' && Buffer.byteLength(value) <= LIMITS.idBytes;
    if (!isId || filter[field] !== undefined) throw invalidField(name, 'it must be one id');
    filter[field] = value;
  }
  return filter;
}
