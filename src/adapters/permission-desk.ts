/**
 * Requests of a provider that wait for a person's answer.
 *
 * PDK1  Only `answer`, a cancel, or the end of the agent settles one; nothing here decides (liveness 1).
 */
import type { Frame } from '../model/agent.ts';
import { offstageError } from '../model/errors.ts';
import type { JsonValue } from '../model/json.ts';
import { toJson } from '../model/json.ts';

export interface PermissionQuestion {
  readonly generation: number;
  /** What it is about. */
  readonly title?: string | undefined;
  /** As the provider gave them. */
  readonly options: readonly unknown[];
  /** Fires when the provider no longer waits. */
  readonly signal?: AbortSignal | undefined;
}

interface Waiting {
  readonly generation: number;
  readonly options: readonly JsonValue[];
  resolve(choice: JsonValue): void;
}

export class PermissionDesk {
  readonly #tell: (frame: Frame) => void;
  readonly #waiting = new Map<string, Waiting>();
  #count = 0;

  constructor(tell: (frame: Frame) => void) {
    this.#tell = tell;
  }

  /** Resolves with the choice, or with null when the question was cancelled. */
  ask({ generation, title, options, signal }: PermissionQuestion): Promise<JsonValue> {
    if (signal?.aborted === true) return Promise.resolve(null);
    this.#count += 1;
    const requestId = `permission-${this.#count}`;
    const shown = options.flatMap(asJson);
    return new Promise((resolve) => {
      const settle = (choice: JsonValue): void => {
        this.#waiting.delete(requestId);
        signal?.removeEventListener('abort', onAbort);
        resolve(choice);
      };
      const onAbort = (): void => settle(null);
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting.set(requestId, { generation, options: shown, resolve: settle });
      const about = title === undefined ? {} : { title };
      this.#tell({ type: 'permission.request', generation, requestId, kind: 'permission', ...about, options: shown });
    });
  }

  /**
   * The options of a request that waits.
   * @throws request.not_found
   */
  optionsOf(requestId: string): readonly JsonValue[] {
    return this.#find(requestId).options;
  }

  /**
   * Null is a cancel.
   * @throws request.not_found
   */
  answer(requestId: string, choice: JsonValue): void {
    this.#find(requestId).resolve(choice);
  }

  /** Cancels those of one generation, or all. */
  cancel(generation?: number): void {
    for (const waiting of [...this.#waiting.values()]) {
      if (generation === undefined || waiting.generation === generation) waiting.resolve(null);
    }
  }

  #find(requestId: string): Waiting {
    const waiting = this.#waiting.get(requestId);
    if (waiting === undefined) throw offstageError('request.not_found', { requestId });
    return waiting;
  }
}

function asJson(value: unknown): JsonValue[] {
  try {
    return [toJson(value)];
  } catch {
    return [];
  }
}
