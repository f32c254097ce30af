/**
 * Keeps a connection to a server: makes it, watches it, makes it anew.
 *
 * RCN1  One socket at a time; nothing that an earlier one still sends is heard.
 * RCN2  A connection that is lost is tried again after 250 ms to 10 s, twice as long each time and never exactly, so that not all come at once;
 *       at once when the machine says that it is online. The pause is short again once a connection has held.
 * RCN3  A token that is no good is not tried again.
 * RCN4  A server that is silent for 25 s counts as lost: it sends a heartbeat every 10 s.
 * RCN5  A request that comes while a connection is being made waits for it; one that comes while none is, rejects at once. None is repeated.
 * RCN6  After `close` nothing is left: no socket, no timer, no promise.
 */
import type { StopTimer } from '../../model/clock.ts';
import { OffstageError } from '../../model/offstage-error.ts';
import type { ClientClock } from './client-clock.ts';
import { lostError } from './client-errors.ts';
import type { Connection } from './live-state.ts';
import { POLICY_CLOSE, type WebSocketLike, webSocketWire } from './web-socket-wire.ts';
import type { WireConnection } from './wire-connection.ts';

const SHORTEST_MS = 250;
const LONGEST_MS = 10_000;
/** A connection that has held so long was a good one. */
const HOLDS_MS = 5_000;
const SILENCE_MS = 25_000;

export interface ReconnectorOptions {
  /** Of the server, for people. */
  readonly url: string;
  readonly clock: ClientClock;
  /** 0 to 1. */
  readonly random: () => number;
  /** @throws OffstageError where there is no way to make one */
  readonly openSocket: () => Promise<WebSocketLike>;
  /** Asks the server why: an error when it refuses the token, null when it does not, or does not answer. */
  readonly whyRefused: () => Promise<OffstageError | null>;
  /** Calls back when the machine is online again. */
  readonly onOnline: (callback: () => void) => () => void;
  /** A connection is there. It is `open` once somebody calls `confirm`. */
  readonly onConnection: (connection: WireConnection) => void;
  readonly onChange: (change: Partial<Connection>) => void;
  /** There will be none any more. */
  readonly onEnd: (error: OffstageError) => void;
}

/** A connection that is being made, or stands. */
class Attempt {
  readonly opened: Promise<WireConnection>;
  settle: (connection: WireConnection) => void = nothing;
  fail: (error: OffstageError) => void = nothing;
  /** Null until there is a socket. */
  connection: WireConnection | null = null;
  hasOpened = false;
  stopWatch: StopTimer = nothing;
  stopHolding: StopTimer = nothing;

  constructor() {
    this.opened = new Promise((resolve, reject) => {
      this.settle = resolve;
      this.fail = reject;
    });
    // Perhaps nobody waits for it.
    this.opened.catch(nothing);
  }
}

function nothing(): void {}

export class Reconnector {
  readonly #options: ReconnectorOptions;
  readonly #stopListening: () => void;
  /** Null while none is being made. */
  #current: Attempt | null = null;
  /** Why there is none. */
  #error: OffstageError;
  #failures = 0;
  #stopRetry: StopTimer = nothing;
  #hasEnded = false;

  constructor(options: ReconnectorOptions) {
    this.#options = options;
    this.#error = lostError(options.url, 'it was not made yet');
    this.#stopListening = options.onOnline(() => {
      if (this.#current === null && !this.#hasEnded) this.#start();
    });
    this.#start();
  }

  /** RCN5. */
  connection(): Promise<WireConnection> {
    return this.#current?.opened ?? Promise.reject(this.#error);
  }

  /** What the connection is there for has begun: it is `open`. */
  confirm(): void {
    const { clock, onChange } = this.#options;
    const attempt = this.#current;
    if (attempt === null) return;
    attempt.stopHolding();
    attempt.stopHolding = clock.schedule(HOLDS_MS, () => this.#hold(), { background: true });
    onChange({ status: 'open', since: clock.now(), error: null, retryAt: null });
  }

  close(): void {
    this.#endForGood(lostError(this.#options.url, 'the client was closed'), 'lost');
  }

  /** RCN3: the server has said so. */
  refuse(error: OffstageError): void {
    this.#endForGood(error, 'refused');
  }

  #hold(): void {
    this.#failures = 0;
  }

  #start(): void {
    const { openSocket, url, onChange } = this.#options;
    this.#stopRetry();
    const attempt = new Attempt();
    this.#current = attempt;
    onChange({ retryAt: null });
    this.#watch(attempt);
    openSocket().then(
      (socket) => this.#use(attempt, socket),
      (error: unknown) => {
        if (this.#current !== attempt) return;
        // Where there is no way to make a socket, there is none later.
        if (error instanceof OffstageError) this.#endForGood(error, 'refused');
        else void this.#lost(attempt, lostError(url, 'no connection could be made', error), 0);
      },
    );
  }

  #use(attempt: Attempt, socket: WebSocketLike): void {
    const { url, clock, onConnection, onChange } = this.#options;
    const isCurrent = (): boolean => this.#current === attempt;
    const { connection, opened } = webSocketWire(socket, {
      url,
      onFrame: () => {
        if (!isCurrent()) return;
        this.#watch(attempt);
        onChange({ lastHeardAt: clock.now() });
      },
      onEnd: (error, code) => void this.#lost(attempt, error, code),
    });
    attempt.connection = connection;
    if (!isCurrent()) {
      connection.fail(this.#error);
      return;
    }
    opened.then(() => {
      if (!isCurrent()) return;
      attempt.hasOpened = true;
      attempt.settle(connection);
      onConnection(connection);
    }, nothing);
  }

  /** RCN4. */
  #watch(attempt: Attempt): void {
    const { clock, url } = this.#options;
    attempt.stopWatch();
    const isSilent = (): void => void this.#lost(attempt, lostError(url, `nothing was heard for ${SILENCE_MS / 1_000} s`), 0);
    attempt.stopWatch = clock.schedule(SILENCE_MS, isSilent, { background: true });
  }

  /** @param code that of the close; 0: none */
  async #lost(attempt: Attempt, error: OffstageError, code: number): Promise<void> {
    if (this.#current !== attempt) return;
    this.#release(error);
    this.#tell('lost', error);
    // One that had opened was let in, unless the server closes it because of that.
    if (!attempt.hasOpened || code === POLICY_CLOSE) {
      const refusal = await this.#options.whyRefused().catch(() => null);
      // It may have been closed, or tried again, meanwhile.
      if (this.#hasEnded || this.#current !== null) return;
      if (refusal !== null) return this.#endForGood(refusal, 'refused');
    }
    this.#retry(error);
  }

  /** RCN2. */
  #retry(error: OffstageError): void {
    const { clock, random } = this.#options;
    const longestMs = Math.min(LONGEST_MS, SHORTEST_MS * 2 ** this.#failures);
    this.#failures += 1;
    const delayMs = Math.max(SHORTEST_MS, longestMs * (0.5 + random() / 2));
    this.#stopRetry = clock.schedule(delayMs, () => this.#start());
    this.#tell('lost', error, clock.now() + delayMs);
  }

  /** RCN3, RCN6. */
  #endForGood(error: OffstageError, status: 'lost' | 'refused'): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#stopListening();
    this.#stopRetry();
    this.#release(error);
    this.#tell(status, error);
    this.#options.onEnd(error);
  }

  /** RCN1: from here on the current one is none. */
  #release(error: OffstageError): void {
    const attempt = this.#current;
    this.#current = null;
    this.#error = error;
    if (attempt === null) return;
    attempt.stopWatch();
    attempt.stopHolding();
    attempt.fail(error);
    attempt.connection?.fail(error);
  }

  #tell(status: 'lost' | 'refused', { code, message }: OffstageError, retryAt: number | null = null): void {
    const { clock, onChange } = this.#options;
    onChange({ status, since: clock.now(), error: { code, message }, retryAt });
  }
}
