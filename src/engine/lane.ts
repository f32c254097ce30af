/**
 * A first-in-first-out queue of jobs that skips saturated sessions and forgets any job at constant cost.
 *
 * LAN1  `take` gives the oldest job whose session has a place, and never looks at the ones behind saturated heads.
 * LAN2  Adding, removing and taking cost O(1) without a session limit, O(log n) with one.
 */

import { MinHeap } from '../model/min-heap.ts';

export interface LaneItem {
  readonly order: number;
  readonly sessionId: string;
  lane: Lane | null;
  previous: LaneItem | null;
  next: LaneItem | null;
}

class Line {
  head: LaneItem | null = null;
  tail: LaneItem | null = null;

  add(item: LaneItem): void {
    // Almost always the end; a job that is moved here later goes where its order says.
    let after = this.tail;
    while (after !== null && after.order > item.order) after = after.previous;
    item.previous = after;
    item.next = after === null ? this.head : after.next;
    if (item.next === null) this.tail = item;
    else item.next.previous = item;
    if (after === null) this.head = item;
    else after.next = item;
  }

  remove(item: LaneItem): void {
    if (item.previous === null) this.head = item.next;
    else item.previous.next = item.next;
    if (item.next === null) this.tail = item.previous;
    else item.next.previous = item.previous;
    item.previous = null;
    item.next = null;
  }
}

interface Candidate {
  readonly order: number;
  readonly sessionId: string;
}

export class Lane {
  /** Null: sessions are not limited, and one line serves all. */
  readonly #hasRoom: ((sessionId: string) => boolean) | null;
  readonly #single = new Line();
  readonly #lines = new Map<string, Line>();
  /** Heads of sessions that may have room, oldest first; outdated ones are skipped when they surface. */
  readonly #heads = new MinHeap<Candidate>((a, b) => a.order < b.order);
  #size = 0;

  constructor(hasRoom: ((sessionId: string) => boolean) | null) {
    this.#hasRoom = hasRoom;
  }

  get size(): number {
    return this.#size;
  }

  add(item: LaneItem): void {
    item.lane = this;
    this.#size += 1;
    if (this.#hasRoom === null) {
      this.#single.add(item);
      return;
    }
    let line = this.#lines.get(item.sessionId);
    if (line === undefined) {
      line = new Line();
      this.#lines.set(item.sessionId, line);
    }
    line.add(item);
    if (line.head === item) this.#offer(item);
  }

  remove(item: LaneItem): void {
    if (item.lane !== this) return;
    item.lane = null;
    this.#size -= 1;
    if (this.#hasRoom === null) {
      this.#single.remove(item);
      return;
    }
    const line = this.#lines.get(item.sessionId) as Line;
    const wasHead = line.head === item;
    line.remove(item);
    if (line.head === null) this.#lines.delete(item.sessionId);
    else if (wasHead) this.#offer(line.head);
  }

  /** The session got a place back. */
  roomIn(sessionId: string): void {
    const head = this.#lines.get(sessionId)?.head;
    if (head !== undefined && head !== null) this.#offer(head);
  }

  /** The oldest job that may start, still in the lane; null when there is none. */
  peek(): LaneItem | null {
    if (this.#hasRoom === null) return this.#single.head;
    for (let candidate = this.#heads.peek(); candidate !== undefined; candidate = this.#heads.peek()) {
      const head = this.#lines.get(candidate.sessionId)?.head;
      if (head !== undefined && head !== null && head.order === candidate.order && this.#hasRoom(candidate.sessionId))
        return head;
      this.#heads.pop();
    }
    return null;
  }

  #offer(item: LaneItem): void {
    this.#heads.push({ order: item.order, sessionId: item.sessionId });
  }
}
