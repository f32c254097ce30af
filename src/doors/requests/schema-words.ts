/** Words in which the fields of actions are declared: JSON Schema, 2020-12. */
import type { JsonValue } from '../../model/json.ts';
import { LIMITS } from '../../model/limits.ts';
import { JOB_STATUSES } from '../../model/records.ts';

export type Schema = { readonly [keyword: string]: JsonValue };

export const text = (description: string): Schema => ({ type: 'string', description });
export const flag = (description: string): Schema => ({ type: 'boolean', description });
export const anything = (description: string): Schema => ({ description });
export const oneOf = (choices: readonly string[], description: string): Schema => ({
  type: 'string',
  enum: [...choices],
  description,
});
export const texts = (description: string): Schema => ({ type: 'array', items: { type: 'string' }, description });
export const integer = (minimum: number, description: string): Schema => ({ type: 'integer', minimum, description });
export const milliseconds = (description: string): Schema => ({ type: 'number', minimum: 0, description });

/** An id of 1 to 512 bytes; the bytes are counted where it is read. */
export const id = (description: string): Schema => ({ type: 'string', minLength: 1, maxLength: LIMITS.idBytes, description });

export const limit: Schema = {
  type: 'integer',
  minimum: 1,
  maximum: LIMITS.listMaximum,
  description: `How many at most; ${LIMITS.listDefault} when absent.`,
};
export const before = (what: string): Schema => id(`${what} of the last row seen: only what was created before it.`);

const status: Schema = { type: 'string', enum: [...JOB_STATUSES] };
export const statusFilter: Schema = {
  anyOf: [status, { type: 'array', items: status }],
  description: 'Only jobs of this status, or of one of these.',
};

/** Null is the same as absent, for every field that may be absent. */
export function orNull(schema: Schema): Schema {
  const { type, enum: choices, anyOf } = schema;
  return {
    ...schema,
    ...(type === undefined ? {} : { type: [...new Set([type, 'null'].flat())] as JsonValue }),
    ...(choices === undefined ? {} : { enum: [...(choices as readonly JsonValue[]), null] }),
    ...(anyOf === undefined ? {} : { anyOf: [...(anyOf as readonly JsonValue[]), { type: 'null' }] }),
  };
}

/** Of answers: what is always there. */
export const object = (properties: Readonly<Record<string, Schema>>, description?: string): Schema => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  ...(description === undefined ? {} : { description }),
});

/** What is always there, and what may be. */
export const withOptional = (always: Readonly<Record<string, Schema>>, more: Readonly<Record<string, Schema>>): Schema => ({
  type: 'object',
  properties: { ...always, ...more },
  required: Object.keys(always),
});

export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
export const listOf = (items: Schema): Schema => ({ type: 'array', items });
export const nullable = (schema: Schema): Schema => ({ anyOf: [schema, { type: 'null' }] });

/** On every answer about what has to be stored. */
export const durable: Schema = {
  type: 'boolean',
  description: 'There, and false, while the store refuses: acted upon, not stored yet.',
};
