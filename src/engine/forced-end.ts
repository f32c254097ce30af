/** Tells whoever ends what an execution has launched that no time is left to ask nicely. */
export class ForcedEnd {
  #listeners: (() => void)[] = [];
  #isForced = false;

  /** Calls back once; at once where it has been forced already. */
  on(listener: () => void): void {
    if (this.#isForced) listener();
    else this.#listeners.push(listener);
  }

  fire(): void {
    this.#isForced = true;
    for (const listener of this.#listeners.splice(0)) listener();
  }
}
