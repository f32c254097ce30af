/**
 * Tokens of the server (spec 12): the folder's own, and those that are made from it.
 *
 * TOK1  Issued tokens and cookies are stateless: scope and id, signed with a key that is derived from the folder's token. They survive a
 *       restart of the server, and end with the folder's token.
 * TOK2  Whatever is compared is compared in constant time.
 * TOK3  A token is made of letters that may stand in a header, a URL and the name of a WebSocket subprotocol.
 */
import { createHash, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import { offstageError } from '../../model/errors.ts';
import { type Scope, scopeFrom } from '../requests/caller-identity.ts';

/** What a credential says of who carries it. */
export interface Identity {
  readonly scope: Scope;
  /** For people: which token it was. */
  readonly name: string;
}

type Kind = 'token' | 'cookie';

const VERSION = 'o1';
const SECRET_BYTES = 32;
const ID_BYTES = 6;
/** Shorter ones could be guessed. */
const SHORTEST = 16;
const LONGEST = 1_024;

export const newSecret = (): string => randomBytes(SECRET_BYTES).toString('base64url');

/** TOK3. */
export const isToken = (value: unknown): value is string =>
  typeof value === 'string' && value.length >= SHORTEST && value.length <= LONGEST && /^[\w.-]+$/.test(value);

export class Tokens {
  readonly #master: string;
  readonly #key: Buffer;

  /** @param master the folder's token: it may do everything */
  constructor(master: string) {
    this.#master = master;
    this.#key = Buffer.from(hkdfSync('sha256', master, 'offstage', 'signatures of tokens, version 1', 32));
  }

  /** @throws OffstageError `input.invalid` */
  issue(scope: unknown, kind: Kind = 'token'): string {
    const checked = scopeFrom(scope);
    if (checked === null) {
      throw offstageError('input.invalid', { argument: 'scope', message: 'it must be observe, operate or session:<id>' });
    }
    const body = [VERSION, kind, Buffer.from(checked).toString('base64url'), randomBytes(ID_BYTES).toString('base64url')].join(
      '.',
    );
    return `${body}.${this.#sign(body)}`;
  }

  /** Null: it is none of ours. */
  identify(credential: string, kind: Kind = 'token'): Identity | null {
    if (kind === 'token' && isSame(credential, this.#master)) return { scope: 'operate', name: 'folder' };
    const at = credential.lastIndexOf('.');
    if (at === -1) return null;
    const body = credential.slice(0, at);
    if (!isSame(credential.slice(at + 1), this.#sign(body))) return null;
    const [version, ofKind, encoded, id] = body.split('.');
    const scope = scopeFrom(Buffer.from(encoded ?? '', 'base64url').toString());
    return version === VERSION && ofKind === kind && scope !== null ? { scope, name: `${kind}:${id}` } : null;
  }

  #sign(body: string): string {
    return createHmac('sha256', this.#key).update(body).digest('base64url');
  }
}

/** TOK2. The length is no secret once both are hashed. */
function isSame(given: string, expected: string): boolean {
  const hash = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(hash(given), hash(expected));
}
