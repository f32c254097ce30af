/**
 * From a spawn to an accepted job (spec 2, 3, 6, 7).
 *
 * ADM1  Jobs are accepted in the order in which spawn was called, also when some had to look things up first.
 * ADM2  A refused spawn leaves nothing: no record, no index, no event.
 * ADM3  The same jobId with the same content answers the existing record; an id is never revived.
 * ADM4  A cancel that names a job still being admitted reaches it: the job is born cancelled.
 * ADM5  Nothing is born under a cancelled ancestor.
 * ADM6  A burst of spawns waits undecided, a batch's share at a time: cancels and ends of jobs that run never stand behind it.
 */
import { queuedContext } from '../actors/job-actor.ts';
import { isOffstageError, type OffstageError, offstageError } from '../model/errors.ts';
import { LIMITS } from '../model/limits.ts';
import type { JobView, SessionRow } from '../model/records.ts';
import type { SpawnOptions } from '../model/requests.ts';
import { contentHash } from '../persistence/content-hash.ts';
import { type JobBase, LARGE_CHARACTERS, type StoredJob } from '../persistence/job-codec.ts';
import type { FoundJob } from '../persistence/job-rows.ts';
import type { Canceller, CancelRequest } from './canceller.ts';
import type { Core } from './core.ts';
import { LiveJob } from './live-job.ts';
import { PoolPlace } from './pool.ts';
import type { Sessions } from './sessions.ts';
import { checkSpawn, type SpawnContent } from './spawn-request.ts';
import { storedView } from './stored-view.ts';
import type { Change, Transaction } from './transaction.ts';

/** What has to be known before a job can be accepted. */
interface Prepared {
  readonly content: SpawnContent;
  readonly session: SessionRow;
  readonly caller: SessionRow | null;
  readonly parent: ParentFacts | null;
  /** A stored job of the same id. */
  readonly existing: FoundJob | 'expired' | null;
}

interface ParentFacts {
  readonly jobId: string;
  readonly depth: number;
}

interface Ticket {
  prepared: Prepared | null;
  failure: { readonly error: unknown } | null;
  readonly jobId: string | null;
  /** The job whose body asks, if a body does. */
  readonly body: LiveJob | null;
  readonly cancels: {
    readonly request: CancelRequest;
    readonly resolve: (view: JobView) => void;
    readonly reject: (error: unknown) => void;
  }[];
  readonly resolve: (view: JobView) => void;
  readonly reject: (error: unknown) => void;
}

export interface AdmissionHost {
  readonly canceller: Canceller;
  readonly sessions: Sessions;
  start(job: LiveJob): void;
}

export class Admission {
  readonly #core: Core;
  readonly #host: AdmissionHost;
  /** Spawns that wait, in the order of the calls: for what they look up, or for room in the next batch (ADM6). */
  #line: Ticket[] = [];
  #front = 0;
  /** By id: spawns in progress, one after the other, so that a look-up never misses an acceptance. */
  readonly #byId = new Map<string, { promise: Promise<unknown>; readonly tickets: Set<Ticket> }>();

  constructor(core: Core, host: AdmissionHost) {
    this.#core = core;
    this.#host = host;
  }

  /** Resolves once the job is durable. `parent` is the calling body's job, where a body calls. */
  spawn(options: SpawnOptions, parent: LiveJob | null): Promise<JobView> {
    try {
      this.#core.assertAccepting();
      const content = checkSpawn(options, this.#core.executors, parent?.base ?? null);
      if (this.#core.queuedCount + this.#inLine >= LIMITS.queuedJobs)
        throw offstageError('limit.queue_full', { limit: LIMITS.queuedJobs });
      const prepared = this.#prepareNow(content);
      if (prepared !== null && this.#inLine === 0 && this.#core.loop.creationRoom > 0) return this.#admitNow(prepared, parent);
      return this.#queue(content, prepared, parent);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Whether a spawn with this id is under way and not accepted yet. */
  isAdmitting(jobId: string): boolean {
    return this.#byId.has(jobId);
  }

  /** ADM4. Resolves with the record of the job that the pending spawn made or found. */
  cancelWhenAdmitted(jobId: string, request: CancelRequest): Promise<JobView> | null {
    const [ticket] = this.#byId.get(jobId)?.tickets ?? [];
    if (ticket === undefined) return null;
    return new Promise((resolve, reject) => {
      ticket.cancels.push({ request, resolve, reject });
    });
  }

  /** Resolves when no spawn of this id is under way any more. */
  async whenAdmitted(jobId: string): Promise<void> {
    await this.#byId.get(jobId)?.promise.catch(() => {});
  }

  #admitNow(prepared: Prepared, body: LiveJob | null): Promise<JobView> {
    return new Promise((resolve, reject) => {
      this.#admit(prepared, { prepared, failure: null, jobId: null, body, cancels: [], resolve, reject });
    });
  }

  #queue(content: SpawnContent, known: Prepared | null, body: LiveJob | null): Promise<JobView> {
    const { jobId } = content;
    let ticket: Ticket | undefined;
    const answer = new Promise<JobView>((resolve, reject) => {
      ticket = { prepared: known, failure: null, jobId, body, cancels: [], resolve, reject };
    });
    const queued = ticket as unknown as Ticket;
    this.#line.push(queued);
    const before = jobId === null ? undefined : this.#byId.get(jobId);
    if (jobId !== null) this.#track(jobId, queued, answer, before?.tickets);
    if (known !== null) return answer;
    const ready = (before?.promise ?? Promise.resolve()).catch(() => {}).then(() => this.#prepare(content));
    ready.then(
      (prepared) => {
        queued.prepared = prepared;
        this.advance();
      },
      (error) => {
        queued.failure = { error };
        this.advance();
      },
    );
    return answer;
  }

  #track(jobId: string, ticket: Ticket, answer: Promise<JobView>, earlier: Set<Ticket> | undefined): void {
    const entry = { promise: answer as Promise<unknown>, tickets: (earlier ?? new Set<Ticket>()).add(ticket) };
    this.#byId.set(jobId, entry);
    const done = (): void => {
      entry.tickets.delete(ticket);
      if (this.#byId.get(jobId) === entry) this.#byId.delete(jobId);
    };
    answer.then(done, done);
  }

  get #inLine(): number {
    return this.#line.length - this.#front;
  }

  /** Admits from the front of the line, as far as everything is known (ADM1) and the next batch has room (ADM6). */
  advance(): void {
    for (let ticket = this.#line[this.#front]; ticket !== undefined; ticket = this.#line[this.#front]) {
      const { failure, prepared, jobId } = ticket;
      if (failure === null && (prepared === null || this.#core.loop.creationRoom <= 0)) break;
      this.#front += 1;
      // From here on a cancel finds the job itself, or that there is none.
      if (jobId !== null) this.#byId.get(jobId)?.tickets.delete(ticket);
      if (failure !== null) this.#refuse(ticket, failure.error);
      else this.#admit(prepared as Prepared, ticket);
    }
    if (this.#front < 1_000 && this.#inLine > 0) return;
    this.#line = this.#line.slice(this.#front);
    this.#front = 0;
  }

  readonly #refuse = (ticket: Ticket, error: unknown): void => {
    ticket.reject(error);
    const cancels = ticket.cancels.splice(0);
    // A later spawn of the same id may still make the job that was meant.
    const [next] = ticket.jobId === null ? [] : (this.#byId.get(ticket.jobId)?.tickets ?? []);
    if (next !== undefined) next.cancels.push(...cancels);
    else {
      const gone = isOffstageError(error, 'job.expired') ? error : offstageError('job.not_found', { jobId: ticket.jobId ?? '' });
      for (const cancel of cancels) cancel.reject(gone);
    }
  };

  /** Everything is in memory: the usual case, without a turn of the event loop. */
  #prepareNow(content: SpawnContent): Prepared | null {
    if (content.jobId !== null || content.pendingInput !== null) return null;
    const session = this.#host.sessions.cached(content.sessionId);
    if (session === null) return null;
    const caller = content.callerSessionId === null ? null : this.#host.sessions.cached(content.callerSessionId);
    if (content.callerSessionId !== null && caller === null) return null;
    let parent: ParentFacts | null = null;
    if (content.parentJobId !== null) {
      const job = this.#core.jobs.get(content.parentJobId);
      if (job === undefined || job.isDecidedEnd) return null;
      parent = this.#heldLive(job);
    }
    return { content, session, caller, parent, existing: null };
  }

  async #prepare(given: SpawnContent): Promise<Prepared> {
    const content = given.pendingInput === null ? given : { ...given, ...(await given.pendingInput), pendingInput: null };
    const { sessions } = this.#host;
    const [session, caller, existing] = await Promise.all([
      sessions.resolve(content.sessionId),
      content.callerSessionId === null ? null : sessions.resolve(content.callerSessionId),
      content.jobId === null ? null : this.#core.rows.find(content.jobId),
    ]);
    // Last, because what it holds is given back only by `#admit`; and not for a job that exists, whatever has become of its parent.
    const parent = content.parentJobId === null || existing !== null ? null : await this.#findParent(content.parentJobId);
    return { content, session, caller, parent, existing };
  }

  /** The parent and, where it has ended, the chain above it, so that a cascade from any living ancestor finds the child. */
  async #findParent(jobId: string): Promise<ParentFacts> {
    const { jobs, rows, lineage } = this.#core;
    let facts: ParentFacts | null = null;
    try {
      let id: string | null = jobId;
      for (let level = 0; id !== null && level <= LIMITS.treeDepth; level++) {
        const live: LiveJob | undefined = jobs.get(id);
        if (live !== undefined && !live.isDecidedEnd) {
          const held = this.#heldLive(live, facts === null);
          return facts ?? held;
        }
        const stored: Pick<StoredJob, 'base' | 'snapshot'> | 'expired' | null =
          live === undefined ? await rows.find(id) : { base: live.base, snapshot: live.decided };
        if (stored === null || stored === 'expired') {
          if (facts !== null) break;
          throw offstageError(stored === null ? 'job.not_found' : 'job.expired', { jobId: id });
        }
        const { state, context } = stored.snapshot;
        lineage.addEnded(id, stored.base.parentJobId, state === 'cancelled' || context.cancelRequestedAt !== null);
        if (facts === null) {
          facts = { jobId: id, depth: stored.base.depth };
          lineage.hold(id);
        }
        id = stored.base.parentJobId;
      }
      return facts as ParentFacts;
    } catch (error) {
      if (facts !== null) lineage.release(facts.jobId);
      throw error;
    }
  }

  /** A living ancestor; held, so that its end or cancel before the child is admitted is not missed (LIN4). */
  #heldLive(job: LiveJob, isParent = true): ParentFacts {
    const { lineage } = this.#core;
    const { jobId, parentJobId, depth } = job.base;
    lineage.markLive(jobId, parentJobId);
    if (job.decided.context.cancelRequestedAt !== null) lineage.markCancelled(jobId);
    if (isParent) lineage.hold(jobId);
    return { jobId, depth };
  }

  #admit(prepared: Prepared, ticket: Ticket): void {
    try {
      const { content } = prepared;
      const live = content.jobId === null ? undefined : this.#core.jobs.get(content.jobId);
      if (live !== undefined) this.#answerLive(live, content, ticket);
      else if (prepared.existing !== null) this.#answerStored(prepared.existing, content, ticket);
      else this.#accept(prepared, ticket);
    } catch (error) {
      this.#refuse(ticket, error);
    } finally {
      if (prepared.parent !== null) this.#core.lineage.release(prepared.parent.jobId);
    }
  }

  #answerLive(job: LiveJob, content: SpawnContent, ticket: Ticket): void {
    if (contentHash(job.base) !== contentHash(content)) throw offstageError('job.conflict', { jobId: job.base.jobId });
    this.#cancelAtBirth(job, ticket);
    // Whatever is on its way is stored first, so that the answer is durable.
    this.#core.submit({
      changes: [],
      acknowledge: () =>
        job.isDropped ? ticket.reject(offstageError('job.not_found', { jobId: job.base.jobId })) : ticket.resolve(job.view()),
    });
  }

  #answerStored(existing: FoundJob | 'expired', content: SpawnContent, ticket: Ticket): void {
    if (existing === 'expired') throw offstageError('job.expired', { jobId: content.jobId as string });
    if (existing.contentHash !== contentHash(content)) throw offstageError('job.conflict', { jobId: existing.base.jobId });
    const view = storedView(existing);
    ticket.resolve(view);
    for (const cancel of ticket.cancels) cancel.resolve(view);
  }

  #accept(prepared: Prepared, ticket: Ticket): void {
    const core = this.#core;
    const { session, caller, parent } = prepared;
    core.assertAccepting();
    if (core.queuedCount >= LIMITS.queuedJobs) throw offstageError('limit.queue_full', { limit: LIMITS.queuedJobs });
    if (caller !== null && caller.taskId !== session.taskId) throw offstageError('job.cross_task', {});
    // A foreground child whose body has gone meanwhile would be waited for by nobody, and ended by nobody (spec 4.8).
    const { body } = ticket;
    if (prepared.content.wait && body !== null && (body.isDecidedEnd || body.execution?.hasSettled === true))
      throw offstageError('job.context_closed', { jobId: body.base.jobId });
    const depth = parent === null ? 0 : parent.depth + 1;
    if (depth > LIMITS.treeDepth) throw offstageError('limit.tree_depth', { limit: LIMITS.treeDepth });
    if (parent !== null) this.#assertMayBeBorn(parent.jobId);
    const job = this.#create(prepared, session, depth);
    const { jobId } = job.base;
    core.jobs.set(jobId, job);
    core.queuedCount += 1;
    if (parent !== null) core.lineage.add(jobId, parent.jobId);
    core.submit(new Acceptance(core, job, ticket, this.#refuse));
    this.#cancelAtBirth(job, ticket);
  }

  #create(prepared: Prepared, session: SessionRow, depth: number): LiveJob {
    const core = this.#core;
    const { content } = prepared;
    const at = core.settings.clock.now();
    const ordinal = core.loop.nextOrdinal();
    const base: JobBase = {
      ordinal,
      jobId: content.jobId ?? core.settings.ids.jobId(ordinal),
      kind: content.kind,
      subject: content.subject,
      description: content.description,
      agentId: content.agentId,
      input: content.input,
      createdAt: at,
      sessionId: session.sessionId,
      callerSessionId: content.callerSessionId,
      taskId: session.taskId,
      parentJobId: content.parentJobId,
      parentMessageId: content.parentMessageId,
      contextMode: content.contextMode,
      wait: content.wait,
      timeoutMs: content.timeoutMs,
      idleTimeoutMs: content.idleTimeoutMs,
      cardId: null,
      depth,
      isLarge: content.inputCharacters + content.description.length > LARGE_CHARACTERS,
    };
    const snapshot = { state: 'queued', context: queuedContext(at), lastActivityAt: null, notes: NO_NOTES } as const;
    const place = new PoolPlace(base.ordinal, base.sessionId, () => this.#host.start(job));
    const job: LiveJob = new LiveJob(base, snapshot, place);
    job.secretInput = content.secretInput;
    return job;
  }

  /** @throws OffstageError `job.parent_cancelled` */
  #assertMayBeBorn(parentJobId: string): void {
    const ancestor = this.#core.lineage.cancelledAncestor(parentJobId);
    if (ancestor !== null) throw offstageError('job.parent_cancelled', { parentJobId: ancestor });
  }

  #cancelAtBirth(job: LiveJob, ticket: Ticket): void {
    for (const { request, resolve, reject } of ticket.cancels.splice(0)) {
      this.#host.canceller.cancel(job, request).then(resolve, reject);
    }
  }
}

/** The acceptance of one job. A class, because four closures per job are a tenth of what a job costs. */
class Acceptance implements Transaction {
  readonly isCreation = true;
  readonly changes: readonly Change[];
  readonly #core: Core;
  readonly #job: LiveJob;
  readonly #ticket: Ticket;
  readonly #refuse: (ticket: Ticket, error: unknown) => void;

  constructor(core: Core, job: LiveJob, ticket: Ticket, refuse: (ticket: Ticket, error: unknown) => void) {
    this.changes = [{ job, before: null, after: job.decided, announce: ANNOUNCE_BIRTH }];
    this.#core = core;
    this.#job = job;
    this.#ticket = ticket;
    this.#refuse = refuse;
  }

  acknowledge(): void {
    this.#ticket.resolve(this.#job.view());
  }

  refuse(error: OffstageError): void {
    this.#refuse(this.#ticket, error);
  }

  effects(): void {
    if (!this.#job.isDecidedEnd && !this.#core.isClosing) this.#core.pool.enqueue(this.#job.place);
  }
}

const ANNOUNCE_BIRTH = ['job.created', 'job.status'] as const;
const NO_NOTES = [] as const;
