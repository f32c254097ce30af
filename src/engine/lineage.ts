/**
 * Who started whom, as far as anybody still alive is concerned. Lineage travels in data (`parentJobId`), never in ambient state.
 *
 * LIN1  A node stays while its job lives or a descendant does, so that a cascade passes through ancestors that have ended.
 * LIN2  Every walk ends, also on a cycle.
 * LIN3  Jobs without parent and children cost nothing here.
 * LIN4  A held node stays with everything above it: what happens there while a child is being admitted is not missed.
 */

interface Node {
  readonly jobId: string;
  parentId: string | null;
  readonly children: Set<string>;
  isLive: boolean;
  isCancelled: boolean;
  /** Children on their way to being born. */
  holds: number;
}

export class Lineage {
  readonly #nodes = new Map<string, Node>();

  get size(): number {
    return this.#nodes.size;
  }

  /** A live job that was started by another one. */
  add(jobId: string, parentId: string): void {
    this.#ensure(jobId, parentId).isLive = true;
    this.#ensure(parentId, null).children.add(jobId);
  }

  /** An ancestor that has ended and must be known again because it gets a child. */
  addEnded(jobId: string, parentId: string | null, isCancelled: boolean): void {
    const known = this.#nodes.get(jobId);
    if (known?.isLive === true) return;
    const node = this.#ensure(jobId, parentId);
    node.isCancelled ||= isCancelled;
    if (parentId !== null) this.#ensure(parentId, null).children.add(jobId);
  }

  has(jobId: string): boolean {
    return this.#nodes.has(jobId);
  }

  /** Must be called for a live job before it becomes a parent, so that ending it is noticed. */
  markLive(jobId: string, parentId: string | null): void {
    this.#ensure(jobId, parentId).isLive = true;
  }

  /** Keeps a known node until `release`. */
  hold(jobId: string): void {
    const node = this.#nodes.get(jobId);
    if (node !== undefined) node.holds += 1;
  }

  release(jobId: string): void {
    const node = this.#nodes.get(jobId);
    if (node === undefined) return;
    node.holds -= 1;
    this.#prune(node);
  }

  markCancelled(jobId: string): void {
    const node = this.#nodes.get(jobId);
    if (node !== undefined) node.isCancelled = true;
  }

  /** The nearest of the job itself and its ancestors that is cancelled or being cancelled. */
  cancelledAncestor(jobId: string): string | null {
    for (const node of this.#upwards(jobId)) if (node.isCancelled) return node.jobId;
    return null;
  }

  isAncestor(ancestorId: string, jobId: string): boolean {
    for (const node of this.#upwards(jobId)) if (node.jobId === ancestorId && node.jobId !== jobId) return true;
    return false;
  }

  /** All descendants, leaves before their parents; without the job itself. */
  descendants(jobId: string): readonly string[] {
    const order: string[] = [];
    const seen = new Set([jobId]);
    const stack = [jobId];
    for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
      for (const child of this.#nodes.get(next)?.children ?? []) {
        if (seen.has(child)) continue;
        seen.add(child);
        order.push(child);
        stack.push(child);
      }
    }
    return order.reverse();
  }

  children(jobId: string): readonly string[] {
    return [...(this.#nodes.get(jobId)?.children ?? [])];
  }

  /** The job has ended: its node goes when nothing alive hangs below it. */
  end(jobId: string): void {
    const node = this.#nodes.get(jobId);
    if (node === undefined) return;
    node.isLive = false;
    this.#prune(node);
  }

  #prune(node: Node): void {
    let current: Node | undefined = node;
    while (current !== undefined && !current.isLive && current.holds === 0 && current.children.size === 0) {
      this.#nodes.delete(current.jobId);
      const parent: Node | undefined = current.parentId === null ? undefined : this.#nodes.get(current.parentId);
      parent?.children.delete(current.jobId);
      current = parent;
    }
  }

  #ensure(jobId: string, parentId: string | null): Node {
    let node = this.#nodes.get(jobId);
    if (node === undefined) {
      node = { jobId, parentId, children: new Set(), isLive: false, isCancelled: false, holds: 0 };
      this.#nodes.set(jobId, node);
    }
    node.parentId ??= parentId;
    return node;
  }

  *#upwards(jobId: string): Generator<Node> {
    const seen = new Set<string>();
    for (let id: string | null = jobId; id !== null && !seen.has(id); ) {
      seen.add(id);
      const node = this.#nodes.get(id);
      if (node === undefined) return;
      yield node;
      id = node.parentId;
    }
  }
}
