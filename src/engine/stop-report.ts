/**
 * What a stop tells: of everything it was about, what was done to it, and in the end what came of that (liveness 11).
 *
 * SRP1  Everything is told once, in one of the lists.
 * SRP2  The last report comes when everything has ended or its grace is over; what was told to end and did not is detached, or failed.
 */
import { offstageError } from '../model/errors.ts';
import type { JobError } from '../model/records.ts';
import type { StopEntry, StopReport } from '../model/stop.ts';
import type { AgentEnd, AgentExecution } from './agent-execution.ts';
import type { Core } from './core.ts';
import type { Leftovers } from './leftovers.ts';
import type { LiveJob } from './live-job.ts';
import { errorOf } from './outcome.ts';
import type { StopSources } from './stop-sources.ts';
import { whenEnded } from './when-ended.ts';

/** What was done to it. */
type StopKind = 'stopped' | 'recovered' | 'alreadyStopping' | 'detached';

export interface StopTarget {
  readonly entry: StopEntry;
  readonly kind: StopKind;
  /** `registry`: its session's record says that it is over. */
  readonly source: 'active' | 'registry';
  /** Why it could not be told to end, as of now. */
  failure(): JobError | null;
  /** Resolves when it has ended, or its grace is over. */
  over(): Promise<AgentEnd>;
  /** It was seen to end, however late. */
  hasEnded(): boolean;
  /** What is known of what is left. */
  left(): JobError;
  /** False: it has ended, and the store refuses to note that for now. */
  isStored(): boolean;
}

/** What a stop came to. */
export interface Outcome {
  readonly sources: StopSources;
  readonly leftovers: Leftovers;
  readonly targets: readonly StopTarget[];
  readonly detached: readonly StopTarget[];
  readonly absent: readonly string[];
  readonly isDurable: boolean;
}

const outlived = (executionId: string, message: string): JobError =>
  errorOf(offstageError('execution.detached', { executionId, message }));

export const agentTarget = (execution: AgentExecution, kind: StopKind): StopTarget => {
  const { sessionId, executionId } = execution;
  // From now on: a later stop may try anew, and that is its own to wait for.
  const over = execution.whenOver();
  return {
    entry: { sessionId, executionId },
    kind,
    source: kind === 'recovered' ? 'registry' : 'active',
    failure() {
      const message = execution.teardown?.failure ?? null;
      return message === null ? null : errorOf(offstageError('agent.failed', { message }));
    },
    over: () => over,
    hasEnded: () => execution.outcome === 'gone',
    left: () => outlived(executionId, execution.survivors ?? 'it has not ended within its grace.'),
    isStored: () => true,
  };
};

export const jobTarget = (core: Core, job: LiveJob, kind: StopKind): StopTarget => {
  const { sessionId, jobId } = job.base;
  const { execution } = job;
  return {
    entry: { sessionId, jobId, ...(execution === null ? {} : { executionId: execution.executionId }) },
    kind,
    source: 'active',
    failure: () => null,
    hasEnded: () => job.isDecidedEnd && execution?.hasSettled !== false,
    over: async () => {
      await whenEnded(core, job);
      return job.decided.context.detached ? 'detached' : 'gone';
    },
    left: () => outlived(execution?.executionId ?? jobId, execution?.survivors ?? 'its body has not settled within its grace.'),
    isStored: () => job.actedEnd === null,
  };
};

/** A session whose row is all that there was to end. */
export const rowTarget = (sessionId: string, kind: StopKind): StopTarget => ({
  entry: { sessionId },
  kind,
  source: kind === 'recovered' ? 'registry' : 'active',
  failure: () => null,
  over: () => Promise.resolve('gone'),
  hasEnded: () => true,
  left: () => outlived(sessionId, 'nothing is known of it.'),
  isStored: () => true,
});

/** As of now. */
export function reportOf(outcome: Outcome): StopReport {
  return listed(
    outcome,
    outcome.targets.map((target) => {
      const failure = target.failure();
      return failure === null
        ? { list: target.kind, entry: target.entry }
        : { list: 'failed' as const, entry: { ...target.entry, error: failure } };
    }),
  );
}

/** SRP2. Never rejects. */
export async function settledReport(outcome: Outcome): Promise<StopReport> {
  const ended = await Promise.all(outcome.targets.map(async (target) => ({ target, end: await target.over() })));
  const isDurable = outcome.isDurable && outcome.targets.every((target) => target.isStored());
  return listed(
    { ...outcome, isDurable },
    ended.map(({ target, end }) => {
      const { entry, kind } = target;
      if (end === 'gone') return { list: kind, entry };
      if (end === 'failed') return { list: 'failed' as const, entry: { ...entry, error: target.failure() ?? target.left() } };
      return { list: 'detached' as const, entry: { ...entry, error: target.left() } };
    }),
  );
}

function listed(
  { sources, leftovers, detached, absent, isDurable }: Outcome,
  told: readonly { readonly list: StopKind | 'failed'; readonly entry: StopEntry }[],
): StopReport {
  const left = detached.filter((target) => !target.hasEnded());
  const of = (list: StopKind | 'failed'): StopEntry[] => told.filter((one) => one.list === list).map(({ entry }) => entry);
  return {
    stopped: of('stopped'),
    recovered: [...of('recovered'), ...leftovers.ended],
    // What was told to end long ago and has ended since is nothing that is left.
    alreadyStopping: [...of('alreadyStopping'), ...detached.filter((target) => target.hasEnded()).map(({ entry }) => entry)],
    detached: [...of('detached'), ...left.map((target) => ({ ...target.entry, error: target.left() }))],
    absent: absent.map((sessionId) => ({ sessionId })),
    failed: [...of('failed'), ...leftovers.unknown],
    loadErrors: sources.loadErrors,
    sourceError: sources.failure === null ? null : errorOf(sources.failure),
    durable: isDurable,
  };
}
