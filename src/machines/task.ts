/**
 * One task: where it stands on the board (the host's to say), and the order of what is told of it (liveness 7 and 10). Pure.
 *
 * TSK1  Its aggregate is told exactly when it differs from what was told last, in one order, each telling with the next number.
 * TSK2  `stopEpoch` only grows: what was requested under an older one is refused.
 * TSK3  Nothing is told of a task that was removed.
 */
import { assign, setup } from 'xstate';
import { type ActivityValue, isSameActivity, NO_ACTIVITY } from '../model/activity.ts';
import type { TaskState } from '../model/records.ts';

export interface TaskContext {
  readonly told: ActivityValue;
  readonly taskSeq: number;
  readonly stopEpoch: number;
}

export type TaskEvent =
  | { readonly type: 'task.move'; readonly to: TaskState }
  | { readonly type: 'activity.aggregated'; readonly value: ActivityValue }
  /** A telling for another reason than its aggregate. */
  | { readonly type: 'task.tell' }
  /** Everything of it is told to end; the epoch is higher than any before. */
  | { readonly type: 'task.stop'; readonly epoch: number }
  | { readonly type: 'task.remove' }
  /** Nothing of it lives in this process any more. */
  | { readonly type: 'task.forget' };

const move = (to: TaskState) => ({ guard: { type: 'goesTo' as const, params: { to } }, target: `#task.${to}` as const }) as const;

export const taskMachine = setup({
  types: { context: {} as TaskContext, events: {} as TaskEvent, tags: {} as 'listed' | 'removed' },
  guards: {
    goesTo: ({ event }, params: { to: TaskState }) => event.type === 'task.move' && event.to === params.to,
    differs: ({ context }, params: { value: ActivityValue }) => !isSameActivity(context.told, params.value),
  },
  actions: {
    tell: assign(({ context }, params: { value: ActivityValue }) => ({ told: params.value, taskSeq: context.taskSeq + 1 })),
    countTelling: assign(({ context }) => ({ taskSeq: context.taskSeq + 1 })),
    noteStop: assign(({ context }, params: { epoch: number }) => ({ stopEpoch: Math.max(context.stopEpoch, params.epoch) })),
  },
}).createMachine({
  id: 'task',
  initial: 'open',
  context: { told: NO_ACTIVITY, taskSeq: 0, stopEpoch: 0 },
  states: {
    open: { tags: 'listed', meta: { description: 'Nobody has begun.' } },
    in_progress: { tags: 'listed', meta: { description: 'Somebody works on it.' } },
    review: { tags: 'listed', meta: { description: 'Somebody has to look at it.' } },
    done: { tags: 'listed', meta: { description: 'Finished.' } },
    cancelled: { tags: 'listed', meta: { description: 'Given up.' } },
    archived: { meta: { description: 'Put away; listed only while something of it lives.' } },
    forgotten: { type: 'final', meta: { description: 'Nothing of it lives in this process; its row is kept.' } },
    removed: { type: 'final', tags: 'removed', meta: { description: 'Gone, and its id is never used again.' } },
  },
  on: {
    'task.move': [move('open'), move('in_progress'), move('review'), move('done'), move('cancelled'), move('archived')],
    'activity.aggregated': {
      guard: { type: 'differs', params: ({ event }) => event },
      actions: { type: 'tell', params: ({ event }) => event },
    },
    'task.tell': { actions: 'countTelling' },
    'task.stop': { actions: { type: 'noteStop', params: ({ event }) => event } },
    'task.remove': '#task.removed',
    'task.forget': '#task.forgotten',
  },
  options: { maxIterations: 100 },
});
