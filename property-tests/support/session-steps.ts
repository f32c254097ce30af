/** Random things that happen to sessions: what people, agents and jobs do, and when. */
import fc from 'fast-check';
import type { WorkloadKind } from '../../src/model/executor.ts';
import type { Rules } from './session-facts.ts';

/** Most of it happens to one of them: what several do to each other is a part of it. */
const session = fc.constantFrom(0, 0, 0, 0, 1, 2);
const which = fc.nat(30);
const kind = fc.constantFrom('subagent' as const, 'subagent' as const, 'shell' as const, 'monitor' as const);
const workId = fc.constantFrom('w0', 'w1', 'w2');
const callId = fc.constantFrom('c0', 'c1', 'c2');
const status = fc.constantFrom(
  'pending' as const,
  'running' as const,
  'running' as const,
  'completed' as const,
  'failed' as const,
);

/** Which generation a frame is stamped with: the newest prompt's, none, that of a turn that is over, of another session, of nobody. */
const stamp = fc.oneof(
  { weight: 8, arbitrary: fc.constant('right' as const) },
  { weight: 4, arbitrary: fc.constant('zero' as const) },
  { weight: 3, arbitrary: fc.constantFrom('stale' as const, 'foreign' as const, 'future' as const) },
);
export type Stamp = typeof stamp extends fc.Arbitrary<infer One> ? One : never;

/** Now and then the voice of a child. */
const perhapsOfChild = <T extends object>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T & { parentToolCallId?: string }> =>
  fc
    .tuple(arbitrary, fc.option(callId, { nil: null, freq: 4 }))
    .map(([one, parentToolCallId]) => (parentToolCallId === null ? one : { ...one, parentToolCallId }));

const work = fc.record({ kind, isDetached: fc.boolean(), workloadId: workId }, { requiredKeys: ['kind', 'isDetached'] });
const tool = fc.record(
  {
    type: fc.constantFrom('tool.call' as const, 'tool.call' as const, 'tool.update' as const),
    toolCallId: callId,
    status,
    work,
    hasOutput: fc.boolean(),
  },
  { requiredKeys: ['type', 'toolCallId', 'status', 'hasOutput'] },
);
const listed = fc.record({ workloadId: fc.oneof(workId, callId), kind, toolCallId: callId }, { requiredKeys: ['workloadId'] });
const launch = fc.record({ kind, workloadId: workId, toolCallId: callId }, { requiredKeys: ['kind', 'workloadId'] });
const completion = fc.record(
  { workloadId: workId, toolCallId: callId, kind, eventId: fc.constantFrom('d0', 'd1') },
  { requiredKeys: [] },
);

const speech = fc.record({ type: fc.constant('output' as const), text: fc.constant('text') });

const said = fc.oneof(
  {
    weight: 5,
    arbitrary: perhapsOfChild(
      fc.record({ type: fc.constant('output' as const), text: fc.constantFrom('text', 'text', 'text', '') }),
    ),
  },
  { weight: 6, arbitrary: perhapsOfChild(tool) },
  { weight: 4, arbitrary: launch.map((one) => ({ type: 'workload.started' as const, ...one })) },
  { weight: 3, arbitrary: completion.map((one) => ({ type: 'workload.ended' as const, ...one })) },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant('workload.snapshot' as const), workloads: fc.array(listed, { maxLength: 3 }) }),
  },
  { weight: 9, arbitrary: fc.record({ type: fc.constant('foreground.idle' as const) }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('turn.ended' as const), stopReason: fc.constant('end_turn') }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('prompt.accepted' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant('capability' as const), handoff: fc.boolean(), snapshot: fc.boolean() }),
  },
);

const startsAs = fc.oneof(
  { weight: 6, arbitrary: fc.constant('at once' as const) },
  { weight: 1, arbitrary: fc.constantFrom('later' as const, 'never' as const) },
);
/** Of which execution a host speaks. */
const whose = fc.constantFrom('current' as const, 'current' as const, 'earlier' as const, 'foreign' as const);

const step = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      type: fc.constant('ask' as const),
      session,
      origins: fc.array(fc.constantFrom('human' as const, 'human' as const, 'synthetic' as const), {
        minLength: 1,
        maxLength: 2,
      }),
      whenBusy: fc.constantFrom('reject' as const, 'queue' as const),
      /** Given: the promptId of an earlier one. */
      again: fc.option(which, { nil: null, freq: 8 }),
      startsAs,
      acceptsAtOnce: fc.constantFrom(true, true, true, false),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constant('started' as const), session, isWell: fc.constantFrom(true, true, false) }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('accept' as const), which }) },
  {
    weight: 9,
    arbitrary: fc.record({ type: fc.constant('return' as const), which, isWell: fc.constantFrom(true, true, false) }),
  },
  { weight: 26, arbitrary: fc.record({ type: fc.constant('frame' as const), session, stamp, said }) },
  // Out of turn, if there is none; and then all that is open ends.
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constant('frame' as const), session, stamp: fc.constant('zero' as const), said: speech }),
  },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('returnAll' as const), session }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('gone' as const), session, isCrash: fc.boolean() }) },
  {
    weight: 4,
    arbitrary: fc.record({ type: fc.constant('interrupt' as const), session, isHeeded: fc.constantFrom(true, false, false) }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ type: fc.constant('advance' as const), ms: fc.constantFrom(1, 5_000, 10_000, 30_000, 300_000) }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('cancelTicket' as const), which }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('dismiss' as const), session, workloadId: fc.oneof(workId, callId) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('register' as const),
      session,
      whose,
      entry: launch,
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('complete' as const), session, whose, completion }) },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant('snapshot' as const), session, whose, listed: fc.array(listed, { maxLength: 2 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('spawn' as const),
      session,
      caller: fc.option(session, { nil: null }),
      kind: fc.constantFrom('agentish' as const, 'agentish' as const, 'shellish' as const, 'deaf' as const),
      wait: fc.boolean(),
      toolCallId: fc.option(callId, { nil: null }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('settle' as const), which, isWell: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('cancel' as const), which }) },
  {
    weight: 1,
    // `isWhole`: with its task.
    arbitrary: fc.record({ type: fc.constant('stop' as const), session, isWhole: fc.boolean(), isForced: fc.boolean() }),
  },
);
export type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;
export type StepOf<Type extends Step['type']> = Extract<Step, { type: Type }>;

const asked = (acceptsAtOnce: boolean): StepOf<'ask'> => ({
  type: 'ask',
  session: 0,
  origins: ['human'],
  whenBusy: 'reject',
  again: null,
  startsAs: 'at once',
  acceptsAtOnce,
});
const told = (frame: StepOf<'frame'>['said'], of: Stamp): StepOf<'frame'> => ({
  type: 'frame',
  session: 0,
  stamp: of,
  said: frame,
});
const output = { type: 'output', text: 'text' } as const;
const END: Step = { type: 'returnAll', session: 0 };
const IDLE = { type: 'foreground.idle' } as const;
const ENDED = { type: 'workload.ended', workloadId: 'w0' } as const;
const queued = (origin: 'human' | 'synthetic'): StepOf<'ask'> => ({ ...asked(true), origins: [origin], whenBusy: 'queue' });
const called = (of: Stamp, more: object = {}): StepOf<'frame'> =>
  told({ type: 'tool.call', toolCallId: 'c0', status: 'running', hasOutput: false, ...more }, of);
const launched = (workloadId: 'w0' | 'w1', of: WorkloadKind): StepOf<'frame'> =>
  told({ type: 'workload.started', workloadId, kind: of }, 'right');
const becomesJob: StepOf<'spawn'> = { type: 'spawn', session: 0, caller: null, kind: 'agentish', wait: false, toolCallId: 'c0' };

/** What chance alone would seldom bring about: a hand-off, a turn that the agent opens by itself, an agent that does not answer. */
const prelude = fc.oneof<fc.Arbitrary<readonly Step[]>[]>(
  fc.boolean().map((isTaken) => [asked(true), told(IDLE, 'right'), asked(isTaken)]),
  fc.constant([END, told(output, 'zero')]),
  fc
    .boolean()
    .map((isTaken) => [END, asked(isTaken), { type: 'interrupt', session: 0, isHeeded: false }, { type: 'advance', ms: 10_000 }]),
  fc.constant([END, asked(false), told(output, 'zero')]),
  // Calls that the turn leaves behind: of a child, or work of their own.
  fc
    .constantFrom({ parentToolCallId: 'c1' } as const, { work: { kind: 'subagent', isDetached: false } } as const)
    .map((of) => [END, asked(true), called('right', of), END, called('zero')]),
  fc
    .tuple(kind, kind)
    .map(([a, b]) => [asked(true), launched('w0', a), launched('w1', b), told({ type: 'workload.ended' }, 'zero')]),
  fc.boolean().map((isDetached) => [asked(true), called('right', { work: { kind: 'subagent', isDetached } }), becomesJob]),
  // Who is let in at a hand-off, and when.
  fc.constant([asked(true), queued('synthetic'), queued('human'), told(IDLE, 'right')]),
  kind.map((of) => [asked(true), launched('w0', of), told(IDLE, 'right'), queued('human'), told(ENDED, 'right')]),
);

export const steps: fc.Arbitrary<readonly Step[]> = fc
  .array(fc.oneof({ weight: 8, arbitrary: step.map((one): readonly Step[] => [one]) }, { weight: 1, arbitrary: prelude }), {
    maxLength: 40,
    size: 'max',
  })
  .map((some) => some.flat());

const often = fc.constantFrom(true, true, true, true, true, true, true, false);

export const rules: fc.Arbitrary<Rules> = fc.record({
  attests: fc.record({
    workloads: fc.constantFrom([], ['subagent' as const], ['subagent' as const, 'shell' as const]),
    shown: fc.constantFrom([], ['monitor' as const], ['shell' as const, 'monitor' as const]),
    yield: often,
    handoff: often,
    snapshot: often,
  }),
  isCapable: often,
  display: often.map((isAttested) => (isAttested ? 'attested' : 'coarse')),
  admission: often.map((isAttested) => (isAttested ? 'attested' : 'conservative')),
});
