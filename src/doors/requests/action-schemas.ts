/**
 * Every action, declared once: what it is for, who may ask for it, its fields, its answer (spec 12, 13).
 *
 * ASC1  This drives access, audit, the types of REST queries and the OpenAPI document. What is not declared here does not exist.
 * ASC2  `RequestFields` stays the one that validates; a test holds both together, field by field.
 */

import type { WireFields } from '../wire/rename.ts';
import { JOB_SCHEMAS } from './action-schemas-jobs.ts';
import { ROW_SCHEMAS } from './action-schemas-rows.ts';
import { SESSION_SCHEMAS } from './action-schemas-sessions.ts';
import { orNull, type Schema } from './schema-words.ts';

export interface ActionSchema {
  readonly summary: string;
  /** What a token must allow. Whatever changes something needs `operate`, and is told to the audit. */
  readonly scope: 'observe' | 'operate';
  /** Whether the token of a session may ask for it, for what that session reaches. */
  readonly isForSessions: boolean;
  readonly fields: Readonly<Record<string, Schema>>;
  /** Names of fields that must be there. */
  readonly required: readonly string[];
  /** Rules beyond single fields. */
  readonly rules?: Schema;
  readonly answer: Schema;
  readonly example: WireFields;
}

export const ACTION_SCHEMAS = {
  ...JOB_SCHEMAS,
  ...SESSION_SCHEMAS,
  ...ROW_SCHEMAS,
} as const satisfies Readonly<Record<string, ActionSchema>>;

export type ActionName = keyof typeof ACTION_SCHEMAS;

/** Null for whatever is no action. */
export const schemaOf = (action: unknown): ActionSchema | null =>
  typeof action === 'string' && Object.hasOwn(ACTION_SCHEMAS, action) ? ACTION_SCHEMAS[action as ActionName] : null;

/** The fields of a request as one JSON Schema. @param omitted fields that this transport has another place for */
export function requestSchema(action: ActionSchema, omitted: readonly string[] = []): Schema {
  const names = Object.keys(action.fields).filter((name) => !omitted.includes(name));
  const required = action.required.filter((name) => !omitted.includes(name));
  return {
    type: 'object',
    properties: Object.fromEntries(
      names.map((name) => {
        const schema = action.fields[name] as Schema;
        return [name, required.includes(name) ? schema : orNull(schema)];
      }),
    ),
    required,
    additionalProperties: false,
    ...action.rules,
  };
}
