/**
 * Who asks, as far as access and audit need to know it (spec 12).
 *
 * CID1  It never holds a token, so nothing that is told of a caller can give one away (B74).
 */
import { LIMITS } from '../../model/limits.ts';

/** What a token allows: to look, to do everything, or what one session may reach. */
export type Scope = 'observe' | 'operate' | `session:${string}`;

export interface CallerIdentity {
  readonly scope: Scope;
  /** Which credential it came with, for people who read the audit. */
  readonly name: string;
  /** Address of the other side; null for this machine's own socket. */
  readonly remote: string | null;
}

/** Whoever can open the control socket owns the folder. */
export const CONTROL_CALLER: CallerIdentity = { scope: 'operate', name: 'control', remote: null };

/** The program that holds the engine. */
export const LOCAL_CALLER: CallerIdentity = { scope: 'operate', name: 'local', remote: null };

const SESSION = 'session:';

/** The scope that a text names; null when it names none. */
export function scopeFrom(text: unknown): Scope | null {
  if (text === 'observe' || text === 'operate') return text;
  if (typeof text !== 'string' || !text.startsWith(SESSION)) return null;
  const sessionId = text.slice(SESSION.length);
  const isId = sessionId !== '' && Buffer.byteLength(sessionId) <= LIMITS.idBytes && sessionId.isWellFormed();
  return isId ? (text as Scope) : null;
}

/** The session that a scope is narrowed to; null for the others. */
export const sessionOfScope = (scope: Scope): string | null => (scope.startsWith(SESSION) ? scope.slice(SESSION.length) : null);
