/**
 * Cancel: a durable request that reaches exactly the job it names and everything below it (spec 4).
 *
 * CAN1  The intent is stored before any signal fires.
 * CAN2  The intents of a cascade are one transaction with the root's; leaves are signalled first.
 * CAN3  A job that has ended is never touched; a job that is ending keeps its first cause and its deadline.
 */
import { offstageError } from '../model/errors.ts';
import type { CancelCode, JobView } from '../model/records.ts';
import type { BodyRunner } from './body-runner.ts';
import type { Core } from './core.ts';
import type { LiveJob } from './live-job.ts';
import type { Change } from './transaction.ts';

export interface CancelRequest {
  readonly code: CancelCode;
  readonly reason: string | null;
}

export class Canceller {
  readonly #core: Core;
  readonly #runner: () => BodyRunner;

  constructor(core: Core, runner: () => BodyRunner) {
    this.#core = core;
    this.#runner = runner;
  }

  /** Resolves with the job's record once its cancel, with that of all its descendants, is durable; or says that it is not. */
  cancel(job: LiveJob, request: CancelRequest): Promise<JobView> {
    const changes = this.decide([job], request);
    return new Promise((resolve, reject) => {
      this.#core.submit({
        changes,
        acknowledge: (durable) => {
          if (job.isDropped) reject(offstageError('job.not_found', { jobId: job.base.jobId }));
          else if (durable) resolve(job.view());
          else resolve(job.actedEnd ?? { ...job.decidedView(), durable: false });
        },
        effects: () => this.runEffectsOf(changes),
      });
    });
  }

  /** Decides the cancel of the jobs and of all their descendants. Nothing is fired yet: see `runEffectsOf`. */
  decide(roots: readonly LiveJob[], request: CancelRequest): readonly Change[] {
    const { jobs, lineage } = this.#core;
    const changes: Change[] = [];
    const cancel = (job: LiveJob, asked: CancelRequest): void => {
      const change = this.#cancelOne(job, asked);
      if (change !== null) changes.push(change);
    };
    for (const root of roots) {
      if (root.isDecidedEnd) continue;
      for (const jobId of lineage.descendants(root.base.jobId)) {
        const job = jobs.get(jobId);
        lineage.markCancelled(jobId);
        if (job !== undefined)
          cancel(job, { code: request.code === 'cancel.stop' ? 'cancel.stop' : 'cancel.parent', reason: request.reason });
      }
      lineage.markCancelled(root.base.jobId);
      cancel(root, request);
    }
    return changes;
  }

  /** The foreground children of a body that is over (spec 4.8). */
  decideForegroundChildren(parent: LiveJob): readonly Change[] {
    const { jobs, lineage } = this.#core;
    const children = lineage.children(parent.base.jobId).flatMap((jobId) => {
      const job = jobs.get(jobId);
      return job?.base.wait === true && !job.isDecidedEnd ? [job] : [];
    });
    return children.length === 0 ? [] : this.decide(children, { code: 'cancel.caller_gone', reason: null });
  }

  /** Fires the signals of the bodies that the changes told to end, in order. */
  runEffectsOf(changes: readonly Change[]): void {
    for (const { job, after } of changes) {
      if (after.state !== 'ending') continue;
      this.#runner().abort(job, offstageError('job.cancelled', { reason: after.context.cancelReason ?? 'cancelled' }));
    }
  }

  /** No grace any more for these, whoever has told them to end. */
  force(jobs: readonly LiveJob[]): void {
    for (const job of jobs) this.#runner().force(job);
  }

  #cancelOne(job: LiveJob, request: CancelRequest): Change | null {
    const core = this.#core;
    if (job.decided.state !== 'pending' && job.decided.state !== 'queued' && job.decided.state !== 'active') return null;
    const change = core.step(job, { type: 'job.cancel', at: core.stamp(job), code: request.code, reason: request.reason });
    if (change === null) return null;
    if (change.after.state === 'ending') this.#runner().beginGrace(job, core.settings.cancelGraceMs);
    else core.pool.withdraw(job.place);
    return change;
  }
}
