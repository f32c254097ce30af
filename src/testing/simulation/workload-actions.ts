/**
 * Hosts that tell of background work themselves, of agents that are there, were there, or never were.
 *
 * WAC1  A host knows the execution from a view that it has read; by the time it speaks, another one may be there.
 */
import type { SessionView, WorkloadView } from '../../model/activity.ts';
import type { WorkloadKind } from '../../model/executor.ts';
import { given, oddInput, someSession } from './asking.ts';
import { spanMs } from './provider-plan.ts';
import type { Random } from './random.ts';
import type { Action, Settled, Stage } from './stage.ts';

const someKind = (random: Random): WorkloadKind => random.pick(['subagent', 'subagent', 'shell', 'monitor']);

/** Ids that agents use as well: what a host registers, an agent may end. */
const someWork = (random: Random): string => random.pick(['w1', 'w2', 'w3', 'c1', 'h1', 'h2', 'h3']);

/** Tells with the execution of a session: the one that is there, one that may have been replaced since, one that never was. */
function asOwner(stage: Stage, tell: (sessionId: string, executionId: string) => void): void {
  const { life, offstage, random } = stage;
  const sessionId = someSession(stage);
  const way = random.weighted([
    [8, 'right'],
    [3, 'stale'],
    [1, 'wrong'],
    [0.5, 'of another session'],
  ] as const);
  const ms = spanMs(random);
  if (way === 'wrong') {
    tell(sessionId, 'nobody');
    return;
  }
  void life
    .call('sessions.get', [sessionId], () => offstage.sessions.get(sessionId))
    .then(async (shown) => {
      const executionId = shown.isOk ? (shown.value as SessionView).executionId : null;
      if (executionId === null) return;
      if (way === 'stale') await life.pause(ms);
      tell(way === 'of another session' ? someSession(stage) : sessionId, executionId);
    });
}

function register(stage: Stage): void {
  const { life, offstage, random } = stage;
  const kind = random.chance(0.03) ? oddInput(stage) : someKind(random);
  const workloadId = random.chance(0.03) ? oddInput(stage) : someWork(random);
  const toolCallId = random.pick([undefined, undefined, 'c1', 'c9']);
  asOwner(stage, (sessionId, executionId) => {
    const options = given({ sessionId, executionId, kind, workloadId, toolCallId });
    void life.call('workloads.register', [options], () => offstage.workloads.register(options));
  });
}

function complete(stage: Stage): void {
  const { life, offstage, random, step } = stage;
  const tell = (options: never): Promise<Settled> =>
    life.call('workloads.complete', [options], () => offstage.workloads.complete(options));
  const kind = random.pick([undefined, undefined, someKind(random)]);
  const eventId = random.pick([undefined, `e${step}`]);
  const ids = random.pick([
    { workloadId: someWork(random) },
    { workloadId: someWork(random), toolCallId: 'c1' },
    { toolCallId: 'c1' },
  ]);
  random.weighted<() => void>([
    [
      5,
      () =>
        asOwner(stage, (sessionId, executionId) => {
          const options = given({ sessionId, executionId, ...ids, kind, eventId });
          void tell(options as never);
          // Delivered twice.
          if (eventId !== undefined) void tell(options as never);
        }),
    ],
    // Without an id: the oldest one, whosever it is.
    [3, () => void tell(given({ sessionId: someSession(stage), kind, eventId }) as never)],
    [0.5, () => void tell({ sessionId: someSession(stage), ...ids } as never)],
    [0.3, () => void tell(oddInput(stage))],
  ])();
}

function snapshot(stage: Stage): void {
  const { life, offstage, random } = stage;
  const workloads = random.chance(0.06)
    ? oddInput(stage)
    : Array.from({ length: random.integer(4) }, () =>
        given({
          workloadId: someWork(random),
          kind: random.pick([undefined, someKind(random)]),
          toolCallId: random.pick([undefined, undefined, 'c1']),
        }),
      );
  asOwner(stage, (sessionId, executionId) => {
    const options = { sessionId, executionId, workloads };
    void life.call('workloads.snapshot', [options], () => offstage.workloads.snapshot(options));
  });
}

/** A person sees work that is none any more. */
function dismiss(stage: Stage): void {
  const { life, offstage, random } = stage;
  const sessionId = random.chance(0.04) ? oddInput(stage) : someSession(stage);
  const tell = (workloadId: string): void =>
    void life.call('workloads.dismiss', [sessionId, workloadId], () => offstage.workloads.dismiss(sessionId, workloadId));
  if (random.chance(0.2)) {
    tell(random.chance(0.3) ? oddInput(stage) : someWork(random));
    return;
  }
  const place = random.integer(8);
  void life
    .call('workloads.list', [sessionId], () => offstage.workloads.list(sessionId))
    .then((shown) => {
      const works = shown.isOk ? (shown.value as readonly WorkloadView[]) : [];
      const work = works[place % Math.max(1, works.length)];
      if (work !== undefined) tell(work.workloadId);
    });
}

function list(stage: Stage): void {
  const sessionId = stage.random.chance(0.04) ? oddInput(stage) : someSession(stage);
  void stage.life.call('workloads.list', [sessionId], () => stage.offstage.workloads.list(sessionId));
}

export const workloadActions: readonly Action[] = [
  { verb: 'workloads.register', weight: 3, act: register },
  { verb: 'workloads.complete', weight: 3, act: complete },
  { verb: 'workloads.snapshot', weight: 1.5, act: snapshot },
  { verb: 'workloads.dismiss', weight: 2, act: dismiss },
  { verb: 'workloads.list', weight: 1, act: list },
];
