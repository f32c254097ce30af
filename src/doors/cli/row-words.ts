/** What a check of the rows has found, in words. */
import type { RowFinding, RowFindingKind } from '../../persistence/row-check-notes.ts';
import { printable } from './terminal.ts';
import { counted } from './words.ts';

interface Words {
  /** What there is so many of. */
  readonly noun: string;
  /** What is wrong with one, and with several. */
  readonly one: string;
  readonly more: string;
  /** What a repair has done about it. */
  readonly mended: string;
}

const WORDS: Readonly<Record<RowFindingKind, Words>> = {
  unreadable: { noun: 'row', one: 'cannot be read', more: 'cannot be read', mended: 'removed' },
  input_lost: {
    noun: 'job',
    one: 'has lost its input',
    more: 'have lost their input',
    mended: 'kept without; the history says so',
  },
  index_lost: { noun: 'job', one: 'was not to be found', more: 'were not to be found', mended: 'found again' },
  live_and_finished: {
    noun: 'job',
    one: 'stands as unfinished and as finished',
    more: 'stand as unfinished and as finished',
    mended: 'the end counts',
  },
  came_back: { noun: 'job', one: 'that was removed is back', more: 'that were removed are back', mended: 'removed again' },
  lost: { noun: 'job', one: 'is lost', more: 'are lost', mended: 'the ids answer job.expired and are never used again' },
  left_over: { noun: 'row', one: 'belongs to nothing', more: 'belong to nothing', mended: 'removed' },
  session_lost: {
    noun: 'session or task',
    one: 'is missing',
    more: 'are missing',
    mended: 'made again as far as their jobs tell',
  },
  session_index_lost: {
    noun: 'session',
    one: 'is not listed where it belongs',
    more: 'are not listed where they belong',
    mended: 'listed again',
  },
  card_index_lost: {
    noun: 'card',
    one: 'was not to be found in its conversation',
    more: 'were not to be found in their conversations',
    mended: 'found again',
  },
  frame: { noun: 'row', one: 'that every start needs is wrong', more: 'that every start needs are wrong', mended: 'put right' },
};

/** "3 jobs have lost their input (job_1, job_2, job_3)", and what was done about it when it `isMended`. */
export function findingInWords({ kind, count, examples }: RowFinding, isMended: boolean): string {
  const { noun, one, more, mended } = WORDS[kind];
  const plural = noun === 'session or task' ? 'sessions or tasks' : `${noun}s`;
  const names = examples.map(printable).join(', ') + (examples.length < count ? ', …' : '');
  return `${counted(count, noun, plural)} ${count === 1 ? one : more} (${names})${isMended ? `: ${mended}` : ''}.`;
}
