/** LAN1: a lane against a plain array that is searched from the front every time. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Lane, type LaneItem } from '../src/engine/lane.ts';
import { LIMIT_MS, times } from './support/how-often.ts';

const SESSIONS = ['a', 'b', 'c'];

interface Item extends LaneItem {
  isIn: boolean;
}

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant('add' as const), session: fc.nat(2), order: fc.nat(50) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('remove' as const), which: fc.nat() }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('take' as const) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('fill' as const), session: fc.nat(2) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('room' as const), session: fc.nat(2) }) },
);

it.each([
  ['without a session limit', false],
  ['with one', true],
])(
  'LAN1: %s it gives the oldest job whose session has a place',
  (_, isLimited) => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300, size: 'max' }), (steps) => {
        const full = new Set<string>();
        const lane = new Lane(isLimited ? (sessionId) => !full.has(sessionId) : null);
        const items: Item[] = [];
        const oldest = (): Item | null => {
          let found: Item | null = null;
          for (const item of items) {
            if (!item.isIn || (isLimited && full.has(item.sessionId))) continue;
            if (found === null || item.order < found.order) found = item;
          }
          return found;
        };
        const leave = (item: Item): void => {
          lane.remove(item);
          item.isIn = false;
        };
        let last = 0;
        for (const one of steps) {
          if (one.type === 'add') {
            // Mostly rising, as in a queue; now and then one that comes from another lane and is older.
            last += 1;
            const order = one.order < 10 ? last - one.order - 0.5 + items.length / 1e6 : last;
            const session = SESSIONS[one.session] as string;
            const item: Item = { order, sessionId: session, lane: null, previous: null, next: null, isIn: true };
            items.push(item);
            lane.add(item);
          } else if (one.type === 'remove') {
            const item = items[one.which % Math.max(1, items.length)];
            if (item !== undefined) leave(item);
          } else if (one.type === 'take') {
            const item = lane.peek() as Item | null;
            expect(item).toBe(oldest());
            if (item !== null) leave(item);
          } else if (one.type === 'fill') {
            full.add(SESSIONS[one.session] as string);
          } else {
            full.delete(SESSIONS[one.session] as string);
            lane.roomIn(SESSIONS[one.session] as string);
          }
          expect(lane.size).toBe(items.filter(({ isIn }) => isIn).length);
        }
        for (const session of SESSIONS) {
          full.delete(session);
          lane.roomIn(session);
        }
        for (let item = lane.peek() as Item | null; item !== null; item = lane.peek() as Item | null) {
          expect(item).toBe(oldest());
          leave(item);
        }
        expect(items.some(({ isIn }) => isIn)).toBe(false);
      }),
      times(300),
    );
  },
  LIMIT_MS,
);
