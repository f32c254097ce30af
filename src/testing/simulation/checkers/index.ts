/** The checkers, in the order of their guarantees. */
import type { Checker } from '../checker.ts';
import { oneEnd } from './g01-one-end.ts';
import { forwardOnly } from './g02-forward-only.ts';
import { sessionFixed } from './g06-session-fixed.ts';
import { orderedPublications } from './g12-ordered-publications.ts';
import { fences } from './g16-fences.ts';

export const CHECKERS: readonly Checker[] = [oneEnd, forwardOnly, sessionFixed, orderedPublications, fences];
