/**
 * Everything that is due and has not happened yet: turns of the loop, reads, writes, answers. It happens in the order that somebody picks.
 *
 * HOP1  Nothing that is due happens by itself; each one happens once.
 * HOP2  After `end` nothing happens any more, and whatever waits waits for ever: that is how a process dies.
 */

interface Hop {
  readonly label: string;
  readonly happen: () => void;
}

export class Hops {
  #due: Hop[] = [];
  #hasEnded = false;

  /** How many are due. */
  get size(): number {
    return this.#due.length;
  }

  get labels(): readonly string[] {
    return this.#due.map(({ label }) => label);
  }

  /** Calls back when it is picked. */
  add(label: string, happen: () => void): void {
    if (!this.#hasEnded) this.#due.push({ label, happen });
  }

  /** Resolves when it is picked. */
  hop(label: string): Promise<void> {
    return new Promise((resolve) => this.add(label, resolve));
  }

  /** Lets the one at this place, counted from the oldest, happen. */
  happen(index: number): void {
    const [hop] = this.#due.splice(index, 1);
    hop?.happen();
  }

  end(): void {
    this.#hasEnded = true;
    this.#due = [];
  }
}
