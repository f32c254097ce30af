/**
 * What a job of a kind made by `threadExecutor()` without a module is given, and how it is checked at spawn.
 */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { JsonValue } from '../model/json.ts';

/** The input of a kind that is not bound to one module. */
export interface ThreadInput {
  /** A path (relative ones from the working directory) or a file: URL of an ES or CommonJS module. */
  readonly module: string;
  /** The exported function to call, as `(data, context)`; default `default`. */
  readonly export?: string;
  /** Its first argument; default null. */
  readonly data?: JsonValue;
}

/** A file: URL; null when the text is neither a path nor one. */
export function moduleUrl(module: string | URL): string | null {
  const text = String(module);
  if (text.startsWith('file:')) return URL.canParse(text) ? text : null;
  if (text === '' || text.includes('\0') || /^[a-z][a-z0-9+.-]+:/i.test(text)) return null;
  return pathToFileURL(resolve(text)).href;
}

/** Checks the input at spawn; whether module and export exist is found out in the thread. */
export const threadInput: StandardSchemaV1<unknown, ThreadInput> = {
  '~standard': {
    version: 1,
    vendor: 'offstage',
    validate(value) {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) {
        return { issues: [{ message: 'must be an object with a module' }] };
      }
      const issues: StandardSchemaV1.Issue[] = [];
      const { module, export: exportName, ...rest } = value as Record<string, unknown>;
      if (typeof module !== 'string' || moduleUrl(module) === null) {
        issues.push({ message: 'must be a path or a file: URL', path: ['module'] });
      }
      if (exportName !== undefined && (typeof exportName !== 'string' || exportName === '')) {
        issues.push({ message: 'must be a non-empty string', path: ['export'] });
      }
      for (const key of Object.keys(rest)) {
        if (key !== 'data') issues.push({ message: 'is unknown; known are module, export, data', path: [key] });
      }
      return issues.length > 0 ? { issues } : { value: value as ThreadInput };
    },
  },
};
