/**
 * The snapshot on the wire, whole or as the token of a session gets it (spec 12).
 *
 * SNW1  A session's token sees its own session, the jobs it hosts and those it asked for, and nothing of tasks.
 */
import type { Offstage } from '../../engine/offstage.ts';
import { LIMITS } from '../../model/limits.ts';
import { isTerminal, type JobView } from '../../model/records.ts';
import type { Snapshot } from '../../model/requests.ts';
import { type CallerIdentity, sessionOfScope } from '../requests/caller-identity.ts';
import { readInTurn } from '../requests/many-jobs.ts';
import type { Action } from '../requests/request.ts';
import { pageOf } from '../wire/page.ts';
import type { WireFields } from '../wire/rename.ts';
import { briefJobToWire } from '../wire/wire-answers.ts';
import { jobToWire } from '../wire/wire-names.ts';
import { sessionToWire, taskToWire } from '../wire/wire-sessions.ts';

export const getSnapshot: Action = async ({ engine, fields, connection }) => {
  const brief = fields.flag('brief') === true;
  fields.refuseRest();
  return snapshotToWire(await snapshotFor(engine, connection.caller), { brief });
};

/** What this caller may see of everything. */
export async function snapshotFor(offstage: Offstage, { scope }: CallerIdentity): Promise<Snapshot> {
  const snapshot = await readInTurn(offstage, () => offstage.snapshot());
  const sessionId = sessionOfScope(scope);
  if (sessionId === null) return snapshot;
  const counts = { pending: 0, queued: 0, running: 0 };
  const isOwn = (job: Pick<JobView, 'sessionId' | 'callerSessionId'>): boolean =>
    job.sessionId === sessionId || job.callerSessionId === sessionId;
  for (const row of offstage.jobsModel.get().live.values()) {
    const { status } = row;
    if (!isTerminal(status) && isOwn(row.view())) counts[status] += 1;
  }
  return {
    ...snapshot,
    counts,
    tasks: [],
    sessions: snapshot.sessions.filter((session) => session.sessionId === sessionId),
    jobs: await readInTurn(offstage, () => offstage.list({ forSessionId: sessionId })),
  };
}

export function snapshotToWire(snapshot: Snapshot, { brief }: { readonly brief: boolean }): WireFields {
  const { epoch, seq, counts } = snapshot;
  const jobs = pageOf(snapshot.jobs, brief ? briefJobToWire : jobToWire);
  const isMore = jobs.isCut || snapshot.jobs.length === LIMITS.listDefault;
  return {
    epoch,
    seq,
    tasks: pageOf(snapshot.tasks, taskToWire).rows,
    sessions: pageOf(snapshot.sessions, sessionToWire).rows,
    jobs: jobs.rows,
    next_before: isMore ? (jobs.rows.at(-1)?.job_id ?? null) : null,
    counts: { ...counts },
  };
}
