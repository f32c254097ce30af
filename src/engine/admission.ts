/**
 * From a spawn to an accepted job (spec 2, 3, 6, 7).
 *
 * ADM1  Jobs are accepted in the order in which spawn was called, also when some had to look things up first; a spawn whose input is validated
 *       later takes its place when it is.
 * ADM2  A refused spawn leaves nothing: no record, no index, no event.
 * ADM3  The same jobId with the same content answers the existing record; an id is never revived.
 * ADM4  A cancel that names a job still being admitted reaches it: the job is born cancelled.
 * ADM5  Nothing is born under a cancelled ancestor.
 * ADM6  A burst of spawns waits undecided, a batch's share at a time: cancels and ends of jobs that run never stand behind it.
 * ADM7  What was asked for before a stop of its task or session, and is not accepted yet, is refused; so is everything for what is being removed.
 */
import { queuedContext } from '../actors/job-actor.ts';
import { isOffstageError, type OffstageError, offstageError } from '../model/errors.ts';
import { LIMITS } from '../model/limits.ts';
import type { JobView, SessionRow } from '../model/records.ts';
import type { SpawnOptions } from '../model/requests.ts';
import { contentHash } from '../persistence/content-hash.ts';
import { type JobBase, LARGE_CHARACTERS } from '../persistence/job-codec.ts';
import type { FoundJob } from '../persistence/job-rows.ts';
import type { Canceller, CancelRequest } from './canceller.ts';
import type { Core } from './core.ts';
import { LiveJob } from './live-job.ts';
import { findParent, heldLive, type ParentFacts } from './parents.ts';
import { PoolPlace } from './pool.ts';
import type { Sessions } from './sessions.ts';
import { checkSpawn, DEFAULT_AGENT, type SpawnContent } from './spawn-request.ts';
import { Acceptance, type Prepared, type Ticket } from './spawn-ticket.ts';
import { storedView } from './stored-view.ts';

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
  /** Spawns whose input is being validated. */
  readonly #validating = new Set<Ticket>();
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
      const content = checkSpawn(options, this.#core, parent?.base ?? null);
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

  /**
   * ADM4. Resolves with the record of the job that the pending spawn made, or found at work. Null: it has found one that has ended, by a look at the
   * store from before the cancel; what became of it has to be looked up anew.
   */
  cancelWhenAdmitted(jobId: string, request: CancelRequest): Promise<JobView | null> | null {
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
      this.#admit(prepared, {
        content: prepared.content,
        prepared,
        failure: null,
        isOver: false,
        stamp: null,
        body,
        cancels: [],
        resolve,
        reject,
      });
    });
  }

  #queue(content: SpawnContent, known: Prepared | null, body: LiveJob | null): Promise<JobView> {
    const { jobId } = content;
    let ticket: Ticket | undefined;
    const stamp = this.#core.epochs.stamp();
    const answer = new Promise<JobView>((resolve, reject) => {
      ticket = { content, prepared: known, failure: null, isOver: false, stamp, body, cancels: [], resolve, reject };
    });
    const queued = ticket as unknown as Ticket;
    const before = jobId === null ? undefined : this.#byId.get(jobId);
    if (jobId !== null) this.#track(jobId, queued, answer, before?.tickets);
    if (content.pendingInput !== null) {
      // A schema that answers late, or never, holds up its own spawn only: its place in the line is when its input is known.
      this.#validating.add(queued);
      content.pendingInput.then(
        (input) => this.#enterLine(queued, { ...content, ...input, pendingInput: null }, null, before?.promise),
        (error) => this.#fail(queued, error),
      );
    } else {
      this.#enterLine(queued, content, known, before?.promise);
    }
    return answer;
  }

  #enterLine(ticket: Ticket, content: SpawnContent, known: Prepared | null, before: Promise<unknown> | undefined): void {
    this.#validating.delete(ticket);
    if (ticket.isOver) return;
    this.#line.push(ticket);
    if (known !== null) return;
    const ready = (before ?? Promise.resolve()).catch(() => {}).then(() => this.#prepare(content));
    ready.then(
      (prepared) => {
        ticket.prepared = prepared;
        this.advance();
      },
      (error) => {
        ticket.failure = { error };
        this.advance();
      },
    );
  }

  #fail(ticket: Ticket, error: unknown): void {
    this.#validating.delete(ticket);
    if (!ticket.isOver) this.#refuse(ticket, error);
  }

  /** Refuses everything that waits; for an engine that closes. */
  refuseAll(error: OffstageError): void {
    for (const ticket of [...this.#validating, ...this.#line.slice(this.#front)]) {
      this.#validating.delete(ticket);
      this.#refuse(ticket, error);
      // What was looked up for it may still hold its parent.
      if (ticket.prepared?.parent != null) this.#core.lineage.release(ticket.prepared.parent.jobId);
      ticket.prepared = null;
      ticket.failure = { error };
    }
    this.advance();
  }

  /** Cancels the spawns that wait undecided and match: they are born cancelled (ADM4). */
  cancelWaiting(matches: (content: SpawnContent) => boolean, request: CancelRequest): readonly Promise<JobView | null>[] {
    return [...this.#validating, ...this.#line.slice(this.#front)]
      .filter((ticket) => !ticket.isOver && matches(ticket.content))
      .map((ticket) => new Promise((resolve, reject) => ticket.cancels.push({ request, resolve, reject })));
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
      const { failure, prepared } = ticket;
      const { jobId } = ticket.content;
      if (failure === null && (prepared === null || this.#core.loop.creationRoom <= 0)) break;
      this.#front += 1;
      // From here on a cancel finds the job itself, or that there is none.
      if (jobId !== null) this.#byId.get(jobId)?.tickets.delete(ticket);
      if (ticket.isOver) continue;
      if (failure !== null) this.#refuse(ticket, failure.error);
      else this.#admit(prepared as Prepared, ticket);
    }
    if (this.#front < 1_000 && this.#inLine > 0) return;
    this.#line = this.#line.slice(this.#front);
    this.#front = 0;
  }

  readonly #refuse = (ticket: Ticket, error: unknown): void => {
    const { jobId } = ticket.content;
    ticket.isOver = true;
    this.#reached(ticket);
    ticket.reject(error);
    const cancels = ticket.cancels.splice(0);
    // A later spawn of the same id may still make the job that was meant.
    const [next] = jobId === null ? [] : [...(this.#byId.get(jobId)?.tickets ?? [])].filter((other) => !other.isOver);
    if (next !== undefined) next.cancels.push(...cancels);
    else {
      const gone = isOffstageError(error, 'job.expired') ? error : offstageError('job.not_found', { jobId: jobId ?? '' });
      for (const cancel of cancels) cancel.reject(gone);
    }
  };

  /** It has taken effect, or never will. */
  #reached({ stamp }: Ticket): void {
    if (stamp !== null) this.#core.epochs.release(stamp);
  }

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
      parent = heldLive(this.#core, job);
    }
    return { content, session, caller, parent, existing: null };
  }

  async #prepare(content: SpawnContent): Promise<Prepared> {
    const { sessions } = this.#host;
    const [session, caller, existing] = await Promise.all([
      sessions.resolve(content.sessionId),
      content.callerSessionId === null ? null : sessions.resolve(content.callerSessionId),
      content.jobId === null ? null : this.#core.rows.find(content.jobId),
    ]);
    // Last, because what it holds is given back only by `#admit`; and not for a job that exists, whatever has become of its parent.
    const parent = content.parentJobId === null || existing !== null ? null : await findParent(this.#core, content.parentJobId);
    return { content, session, caller, parent, existing };
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
      this.#reached(ticket);
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
    ticket.resolve(storedView(existing));
    for (const cancel of ticket.cancels) cancel.resolve(null);
  }

  #accept(prepared: Prepared, ticket: Ticket): void {
    const core = this.#core;
    const { session, caller, parent } = prepared;
    core.assertAccepting();
    if (core.queuedCount >= LIMITS.queuedJobs) throw offstageError('limit.queue_full', { limit: LIMITS.queuedJobs });
    const isAcross = [caller, parent].some((other) => other !== null && other.taskId !== session.taskId);
    if (isAcross) throw offstageError('job.cross_task', {});
    // A foreground child whose body has gone meanwhile would be waited for by nobody, and ended by nobody (spec 4.8).
    const { body } = ticket;
    if (prepared.content.wait && body !== null && (body.isDecidedEnd || body.execution?.hasSettled === true))
      throw offstageError('job.context_closed', { jobId: body.base.jobId });
    const depth = parent === null ? 0 : parent.depth + 1;
    if (depth > LIMITS.treeDepth) throw offstageError('limit.tree_depth', { limit: LIMITS.treeDepth });
    if (parent !== null) this.#assertMayBeBorn(parent.jobId);
    this.#assertNotStopped(session, ticket);
    if (caller !== null) this.#assertNotStopped(caller, ticket);
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
      notifies: !content.wait && this.#isTold(prepared.caller ?? session),
      depth,
      isLarge: content.inputCharacters + content.description.length > LARGE_CHARACTERS,
    };
    const snapshot = { state: 'queued', context: queuedContext(at), lastActivityAt: null, notes: NO_NOTES } as const;
    const place = new PoolPlace(base.ordinal, base.sessionId, () => this.#host.start(job));
    const job: LiveJob = new LiveJob(base, snapshot, place);
    job.secretInput = content.secretInput;
    if (content.toolCallId !== null) {
      const agent = core.liveness.find(content.callerSessionId ?? session.sessionId)?.agent;
      if (agent != null) job.toolCall = { executionId: agent.executionId, toolCallId: content.toolCallId };
    }
    return job;
  }

  #isTold({ agentId }: SessionRow): boolean {
    const { notices, agents } = this.#core.settings;
    return notices && agents[agentId ?? DEFAULT_AGENT] !== undefined;
  }

  /** @throws OffstageError `job.parent_cancelled` */
  #assertMayBeBorn(parentJobId: string): void {
    const ancestor = this.#core.lineage.cancelledAncestor(parentJobId);
    if (ancestor !== null) throw offstageError('job.parent_cancelled', { parentJobId: ancestor });
  }

  /** @throws OffstageError `task.stopping`, `session.stopped` */
  #assertNotStopped(session: SessionRow, { stamp }: Ticket): void {
    const refusal = this.#core.epochs.refusal(session, stamp);
    if (refusal !== null) throw refusal;
  }

  #cancelAtBirth(job: LiveJob, ticket: Ticket): void {
    for (const { request, resolve, reject } of ticket.cancels.splice(0)) {
      this.#host.canceller.cancel(job, request).then(resolve, reject);
    }
  }
}

const NO_NOTES = [] as const;
