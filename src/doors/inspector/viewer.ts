/**
 * One connected inspector: what it was told, and what it is still owed.
 *
 * IVW1  Of each actor it is told in order; of one that it is owed, as it is by the time that there is room.
 * IVW2  While it does not read, nothing more is written to it: it is owed each actor at most once, however much happens.
 * IVW3  Of an actor that it was told of, it is told the end. Of one that began and ended while it did not read, nothing.
 */
import type { WebSocket } from 'ws';
import type { InspectorFrames } from './inspector-frames.ts';
import type { InspectorFilter, WatchedActor } from './watched-actor.ts';

/** More than this is not written ahead of the reader. */
const MOST_UNREAD_BYTES = 1024 * 1024;
/** Beats without a sign of life: whoever looks at a breakpoint is not gone. */
const PATIENCE = 6;
const OPEN = 1;

export class Viewer {
  readonly #webSocket: WebSocket;
  readonly #filter: InspectorFilter;
  readonly #frames: InspectorFrames;
  readonly #onRoom: () => void;
  readonly #owed = new Set<WatchedActor>();
  /** Live actors, as far as it knows. */
  readonly #known = new Set<WatchedActor>();
  #isFull = false;
  #silentBeats = 0;

  /** @param options.onRoom it reads again, and is owed something */
  constructor(
    webSocket: WebSocket,
    options: { readonly filter: InspectorFilter; readonly frames: InspectorFrames; readonly onRoom: () => void },
  ) {
    this.#webSocket = webSocket;
    this.#filter = options.filter;
    this.#frames = options.frames;
    this.#onRoom = options.onRoom;
    webSocket.on('pong', () => {
      this.#silentBeats = 0;
    });
  }

  /** It can be told something now that it is owed. */
  get canCatchUp(): boolean {
    return this.#owed.size > 0 && this.#hasRoom();
  }

  /** How many actors it is owed. */
  get owed(): number {
    return this.#owed.size;
  }

  /** Tells it later of the actor as it is by then. */
  owe(actor: WatchedActor): void {
    if (!actor.matches(this.#filter)) return;
    if (actor.isOver && !this.#known.has(actor)) this.#owed.delete(actor);
    else this.#owed.add(actor);
  }

  started(actor: WatchedActor, frame: () => string): void {
    if (this.#known.has(actor) || !this.#takes(actor)) return;
    this.#known.add(actor);
    this.#send(frame());
  }

  changed(actor: WatchedActor, frame: () => string): void {
    if (!this.#takes(actor)) return;
    if (this.#known.has(actor)) {
      this.#send(frame());
      if (actor.isOver) this.#known.delete(actor);
    } else {
      this.owe(actor);
    }
  }

  /** Tells it of one actor that it is owed. */
  catchUp(): void {
    const [actor] = this.#owed;
    if (actor === undefined) return;
    this.#owed.delete(actor);
    if (!this.#known.has(actor)) {
      if (actor.isOver) return;
      this.#known.add(actor);
      this.#send(this.#frames.actor(actor));
    }
    this.#send(this.#frames.snapshot(actor.owner.actorRef, actor.snapshot, actor.event, actor.changedAt));
    if (actor.isOver) this.#known.delete(actor);
  }

  beat(): void {
    this.#silentBeats += 1;
    if (this.#silentBeats > PATIENCE) this.terminate();
    else if (this.#webSocket.readyState === OPEN) this.#webSocket.ping();
  }

  close(code: number, reason: string): void {
    this.#webSocket.close(code, reason);
  }

  terminate(): void {
    this.#webSocket.terminate();
  }

  /** Whether it can be told of the actor right now; else it is owed that, if it wants to see it at all. */
  #takes(actor: WatchedActor): boolean {
    if (!actor.matches(this.#filter)) return false;
    if (!this.#owed.has(actor) && this.#hasRoom()) return true;
    this.owe(actor);
    return false;
  }

  #hasRoom(): boolean {
    this.#isFull = this.#webSocket.bufferedAmount >= (this.#isFull ? MOST_UNREAD_BYTES / 2 : MOST_UNREAD_BYTES);
    return !this.#isFull && this.#webSocket.readyState === OPEN;
  }

  #send(frame: string): void {
    this.#webSocket.send(frame, this.#written);
  }

  readonly #written = (): void => {
    if (this.#isFull && this.#owed.size > 0 && this.#hasRoom()) this.#onRoom();
  };
}
