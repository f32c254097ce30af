/**
 * The coarse state of one session (liveness 1): durable, one of eight. Pure; who has the foreground is another chart's (session-activity).
 *
 * SSN1  failed and cancelled are left for nothing; a state writer that comes late is refused.
 * SSN2  A launch that fails restores the state that it began from.
 * SSN3  `interrupted` says that a turn was cut off by the end of its agent or of this process; the next accepted prompt clears it.
 * SSN4  A pending request lives no longer than its turn, its agent and its answer.
 */
import { assign, setup } from 'xstate';
import type { PendingRequest, SessionState } from '../model/records.ts';

/** What a prompt finds in a session of this state. */
export type Promptable = 'launches' | 'waits' | 'by_activity' | 'yes' | 'resumes' | 'no';

export interface SessionStateRules {
  readonly active: boolean;
  readonly terminal: boolean;
  readonly promptable: Promptable;
}

/**
 * What each state means to everybody outside the chart; there is no second list.
 * @example
 * if (SESSION_STATES[session.state].promptable === 'no') hideComposer();
 */
export const SESSION_STATES: Readonly<Record<SessionState, SessionStateRules>> = {
  created: { active: true, terminal: false, promptable: 'launches' },
  starting: { active: true, terminal: false, promptable: 'waits' },
  running: { active: true, terminal: false, promptable: 'by_activity' },
  waiting_for_input: { active: true, terminal: false, promptable: 'yes' },
  idle: { active: false, terminal: false, promptable: 'launches' },
  completed: { active: false, terminal: true, promptable: 'resumes' },
  failed: { active: false, terminal: true, promptable: 'no' },
  cancelled: { active: false, terminal: true, promptable: 'no' },
};

export interface SessionContext {
  readonly interrupted: boolean;
  readonly pending: PendingRequest | null;
  /** The state that a launch under way began from. */
  readonly launchedFrom: LaunchOrigin | null;
}

export type LaunchOrigin = 'created' | 'waiting_for_input' | 'idle' | 'completed';

export type SessionEvent =
  | { readonly type: 'session.launch' }
  | { readonly type: 'session.launched' }
  | { readonly type: 'launch.failed' }
  | { readonly type: 'turn.opened' }
  | { readonly type: 'turn.accepted' }
  /** No turn is open any more. */
  | { readonly type: 'turns.closed' }
  | { readonly type: 'agent.gone' }
  /** Told by the next process (liveness 13). */
  | { readonly type: 'process.died' }
  | { readonly type: 'request.asked'; readonly request: PendingRequest }
  | { readonly type: 'request.settled' }
  | { readonly type: 'session.complete' }
  | { readonly type: 'session.fail' }
  | { readonly type: 'session.cancel' };

const launch = (from: LaunchOrigin) =>
  ({
    'session.launch': { target: 'starting', actions: ['clearPending', { type: 'noteLaunch' as const, params: { from } }] },
  }) as const;

const fails = { 'session.fail': { target: 'failed', actions: 'clearPending' } } as const;

const ends = { ...fails, 'session.cancel': { target: 'cancelled', actions: 'clearPending' } } as const;

const requests = {
  'request.asked': {
    actions: {
      type: 'notePending' as const,
      params: ({ event }: { event: { readonly request: PendingRequest } }) => ({ request: event.request }),
    },
  },
  'request.settled': { guard: 'hasPending', actions: 'clearPending' },
} as const;

export const sessionMachine = setup({
  types: {
    context: {} as SessionContext,
    events: {} as SessionEvent,
    input: {} as SessionContext,
    tags: {} as 'active' | 'terminal' | 'takes-input',
  },
  guards: {
    isInterrupted: ({ context }) => context.interrupted,
    hasPending: ({ context }) => context.pending !== null,
    launchedFrom: ({ context }, params: { from: LaunchOrigin }) => context.launchedFrom === params.from,
  },
  actions: {
    noteLaunch: assign((_, params: { from: LaunchOrigin }) => ({ launchedFrom: params.from })),
    forgetLaunch: assign({ launchedFrom: null }),
    notePending: assign((_, params: { request: PendingRequest }) => ({ pending: params.request })),
    clearPending: assign({ pending: null }),
    markInterrupted: assign({ interrupted: true }),
    clearInterrupted: assign({ interrupted: false }),
  },
}).createMachine({
  id: 'session',
  initial: 'created',
  context: ({ input }) => input,
  states: {
    created: {
      tags: 'active',
      meta: { description: 'Made, and its agent never started.' },
      // Stopped, it stays as it is: there is no agent to end (liveness 11).
      on: { ...launch('created'), ...fails },
    },
    starting: {
      tags: 'active',
      meta: { description: 'The agent is being launched or resumed.' },
      on: {
        'session.launched': { target: 'waiting_for_input', actions: 'forgetLaunch' },
        'turn.opened': { target: 'running', actions: 'forgetLaunch' },
        'launch.failed': [
          { guard: { type: 'launchedFrom', params: { from: 'created' } }, target: 'created', actions: 'forgetLaunch' },
          { guard: { type: 'launchedFrom', params: { from: 'idle' } }, target: 'idle', actions: 'forgetLaunch' },
          { guard: { type: 'launchedFrom', params: { from: 'completed' } }, target: 'completed', actions: 'forgetLaunch' },
          { target: 'waiting_for_input', actions: 'forgetLaunch' },
        ],
        'process.died': { target: 'waiting_for_input', actions: ['forgetLaunch', 'clearPending', 'markInterrupted'] },
        ...ends,
      },
    },
    running: {
      tags: ['active', 'takes-input'],
      meta: { description: 'A turn is open.' },
      on: {
        'turn.accepted': { guard: 'isInterrupted', actions: 'clearInterrupted' },
        'turns.closed': { target: 'waiting_for_input', actions: 'clearPending' },
        'agent.gone': { target: 'waiting_for_input', actions: ['clearPending', 'markInterrupted'] },
        'process.died': { target: 'waiting_for_input', actions: ['clearPending', 'markInterrupted'] },
        'session.complete': { target: 'completed', actions: 'clearPending' },
        ...requests,
        ...ends,
      },
    },
    waiting_for_input: {
      tags: ['active', 'takes-input'],
      meta: { description: 'The agent is there, or can be resumed; no turn is open.' },
      on: {
        ...launch('waiting_for_input'),
        'turn.opened': { target: 'running' },
        'agent.gone': { target: 'idle', actions: 'clearPending' },
        'process.died': { guard: 'hasPending', actions: 'clearPending' },
        'session.complete': { target: 'completed', actions: 'clearPending' },
        ...requests,
        ...ends,
      },
    },
    idle: {
      meta: { description: 'The agent is unloaded; its conversation is kept.' },
      on: { ...launch('idle'), 'session.complete': { target: 'completed' }, ...fails },
    },
    completed: {
      tags: 'terminal',
      meta: { description: 'The conversation is finished; a prompt resumes it.' },
      on: { ...launch('completed') },
    },
    failed: { type: 'final', tags: 'terminal', meta: { description: 'Declared failed; takes no more prompts.' } },
    cancelled: { type: 'final', tags: 'terminal', meta: { description: 'Stopped; takes no more prompts.' } },
  },
  options: { maxIterations: 100 },
});
