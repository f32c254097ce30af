/**
 * Copies of data that belongs to somebody else.
 *
 * PCO1  Plain objects and arrays are copied, at any depth; everything else (class instances, functions, buffers) is the same in the copy.
 * PCO2  Nothing is refused: what cannot be copied (a getter that throws, nesting without end) is handed on as it is.
 */

/** A copy for keeping: nobody can change it. */
export const frozenCopy = <Value>(value: Value): Value => copyOf(value, Object.freeze);

/** A copy for somebody who may change it. */
export const looseCopy = <Value>(value: Value): Value => copyOf(value, (made) => made);

type Finish = (made: object) => object;

function copyOf<Value>(value: Value, finish: Finish): Value {
  try {
    return copy(value, finish, new Map()) as Value;
  } catch {
    return value;
  }
}

function copy(value: unknown, finish: Finish, known: Map<object, object>): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const before = known.get(value);
  if (before !== undefined) return before;
  const made: object | null = Array.isArray(value) ? [] : isPlain(value) ? {} : null;
  if (made === null) return value;
  known.set(value, made);
  for (const key of Object.keys(value)) {
    const part = copy((value as Record<string, unknown>)[key], finish, known);
    // Not by assignment: `__proto__` is data like any other.
    Object.defineProperty(made, key, { value: part, enumerable: true, configurable: true, writable: true });
  }
  return finish(made);
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
