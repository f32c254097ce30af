/** How many rows a list answers: 1 to 1,000, 50 unless asked otherwise (api.md). */
import { offstageError } from '../model/errors.ts';
import { LIMITS } from '../model/limits.ts';

/** @throws OffstageError `input.invalid` */
export function checkListLimit(limit: number | undefined): number {
  if (limit === undefined) return LIMITS.listDefault;
  if (Number.isInteger(limit) && limit >= 1 && limit <= LIMITS.listMaximum) return limit;
  throw offstageError('input.invalid', { argument: 'limit', message: `it must be an integer from 1 to ${LIMITS.listMaximum}` });
}
