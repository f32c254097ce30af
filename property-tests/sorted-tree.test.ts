/** STO3, TREE1, TREE2: the tree against a plain sorted array, with keys on both sides of the surrogates. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Position, SortedTree, type TreeSnapshot } from '../src/persistence/sorted-tree.ts';
import { compareKeys } from '../src/persistence/utf8-order.ts';

const byBytes = (left: string, right: string): number => Buffer.compare(Buffer.from(left), Buffer.from(right));
const key = fc.oneof(
  fc.nat(3000).map((number) => `k${String(number).padStart(4, '0')}`),
  fc.string({ unit: 'binary', maxLength: 4 }),
  fc.string({ unit: fc.constantFrom('a', '\ue000', '\uffff', '😀', '𐀀', 'é'), maxLength: 4 }),
);
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant('put' as const), key, value: fc.string({ maxLength: 3 }) }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('delete' as const), key }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('snapshot' as const) }) },
);

function walk(start: Position | undefined, next: (key: string) => Position | undefined): [string, string][] {
  const entries: [string, string][] = [];
  for (let at = start; at !== undefined; at = next(at.keys[at.index] as string)) {
    entries.push([at.keys[at.index] as string, at.values[at.index] as string]);
  }
  return entries;
}
const forwards = (snapshot: TreeSnapshot) => walk(snapshot.firstFrom(undefined, false), (from) => snapshot.firstFrom(from, true));
const backwards = (snapshot: TreeSnapshot) => walk(snapshot.lastUpTo(undefined, false), (from) => snapshot.lastUpTo(from, true));
const sorted = (model: ReadonlyMap<string, string>) => [...model].sort(([left], [right]) => byBytes(left, right));

it('keys compare like their UTF-8 bytes', () => {
  fc.assert(
    fc.property(key, key, (left, right) => {
      expect(Math.sign(compareKeys(left, right))).toBe(Math.sign(byBytes(left, right)));
    }),
    { numRuns: 3000 },
  );
});

it('the tree is the sorted map, and its snapshots stay as they were', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 600, size: 'max' }), (steps) => {
      const tree = new SortedTree();
      const model = new Map<string, string>();
      const snapshots: [TreeSnapshot, [string, string][]][] = [];
      for (const one of steps) {
        if (one.type === 'snapshot') snapshots.push([tree.snapshot(), sorted(model)]);
        else if (one.type === 'put') {
          tree.put(one.key, one.value);
          model.set(one.key, one.value);
        } else {
          tree.delete(one.key);
          model.delete(one.key);
        }
      }
      snapshots.push([tree.snapshot(), sorted(model)]);
      for (const [snapshot, expected] of snapshots) {
        expect(forwards(snapshot)).toEqual(expected);
        expect(backwards(snapshot)).toEqual(expected.toReversed());
      }
      for (const one of steps) if (one.type !== 'snapshot') expect(tree.get(one.key)).toBe(model.get(one.key));
    }),
    { numRuns: 100 },
  );
});

it('TREE1: a hundred thousand entries, in order and shuffled, then all deleted from the front', () => {
  const tree = new SortedTree();
  const keyOf = (number: number): string => `row/${String(number).padStart(8, '0')}`;
  for (let number = 0; number < 50_000; number += 1) tree.put(keyOf(number), 'a');
  for (let number = 0; number < 50_000; number += 1) tree.put(keyOf(50_000 + ((number * 7919) % 50_000)), 'b');
  const full = tree.snapshot();
  expect(forwards(full).map(([name]) => name)).toEqual(Array.from({ length: 100_000 }, (_, number) => keyOf(number)));
  for (let number = 0; number < 100_000; number += 1) tree.delete(keyOf(number));
  expect(forwards(tree.snapshot())).toEqual([]);
  expect(full.lastUpTo(undefined, false)?.keys.at(-1)).toBe(keyOf(99_999));
});
