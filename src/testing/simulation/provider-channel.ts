/**
 * The way of frames from a simulated provider to the engine, on which much may happen to them.
 *
 * PCH1  A frame is noted when it leaves, after all that: what was lost was never said, what is doubled was said twice.
 */
import { FrameQueue } from '../../adapters/frame-queue.ts';
import type { ProviderHost } from './provider.ts';
import { type Said, saidOf } from './provider-frames.ts';
import type { Random } from './random.ts';

export interface ChannelOptions {
  readonly agent: number;
  readonly sessionId: string;
  /** Probability that something happens to a frame. */
  readonly meddles: number;
  readonly chance: Random;
}

export class ProviderChannel {
  readonly frames = new FrameQueue();
  readonly #host: ProviderHost;
  readonly #options: ChannelOptions;
  /** How frames travel: at once, one after the other, or as they like. */
  readonly #pipe: 'straight' | 'queued' | 'shuffled';
  readonly #onTheirWay: Said[] = [];
  /** Comes after the next one. */
  #held: Said | null = null;

  constructor(host: ProviderHost, options: ChannelOptions) {
    this.#host = host;
    this.#options = options;
    this.#pipe = options.chance.weighted([
      [6, 'straight'],
      [2, 'queued'],
      [1, 'shuffled'],
    ]);
  }

  /** What may happen to a frame before it leaves. */
  send(said: Said): void {
    const { chance, meddles, agent } = this.#options;
    const held = this.#held;
    this.#held = null;
    const fate = chance.chance(meddles) ? chance.pick(['lost', 'doubled', 'held', 'misdirected']) : null;
    if (fate !== null) this.#host.life.note({ type: 'did', what: `agent ${agent}: a frame ${said.note.type} is ${fate}` });
    if (fate === 'held') this.#held = said;
    else if (fate === 'misdirected' && said.note.type !== 'garbage') {
      const generation = chance.pick([0, said.frame.generation + 1, Math.max(0, said.frame.generation - 1)]);
      this.#put(saidOf({ ...said.frame, generation }));
    } else if (fate !== 'lost') this.#put(said);
    if (fate === 'doubled') this.#put(said);
    if (held !== null) this.#put(held);
  }

  #put(said: Said): void {
    if (this.#pipe === 'straight') this.#push(said);
    else {
      if (this.#pipe === 'queued') this.#onTheirWay.push(said);
      void this.#host.life.hop(`a frame of agent ${this.#options.agent}`).then(() => {
        const next = this.#pipe === 'queued' ? this.#onTheirWay.shift() : said;
        if (next !== undefined && !this.#host.letGo.isGiven) this.#push(next);
      });
    }
  }

  #push({ frame, note }: Said): void {
    if (!this.frames.push(frame)) return;
    const { agent, sessionId } = this.#options;
    this.#host.life.note({ type: 'agent.said', agent, sessionId, frame: note });
  }
}
