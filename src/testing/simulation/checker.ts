/**
 * What a checker is: a judge of facts, one for each guarantee, with nothing but its own memory.
 *
 * CKR1  A checker sees every fact in order and throws a `Violation` at the first one that breaks its guarantee.
 * CKR2  What all of them need to know (what is stored, who has asked what) is kept once, beside them, and made from the same facts.
 */
import type { Fact } from './facts.ts';
import type { Known } from './known.ts';

export type Guarantee =
  | 'G1'
  | 'G2'
  | 'G3'
  | 'G4'
  | 'G5'
  | 'G6'
  | 'G7'
  | 'G8'
  | 'G9'
  | 'G10'
  | 'G11'
  | 'G12'
  | 'G13'
  | 'G14'
  | 'G15'
  | 'G16';

/** Judges one fact; `known` already has it. */
export type Check = (fact: Fact, known: Known) => void;

/** One guarantee, and how to watch it over one world. */
export interface Checker {
  readonly guarantee: Guarantee;
  /** What it promises, in a sentence. */
  readonly promise: string;
  /** A judge that remembers nothing yet. */
  begin(): Check;
}

/** A guarantee that was broken. */
export class Violation extends Error {
  override readonly name = 'Violation';
  readonly guarantee: Guarantee;

  constructor(guarantee: Guarantee, message: string) {
    super(`${guarantee}: ${message}`);
    this.guarantee = guarantee;
  }
}

/** How a checker says so. */
export type Violate = (message: string) => never;

export const violating =
  (guarantee: Guarantee): Violate =>
  (message) => {
    throw new Violation(guarantee, message);
  };
