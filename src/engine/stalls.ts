/**
 * Watches for silence: what says nothing for long is told of once; only where that is asked for, its session is declared failed
 * (liveness 6 and 9).
 *
 * STL1  Quiet is a label: its notice ends nothing, and comes at the instant from which on the label is shown.
 * STL2  One notice for each silence: whatever is heard ends it, and begins another one. What falls quiet at the same time shares one.
 * STL3  Declared failed is an open turn whose agent, asked and not waiting for others, sends nothing at all.
 * STL4  At most one timer per session, and none when it has neither a turn nor work of its agent. Frames touch no timer: it looks again.
 */
import { type OffstageError, offstageError } from '../model/errors.ts';
import type { AgentExecution } from './agent-execution.ts';
import type { Core } from './core.ts';
import type { LiveSession } from './live-session.ts';
import { type OpenTurn, openTurnOf, waitsForOthers } from './open-turn.ts';
import type { ProviderWork } from './provider-works.ts';
import type { Turns } from './turns.ts';

export interface StallsHost {
  readonly turns: Turns;
  /** Declares the session failed, then ends that agent of it. Answers false, and does neither, when it is over already. */
  fail(session: LiveSession, execution: AgentExecution, error: OffstageError): boolean;
}

/** With a limit below this, a second silence may be noticed up to so many milliseconds late. */
const SHORTEST_ROUND_MS = 100;
/** Rounding must not make it look again at the same instant. */
const SHORTEST_LOOK_MS = 1;

/** An engine that nobody closes, and that only watches, keeps nothing alive. */
const BACKGROUND = { background: true } as const;

/** A limit, and which silences have reached it. */
class Limit {
  readonly #afterMs: number;
  /** By turn or work: its last word before that silence, in monotonic milliseconds. */
  readonly #reached = new WeakMap<object, number>();

  constructor(afterMs: number) {
    this.#afterMs = afterMs;
  }

  /** Milliseconds until it is reached, 0 when that is now; Infinity when it was noted, or never will be. */
  restMs(subject: object, lastHeard: number, now: number): number {
    if (this.#reached.get(subject) === lastHeard) return Number.POSITIVE_INFINITY;
    return Math.max(0, this.#afterMs - (now - lastHeard));
  }

  note(subject: object, lastHeard: number): void {
    this.#reached.set(subject, lastHeard);
  }
}

export class Stalls {
  readonly #core: Core;
  readonly #host: StallsHost;
  readonly #quiet: Limit;
  readonly #stall: Limit;
  /** What is heard only now reaches no limit before that. */
  readonly #roundMs: number;

  constructor(core: Core, host: StallsHost) {
    this.#core = core;
    this.#host = host;
    const { quietAfterMs, stallFailMs } = core.settings;
    this.#quiet = new Limit(quietAfterMs);
    this.#stall = new Limit(stallFailMs);
    this.#roundMs = Math.min(quietAfterMs, stallFailMs);
  }

  /** Something of the session has changed: it is watched while anything of it could fall silent (STL4). */
  follow(session: LiveSession): void {
    if (this.#roundMs === Number.POSITIVE_INFINITY) return;
    const { stopWatch } = session;
    if (isOpen(session) === (stopWatch !== null)) return;
    if (stopWatch === null) {
      this.#watch(session, this.#roundMs);
      return;
    }
    session.stopWatch = null;
    stopWatch();
  }

  #watch(session: LiveSession, delayMs: number): void {
    const { timers } = this.#core;
    session.stopWatch = timers.after(Math.max(SHORTEST_LOOK_MS, delayMs), () => this.#look(session), BACKGROUND);
  }

  #look(session: LiveSession): void {
    const now = this.#core.settings.clock.monotonic();
    const open = waitsForOthers(session) ? null : openTurnOf(session, this.#host.turns);
    const works = session.record?.providerWorks ?? [];
    const rests = [this.#turnRestMs(open, now), this.#stallRestMs(open, now)];
    const workRests = works.map((work) => this.#quiet.restMs(work, work.lastHeard, now));
    const next = [...rests, ...workRests].filter((restMs) => restMs > 0);
    // Before anything is told: whoever hears of it may end what is watched.
    this.#watch(session, Math.min(Math.max(SHORTEST_ROUND_MS, this.#roundMs), ...next));
    const quietTurn = rests[0] === 0 ? open : null;
    const quietWorks = works.filter((_, index) => workRests[index] === 0);
    if (quietTurn !== null || quietWorks.length > 0) this.#tell(session, quietTurn, quietWorks, now);
    if (open !== null && rests[1] === 0) this.#fail(session, open);
  }

  #turnRestMs(open: OpenTurn | null, now: number): number {
    return open === null ? Number.POSITIVE_INFINITY : this.#quiet.restMs(open.turn, open.lastHeard, now);
  }

  #stallRestMs(open: OpenTurn | null, now: number): number {
    return open === null || open.execution === null
      ? Number.POSITIVE_INFINITY
      : this.#stall.restMs(open.turn, lastSign(open, open.execution), now);
  }

  /** STL2. */
  #tell(session: LiveSession, open: OpenTurn | null, works: readonly ProviderWork[], now: number): void {
    if (open !== null) this.#quiet.note(open.turn, open.lastHeard);
    for (const work of works) this.#quiet.note(work, work.lastHeard);
    const { bus, loop, epoch, settings } = this.#core;
    const { sessionId, taskId } = session;
    const words = works.map(({ lastHeard }) => lastHeard);
    const notice = {
      sessionId,
      taskId,
      generation: open?.turn.generation ?? null,
      workloads: works.map(({ workloadId }) => workloadId),
      silentMs: Math.floor(now - Math.min(open?.lastHeard ?? now, ...words)),
    };
    settings.log('warn', 'session.quiet', notice);
    if (bus.hasObservers) bus.publish({ type: 'session.quiet', seq: loop.toldSeq, epoch, at: settings.clock.now(), ...notice });
  }

  /** STL3. */
  #fail(session: LiveSession, { turn, execution }: OpenTurn): void {
    const open = openTurnOf(session, this.#host.turns);
    // Whoever was told of the silence has ended the turn.
    if (execution === null || open?.turn !== turn) return;
    this.#stall.note(turn, lastSign(open, execution));
    const { sessionId, taskId } = session;
    const { stallFailMs, log } = this.#core.settings;
    if (!this.#host.fail(session, execution, offstageError('session.stalled', { sessionId, stallFailMs }))) return;
    const { executionId } = execution;
    log('warn', 'session.stalled', { sessionId, taskId, generation: turn.generation, executionId, stallFailMs });
  }
}

/** A turn that has handed the foreground on may take it again: it is not worth another timer. */
const isOpen = ({ record }: LiveSession): boolean =>
  record !== null && (record.hasProviderWork || record.context.turns.length > 0 || !record.isForegroundIdle);

/** Any word of the agent counts, of whatever it speaks. */
const lastSign = ({ lastHeard }: OpenTurn, execution: AgentExecution): number => Math.max(lastHeard, execution.lastHeard);
