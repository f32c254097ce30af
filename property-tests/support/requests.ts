/** Requests as any door takes them: of every action, with fields that it declares, spoilt in a few places. */
import fc from 'fast-check';
import { ACTION_SCHEMAS, type ActionName, type ActionSchema } from '../../src/doors/requests/action-schemas.ts';
import type { Schema } from '../../src/doors/requests/schema-words.ts';
import { mutatedJson } from './mutated.ts';

const NAMES = Object.keys(ACTION_SCHEMAS) as ActionName[];
export const declared = (name: ActionName): ActionSchema => ACTION_SCHEMAS[name];

/** Few enough to meet each other; nothing else in the tests has one of these. */
const IDS = ['j1', 'j2', 's1', 's2', 't1', 'default', 'card_j1', '__proto__', 'a/b', '…'];

function valuesFor(schema: Schema): fc.Arbitrary<unknown> {
  const { type, enum: choices, anyOf } = schema;
  if (anyOf !== undefined) return fc.oneof(...(anyOf as readonly Schema[]).map(valuesFor));
  if (choices !== undefined) return fc.constantFrom(...(choices as readonly unknown[]));
  const types = [type ?? 'any'].flat();
  if (types.includes('boolean')) return fc.boolean();
  if (types.includes('integer')) return fc.constantFrom(0, 1, 7, 1_000);
  // Nobody waits long.
  if (types.includes('number')) return fc.constantFrom(0, 1, 0.5, 5_000);
  if (types.includes('array')) return fc.array(valuesFor((schema.items ?? {}) as Schema), { maxLength: 3 });
  if (types.includes('string')) return fc.constantFrom(...IDS);
  return fc.constantFrom<unknown>('hello', { a: [1, 2] }, 5, null, 'x'.repeat(3_000));
}

/** The fields of a request that its schema would take, or nearly. */
export const fieldsOf = (name: ActionName): fc.Arbitrary<object> => {
  const { fields, example, required } = declared(name);
  const chosen = Object.fromEntries(Object.entries(fields).map(([field, schema]) => [field, valuesFor(schema)]));
  return fc.oneof(
    fc.constant<object>(example),
    fc.record(chosen, { requiredKeys: [...required], noNullPrototype: true }).map((given): object => ({ ...example, ...given })),
    fc.record(chosen, { requiredKeys: [...required], noNullPrototype: true }),
  );
};

/** A name, and fields for it. */
export const namedFields = fc.constantFrom(...NAMES).chain((name) => fieldsOf(name).map((fields) => ({ name, fields })));

/** The text of a request, as a client would send it to a socket. */
export const requestText: fc.Arbitrary<string> = mutatedJson(
  namedFields.map(({ name, fields }) => ({ action: name, request_id: 7, ...fields })),
);
