/**
 * Who started whom, as far as anybody still alive is concerned. Lineage travels in data (`parentJobId`), never in ambient state.
 *
 * LIN1  A node stays while its job lives or a descendant does, so that a cascade passes through ancestors that have ended.
 * LIN2  Every walk ends, also on a cycle.
 * LIN3  Jobs without parent and children cost nothing here.
 */

interface Node {
  readonly jobId: string;
  readonly parentId: string | null;
  readonly children: Set<string>;
  isLive: boolean;
  isCancelled: boolean;
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
    node.isLive = false;
    node.isCancelled = isCancelled;
    if (parentId !== null) this.#ensure(parentId, null).children.add(jobId);
  }

  has(jobId: string): boolean {
    return this.#nodes.has(jobId);
  }

  /** Must be called for a live job before it becomes a parent, so that ending it is noticed. */
  markLive(jobId: string, parentId: string | null): void {
    this.#ensure(jobId, parentId).isLive = true;
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
    let current: Node | undefined = node;
    while (current !== undefined && !current.isLive && current.children.size === 0) {
      this.#nodes.delete(current.jobId);
      const parent: Node | undefined = current.parentId === null ? undefined : this.#nodes.get(current.parentId);
      parent?.children.delete(current.jobId);
      current = parent;
    }
  }

  #ensure(jobId: string, parentId: string | null): Node {
    let node = this.#nodes.get(jobId);
    if (node === undefined || (node.parentId === null && parentId !== null)) {
      node = {
        jobId,
        parentId: parentId ?? node?.parentId ?? null,
        children: node?.children ?? new Set(),
        isLive: node?.isLive ?? false,
        isCancelled: node?.isCancelled ?? false,
      };
      this.#nodes.set(jobId, node);
    }
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
