/**
 * What foreign callbacks answer, where nobody waits for it: a rejection that nobody hears of ends the whole process (G16).
 */

/**
 * Tells `onError` if what was answered comes to nothing: a promise that rejects, also one of another realm, or any other thenable.
 * Whatever is no such thing is left alone. Never throws; `onError` must not throw.
 */
export function settleQuietly(answer: unknown, onError: (error: unknown) => void): void {
  // Most observers answer nothing, and are called for every event.
  if ((typeof answer !== 'object' && typeof answer !== 'function') || answer === null) return;
  // A `then` that throws when it is looked at, or called, is a rejection to this promise.
  new Promise((resolve) => resolve(answer)).catch(onError);
}
