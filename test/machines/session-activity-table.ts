/**
 * Scenes, events and the truth table of the activity chart, for its tests. Nothing here is taken from the chart.
 *
 * A scene is written as the foreground's state and what is known: `#7` a claim, `2` an open turn, `2?` not accepted, `2y` yielded,
 * `1>2` to be superseded by 2, `2p` opened by the provider, `!1` closed without its agent, `~` stray output noted, `+` work present.
 */
import { createActor } from 'xstate';
import { type ActivityContext, type ActivityEvent, sessionActivityMachine } from '../../src/machines/session-activity.ts';

const take = (takesHandoff: boolean): ActivityEvent => ({ type: 'claim.take', claimId: 7, takesHandoff });
const begin = (generation: number, executionId = 'A'): ActivityEvent => ({
  type: 'turn.begin',
  claimId: 7,
  generation,
  executionId,
});
const on = (
  type: 'turn.accept' | 'turn.rollback' | 'output.seen' | 'turn.yield' | 'turn.end' | 'turn.close',
  generation: number,
): ActivityEvent => ({ type, generation });

/** Turn 1 of execution A has yielded. */
const YIELDED: readonly ActivityEvent[] = [take(false), begin(1), on('turn.accept', 1), on('turn.yield', 1)];
const AT_HANDOFF: readonly ActivityEvent[] = [...YIELDED, take(true)];
const STUCK: readonly ActivityEvent[] = [take(false), begin(1), on('turn.accept', 1), on('turn.close', 1)];

/** How each scene is reached. */
export const SCENES = {
  idle: [],
  'idle ~': [take(false), on('output.seen', 0), { type: 'claim.release', claimId: 7 }],
  'idle 1y': YIELDED,
  'idle !1': STUCK,
  'claimed #7': [take(false)],
  'claimed #7 ~': [take(false), on('output.seen', 0)],
  'claimed #7 1y': AT_HANDOFF,
  'claimed #7 1': [...AT_HANDOFF, on('output.seen', 1)],
  'dispatching #7 2?': [take(false), begin(2)],
  'dispatching #7 1y>2 2?': [...AT_HANDOFF, begin(2)],
  'dispatching #7 1>2 2?': [...AT_HANDOFF, begin(2), on('output.seen', 1)],
  'dispatching #7 1y>2 2? to B': [...AT_HANDOFF, begin(2, 'B')],
  'generating 2': [take(false), begin(2), on('turn.accept', 2)],
  'generating 2p': [{ type: 'turn.open', generation: 2, executionId: 'A' }],
  'generating 2p !1': [...STUCK, { type: 'turn.open', generation: 2, executionId: 'A' }],
  dropped: [{ type: 'record.drop' }],
} as const satisfies Record<string, readonly ActivityEvent[]>;
export type SceneName = keyof typeof SCENES;

/** Claim 7 is the one that is held, 9 another one; 0 proves nothing, 9 is no generation that was ever open; Z is nobody's execution. */
export const EVENTS = {
  'take 9': { type: 'claim.take', claimId: 9, takesHandoff: false },
  'take 9 at hand-off': { type: 'claim.take', claimId: 9, takesHandoff: true },
  'release 7': { type: 'claim.release', claimId: 7 },
  'release 9': { type: 'claim.release', claimId: 9 },
  'begin 5 by 7': { type: 'turn.begin', claimId: 7, generation: 5, executionId: 'A' },
  'begin 5 by 9': { type: 'turn.begin', claimId: 9, generation: 5, executionId: 'A' },
  'accept 2': on('turn.accept', 2),
  'accept 1': on('turn.accept', 1),
  'accept 0': on('turn.accept', 0),
  'roll back 2': on('turn.rollback', 2),
  'roll back 1': on('turn.rollback', 1),
  'roll back 0': on('turn.rollback', 0),
  'open 5': { type: 'turn.open', generation: 5, executionId: 'A' },
  'output of 2': on('output.seen', 2),
  'output of 1': on('output.seen', 1),
  'output of 0': on('output.seen', 0),
  'output of 9': on('output.seen', 9),
  'yield 2': on('turn.yield', 2),
  'yield 1': on('turn.yield', 1),
  'yield 0': on('turn.yield', 0),
  'yield 9': on('turn.yield', 9),
  'end 2': on('turn.end', 2),
  'end 1': on('turn.end', 1),
  'end 0': on('turn.end', 0),
  'end 9': on('turn.end', 9),
  'close 2': on('turn.close', 2),
  'close 1': on('turn.close', 1),
  'close 0': on('turn.close', 0),
  'retire A': { type: 'execution.retire', executionId: 'A' },
  'retire B': { type: 'execution.retire', executionId: 'B' },
  'retire Z': { type: 'execution.retire', executionId: 'Z' },
  'work began': { type: 'work.began' },
  'work ended': { type: 'work.ended' },
  drop: { type: 'record.drop' },
} as const satisfies Record<string, ActivityEvent>;
export type Asked = keyof typeof EVENTS;

/**
 * What is seen after each event, by hand from liveness 2, 3 and 4; whatever is not named changes nothing. That work began and ended is left
 * out here: it is the same everywhere, and the tests say so.
 */
export const TRUTH: Readonly<Record<SceneName, Partial<Readonly<Record<Asked, string>>>>> = {
  idle: {
    'take 9': 'claimed #9',
    'take 9 at hand-off': 'claimed #9',
    'open 5': 'generating 5p',
    drop: 'dropped',
  },
  // Stray output concerns the claim under which it came, and no later one.
  'idle ~': {
    'take 9': 'claimed #9',
    'take 9 at hand-off': 'claimed #9',
    'open 5': 'generating 5p',
    drop: 'dropped ~',
  },
  // Handed off: one person's prompt is let in beside the open turn, until output of it, or its end.
  'idle 1y': {
    'take 9 at hand-off': 'claimed #9 1y',
    'output of 1': 'generating 1',
    'end 1': 'idle',
    'close 1': 'idle !1',
    'retire A': 'idle',
  },
  // Closed without its agent: shows nothing, lets nobody in until the agent answers or is gone.
  'idle !1': { 'open 5': 'generating 5p !1', 'end 1': 'idle', 'retire A': 'idle' },
  'claimed #7': {
    'release 7': 'idle',
    'begin 5 by 7': 'dispatching #7 5?',
    'output of 0': 'claimed #7 ~',
  },
  'claimed #7 ~': { 'release 7': 'idle ~', 'begin 5 by 7': 'dispatching #7 5? ~' },
  'claimed #7 1y': {
    'release 7': 'idle 1y',
    'begin 5 by 7': 'dispatching #7 1y>5 5?',
    'output of 1': 'claimed #7 1',
    'output of 0': 'claimed #7 1y ~',
    'end 1': 'claimed #7',
    'close 1': 'claimed #7 !1',
    'retire A': 'claimed #7',
  },
  // Something has happened since the claim was taken: its release shows that.
  'claimed #7 1': {
    'release 7': 'generating 1',
    'begin 5 by 7': 'dispatching #7 1>5 5?',
    'output of 0': 'claimed #7 1 ~',
    'yield 1': 'claimed #7 1y',
    'end 1': 'claimed #7',
    'close 1': 'claimed #7 !1',
    'retire A': 'claimed #7',
  },
  'dispatching #7 2?': {
    'accept 2': 'generating 2',
    'roll back 2': 'idle',
    'output of 0': 'dispatching #7 2? ~',
    'end 2': 'idle',
    'close 2': 'idle !2',
    'retire A': 'idle',
  },
  // Accepted, the earlier turn is final; rolled back, it is where it was.
  'dispatching #7 1y>2 2?': {
    'accept 2': 'generating 2',
    'roll back 2': 'idle 1y',
    'output of 1': 'dispatching #7 1>2 2?',
    'output of 0': 'dispatching #7 1y>2 2? ~',
    'end 2': 'idle 1y',
    'end 1': 'dispatching #7 2?',
    'close 2': 'idle 1y !2',
    'close 1': 'dispatching #7 2? !1',
    'retire A': 'idle',
  },
  'dispatching #7 1>2 2?': {
    'accept 2': 'generating 2',
    'roll back 2': 'generating 1',
    'output of 0': 'dispatching #7 1>2 2? ~',
    'end 2': 'generating 1',
    'end 1': 'dispatching #7 2?',
    'close 2': 'generating 1 !2',
    'close 1': 'dispatching #7 2? !1',
    'retire A': 'idle',
  },
  // The teardown of one execution touches nothing of the other.
  'dispatching #7 1y>2 2? to B': {
    'accept 2': 'generating 2',
    'roll back 2': 'idle 1y',
    'output of 1': 'dispatching #7 1>2 2?',
    'output of 0': 'dispatching #7 1y>2 2? ~',
    'end 2': 'idle 1y',
    'end 1': 'dispatching #7 2?',
    'close 2': 'idle 1y !2',
    'close 1': 'dispatching #7 2? !1',
    'retire A': 'dispatching #7 2?',
    'retire B': 'idle 1y',
  },
  'generating 2': { 'yield 2': 'idle 2y', 'end 2': 'idle', 'close 2': 'idle !2', 'retire A': 'idle' },
  'generating 2p': { 'yield 2': 'idle 2yp', 'end 2': 'idle', 'close 2': 'idle !2', 'retire A': 'idle' },
  'generating 2p !1': {
    'yield 2': 'idle 2yp !1',
    'end 2': 'idle !1',
    'end 1': 'generating 2p',
    'close 2': 'idle !1 !2',
    'retire A': 'idle',
  },
  dropped: {},
};

type Snapshot = ReturnType<ReturnType<typeof started>['getSnapshot']>;

const started = () => createActor(sessionActivityMachine).start();

export const keysOf = <Key extends string>(table: Readonly<Record<Key, unknown>>): readonly Key[] => Object.keys(table) as Key[];

export function reached(scene: SceneName, hasWork = false) {
  const actor = started();
  if (hasWork) actor.send({ type: 'work.began' });
  for (const event of SCENES[scene]) actor.send(event);
  return actor;
}

const wordsOf = ({ claimId, turns, stuck, sawStrayOutput }: ActivityContext): readonly string[] => [
  ...(claimId === null ? [] : [`#${claimId}`]),
  ...turns.map(
    ({ generation, isAccepted, hasYielded, origin, supersededBy }) =>
      `${generation}${isAccepted ? '' : '?'}${hasYielded ? 'y' : ''}${origin === 'provider' ? 'p' : ''}${supersededBy === null ? '' : `>${supersededBy}`}`,
  ),
  ...stuck.map(({ generation }) => `!${generation}`),
  ...(sawStrayOutput ? ['~'] : []),
];

/** The snapshot in the words of the scenes. */
export function seen({ value, context }: Snapshot): string {
  const { foreground, background } = value;
  return [foreground, ...wordsOf(context), ...(background === 'present' ? ['+'] : [])].join(' ');
}
