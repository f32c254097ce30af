/**
 * Watching the actors of one engine from outside: attached on demand, at any time of its life (spec 16).
 *
 * INS1  While nobody watches, XState measures nothing and nothing is kept of any actor.
 * INS2  An observer is told of each actor that lives once, with its owner, before any event of it. Events of actors that it was not told
 *       of do not reach it.
 * INS3  A throwing, rejecting or re-entering observer harms no actor, no verb and no other observer.
 */
import type { ActorRefLike, AnyActorRef, InspectedEventEvent, InspectedSnapshotEvent } from 'xstate';
import { offstageError } from '../model/errors.ts';
import { settleQuietly } from '../model/settle-quietly.ts';
import type { Core } from './core.ts';
import type { LiveJob } from './live-job.ts';

/** Which chart an actor runs. A roster runs none: it is the parent that actors of one kind share. */
export type InspectedMachine = 'supervisor' | 'roster' | 'job' | 'activity' | 'task';

/** A live actor and whose it is. XState's own `sessionId` (`x:12`) begins anew with every process: it is no key. */
export interface InspectedActor {
  readonly machine: InspectedMachine;
  readonly actorRef: AnyActorRef;
  readonly jobId: string | null;
  /** The session that it is of; of a job, the one that it runs on. */
  readonly sessionId: string | null;
  /** The session that has dispatched the job, if it is another one. */
  readonly callerSessionId: string | null;
  readonly taskId: string | null;
  /** What a job is, in one line. */
  readonly subject: string | null;
}

/** What becomes of actors, in XState's words: an event that one was sent, or the snapshot that it has now. */
export type InspectedChange = InspectedEventEvent | InspectedSnapshotEvent;

/** Called in the middle of the engine's work: note what there is to note, and return. */
export interface InspectionObserver {
  /** Once per actor: first for all that live, then for each as it starts, before its first event. */
  readonly actor: (actor: InspectedActor) => void;
  readonly change: (change: InspectedChange) => void;
}

const NOBODY = { jobId: null, sessionId: null, callerSessionId: null, taskId: null, subject: null } as const;

export class Inspection {
  readonly #core: Core;
  readonly #observers = new Set<Fenced>();

  constructor(core: Core) {
    this.#core = core;
  }

  /** Whether somebody wants to be told of actors as they start. */
  get isOn(): boolean {
    return this.#observers.size > 0;
  }

  /** @returns a function that ends it. @throws OffstageError `input.invalid` */
  attach(observer: InspectionObserver): () => void {
    if (typeof observer?.actor !== 'function' || typeof observer.change !== 'function') {
      throw offstageError('input.invalid', { argument: 'observer', message: 'it must have the functions actor and change' });
    }
    const fenced = new Fenced(observer, (error) => this.#core.report('inspector.failed', error));
    this.#observers.add(fenced);
    const subscription = this.#core.system.supervisor.system.inspect((event) => {
      if (event.type === '@xstate.snapshot' || event.type === '@xstate.event') fenced.change(event);
    });
    // All within one turn: whatever it does meanwhile, no actor is missed.
    for (const actor of this.#liveActors()) fenced.actor(actor);
    return () => {
      subscription.unsubscribe();
      this.#observers.delete(fenced);
    };
  }

  jobStarted(job: LiveJob, actorRef: AnyActorRef): void {
    this.#started(jobActor(job, actorRef));
  }

  activityStarted(owner: { readonly sessionId: string; readonly taskId: string }, actorRef: AnyActorRef): void {
    this.#started(activityActor(owner, actorRef));
  }

  taskStarted(taskId: string, actorRef: AnyActorRef): void {
    this.#started(taskActor(taskId, actorRef));
  }

  #started(actor: InspectedActor): void {
    for (const observer of this.#observers) observer.actor(actor);
  }

  /** Parents first. */
  *#liveActors(): Generator<InspectedActor> {
    const { system, liveness, jobs } = this.#core;
    yield { ...NOBODY, machine: 'supervisor', actorRef: system.supervisor };
    for (const actorRef of [system.jobs, system.sessions, system.tasks]) yield { ...NOBODY, machine: 'roster', actorRef };
    for (const [taskId, actorRef] of liveness.taskActors()) yield taskActor(taskId, actorRef);
    for (const session of liveness.values()) {
      const actorRef = session.record?.actor ?? null;
      if (actorRef !== null) yield activityActor(session, actorRef);
    }
    for (const job of jobs.values()) if (job.actor !== null) yield jobActor(job, job.actor);
  }
}

const jobActor = ({ base }: LiveJob, actorRef: AnyActorRef): InspectedActor => ({
  machine: 'job',
  actorRef,
  jobId: base.jobId,
  sessionId: base.sessionId,
  callerSessionId: base.callerSessionId,
  taskId: base.taskId,
  subject: base.subject,
});

const activityActor = (
  { sessionId, taskId }: { readonly sessionId: string; readonly taskId: string },
  actorRef: AnyActorRef,
): InspectedActor => ({ ...NOBODY, machine: 'activity', actorRef, sessionId, taskId });

const taskActor = (taskId: string, actorRef: AnyActorRef): InspectedActor => ({
  ...NOBODY,
  machine: 'task',
  actorRef,
  taskId,
});

/** An observer that may do what it likes (INS3). */
class Fenced {
  readonly #observer: InspectionObserver;
  readonly #onError: (error: unknown) => void;
  /** It was told of these, and nobody else keeps them. */
  readonly #known = new WeakSet<ActorRefLike>();

  constructor(observer: InspectionObserver, onError: (error: unknown) => void) {
    this.#observer = observer;
    this.#onError = onError;
  }

  actor(actor: InspectedActor): void {
    if (this.#known.has(actor.actorRef)) return;
    this.#known.add(actor.actorRef);
    this.#fence(() => this.#observer.actor(actor));
  }

  change(change: InspectedChange): void {
    if (this.#known.has(change.actorRef)) this.#fence(() => this.#observer.change(change));
  }

  #fence(call: () => unknown): void {
    try {
      const answer = call();
      settleQuietly(answer, this.#onError);
    } catch (error) {
      this.#onError(error);
    }
  }
}
