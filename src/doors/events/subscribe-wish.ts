/** What a subscriber asks for, and what it knows already (SUB1, SUB6, SUB8). */
import { isVolatileEvent, type OffstageEvent } from '../../model/events.ts';
import { invalidField, type RequestFields } from '../requests/request-fields.ts';
import { eventTypesOf } from '../wire/wire-events.ts';
import type { EventNames } from './event-frames.ts';
import type { FrameMark } from './event-ring.ts';

/** What a subscriber asks for. */
export interface Wish {
  readonly after: number | undefined;
  readonly names: EventNames;
  /** Null: all. */
  readonly types: ReadonlySet<string> | null;
  readonly brief: boolean;
  readonly jobId: string | undefined;
  readonly sessionId: string | undefined;
  readonly hold: boolean;
}

/** @throws OffstageError `input.invalid` */
export function wishOf(fields: RequestFields): Wish {
  const after = fields.number('after');
  if (after !== undefined && (!Number.isSafeInteger(after) || after < 0)) {
    throw invalidField('after', 'it must be an integer of 0 or more');
  }
  const names = fields.oneOf('names', ['ours', 'seed']) ?? 'ours';
  const types = fields.texts('types');
  const unknown = types?.find((type) => !eventTypesOf(names).has(type));
  if (unknown !== undefined) throw invalidField('types', `there are no events of type ${JSON.stringify(unknown.slice(0, 80))}`);
  const brief = fields.flag('brief') === true;
  const jobId = fields.text('job_id');
  const sessionId = fields.text('session_id');
  const hold = fields.flag('hold') === true;
  fields.refuseRest();
  if (jobId !== undefined && sessionId !== undefined) throw invalidField('session_id', 'job_id narrows it already');
  if (hold && jobId === undefined) throw invalidField('hold', 'it needs a job_id');
  return { after, names, types: types === undefined ? null : new Set(types), brief, jobId, sessionId, hold };
}

/** Whether the snapshot shows it already. Of what carries the number of another event it is not known, unless it is older. */
export const isCovered = ({ seq, isVolatile }: Pick<FrameMark, 'seq' | 'isVolatile'>, snapshotSeq: number): boolean =>
  isVolatile ? seq < snapshotSeq : seq <= snapshotSeq;

/** The same of an event. */
export const isEventCovered = (event: OffstageEvent, snapshotSeq: number): boolean =>
  isCovered({ seq: event.seq, isVolatile: isVolatileEvent(event) || event.type === 'resync' }, snapshotSeq);
