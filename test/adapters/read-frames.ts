import type { Agent, Frame } from '../../src/model/agent.ts';

/** The frames of an agent, as they come; `until` waits for one. */
export class FrameReader {
  readonly frames: Frame[] = [];
  readonly ended: Promise<void>;
  readonly #waiting: { matches(frame: Frame): boolean; resolve(frame: Frame): void }[] = [];

  constructor(agent: Agent) {
    this.ended = this.#read(agent);
    this.ended.catch(() => {});
  }

  async #read(agent: Agent): Promise<void> {
    for await (const frame of agent.frames) {
      this.frames.push(frame);
      for (const waiter of [...this.#waiting]) {
        if (!waiter.matches(frame)) continue;
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
        waiter.resolve(frame);
      }
    }
  }

  /** Resolves once so many frames of this type were read. */
  async count(type: Frame['type'], number: number): Promise<void> {
    while (this.frames.filter((frame) => frame.type === type).length < number) {
      await new Promise<void>((resolve) => this.#waiting.push({ matches: () => true, resolve: () => resolve() }));
    }
  }

  /** The first frame of this type, read already or still to come. */
  until<Type extends Frame['type']>(type: Type): Promise<Extract<Frame, { type: Type }>> {
    const known = this.frames.find((frame) => frame.type === type);
    if (known !== undefined) return Promise.resolve(known as Extract<Frame, { type: Type }>);
    return new Promise((resolve) => {
      this.#waiting.push({
        matches: (frame) => frame.type === type,
        resolve: (frame) => resolve(frame as Extract<Frame, { type: Type }>),
      });
    });
  }
}
