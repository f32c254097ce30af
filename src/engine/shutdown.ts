/**
 * Closing: bounded, idempotent, and nothing is left that is not terminal (spec 6).
 *
 * SHD1  Nothing starts after close was called; no store write after it returned.
 * SHD2  Every job has ended by `shutdownGraceMs`, or by its own earlier deadline; every waiter has settled.
 * SHD3  A second call joins the first.
 */
import { offstageError } from '../model/errors.ts';
import type { BodyRunner } from './body-runner.ts';
import type { Core } from './core.ts';
import type { LiveJob } from './live-job.ts';
import type { Change } from './transaction.ts';
import { whenEnded } from './when-ended.ts';

export async function endAllJobs(core: Core, runner: BodyRunner): Promise<void> {
  const { settings } = core;
  core.system.tell({ type: 'engine.drain' });
  core.pool.close();
  core.loop.hurry(settings.shutdownGraceMs);
  const running: LiveJob[] = [];
  let changes: Change[] = [];
  const flush = (): void => {
    // A close with nothing to end writes nothing: whoever only looked leaves the folder as it was.
    if (changes.length === 0) return;
    const batch = changes;
    changes = [];
    core.submit({
      changes: batch,
      effects: () => {
        for (const { job, after } of batch) if (after.state === 'ending') runner.abort(job, offstageError('engine.closing', {}));
      },
    });
  };
  for (const job of [...core.jobs.values()]) {
    if (job.isDecidedEnd) continue;
    const at = core.stamp(job);
    const isRunning = job.decided.state === 'active';
    const change = core.step(
      job,
      { type: 'job.shut_down', at },
      isRunning ? { at, type: 'ending', detail: 'shutdown' } : undefined,
    );
    if (job.execution !== null) {
      // Also for those that were ending before: the earlier of the two deadlines counts.
      job.execution.killAfterMs = Math.min(settings.killAfterMs, settings.shutdownGraceMs / 2);
      runner.beginGrace(job, settings.shutdownGraceMs);
      running.push(job);
    } else {
      core.pool.withdraw(job.place);
    }
    if (change !== null) changes.push(isRunning ? { ...change, announce: [] } : change);
    if (changes.length >= 256) flush();
  }
  flush();
  await Promise.all(running.map((job) => whenEnded(core, job)));
  await core.loop.flushNow();
}

/** The last try to store what is decided. */
export async function flushAll({ loop, settings }: Core): Promise<void> {
  if (await loop.flushNow()) return;
  settings.log('error', 'close.unsaved', {
    changes: loop.pendingCount,
    note: 'unfinished jobs among them will be errored by the next start',
  });
}
