/**
 * What makes two spawns the same request (spec 2, idempotent spawn).
 *
 * HSH1  The hash covers kind, sessions, parent, agent, context mode, subject, description, wait, time limits and the input, and nothing else.
 */
import { hash } from 'node:crypto';
import { canonicalJson } from '../model/json.ts';
import type { JobBase } from './job-codec.ts';

/** In this order; another one would be another hash. The input comes last, by itself. */
const FIELDS = [
  'kind',
  'sessionId',
  'callerSessionId',
  'parentJobId',
  'agentId',
  'contextMode',
  'subject',
  'description',
  'wait',
  'timeoutMs',
  'idleTimeoutMs',
] as const satisfies readonly (keyof JobBase)[];

export type JobContent = Pick<JobBase, (typeof FIELDS)[number] | 'input'>;

/** SHA-256, base64url. */
export function contentHash(content: JobContent): string {
  const fields = FIELDS.map((name) => content[name]);
  return hash('sha256', `${JSON.stringify(fields)}${canonicalJson(content.input)}`, 'base64url');
}
