/**
 * What callers have asked for and were not told yet, for the day the engine closes.
 *
 * OCA1  Once the engine has closed, every one of them has an answer: `engine.closing`, where the store never gave another (G14, G16).
 */
import type { OffstageError } from '../model/errors.ts';

export class OpenCalls {
  readonly #refusals = new Set<(error: OffstageError) => void>();

  /** What the verb comes to, unless all are refused before. */
  answer<T>(verb: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const answer = verb();
      this.#refusals.add(reject);
      answer.then(
        (value) => {
          this.#refusals.delete(reject);
          resolve(value);
        },
        (error) => {
          this.#refusals.delete(reject);
          reject(error);
        },
      );
    });
  }

  refuseAll(error: OffstageError): void {
    for (const refuse of this.#refusals) refuse(error);
    this.#refusals.clear();
  }
}
