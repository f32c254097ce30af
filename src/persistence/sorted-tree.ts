/**
 * An ordered map of strings in memory: a B+ tree whose snapshots are free, because a node that a snapshot may see is copied before it changes.
 *
 * TREE1  put, delete and get take O(log n); a snapshot takes O(1) and keeps alive only what it shows.
 * TREE2  A snapshot never changes. No node is empty, except the root of an empty tree.
 */
import { orderFor } from './utf8-order.ts';

/** Small enough that moving entries within a node is cheap, large enough that the tree is three levels deep at a million entries. */
const CAPACITY = 128;

interface Leaf {
  readonly edition: number;
  readonly keys: string[];
  readonly values: string[];
  readonly children?: never;
}

interface Inner {
  readonly edition: number;
  /** `firsts[i]` is not above any key of `children[i]`, and above all keys before it; `firsts[0]` is never looked at. */
  readonly firsts: string[];
  readonly children: Node[];
}

type Node = Leaf | Inner;

/** A place in a snapshot: an entry of a leaf. */
export interface Position {
  readonly keys: readonly string[];
  readonly values: readonly string[];
  readonly index: number;
}

/** Where `key` stands among `keys`: the number of keys before it, counting an equal one when `isAfterEqual`. */
function rankOf(keys: readonly string[], key: string, isAfterEqual: boolean, from = 0): number {
  const order = orderFor(key);
  let low = from;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const difference = order(key, keys[middle] as string);
    if (difference > 0 || (difference === 0 && isAfterEqual)) low = middle + 1;
    else high = middle;
  }
  return low;
}

const childIndex = (node: Inner, key: string): number => rankOf(node.firsts, key, true, 1) - 1;

/** An unchanging view of the tree as it was. */
export class TreeSnapshot {
  readonly #root: Node;

  constructor(root: Node) {
    this.#root = root;
  }

  /** The first entry from `key` on (the very first one when undefined). */
  firstFrom(key: string | undefined, isExclusive: boolean): Position | undefined {
    return firstFrom(this.#root, key, isExclusive);
  }

  /** The last entry up to `key` (the very last one when undefined). */
  lastUpTo(key: string | undefined, isExclusive: boolean): Position | undefined {
    return lastUpTo(this.#root, key, isExclusive);
  }
}

function firstFrom(node: Node, key: string | undefined, isExclusive: boolean): Position | undefined {
  if (node.children === undefined) {
    const index = key === undefined ? 0 : rankOf(node.keys, key, isExclusive);
    return index < node.keys.length ? { keys: node.keys, values: node.values, index } : undefined;
  }
  for (let index = key === undefined ? 0 : childIndex(node, key); index < node.children.length; index += 1) {
    const found = firstFrom(node.children[index] as Node, key, isExclusive);
    if (found !== undefined) return found;
  }
  return undefined;
}

function lastUpTo(node: Node, key: string | undefined, isExclusive: boolean): Position | undefined {
  if (node.children === undefined) {
    const index = (key === undefined ? node.keys.length : rankOf(node.keys, key, !isExclusive)) - 1;
    return index >= 0 ? { keys: node.keys, values: node.values, index } : undefined;
  }
  for (let index = key === undefined ? node.children.length - 1 : childIndex(node, key); index >= 0; index -= 1) {
    const found = lastUpTo(node.children[index] as Node, key, isExclusive);
    if (found !== undefined) return found;
  }
  return undefined;
}

export class SortedTree {
  #edition = 0;
  #root: Node = { edition: 0, keys: [], values: [] };

  get(key: string): string | undefined {
    let node = this.#root;
    while (node.children !== undefined) node = node.children[childIndex(node, key)] as Node;
    const index = rankOf(node.keys, key, false);
    return node.keys[index] === key ? node.values[index] : undefined;
  }

  snapshot(): TreeSnapshot {
    this.#edition += 1;
    return new TreeSnapshot(this.#root);
  }

  put(key: string, value: string): void {
    const root = this.#own(this.#root);
    this.#root = root;
    const right = this.#putInto(root, key, value);
    if (right === undefined) return;
    this.#root = { edition: this.#edition, firsts: ['', right.first], children: [root, right.node] };
  }

  delete(key: string): void {
    if (this.get(key) === undefined) return;
    let root = this.#own(this.#root);
    this.#deleteFrom(root, key);
    while (root.children !== undefined && root.children.length === 1) root = root.children[0] as Node;
    this.#root = root.children?.length === 0 ? { edition: this.#edition, keys: [], values: [] } : root;
  }

  /** The node itself when no snapshot sees it, else a copy. */
  #own(node: Node): Node {
    const edition = this.#edition;
    if (node.edition === edition) return node;
    if (node.children === undefined) return { edition, keys: node.keys.slice(), values: node.values.slice() };
    return { edition, firsts: node.firsts.slice(), children: node.children.slice() };
  }

  #ownChild(node: Inner, index: number): Node {
    const child = this.#own(node.children[index] as Node);
    node.children[index] = child;
    return child;
  }

  /** Returns the new right half when the node had to be split. */
  #putInto(node: Node, key: string, value: string): { first: string; node: Node } | undefined {
    if (node.children === undefined) {
      const index = rankOf(node.keys, key, false);
      if (node.keys[index] === key) {
        node.values[index] = value;
        return undefined;
      }
      node.keys.splice(index, 0, key);
      node.values.splice(index, 0, value);
      if (node.keys.length <= CAPACITY) return undefined;
      // Keys mostly grow: a leaf that overflows at its end stays nearly full.
      const at = index === CAPACITY ? CAPACITY : CAPACITY >>> 1;
      const right: Leaf = { edition: this.#edition, keys: node.keys.splice(at), values: node.values.splice(at) };
      return { first: right.keys[0] as string, node: right };
    }
    const index = childIndex(node, key);
    const split = this.#putInto(this.#ownChild(node, index), key, value);
    if (split === undefined) return undefined;
    node.firsts.splice(index + 1, 0, split.first);
    node.children.splice(index + 1, 0, split.node);
    if (node.children.length <= CAPACITY) return undefined;
    const at = index + 1 === CAPACITY ? CAPACITY : CAPACITY >>> 1;
    const right: Inner = { edition: this.#edition, firsts: node.firsts.splice(at), children: node.children.splice(at) };
    return { first: right.firsts[0] as string, node: right };
  }

  /** The key is known to be there. Empty nodes leave the tree; half-empty ones stay, as most rows are deleted in runs. */
  #deleteFrom(node: Node, key: string): void {
    if (node.children === undefined) {
      const index = rankOf(node.keys, key, false);
      node.keys.splice(index, 1);
      node.values.splice(index, 1);
      return;
    }
    const index = childIndex(node, key);
    const child = this.#ownChild(node, index);
    this.#deleteFrom(child, key);
    if ((child.children ?? child.keys).length > 0) return;
    node.firsts.splice(index, 1);
    node.children.splice(index, 1);
  }
}
