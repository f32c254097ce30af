/** The checkers, in the order of their guarantees. */
import type { Checker } from '../checker.ts';
import { oneEnd } from './g01-one-end.ts';

export const CHECKERS: readonly Checker[] = [oneEnd];
