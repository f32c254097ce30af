/** A question about rows that is under way, and what has become known of them since it was asked: its answer may be older than that. */
export class Asking {
  readonly #answered = new Set<string>();
  readonly #heard = new Set<string>();
  #isBeforeSnapshot = false;

  /** A snapshot is shown: what the answer shows may have gone before that. */
  snapshotCame(): void {
    this.#isBeforeSnapshot = true;
  }

  /** Another question was answered, and says how this row is, or that it is not there. */
  answeredElsewhere(id: string): void {
    this.#answered.add(id);
  }

  /** The row has changed in a way that its counters do not tell, and an event has said how. */
  heard(id: string): void {
    this.#heard.add(id);
  }

  get isBeforeSnapshot(): boolean {
    return this.#isBeforeSnapshot;
  }

  isAnsweredElsewhere(id: string): boolean {
    return this.#answered.has(id);
  }

  hasHeard(id: string): boolean {
    return this.#heard.has(id);
  }
}
