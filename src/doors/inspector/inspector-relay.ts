/**
 * Serves the Stately inspector, and everybody who speaks its protocol (`@statelyai/inspect` 0.7.2), over WebSockets that a host hands it.
 *
 * IRL1  Watches the engine only while somebody is connected. Without, nothing is kept and nothing is measured.
 * IRL2  Whoever connects, however late, is told of each live actor and its state, then of each change in order.
 * IRL3  In the middle of the engine's work only a reference is noted. Frames are made later, a few milliseconds of each turn at most; what
 *       is more than that is not queued without end: viewers are then told what has become of the actors instead (IVW1).
 * IRL4  An actor that has ended is forgotten: what is kept follows the number of live actors, not that of jobs ever run.
 */

import type { WebSocket } from 'ws';
import type { EventObject, Snapshot } from 'xstate';
import type { InspectedActor, InspectedChange } from '../../engine/inspection.ts';
import type { Offstage } from '../../engine/offstage.ts';
import { offstageError } from '../../model/errors.ts';
import { InspectorFrames, type Redact } from './inspector-frames.ts';
import { Viewer } from './viewer.ts';
import { type InspectorFilter, WatchedActor } from './watched-actor.ts';

const PACE_MS = 16;
/** Of the work of one turn, for changes and for those who catch up, each. */
const BUDGET_MS = 2;
const MOST_QUEUED = 4_096;
const MOST_VIEWERS = 32;
const GOODBYE_MS = 1_000;

const GOODBYE = 'the inspector is closed';
const GOING_AWAY = 1001;
const TRY_LATER = 1013;

export interface InspectorRelayOptions {
  /**
   * What of an event, or of a context, viewers may see. Gets a copy of its own and answers what is shown instead. By default values under
   * keys that look secret are withheld. What it throws at is not shown at all.
   */
  readonly redact?: Redact;
  /** Is told of errors of `redact`. */
  readonly onError?: (error: unknown) => void;
}

/** What has happened to an actor, in the order of the engine. */
interface Noted {
  readonly actor: WatchedActor;
  readonly at: number;
  /** Null: it has started. */
  readonly change: InspectedChange | null;
}

/**
 * One relay per engine serves any number of viewers.
 * @example
 * const relay = new InspectorRelay(offstage);
 * webSocketServer.on('connection', (webSocket) => relay.accept(webSocket, { sessionId: 'default' }));
 */
export class InspectorRelay {
  readonly #offstage: Offstage;
  readonly #frames: InspectorFrames;
  readonly #viewers = new Set<Viewer>();
  readonly #actors = new Map<unknown, WatchedActor>();
  #noted: Noted[] = [];
  #detach: (() => void) | null = null;
  #cancel: (() => void) | null = null;
  #workedAt = Number.NEGATIVE_INFINITY;
  /** The supervisor has: the engine is closed, and nothing is to come. */
  #hasEnded = false;
  #isClosed = false;

  /** @throws OffstageError `config.invalid` */
  constructor(offstage: Offstage, options: InspectorRelayOptions = {}) {
    const { redact = null, onError = () => {} } = options;
    if (redact !== null && typeof redact !== 'function') {
      throw offstageError('config.invalid', { option: 'redact', message: 'it must be a function' });
    }
    this.#offstage = offstage;
    this.#frames = new InspectorFrames(redact, onError);
  }

  /** How many are connected. */
  get viewers(): number {
    return this.#viewers.size;
  }

  /** How many live actors it watches; none while nobody is connected. */
  get actors(): number {
    return this.#actors.size;
  }

  /** Serves an open socket until either side closes it. Who may connect is for the host to decide. */
  accept(webSocket: WebSocket, filter: InspectorFilter = {}): void {
    // An error is followed by a close.
    webSocket.on('error', () => {});
    if (this.#isClosed) webSocket.close(GOING_AWAY, GOODBYE);
    else if (this.#viewers.size >= MOST_VIEWERS) webSocket.close(TRY_LATER, 'too many inspectors are connected');
    else if (webSocket.readyState === webSocket.OPEN) this.#welcome(webSocket, filter);
  }

  #welcome(webSocket: WebSocket, filter: InspectorFilter): void {
    const viewer = new Viewer(webSocket, { filter, frames: this.#frames, onRoom: () => this.#schedule() });
    this.#viewers.add(viewer);
    webSocket.on('close', () => this.#leave(viewer));
    this.#detach ??= this.#offstage.inspect({
      actor: (owner) => this.#started(owner),
      change: (change) => this.#changed(change),
    });
    for (const actor of this.#actors.values()) viewer.owe(actor);
    this.#schedule();
  }

  /** Asks everybody for a sign of life; who has given none for some beats is dropped. For the host, about every ten seconds. */
  beat(): void {
    for (const viewer of this.#viewers) viewer.beat();
  }

  /** Says goodbye to everybody and lets go of the engine; by itself, once that has closed. Nobody is served any more. */
  close(): void {
    this.#isClosed = true;
    this.#tellChanges(performance.now() + BUDGET_MS);
    const viewers = [...this.#viewers];
    this.#viewers.clear();
    this.#stop();
    for (const viewer of viewers) viewer.close(GOING_AWAY, GOODBYE);
    const timer = setTimeout(() => {
      for (const viewer of viewers) viewer.terminate();
    }, GOODBYE_MS);
    timer.unref();
  }

  #leave(viewer: Viewer): void {
    this.#viewers.delete(viewer);
    if (this.#viewers.size === 0) this.#stop();
  }

  #stop(): void {
    this.#detach?.();
    this.#detach = null;
    this.#cancel?.();
    this.#cancel = null;
    this.#actors.clear();
    this.#noted = [];
  }

  #started(owner: InspectedActor): void {
    const at = Date.now();
    const actor = new WatchedActor(owner, at);
    if (actor.isOver) {
      this.#hasEnded ||= owner.machine === 'supervisor';
      return;
    }
    this.#actors.set(owner.actorRef, actor);
    // While it attaches, everybody is owed everything.
    if (this.#detach !== null) this.#note({ actor, at, change: null });
  }

  #changed(change: InspectedChange): void {
    const actor = this.#actors.get(change.actorRef);
    // A roster hears of each end of its children, and makes nothing of it.
    if (actor === undefined || actor.owner.machine === 'roster') return;
    this.#note({ actor, at: Date.now(), change });
  }

  #note(noted: Noted): void {
    this.#noted.push(noted);
    if (this.#noted.length >= MOST_QUEUED) this.#skip();
    this.#schedule();
  }

  /** Takes all that is noted at once: nobody is told the way there, only where it has led. */
  #skip(): void {
    const noted = this.#noted;
    this.#noted = [];
    for (const one of noted) {
      this.#apply(one);
      for (const viewer of this.#viewers) viewer.owe(one.actor);
    }
  }

  #schedule(): void {
    if (this.#cancel !== null || this.#viewers.size === 0) return;
    const waitMs = this.#workedAt + PACE_MS - performance.now();
    if (waitMs <= 0) {
      const immediate = setImmediate(() => this.#work());
      this.#cancel = () => clearImmediate(immediate);
    } else {
      const timer = setTimeout(() => this.#work(), waitMs);
      this.#cancel = () => clearTimeout(timer);
    }
  }

  #work(): void {
    this.#cancel = null;
    this.#tellChanges(performance.now() + BUDGET_MS);
    const isMore = this.#catchUp(performance.now() + BUDGET_MS);
    this.#workedAt = performance.now();
    if (isMore || this.#noted.length > 0) this.#schedule();
    else if (this.#hasEnded) this.close();
  }

  #tellChanges(until: number): void {
    const noted = this.#noted;
    let count = 0;
    while (count < noted.length && performance.now() < until) {
      this.#tell(noted[count] as Noted);
      count += 1;
    }
    this.#noted = noted.slice(count);
  }

  #tell(noted: Noted): void {
    const { actor, change, at } = noted;
    this.#apply(noted);
    const frames = this.#frames;
    if (change === null) {
      const frame = once(() => frames.actor(actor));
      for (const viewer of this.#viewers) viewer.started(actor, frame);
      return;
    }
    const { actorRef } = actor.owner;
    const frame = once(() =>
      change.type === '@xstate.event'
        ? frames.event(actorRef, change.event, change.sourceRef?.sessionId, at)
        : frames.snapshot(actorRef, change.snapshot as Snapshot<unknown>, change.event as EventObject, at),
    );
    for (const viewer of this.#viewers) viewer.changed(actor, frame);
  }

  #apply({ actor, change, at }: Noted): void {
    if (change?.type !== '@xstate.snapshot') return;
    actor.snapshot = change.snapshot as Snapshot<unknown>;
    actor.event = change.event as EventObject;
    actor.changedAt = at;
    if (!actor.isOver) return;
    this.#actors.delete(actor.owner.actorRef);
    this.#hasEnded ||= actor.owner.machine === 'supervisor';
  }

  /** One actor each, in turn. Whether somebody could be told more right now. */
  #catchUp(until: number): boolean {
    for (;;) {
      let isMore = false;
      for (const viewer of this.#viewers) {
        if (!viewer.canCatchUp) continue;
        if (performance.now() >= until) return true;
        viewer.catchUp();
        isMore ||= viewer.canCatchUp;
      }
      if (!isMore) return false;
    }
  }
}

/** Made for the first who asks, or not at all. */
function once(make: () => string): () => string {
  let made: string | null = null;
  return () => {
    made ??= make();
    return made;
  };
}
