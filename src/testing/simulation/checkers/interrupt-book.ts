/**
 * Whether a turn that was interrupted ends in time, whatever its agent makes of it.
 *
 * IBK1  A turn that was open when somebody interrupted its session is over by the grace, but for what stood still.
 */
import type { Violate } from '../checker.ts';
import type { Fact, FactOf } from '../facts.ts';
import type { Known } from '../known.ts';

interface Interrupted {
  readonly call: number;
  readonly generation: number;
  /** Milliseconds of the world. */
  readonly dueAt: number;
  readonly stoodStillMs: number;
}

export class InterruptBook {
  readonly #violate: Violate;
  /** The last prompt that the agent of a session was handed. */
  readonly #generations = new Map<string, number>();
  /** What was the last one when it was asked for, by call. */
  readonly #asked = new Map<number, { readonly generation: number; readonly at: number }>();
  readonly #interrupted = new Map<string, Interrupted>();

  constructor(violate: Violate) {
    this.#violate = violate;
  }

  note(fact: Fact, known: Known): void {
    switch (fact.type) {
      case 'opened':
      case 'crashed':
        for (const memory of [this.#generations, this.#asked, this.#interrupted]) memory.clear();
        break;
      case 'agent.prompted':
        if (fact.jobId === null) this.#generations.set(fact.sessionId, fact.generation);
        break;
      case 'asked': {
        const generation = fact.verb === 'sessions.interrupt' ? this.#generations.get(fact.args[0] as string) : undefined;
        if (generation !== undefined) this.#asked.set(fact.call, { generation, at: fact.at });
        break;
      }
      case 'answered':
        if (fact.verb === 'sessions.interrupt') this.#answered(fact, known);
        break;
      case 'rested':
        this.#rested(fact, known);
        break;
      default:
    }
  }

  #answered({ call, value }: FactOf<'answered'>, { calls, settings, stoodStillMs }: Known): void {
    const asked = this.#asked.get(call);
    const [sessionId, options] = (calls.get(call)?.asked.args ?? []) as readonly [string, unknown];
    // With a `promptId` it is about that one alone.
    if (asked === undefined || options !== undefined || !(value as { readonly changed: boolean }).changed) return;
    const { generation, at } = asked;
    // Asked again it gets no more time.
    if (this.#interrupted.get(sessionId)?.generation === generation) return;
    this.#interrupted.set(sessionId, { call, generation, dueAt: at + settings.interruptGraceMs, stoodStillMs });
  }

  #rested({ at, view }: FactOf<'rested'>, known: Known): void {
    for (const { sessionId, turn } of view.sessions) {
      const interrupted = this.#interrupted.get(sessionId);
      if (interrupted === undefined || turn?.generation !== interrupted.generation) continue;
      const latest = interrupted.dueAt + known.stoodStillMs - interrupted.stoodStillMs;
      if (at > latest)
        this.#violate(
          `turn ${turn.generation} of ${sessionId} was interrupted by call ${interrupted.call}, had to be over by ${latest}, and is open`,
        );
    }
  }
}
