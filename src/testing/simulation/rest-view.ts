/** Everything that the engine shows at one moment at rest, read by its public verbs. */
import type { Offstage } from '../../engine/offstage.ts';
import type { OffstageEvent } from '../../model/events.ts';
import type { Executors } from '../../model/executor.ts';
import type { JobView } from '../../model/records.ts';
import type { ListQuery } from '../../model/requests.ts';
import type { RestView } from './facts.ts';

/** How far back the log is read where it is not read whole. */
const RECENT_EVENTS = 100;
const PAGE = 1_000;

/** Null while the engine closes: nothing can be read then. */
export async function viewAtRest(
  offstage: Offstage<Executors>,
  { isLast, canStore }: { readonly isLast: boolean; readonly canStore: boolean },
): Promise<RestView | null> {
  const health = offstage.health();
  if (health.status === 'closing') return null;
  const snapshot = await offstage.snapshot();
  const jobs = await allJobs(offstage, {});
  const tasks = await offstage.tasks.list({ archived: true, limit: PAGE });
  const sessions = await offstage.sessions.list({ limit: PAGE });
  const workloads = new Map<string, Awaited<ReturnType<typeof offstage.workloads.list>>>();
  const tickets = new Map<string, Awaited<ReturnType<typeof offstage.sessions.tickets>>>();
  const cards = new Map<string, Awaited<ReturnType<typeof offstage.cards.list>>>();
  const jobsOf = new Map<string, readonly string[]>();
  for (const { sessionId } of sessions) {
    jobsOf.set(
      sessionId,
      (await allJobs(offstage, { sessionId })).map(({ jobId }) => jobId),
    );
    workloads.set(sessionId, await offstage.workloads.list(sessionId));
    tickets.set(sessionId, await offstage.sessions.tickets(sessionId));
    cards.set(sessionId, await offstage.cards.list({ sessionId, limit: PAGE }));
  }
  const logAfter = isLast ? 0 : Math.max(0, snapshot.seq - RECENT_EVENTS);
  const log = await eventsUpTo(offstage, logAfter, snapshot.seq);
  return { jobs, jobsOf, sessions, tasks, workloads, tickets, cards, health, seq: snapshot.seq, log, logAfter, canStore, isLast };
}

async function allJobs(offstage: Offstage<Executors>, query: ListQuery): Promise<JobView[]> {
  const jobs: JobView[] = [];
  for (;;) {
    const before = jobs.at(-1)?.jobId;
    const page = await offstage.list({ ...query, limit: PAGE, ...(before === undefined ? {} : { before }) });
    jobs.push(...page);
    if (page.length < PAGE) return jobs.reverse();
  }
}

async function eventsUpTo(offstage: Offstage<Executors>, after: number, seq: number): Promise<OffstageEvent[]> {
  const events: OffstageEvent[] = [];
  if (after >= seq) return events;
  for await (const event of offstage.events({ after })) {
    events.push(event);
    if (event.seq >= seq) break;
  }
  return events;
}
