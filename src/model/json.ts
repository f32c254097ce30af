/**
 * JSON as Offstage stores it: what JSON holds exactly, and nothing that it would lose in silence.
 *
 * JSON1  `toJson` returns a private, frozen copy; nobody's later changes reach a record.
 * JSON2  A value that JSON would drop or change (functions, symbols, bigint, NaN, Map, Set, Error, cycles) is refused, never mangled.
 * JSON3  `canonicalJson` gives equal text for equal values, whatever the order of their keys.
 */

/** What JSON holds exactly. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** Why a value is not JSON, with the path to the offending part. */
export class NotJsonError extends TypeError {
  readonly path: string;
  constructor(path: string, what: string) {
    super(`${what} at ${path === '' ? 'the top' : path} cannot be stored as JSON`);
    this.name = 'NotJsonError';
    this.path = path;
  }
}

const MAX_DEPTH = 256;

/**
 * A deep copy of `value` that JSON holds exactly. Properties that are `undefined` are left out, `toJSON` is honoured, `-0` becomes 0.
 * @throws NotJsonError, or whatever a getter or `toJSON` throws
 */
export function toJson(value: unknown): JsonValue {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  return copy(value, '', new Set(), 0);
}

function copy(value: unknown, path: string, above: Set<object>, depth: number): JsonValue {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      if (!Number.isFinite(value)) throw new NotJsonError(path, String(value));
      return value === 0 ? 0 : value;
    case 'object':
      break;
    default:
      throw new NotJsonError(path, value === undefined ? 'undefined' : `a ${typeof value}`);
  }
  if (value === null) return null;
  if (above.has(value)) throw new NotJsonError(path, 'a circular reference');
  if (depth >= MAX_DEPTH) throw new NotJsonError(path, `nesting deeper than ${MAX_DEPTH}`);
  const custom = (value as { toJSON?: unknown }).toJSON;
  above.add(value);
  try {
    if (typeof custom === 'function') {
      const replaced: unknown = custom.call(value, '');
      return copy(replaced, path, above, depth + 1);
    }
    if (Array.isArray(value)) return Object.freeze(value.map((item, index) => copy(item, `${path}[${index}]`, above, depth + 1)));
    const tag = Object.prototype.toString.call(value);
    if (tag !== '[object Object]') throw new NotJsonError(path, `a ${tag.slice(8, -1)}`);
    if (value instanceof Map || value instanceof Set || value instanceof Error || value instanceof Promise) {
      throw new NotJsonError(path, `a ${value.constructor.name}`);
    }
    const result: Record<string, JsonValue> = {};
    for (const key of Object.keys(value)) {
      const part = (value as Record<string, unknown>)[key];
      if (part === undefined) continue;
      const copied = copy(part, path === '' ? key : `${path}.${key}`, above, depth + 1);
      if (key === '__proto__')
        Object.defineProperty(result, key, { value: copied, enumerable: true, configurable: true, writable: true });
      else result[key] = copied;
    }
    return Object.freeze(result);
  } finally {
    above.delete(value);
  }
}

/** JSON text with sorted keys. */
export function canonicalJson(value: JsonValue): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((item: JsonValue) => canonicalJson(item)).join(',')}]`;
  const object = value as { readonly [key: string]: JsonValue };
  const parts = Object.keys(object)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(object[key] as JsonValue)}`);
  return `{${parts.join(',')}}`;
}
