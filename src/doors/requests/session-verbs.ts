/**
 * The verbs of the engine as the token of one session may use them (spec 12).
 *
 * SVB1  What it does not reach reads as unknown; what it may not do at all is `access.forbidden`.
 * SVB2  It acts as its session and as nobody else: jobs that it starts are of kind `agent`, asked for by that session.
 * SVB3  A verb that is not here is not there for it: nothing is allowed by being forgotten.
 */
import type { Offstage } from '../../engine/offstage.ts';
import { type OffstageError, offstageError } from '../../model/errors.ts';
import type { CancelManySelector, ListQuery, SpawnOptions, WaitManyEntry } from '../../model/requests.ts';
import { Reach } from './reach.ts';

/** What actions do. */
export type Verbs = Pick<
  Offstage,
  | 'spawn'
  | 'get'
  | 'list'
  | 'waitMany'
  | 'cancel'
  | 'cancelMany'
  | 'history'
  | 'printed'
  | 'cards'
  | 'sessions'
  | 'tasks'
  | 'workloads'
  | 'processes'
  | 'health'
>;

/** What a token of a session has of it. */
type SessionVerbs = Pick<Verbs, 'spawn' | 'get' | 'list' | 'waitMany' | 'cancel' | 'cancelMany' | 'history' | 'printed'> & {
  readonly cards: Pick<Verbs['cards'], 'get' | 'list'>;
  readonly sessions: Pick<Verbs['sessions'], 'get' | 'list' | 'prompt' | 'tickets' | 'cancelTicket'>;
  readonly workloads: Pick<Verbs['workloads'], 'list'>;
};

export const forbidden = (message: string): OffstageError => offstageError('access.forbidden', { message });

/** Every action that the token may ask for finds its verbs here; the others were refused before. */
export const verbsOfSession = (offstage: Offstage, sessionId: string): Verbs =>
  sessionVerbs(offstage, sessionId) as unknown as Verbs;

function sessionVerbs(offstage: Offstage, sessionId: string): SessionVerbs {
  const reach = new Reach(offstage, sessionId);

  const isReached = async (jobId: string): Promise<boolean> => (await reach.find(jobId)) !== null;
  /** @throws OffstageError `job.not_found`, `input.invalid` */
  const reached = async (jobId: string): Promise<string> => {
    if (await isReached(jobId)) return jobId;
    // An id that is none says so to everybody.
    await offstage.get(jobId).catch((error: OffstageError) => {
      if (error.code === 'input.invalid') throw error;
    });
    throw offstageError('job.not_found', { jobId });
  };
  const ownSession = (asked: string | undefined): string => {
    if (asked !== undefined && asked !== sessionId) throw offstageError('session.not_found', { sessionId: asked });
    return sessionId;
  };

  return {
    async spawn(options) {
      const given = options as SpawnOptions;
      if (given.kind !== 'agent') throw forbidden('a session starts jobs of kind agent only');
      ownSession(given.callerSessionId);
      ownSession(given.sessionId);
      if (given.parentJobId !== undefined) await reached(given.parentJobId);
      return offstage.spawn({ ...given, sessionId });
    },
    get: async (jobId) => offstage.get(await reached(jobId)),
    history: async (jobId) => offstage.history(await reached(jobId)),
    printed: async (jobId, options) => offstage.printed(await reached(jobId), options),
    cancel: async (jobId, options) => offstage.cancel(await reached(jobId), options),

    async list(query = {}) {
      const narrowed = await withinReach(query);
      if (query.callerSessionId !== undefined) ownSession(query.callerSessionId);
      if (query.before !== undefined) await reached(query.before);
      return offstage.list(narrowed);
    },

    async waitMany(jobIds, options) {
      const found = await reach.within(jobIds);
      const known = jobIds.filter((jobId) => found.has(jobId));
      const entries = await offstage.waitMany(known, options);
      let next = 0;
      return jobIds.map((jobId): WaitManyEntry => {
        if (!found.has(jobId)) return { jobId, error: { code: 'job.not_found' } };
        next += 1;
        return entries[next - 1] as WaitManyEntry;
      });
    },

    async cancelMany(selector, options) {
      if (selector.ids === undefined) {
        const { sessionId: asked, parentJobId } = selector;
        if (asked === undefined && parentJobId === undefined) {
          throw forbidden('a session chooses by job_ids, by its own session or by a parent job');
        }
        return offstage.cancelMany(await withinReach(selector), options);
      }
      const found = await reach.within(selector.ids);
      const ids = selector.ids.filter((jobId) => found.has(jobId));
      const result = await offstage.cancelMany({ ...selector, ids }, options);
      return { ...result, notFound: [...result.notFound, ...selector.ids.filter((jobId) => !found.has(jobId))] };
    },

    cards: {
      async get(cardId) {
        const card = await offstage.cards.get(cardId);
        if (card.sessionId === sessionId || (await isReached(card.attach.job_id))) return card;
        throw offstageError('card.not_found', { cardId });
      },
      async list(query) {
        return offstage.cards.list({ ...query, sessionId: ownSession(query.sessionId) });
      },
    },

    sessions: {
      get: async (id) => offstage.sessions.get(ownSession(id)),
      /** There is one, and it comes first. */
      list: async (query) => (query?.before === undefined ? [await offstage.sessions.get(sessionId)] : []),
      prompt: async (id, options) => offstage.sessions.prompt(ownSession(id), options),
      tickets: async (id) => offstage.sessions.tickets(ownSession(id)),
      async cancelTicket(ticketId) {
        const tickets = await offstage.sessions.tickets(sessionId);
        if (!tickets.some((ticket) => ticket.ticketId === ticketId)) throw offstageError('ticket.not_found', { ticketId });
        return offstage.sessions.cancelTicket(ticketId);
      },
    },

    workloads: { list: async (id) => offstage.workloads.list(ownSession(id)) },
  };

  /** Narrowed to what the session reaches: below a job that it reaches, or its own. */
  async function withinReach<Query extends ListQuery | CancelManySelector>(query: Query): Promise<Query> {
    if (query.sessionId !== undefined) ownSession(query.sessionId);
    if (query.taskId !== undefined) throw forbidden('a session does not choose by task');
    if (query.parentJobId !== undefined) {
      await reached(query.parentJobId);
      return query;
    }
    return query.sessionId === undefined ? { ...query, forSessionId: sessionId } : query;
  }
}
