/**
 * A copy of any value that can be shown: plain JSON, of bounded size, without what looks secret.
 *
 * IPL1  Never throws: a getter, proxy or `toJSON` that does is replaced by a note that says so, and what is around it is shown.
 * IPL2  Its size is bounded whatever the value: long texts, long lists and deep trees are cut, and say so.
 * IPL3  The copy shares nothing with the value.
 */
import type { JsonValue } from '../../model/json.ts';

const MOST_CHARACTERS = 2_000;
const MOST_ITEMS = 200;
const MOST_VALUES = 4_000;
const DEEPEST = 12;

export const REDACTED = '[redacted]';

const SECRET_KEY =
  /token|secret|passw|passphrase|authorization|cookie|credential|bearer|jwt|(?:api|access|private|signing)[-_ ]?key|^(?:env|environment|pwd)$/i;

/** Whether a value under this key is withheld by default. */
export const isSecretKey = (key: string): boolean => SECRET_KEY.test(key);

/** A value that `JSON.stringify` takes as it is. */
export const toPlain = (value: unknown, isSecret: (key: string) => boolean): JsonValue => new Copier(isSecret).copy(value, 0);

export const clippedText = (text: string, most = MOST_CHARACTERS): string =>
  text.length <= most ? text : `${text.slice(0, most)} [… ${text.length - most} more characters]`;

class Copier {
  readonly #isSecret: (key: string) => boolean;
  /** What the value lies in, outermost first. */
  readonly #path: object[] = [];
  #left = MOST_VALUES;

  constructor(isSecret: (key: string) => boolean) {
    this.#isSecret = isSecret;
  }

  copy(value: unknown, depth: number): JsonValue {
    this.#left -= 1;
    switch (typeof value) {
      case 'string':
        return clippedText(value);
      case 'number':
        return Number.isFinite(value) ? value : String(value);
      case 'boolean':
        return value;
      case 'bigint':
        return `${clippedText(String(value), 100)}n`;
      case 'object':
        return value === null ? null : this.#object(value, depth);
      default:
        return `[${typeof value}]`;
    }
  }

  #object(value: object, depth: number): JsonValue {
    if (this.#path.includes(value)) return '[circular]';
    if (depth >= DEEPEST) return '[deeper than is shown]';
    this.#path.push(value);
    try {
      return this.#members(value, depth + 1);
    } catch (error) {
      return notShown(error);
    } finally {
      this.#path.pop();
    }
  }

  #members(value: object, depth: number): JsonValue {
    if (Array.isArray(value)) return this.#list(value, depth);
    const { toJSON } = value as { readonly toJSON?: unknown };
    if (typeof toJSON === 'function') return this.copy(toJSON.call(value), depth);
    if (value instanceof Error) return this.#named({ name: value.name, message: value.message }, depth);
    if (value instanceof Map) return `[map of ${value.size}]`;
    if (value instanceof Set) return this.#list([...value], depth);
    if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
    return this.#named(value, depth);
  }

  #list(list: readonly unknown[], depth: number): JsonValue {
    const items: JsonValue[] = [];
    for (const item of list) {
      if (items.length >= MOST_ITEMS || this.#left <= 0) {
        items.push(`[… ${list.length - items.length} more items]`);
        break;
      }
      items.push(this.copy(item, depth));
    }
    return items;
  }

  #named(value: object, depth: number): JsonValue {
    const keys = Object.keys(value);
    const entries: [string, JsonValue][] = [];
    for (const key of keys) {
      if (entries.length >= MOST_ITEMS || this.#left <= 0) {
        entries.push(['…', `[${keys.length - entries.length} more fields]`]);
        break;
      }
      const member = this.#member(value, key, depth);
      if (member !== undefined) entries.push([clippedText(key, 200), member]);
    }
    return Object.fromEntries(entries);
  }

  /** Undefined where JSON would leave it out. */
  #member(value: object, key: string, depth: number): JsonValue | undefined {
    try {
      const member = (value as Record<string, unknown>)[key];
      if (member === undefined || typeof member === 'function') return undefined;
      return member !== null && this.#isSecret(key) ? REDACTED : this.copy(member, depth);
    } catch (error) {
      return notShown(error);
    }
  }
}

/** What stands where something could not be shown. */
export function notShown(error: unknown): string {
  try {
    return `[not shown: ${clippedText(error instanceof Error ? error.message : String(error), 200)}]`;
  } catch {
    return '[not shown]';
  }
}
