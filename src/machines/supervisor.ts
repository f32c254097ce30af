/**
 * The supervisor of one engine: does it accept work, can it store, how many bodies and agents are out of reach (spec 3, 6). Pure.
 * The arithmetic per job (slots, queue) belongs to the pool: a machine fed with every job costs 15 % of the throughput.
 *
 * SUP1  Work is accepted only in `accepting.healthy`.
 * SUP2  Nothing leads back from draining, or from closed.
 * SUP3  `detached` and `detachedAgents` never fall below zero.
 */
import { assign, setup } from 'xstate';

export interface SupervisorContext {
  /** Null means no limit. */
  readonly workers: number | null;
  readonly perSessionLimit: number | null;
  /** Bodies whose record is terminal and that still hold a slot. */
  readonly detached: number;
  /** Agents of sessions that were told to end, and were not seen to within the grace. */
  readonly detachedAgents: number;
  readonly lastStoreError: string | null;
}

export type SupervisorEvent =
  | { readonly type: 'store.failed'; readonly message: string }
  | { readonly type: 'store.recovered' }
  | { readonly type: 'body.detached' }
  | { readonly type: 'body.reclaimed' }
  | { readonly type: 'agent.detached' }
  | { readonly type: 'agent.reclaimed' }
  | { readonly type: 'engine.drain' }
  | { readonly type: 'engine.closed' };

export const supervisorMachine = setup({
  types: {
    context: {} as SupervisorContext,
    events: {} as SupervisorEvent,
    input: {} as { readonly workers: number | null; readonly perSessionLimit: number | null },
    tags: {} as 'accepts-work' | 'degraded' | 'closing',
  },
  actions: {
    noteFailure: assign((_, params: { message: string }) => ({ lastStoreError: params.message })),
    forgetFailure: assign({ lastStoreError: null }),
    countDetached: assign(({ context }) => ({ detached: context.detached + 1 })),
    uncountDetached: assign(({ context }) => ({ detached: Math.max(0, context.detached - 1) })),
    countDetachedAgent: assign(({ context }) => ({ detachedAgents: context.detachedAgents + 1 })),
    uncountDetachedAgent: assign(({ context }) => ({ detachedAgents: Math.max(0, context.detachedAgents - 1) })),
  },
}).createMachine({
  id: 'supervisor',
  initial: 'accepting',
  context: ({ input }) => ({ ...input, detached: 0, detachedAgents: 0, lastStoreError: null }),
  on: {
    'body.detached': { actions: 'countDetached' },
    'body.reclaimed': { actions: 'uncountDetached' },
    'agent.detached': { actions: 'countDetachedAgent' },
    'agent.reclaimed': { actions: 'uncountDetachedAgent' },
  },
  states: {
    accepting: {
      meta: { description: 'Open for work.' },
      initial: 'healthy',
      on: { 'engine.drain': { target: 'draining' } },
      states: {
        healthy: {
          tags: 'accepts-work',
          meta: { description: 'The store takes what it is given.' },
          on: { 'store.failed': { target: 'degraded', actions: { type: 'noteFailure', params: ({ event }) => event } } },
        },
        degraded: {
          tags: 'degraded',
          meta: {
            description:
              'The store refuses writes: no new work; cancels, aborts and waiters go on, and the writes are tried again.',
          },
          on: {
            'store.failed': { actions: { type: 'noteFailure', params: ({ event }) => event } },
            'store.recovered': { target: 'healthy', actions: 'forgetFailure' },
          },
        },
      },
    },
    draining: {
      tags: 'closing',
      meta: { description: 'Closing: nothing is started, running bodies are told to end.' },
      on: {
        'store.failed': { actions: { type: 'noteFailure', params: ({ event }) => event } },
        'store.recovered': { actions: 'forgetFailure' },
        'engine.closed': { target: 'closed' },
      },
    },
    closed: { type: 'final', tags: 'closing', meta: { description: 'Everything has ended, and the store is closed.' } },
  },
  options: { maxIterations: 100 },
});
