/** Names of fields, there and back: what the tables of the wire are applied with. */
import type { JsonValue } from '../../model/json.ts';

export type WireFields = { readonly [name: string]: JsonValue };

export type Names<Ours> = Readonly<Record<keyof Ours, string>>;
export type KeysOfUnion<Union> = Union extends unknown ? keyof Union : never;

/** What is not there stays away: null is known absence, a missing name is unknown. */
export function rename(value: object, names: Readonly<Record<string, string>>): Record<string, JsonValue> {
  const renamed: Record<string, JsonValue> = {};
  for (const [ours, theirs] of Object.entries(names)) {
    const part = (value as Record<string, JsonValue | undefined>)[ours];
    if (part !== undefined) renamed[theirs] = part;
  }
  return renamed;
}

const inverted = new Map<object, Readonly<Record<string, string>>>();

export function renameBack(value: WireFields, names: Readonly<Record<string, string>>): Record<string, JsonValue> {
  let back = inverted.get(names);
  if (back === undefined) {
    back = Object.fromEntries(Object.entries(names).map(([ours, theirs]) => [theirs, ours]));
    inverted.set(names, back);
  }
  return rename(value, back);
}
