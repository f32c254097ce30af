/**
 * An AbortSignal whose listeners may throw: Node reports a throwing listener as an uncaught exception of the whole process (G16).
 *
 * SIG1  A throwing or rejecting listener goes to `report`; the others are called all the same.
 * SIG2  What makes it so is shared by all of them: there is one per running prompt, agent and body.
 */
import { settleQuietly } from '../model/settle-quietly.ts';

type Listener = (this: AbortSignal, event: Event) => unknown;
type Report = (error: unknown) => void;

interface Fence {
  readonly report: Report;
  onabort: Listener | null;
}

const fences = new WeakMap<EventTarget, Fence>();
/** Wrapped once, so that a listener can be taken away, and is not there twice. */
const wrapped = new WeakMap<object, Listener>();

function fenced(listener: unknown): unknown {
  if ((typeof listener !== 'function' && typeof listener !== 'object') || listener === null) return listener;
  let known = wrapped.get(listener);
  if (known === undefined) {
    known = function (this: AbortSignal, event) {
      const report: Report = (error) => fences.get(this)?.report(error);
      try {
        const answer: unknown =
          typeof listener === 'function'
            ? listener.call(this, event)
            : (listener as { handleEvent(event: Event): unknown }).handleEvent(event);
        settleQuietly(answer, report);
      } catch (error) {
        report(error);
      }
    };
    wrapped.set(listener, known);
  }
  return known;
}

const add = AbortSignal.prototype.addEventListener as (type: string, listener: unknown, options?: unknown) => void;
const remove = AbortSignal.prototype.removeEventListener as (type: string, listener: unknown, options?: unknown) => void;

const FENCED = Object.create(AbortSignal.prototype, {
  addEventListener: {
    value(this: AbortSignal, type: string, listener: unknown, options?: unknown): void {
      add.call(this, type, fenced(listener), options);
    },
  },
  removeEventListener: {
    value(this: AbortSignal, type: string, listener: unknown, options?: unknown): void {
      remove.call(this, type, fenced(listener), options);
    },
  },
  onabort: {
    get(this: AbortSignal): Listener | null {
      return fences.get(this)?.onabort ?? null;
    },
    set(this: AbortSignal, listener: Listener | null): void {
      const fence = fences.get(this);
      if (fence === undefined) return;
      if (fence.onabort !== null) remove.call(this, 'abort', fenced(fence.onabort));
      fence.onabort = listener;
      if (listener !== null) add.call(this, 'abort', fenced(listener));
    },
  },
}) as AbortSignal;

export function fencedController(report: Report): AbortController {
  const controller = new AbortController();
  const { signal } = controller;
  fences.set(signal, { report, onabort: null });
  Object.setPrototypeOf(signal, FENCED);
  return controller;
}
