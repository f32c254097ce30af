/**
 * A judge of a host's own bodies: what they do that makes a simulation of them worthless, or takes their process down. It judges beside the checkers.
 *
 * OBD1  Nothing of the machine is used, every error is caught, and every body ends once everything was let go and it was told to.
 */
import { type Checker, violating } from './checker.ts';
import type { OwnExecutors } from './own-executors.ts';

/** Under this name in a violation. */
const EXECUTORS = 'executors';

const violate = violating(EXECUTORS);

export const ownBodies = (own: OwnExecutors): Checker => ({
  guarantee: EXECUTORS,
  promise: 'own bodies take time, chance and whatever takes time from their life, catch their errors, and end',
  begin: () => (fact, known) => {
    switch (fact.type) {
      case 'strayed':
        violate(
          `the body of ${fact.jobId} (kind ${fact.kind}) uses ${inWords(fact.resource)}, and the world does not wait for that: ` +
            'use life.pause and life.hop, or something in its place',
        );
        break;
      case 'escaped':
        if (fact.ofHost !== undefined) violate(`nobody caught ${fact.message}; it is of ${fact.ofHost}`);
        break;
      case 'rested':
        if (!fact.view.isLast) return;
        for (const { called, settled } of known.bodies.values()) {
          if (settled !== null || !own.kinds.includes(called.kind)) continue;
          violate(
            `the body of ${called.jobId} (kind ${called.kind}) is at work, though everything was let go and it was told to end: ` +
              'it waits for nothing, or for what is not in the simulation',
          );
        }
        break;
      default:
    }
  },
});

const inWords = (resource: string): string => (resource === 'Timeout' ? 'a timer of the machine' : `the machine (${resource})`);
