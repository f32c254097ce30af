/**
 * What a checker is: a judge of facts, one for each guarantee, with nothing but its own memory. Hosts write their own.
 *
 * CKR1  A checker sees every fact in order and throws a `Violation` at the first one that breaks its guarantee.
 * CKR2  What all of them need to know (what is stored, who has asked what) is kept once, beside them, and made from the same facts.
 */
import type { Fact } from './facts.ts';
import type { Known } from './known.ts';

/** Judges one fact; `known` already has it. */
export type Check = (fact: Fact, known: Known) => void;

/**
 * One guarantee, and how to watch it over one world.
 * @example
 * const nobodyFails: Checker = {
 *   guarantee: 'nobody fails',
 *   promise: 'no job of mine ends errored',
 *   begin: () => (fact) => {
 *     if (fact.type === 'told' && fact.event.type === 'job.status' && fact.event.status === 'errored')
 *       throw new Violation('nobody fails', `${fact.event.jobId} did: ${fact.event.reasonCode}`);
 *   },
 * };
 */
export interface Checker {
  /** `G1` to `G16`, or a name of your own; what shrinks a failure keeps to it. */
  readonly guarantee: string;
  /** What it promises, in a sentence. */
  readonly promise: string;
  /** A judge that remembers nothing yet. */
  begin(): Check;
}

/** A guarantee that was broken. Name in the message the ids it is about: the trace tells what happened to those. */
export class Violation extends Error {
  override readonly name = 'Violation';
  readonly guarantee: string;

  constructor(guarantee: string, message: string) {
    super(`${guarantee}: ${message}`);
    this.guarantee = guarantee;
  }
}

/** How a checker says so. */
export type Violate = (message: string) => never;

export const violating =
  (guarantee: string): Violate =>
  (message) => {
    throw new Violation(guarantee, message);
  };
