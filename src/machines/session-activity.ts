/**
 * Who has the foreground of one session, and whether work goes on behind it (liveness 2 and 3). Pure: ids and numbers come in events.
 *
 * ACY1  Two independent facts: the foreground, and the presence of work. Neither is derived from the other.
 * ACY2  At most one claim; while it is held nothing else opens a turn.
 * ACY3  Every event names the claim or the generation it means; one that is not the current one changes nothing.
 * ACY4  Release and rollback restore what was, unless something has happened meanwhile: then they show that.
 * ACY5  The foreground is idle exactly when nobody holds a claim and every open turn has yielded.
 * ACY6  A yield that is handed off lets in one prompt beside the open one; the earlier turn is final once that prompt is accepted.
 * ACY7  A turn that was closed without its agent (`stuck`) shows nothing, and keeps prompts out until the agent answers or is gone.
 * ACY8  A record is dropped whole, and only when nothing is left in it.
 */
import { and, assign, setup, stateIn } from 'xstate';

/** One turn whose end is not known yet. */
export interface OpenTurn {
  readonly generation: number;
  readonly executionId: string;
  /** `provider`: the agent began by itself. */
  readonly origin: 'prompt' | 'provider';
  readonly isAccepted: boolean;
  /** The provider said that its foreground is free, and has said nothing since. */
  readonly hasYielded: boolean;
  /** The prompt that takes this turn's place, not accepted yet. */
  readonly supersededBy: number | null;
}

export interface ActivityContext {
  readonly claimId: number | null;
  /** Oldest first; the last one is current. */
  readonly turns: readonly OpenTurn[];
  /** Generations that were closed without their agent, with its execution. */
  readonly stuck: readonly { readonly generation: number; readonly executionId: string }[];
  /** While the claim was held, output came that belongs to no open turn. */
  readonly sawStrayOutput: boolean;
}

export type ActivityEvent =
  | { readonly type: 'claim.take'; readonly claimId: number; readonly takesHandoff: boolean }
  | { readonly type: 'claim.release'; readonly claimId: number }
  | { readonly type: 'turn.begin'; readonly claimId: number; readonly generation: number; readonly executionId: string }
  | { readonly type: 'turn.accept'; readonly generation: number }
  | { readonly type: 'turn.rollback'; readonly generation: number }
  /** The agent speaks without having been asked. */
  | { readonly type: 'turn.open'; readonly generation: number; readonly executionId: string }
  /** Foreground output; 0 when it belongs to no open turn. */
  | { readonly type: 'output.seen'; readonly generation: number }
  | { readonly type: 'turn.yield'; readonly generation: number }
  | { readonly type: 'turn.end'; readonly generation: number }
  | { readonly type: 'turn.close'; readonly generation: number }
  | { readonly type: 'execution.retire'; readonly executionId: string }
  | { readonly type: 'work.began' }
  | { readonly type: 'work.ended' }
  /** Nothing is left to keep. */
  | { readonly type: 'record.drop' };

export const NEW_ACTIVITY: ActivityContext = { claimId: null, turns: [], stuck: [], sawStrayOutput: false };

export const currentTurn = (context: ActivityContext): OpenTurn | null => context.turns.at(-1) ?? null;

export const turnOf = (context: ActivityContext, generation: number): OpenTurn | null =>
  context.turns.find((turn) => turn.generation === generation) ?? null;

const isSpeaking = (turn: OpenTurn): boolean => turn.isAccepted && !turn.hasYielded && turn.supersededBy === null;

const withTurn = (context: ActivityContext, generation: number, change: Partial<OpenTurn>): ActivityContext => ({
  ...context,
  turns: context.turns.map((turn) => (turn.generation === generation ? { ...turn, ...change } : turn)),
});

/** Without the turns that are gone; what one of them was to take the place of has its place again. */
function remaining(context: ActivityContext, isGone: (turn: { generation: number; executionId: string }) => boolean) {
  const turns = context.turns.filter((turn) => !isGone(turn));
  const isThere = (generation: number | null): boolean => turns.some((turn) => turn.generation === generation);
  return {
    turns: turns.map((turn) => (isThere(turn.supersededBy) ? turn : { ...turn, supersededBy: null })),
    stuck: context.stuck.filter((turn) => !isGone(turn)),
  };
}

const without = (context: ActivityContext, generation: number) => remaining(context, (turn) => turn.generation === generation);

type Generation = { readonly generation: number };
const generationOf = { params: ({ event }: { event: Generation }) => ({ generation: event.generation }) } as const;
const claimOf = {
  params: ({ event }: { event: { readonly claimId: number } }) => ({ claimId: event.claimId }),
} as const;

/** Facts about turns that are noted in any state and move nothing by themselves. */
const notes = {
  'output.seen': { guard: { type: 'isStray', ...generationOf }, actions: 'noteStrayOutput' },
} as const;

export const sessionActivityMachine = setup({
  types: {
    context: {} as ActivityContext,
    events: {} as ActivityEvent,
    tags: {} as 'foreground-idle' | 'claimed' | 'has-work',
  },
  guards: {
    /** Nobody is asked, or everybody who is has handed the foreground on, to somebody who may take it. */
    isAdmissible: ({ context }, params: { takesHandoff: boolean }) =>
      context.stuck.length === 0 && (context.turns.length === 0 || params.takesHandoff),
    holdsClaim: ({ context }, params: { claimId: number }) => context.claimId === params.claimId,
    isCurrent: ({ context }, params: Generation) => currentTurn(context)?.generation === params.generation,
    isCurrentAndSpeaking: ({ context }, params: Generation) => {
      const turn = currentTurn(context);
      return turn?.generation === params.generation && isSpeaking(turn);
    },
    isOpen: ({ context }, params: Generation) => turnOf(context, params.generation) !== null,
    isYielded: ({ context }, params: Generation) => turnOf(context, params.generation)?.hasYielded === true,
    isKnown: ({ context }, params: Generation) =>
      turnOf(context, params.generation) !== null || context.stuck.some(({ generation }) => generation === params.generation),
    isStray: ({ context }, params: Generation) => params.generation === 0 && !context.sawStrayOutput,
    hasNoTurn: ({ context }) => context.turns.length === 0,
    mayBegin: ({ context }, params: { claimId: number; generation: number }) =>
      context.claimId === params.claimId && params.generation > (currentTurn(context)?.generation ?? 0),
    concernsExecution: ({ context }, params: { executionId: string }) =>
      [...context.turns, ...context.stuck].some(({ executionId }) => executionId === params.executionId),
    dispatchesTo: ({ context }, params: { executionId: string }) => currentTurn(context)?.executionId === params.executionId,
    hasNothing: ({ context }) => context.turns.length === 0 && context.stuck.length === 0,
    hasNoWork: stateIn({ background: 'none' }),
    isForegroundIdle: stateIn({ foreground: 'idle' }),
    isSomebodySpeaking: ({ context }) => context.turns.some(isSpeaking),
  },
  actions: {
    hold: assign((_, params: { claimId: number }) => ({ claimId: params.claimId, sawStrayOutput: false })),
    letGo: assign({ claimId: null }),
    begin: assign(({ context }, params: { generation: number; executionId: string }) => ({
      turns: [
        ...context.turns.map((turn) => ({ ...turn, supersededBy: turn.supersededBy ?? params.generation })),
        {
          generation: params.generation,
          executionId: params.executionId,
          origin: 'prompt' as const,
          isAccepted: false,
          hasYielded: false,
          supersededBy: null,
        },
      ],
    })),
    accept: assign(({ context }, params: Generation) => ({
      claimId: null,
      turns: context.turns
        .filter(({ supersededBy }) => supersededBy !== params.generation)
        .map((turn) => (turn.generation === params.generation ? { ...turn, isAccepted: true } : turn)),
    })),
    rollBack: assign(({ context }, params: Generation) => ({ claimId: null, ...without(context, params.generation) })),
    openByProvider: assign((_, params: { generation: number; executionId: string }) => ({
      sawStrayOutput: false,
      turns: [
        {
          generation: params.generation,
          executionId: params.executionId,
          origin: 'provider' as const,
          isAccepted: true,
          hasYielded: false,
          supersededBy: null,
        },
      ],
    })),
    speak: assign(({ context }, params: Generation) => withTurn(context, params.generation, { hasYielded: false })),
    yieldTurn: assign(({ context }, params: Generation) => withTurn(context, params.generation, { hasYielded: true })),
    endTurn: assign(({ context }, params: Generation) => without(context, params.generation)),
    closeTurn: assign(({ context }, params: Generation) => {
      const turn = turnOf(context, params.generation);
      const rest = without(context, params.generation);
      if (turn === null) return rest;
      return { ...rest, stuck: [...rest.stuck, { generation: turn.generation, executionId: turn.executionId }] };
    }),
    retire: assign(({ context }, params: { executionId: string }) =>
      remaining(context, ({ executionId }) => executionId === params.executionId),
    ),
    noteStrayOutput: assign({ sawStrayOutput: true }),
  },
}).createMachine({
  id: 'activity',
  type: 'parallel',
  context: NEW_ACTIVITY,
  states: {
    foreground: {
      meta: { description: 'Who is asked, or speaks.' },
      initial: 'idle',
      states: {
        idle: {
          tags: 'foreground-idle',
          meta: { description: 'Free for a prompt, whatever goes on in the background.' },
          on: {
            'claim.take': {
              guard: { type: 'isAdmissible', params: ({ event }) => ({ takesHandoff: event.takesHandoff }) },
              target: 'claimed',
              actions: { type: 'hold', ...claimOf },
            },
            'turn.open': {
              guard: 'hasNoTurn',
              target: 'generating',
              actions: { type: 'openByProvider', params: ({ event }) => event },
            },
            'output.seen': {
              guard: { type: 'isYielded', ...generationOf },
              target: 'generating',
              actions: { type: 'speak', ...generationOf },
            },
            'turn.end': { guard: { type: 'isKnown', ...generationOf }, actions: { type: 'endTurn', ...generationOf } },
            'turn.close': { guard: { type: 'isOpen', ...generationOf }, actions: { type: 'closeTurn', ...generationOf } },
            'execution.retire': {
              guard: { type: 'concernsExecution', params: ({ event }) => event },
              actions: { type: 'retire', params: ({ event }) => event },
            },
            'record.drop': { guard: and(['hasNothing', 'hasNoWork']), target: 'dropped' },
          },
        },
        claimed: {
          tags: 'claimed',
          meta: { description: 'A prompt is on its way: its agent is being found or started.' },
          on: {
            'claim.release': { guard: { type: 'holdsClaim', ...claimOf }, target: 'resting', actions: 'letGo' },
            'turn.begin': {
              guard: { type: 'mayBegin', params: ({ event }) => event },
              target: 'dispatching',
              actions: { type: 'begin', params: ({ event }) => event },
            },
            'output.seen': [
              { guard: { type: 'isYielded', ...generationOf }, actions: { type: 'speak', ...generationOf } },
              notes['output.seen'],
            ],
            'turn.yield': {
              guard: { type: 'isCurrentAndSpeaking', ...generationOf },
              actions: { type: 'yieldTurn', ...generationOf },
            },
            'turn.end': { guard: { type: 'isKnown', ...generationOf }, actions: { type: 'endTurn', ...generationOf } },
            'turn.close': { guard: { type: 'isOpen', ...generationOf }, actions: { type: 'closeTurn', ...generationOf } },
            'execution.retire': {
              guard: { type: 'concernsExecution', params: ({ event }) => event },
              actions: { type: 'retire', params: ({ event }) => event },
            },
          },
        },
        dispatching: {
          tags: 'claimed',
          meta: { description: 'The agent was called and has not taken the prompt yet.' },
          on: {
            'turn.accept': {
              guard: { type: 'isCurrent', ...generationOf },
              target: 'resting',
              actions: { type: 'accept', ...generationOf },
            },
            'turn.rollback': {
              guard: { type: 'isCurrent', ...generationOf },
              target: 'resting',
              actions: { type: 'rollBack', ...generationOf },
            },
            'output.seen': [
              { guard: { type: 'isYielded', ...generationOf }, actions: { type: 'speak', ...generationOf } },
              notes['output.seen'],
            ],
            'turn.end': [
              {
                guard: { type: 'isCurrent', ...generationOf },
                target: 'resting',
                actions: ['letGo', { type: 'endTurn', ...generationOf }],
              },
              { guard: { type: 'isKnown', ...generationOf }, actions: { type: 'endTurn', ...generationOf } },
            ],
            'turn.close': [
              {
                guard: { type: 'isCurrent', ...generationOf },
                target: 'resting',
                actions: ['letGo', { type: 'closeTurn', ...generationOf }],
              },
              { guard: { type: 'isOpen', ...generationOf }, actions: { type: 'closeTurn', ...generationOf } },
            ],
            'execution.retire': [
              {
                guard: { type: 'dispatchesTo', params: ({ event }) => event },
                target: 'resting',
                actions: ['letGo', { type: 'retire', params: ({ event }) => event }],
              },
              {
                guard: { type: 'concernsExecution', params: ({ event }) => event },
                actions: { type: 'retire', params: ({ event }) => event },
              },
            ],
          },
        },
        generating: {
          meta: { description: 'The agent is at work for its person.' },
          on: {
            'turn.yield': {
              guard: { type: 'isCurrentAndSpeaking', ...generationOf },
              target: 'resting',
              actions: { type: 'yieldTurn', ...generationOf },
            },
            'output.seen': { guard: { type: 'isYielded', ...generationOf }, actions: { type: 'speak', ...generationOf } },
            'turn.end': {
              guard: { type: 'isKnown', ...generationOf },
              target: 'resting',
              actions: { type: 'endTurn', ...generationOf },
            },
            'turn.close': {
              guard: { type: 'isOpen', ...generationOf },
              target: 'resting',
              actions: { type: 'closeTurn', ...generationOf },
            },
            'execution.retire': {
              guard: { type: 'concernsExecution', params: ({ event }) => event },
              target: 'resting',
              actions: { type: 'retire', params: ({ event }) => event },
            },
          },
        },
        resting: {
          meta: { description: 'Left at once: is somebody still speaking?' },
          always: [{ guard: 'isSomebodySpeaking', target: 'generating' }, { target: 'idle' }],
        },
        dropped: { type: 'final', meta: { description: 'The record was dropped: nothing was left to keep.' } },
      },
    },
    background: {
      meta: { description: 'Recognised work that is not the foreground: jobs, subagents, shells, monitors.' },
      initial: 'none',
      states: {
        none: {
          meta: { description: 'Nothing is registered.' },
          on: {
            'work.began': 'present',
            'record.drop': { guard: and(['hasNothing', 'isForegroundIdle']), target: 'dropped' },
          },
        },
        present: {
          tags: 'has-work',
          meta: { description: 'At least one workload is registered.' },
          on: { 'work.ended': 'none' },
        },
        dropped: { type: 'final', meta: { description: 'The record was dropped.' } },
      },
    },
  },
  options: { maxIterations: 100 },
});
