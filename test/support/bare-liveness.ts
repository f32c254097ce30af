/**
 * The activity of one session without prompts and agents around it: CLAIM, BEGIN, ACCEPT, ROLLBACK, RELEASE as single steps (cases: liveness and
 * stop), and work of several executions side by side, which no agent can bring about through the public verbs. Chart, registrations and
 * publication are the engine's own.
 */
import { Core } from '../../src/engine/core.ts';
import type { PausePoints } from '../../src/engine/pause-points.ts';
import { settingsFrom } from '../../src/engine/settings.ts';
import type { Activity } from '../../src/model/activity.ts';
import type { OffstageEvent } from '../../src/model/events.ts';
import type { WorkloadKind } from '../../src/model/executor.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { virtualClock } from '../../src/testing/virtual-clock.ts';
import type { Told } from './sessions.ts';

/** Whose work or turn it is, where a test speaks of only one. */
export const EXECUTION = 'execution';

export function bareLiveness(points: PausePoints | null = null) {
  const settings = settingsFrom({ clock: virtualClock(), log: () => {} }, {}, null);
  const core = new Core(
    settings,
    memoryStore(),
    new Map(),
    { seq: 0, ordinal: 0 },
    {
      points,
      reap: async () => ({ verdict: 'gone', detail: 'no processes in this test' }),
    },
  );
  const { liveness } = core;
  const events: OffstageEvent[] = [];
  core.bus.subscribe((event) => events.push(event));
  const at = (sessionId: string) => liveness.at(sessionId, 'task');

  const session = (sessionId: string) => {
    const send = (event: Parameters<typeof liveness.send>[1]): boolean => {
      const hasTaken = liveness.send(at(sessionId), event);
      liveness.settle();
      return hasTaken;
    };
    const works = () => liveness.recordOf(at(sessionId)).provider;
    const told = (hasChanged: boolean): boolean => {
      if (hasChanged) liveness.workChanged(at(sessionId));
      liveness.settle();
      return hasChanged;
    };
    return {
      /** The claim, or null when it is busy. */
      claim(takesHandoff = true): number | null {
        const claimId = liveness.nextClaimId();
        return send({ type: 'claim.take', claimId, takesHandoff }) ? claimId : null;
      },
      release: (claimId: number | null) => send({ type: 'claim.release', claimId: claimId ?? 0 }),
      begin(claimId: number | null, executionId = EXECUTION): number {
        const generation = liveness.nextGeneration();
        return send({ type: 'turn.begin', claimId: claimId ?? 0, generation, executionId }) ? generation : 0;
      },
      accept: (generation: number) => send({ type: 'turn.accept', generation }),
      rollback: (generation: number) => send({ type: 'turn.rollback', generation }),
      idle: (generation: number) => send({ type: 'turn.yield', generation }),
      /** 0: it belongs to no open turn. */
      out: (generation: number) => send({ type: 'output.seen', generation }),
      openByProvider: (executionId = EXECUTION) =>
        send({ type: 'turn.open', generation: liveness.nextGeneration(), executionId }),
      done: (generation: number) => send({ type: 'turn.end', generation }),
      close: (generation: number) => send({ type: 'turn.close', generation }),
      reg(workloadId: string, kind: WorkloadKind = 'subagent', executionId = EXECUTION): boolean {
        const toolCallId = `tool of ${workloadId}`;
        return told(works().register(executionId, { workloadId, toolCallId, kind, admits: true }, { at: 0, heardAt: 0 }));
      },
      /** Without a workloadId: by nobody's name. */
      bgc(of: { workloadId?: string; executionId?: string; eventId?: string; kind?: WorkloadKind } = {}): boolean {
        const { workloadId = null, executionId = EXECUTION, eventId = null, kind = null } = of;
        return told(works().complete({ executionId, workloadId, toolCallId: null, kind, eventId }));
      },
      retire(executionId: string): void {
        const live = at(sessionId);
        live.record?.retireExecution(executionId);
        liveness.touch(live);
        liveness.settle();
      },
      works: (): readonly string[] =>
        liveness
          .find(sessionId)
          ?.record?.provider.list()
          .map((work) => work.workloadId) ?? [],
      get tier(): Activity {
        return liveness.valueOf(liveness.find(sessionId), null).foregroundActivity;
      },
      get record() {
        return liveness.find(sessionId)?.record ?? null;
      },
    };
  };

  return {
    core,
    events,
    session,
    /** What was told of a session since the event of this number. */
    publications: (sessionId = 's', since = 0): readonly Told[] =>
      events
        .slice(since)
        .flatMap((event) =>
          event.type === 'session.activity_changed' && event.sessionId === sessionId
            ? [[event.foregroundActivity, event.activeSubagentCount] as const]
            : [],
        ),
    taskUpdates: (since = 0): readonly Told[] =>
      events
        .slice(since)
        .flatMap((event) =>
          event.type === 'task.updated' && 'isVolatile' in event
            ? [[event.foregroundActivity, event.activeSubagentCount] as const]
            : [],
        ),
  };
}

/** Only the tiers: without what changed nothing but a count. */
export const tiersOf = (told: readonly Told[]): readonly Activity[] =>
  told.map(([tier]) => tier).filter((tier, index, tiers) => index === 0 || tier !== tiers[index - 1]);
