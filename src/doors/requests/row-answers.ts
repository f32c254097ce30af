/** What actions that read rows have in common: the question, and the shape of the answer. */
import type { RowQuery } from '../../model/requests.ts';
import { pageOf } from '../wire/page.ts';
import type { WireFields } from '../wire/rename.ts';
import { RequestFields } from './request-fields.ts';

export function rowQuery(fields: RequestFields): RowQuery {
  const query = RequestFields.present({ limit: fields.number('limit'), before: fields.text('before') });
  fields.refuseRest();
  return query;
}

/** The only field of some requests. */
export function onlyId(fields: RequestFields, name: string): string {
  const id = fields.requiredText(name);
  fields.refuseRest();
  return id;
}

/** The rows under their name, and where to go on when they did not all fit. */
export function pageAnswer<Row>(
  name: string,
  records: readonly Row[],
  { limit, toWire, idName }: { readonly limit: number; readonly toWire: (record: Row) => WireFields; readonly idName: string },
): WireFields {
  const { rows, isCut } = pageOf(records, toWire);
  const isMore = isCut || records.length === limit;
  return { [name]: rows, next_before: isMore ? (rows.at(-1)?.[idName] ?? null) : null };
}

/** All rows under their name, as far as they fit into one answer; `cut` says that some did not. */
export function wholeAnswer<Row>(name: string, records: readonly Row[], toWire: (record: Row) => WireFields): WireFields {
  const { rows, isCut } = pageOf(records, toWire);
  return { [name]: rows, cut: isCut };
}
