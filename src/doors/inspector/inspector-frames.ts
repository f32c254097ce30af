/**
 * The frames of `@statelyai/inspect` 0.7.2, one JSON text each.
 *
 * IFR1  A frame is made whatever the values in it do: what cannot be shown is replaced by a note.
 * IFR2  What `redact` has thrown at is not shown at all, only the type of the event remains.
 */
import type { AnyActorRef, EventObject, Snapshot } from 'xstate';
import type { JsonValue } from '../../model/json.ts';
import { isSecretKey, notShown, toPlain } from './plain-value.ts';
import type { WatchedActor } from './watched-actor.ts';

export const PROTOCOL_VERSION = '0.7.2';

/** What a viewer may see of an event or a context; gets a copy of its own, of which long texts are cut. */
export type Redact = (value: JsonValue) => unknown;

interface MachineSnapshot {
  readonly value?: unknown;
  readonly context?: unknown;
  readonly historyValue?: unknown;
  readonly tags?: ReadonlySet<string>;
  readonly output?: unknown;
  readonly error?: unknown;
}

const showsAll = (): boolean => false;

export class InspectorFrames {
  readonly #redact: Redact | null;
  readonly #onError: (error: unknown) => void;
  /** Charts are few and do not change: their text is made, and escaped, once. */
  readonly #definitions = new Map<unknown, string>();

  constructor(redact: Redact | null, onError: (error: unknown) => void) {
    this.#redact = redact;
    this.#onError = onError;
  }

  actor(actor: WatchedActor): string {
    const { actorRef } = actor.owner;
    const parentId = parentOf(actorRef)?.sessionId;
    const head = JSON.stringify({
      type: '@xstate.actor',
      name: actor.name,
      ...(parentId === undefined ? {} : { parentId }),
      ...this.#common(actorRef, actor.startedAt),
    });
    return `${head.slice(0, -1)},"definition":${this.#definitionOf(actorRef)},"snapshot":${this.#snapshot(actor.snapshot)}}`;
  }

  event(actorRef: AnyActorRef, event: EventObject, sourceId: string | undefined, at: number): string {
    return JSON.stringify({
      type: '@xstate.event',
      event: this.#event(event),
      ...(sourceId === undefined ? {} : { sourceId }),
      ...this.#common(actorRef, at),
    });
  }

  snapshot(actorRef: AnyActorRef, snapshot: Snapshot<unknown>, event: EventObject, at: number): string {
    const head = JSON.stringify({
      type: '@xstate.snapshot',
      event: this.#event(event),
      ...this.#common(actorRef, at),
    });
    return `${head.slice(0, -1)},"snapshot":${this.#snapshot(snapshot)}}`;
  }

  #common(actorRef: AnyActorRef, at: number) {
    return {
      sessionId: actorRef.sessionId,
      rootId: rootIdOf(actorRef),
      createdAt: String(at),
      id: null,
      _version: PROTOCOL_VERSION,
    };
  }

  #event(event: EventObject): JsonValue {
    const type = String(event.type);
    const shown = this.#shown(event);
    return isFields(shown) ? { ...shown, type } : { type, value: shown };
  }

  #snapshot(snapshot: Snapshot<unknown>): string {
    const { value, context, historyValue, tags, output, error } = snapshot as MachineSnapshot;
    return JSON.stringify({
      status: snapshot.status,
      ...(value === undefined ? {} : { value: toPlain(value, showsAll) }),
      context: this.#shown(context ?? null),
      // Those of a roster would be told anew, all of them, with each that comes; `parentId` says the same.
      children: {},
      historyValue: toPlain(historyValue ?? {}, showsAll),
      tags: tags === undefined ? [] : [...tags],
      ...(output === undefined ? {} : { output: this.#shown(output) }),
      ...(error === undefined ? {} : { error: this.#shown(error) }),
    });
  }

  #shown(value: unknown): JsonValue {
    const redact = this.#redact;
    if (redact === null) return toPlain(value, isSecretKey);
    try {
      return toPlain(redact(toPlain(value, showsAll)), showsAll);
    } catch (error) {
      this.#onError(error);
      // Its message may quote what it was to hide.
      return notShown('redact has thrown');
    }
  }

  #definitionOf(actorRef: AnyActorRef): string {
    const { config } = (actorRef as unknown as { readonly logic: { readonly config?: unknown } }).logic;
    const isChart = typeof config === 'object' && config !== null && 'states' in config;
    const key = isChart ? config : actorRef.id;
    let text = this.#definitions.get(key);
    if (text === undefined) {
      text = JSON.stringify(JSON.stringify(isChart ? config : { id: actorRef.id }, namesOfFunctions));
      this.#definitions.set(key, text);
    }
    return text;
  }
}

const isFields = (value: JsonValue): value is Record<string, JsonValue> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** As `@statelyai/inspect` shows them. */
const namesOfFunctions = (_key: string, value: unknown): unknown => (typeof value === 'function' ? { type: value.name } : value);

const parentOf = (actorRef: AnyActorRef): AnyActorRef | undefined => actorRef._parent;

function rootIdOf(actorRef: AnyActorRef): string {
  let root = actorRef;
  for (let parent = parentOf(root); parent !== undefined; parent = parentOf(root)) root = parent;
  return root.sessionId;
}
