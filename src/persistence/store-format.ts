/** The version of the whole store: what lies where, and what it means. */
import { offstageError } from '../model/errors.ts';

export const STORE_FORMAT = 1;

/** @throws OffstageError `store.failed` when a newer release has written the store */
export function assertKnownFormat(format: string): void {
  if (!(Number(format) > STORE_FORMAT)) return;
  throw offstageError('store.failed', {
    message: `it has format ${format}, written by a newer release; this one knows up to ${STORE_FORMAT}`,
  });
}
