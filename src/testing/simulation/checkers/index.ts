/** The checkers, in the order of their guarantees. */
import type { Checker } from '../checker.ts';
import { oneEnd } from './g01-one-end.ts';
import { forwardOnly } from './g02-forward-only.ts';
import { cancelInTime } from './g03-cancel-in-time.ts';
import { cardIsJob } from './g04-card-is-job.ts';
import { crash } from './g05-crash.ts';
import { sessionFixed } from './g06-session-fixed.ts';
import { durableFirst } from './g07-durable-first.ts';
import { orderAndSlots } from './g08-order-and-slots.ts';
import { oneOrder } from './g09-one-order.ts';
import { onePrompt } from './g10-one-prompt.ts';
import { activityFromFacts } from './g11-activity-from-facts.ts';
import { orderedPublications } from './g12-ordered-publications.ts';
import { stopReachesAll } from './g13-stop-reaches-all.ts';
import { waitersOnce } from './g14-waiters-once.ts';
import { noBodyAfterEnd } from './g15-no-body-after-end.ts';
import { fences } from './g16-fences.ts';

export const CHECKERS: readonly Checker[] = [
  oneEnd,
  forwardOnly,
  cancelInTime,
  cardIsJob,
  crash,
  sessionFixed,
  durableFirst,
  orderAndSlots,
  oneOrder,
  onePrompt,
  activityFromFacts,
  orderedPublications,
  stopReachesAll,
  waitersOnce,
  noBodyAfterEnd,
  fences,
];
