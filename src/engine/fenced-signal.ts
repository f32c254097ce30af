/**
 * An AbortSignal whose listeners may throw: Node reports a throwing listener as an uncaught exception of the whole process (G16).
 *
 * SIG1  A throwing or rejecting listener goes to `report`; the others are called all the same.
 */

type Listener = (event: Event) => unknown;

export function fencedController(report: (error: unknown) => void): AbortController {
  const controller = new AbortController();
  const { signal } = controller;
  const add = signal.addEventListener.bind(signal) as (type: string, listener: unknown, options?: unknown) => void;
  const remove = signal.removeEventListener.bind(signal) as (type: string, listener: unknown, options?: unknown) => void;
  const wrapped = new WeakMap<object, Listener>();
  const fence = (listener: unknown): unknown => {
    if ((typeof listener !== 'function' && typeof listener !== 'object') || listener === null) return listener;
    let known = wrapped.get(listener);
    if (known === undefined) {
      known = (event) => {
        try {
          const answer: unknown =
            typeof listener === 'function'
              ? listener.call(signal, event)
              : (listener as { handleEvent(event: Event): unknown }).handleEvent(event);
          if (answer instanceof Promise) answer.catch(report);
        } catch (error) {
          report(error);
        }
      };
      wrapped.set(listener, known);
    }
    return known;
  };
  let onabort: Listener | null = null;
  Object.defineProperties(signal, {
    addEventListener: { value: (type: string, listener: unknown, options?: unknown) => add(type, fence(listener), options) },
    removeEventListener: {
      value: (type: string, listener: unknown, options?: unknown) => remove(type, fence(listener), options),
    },
    onabort: {
      get: () => onabort,
      set: (listener: Listener | null) => {
        if (onabort !== null) remove('abort', fence(onabort));
        onabort = listener;
        if (listener !== null) add('abort', fence(listener));
      },
    },
  });
  return controller;
}
