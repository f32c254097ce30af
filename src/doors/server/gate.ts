/**
 * Who gets in: the checks that every request passes, over HTTP and WebSocket alike (spec 12).
 *
 * GAT1  Host and Origin first, then the credential, then the rate: what a page of elsewhere sends learns nothing, not even whether a token is good.
 * GAT2  Attempts without a good token are slowed down by the address they come from; a good token is not slowed down by the attempts of others.
 */
import type { IncomingMessage } from 'node:http';
import { offstageError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import type { CallerIdentity } from '../requests/caller-identity.ts';
import { identify } from './credentials.ts';
import { OneTimeCodes } from './one-time-codes.ts';
import { checkOrigin, type OriginRules } from './origin-check.ts';
import { RateLimit } from './rate-limit.ts';
import type { Identity, Tokens } from './tokens.ts';

export class Gate {
  readonly tokens: Tokens;
  readonly codes = new OneTimeCodes();
  readonly rules: OriginRules;
  readonly #requests = new RateLimit(LIMITS.requestBurst, LIMITS.requestsPerSecond);
  readonly #refusals = new RateLimit(LIMITS.refusalBurst, LIMITS.refusalsPerSecond);
  #cookieName = '';

  constructor(tokens: Tokens, rules: OriginRules) {
    this.tokens = tokens;
    this.rules = rules;
  }

  /** Cookies are shared by all ports of a host: each server has a name of its own. */
  set port(port: number) {
    this.#cookieName = `offstage_${port}`;
  }

  /** GAT1. @throws OffstageError `access.refused` */
  checkOrigin(request: IncomingMessage, rules: OriginRules = this.rules): void {
    checkOrigin(request, rules);
  }

  /** @param inUrl a token from the URL, where one may stand there. @throws OffstageError `access.unauthorized`, `limit.rate` */
  authenticate(request: IncomingMessage, inUrl: string | null = null): CallerIdentity {
    const identity =
      inUrl === null ? identify(request, this.tokens, { cookieName: this.#cookieName }) : this.tokens.identify(inUrl);
    if (identity === null) throw this.refusal(request, 'there is none, or it is not good any more');
    return { ...identity, remote: remoteOf(request) };
  }

  /** GAT2. The error to answer. */
  refusal(request: IncomingMessage, message: string) {
    const retryAfterMs = this.#refusals.take(remoteOf(request) ?? '');
    return retryAfterMs === null
      ? offstageError('access.unauthorized', { message })
      : offstageError('limit.rate', { retryAfterMs });
  }

  /** Null: go on. */
  rate({ name, remote }: CallerIdentity) {
    // The folder's token is in many hands: each address counts for itself.
    const retryAfterMs = this.#requests.take(`${name} ${remote}`);
    return retryAfterMs === null ? null : offstageError('limit.rate', { retryAfterMs });
  }

  /** Lets a browser in, for whom a header is too much to ask. */
  cookieFor({ scope }: Pick<Identity, 'scope'>): string {
    return `${this.#cookieName}=${this.tokens.issue(scope, 'cookie')}; HttpOnly; SameSite=Strict; Path=/`;
  }
}

const remoteOf = (request: IncomingMessage): string | null => request.socket.remoteAddress ?? null;
