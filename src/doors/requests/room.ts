/**
 * Room for more, for those who have to wait for it.
 *
 * ROM1  However many wait, they wait for one promise; nobody waits for ever once `make` was called.
 */
export class Room {
  #wanted: { readonly promise: Promise<void>; readonly resolve: () => void } | null = null;

  /** Somebody waits. */
  get isWanted(): boolean {
    return this.#wanted !== null;
  }

  /** Resolves when there is room. */
  wait(): Promise<void> {
    if (this.#wanted === null) {
      let resolve = (): void => {};
      const promise = new Promise<void>((settle) => {
        resolve = settle;
      });
      this.#wanted = { promise, resolve };
    }
    return this.#wanted.promise;
  }

  /** There is room now. */
  make(): void {
    this.#wanted?.resolve();
    this.#wanted = null;
  }
}
