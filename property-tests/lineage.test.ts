/** LIN1–LIN4: lineage against a table of parents that is walked naively; called as admission calls it, then with cycles. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Lineage } from '../src/engine/lineage.ts';
import { LIMIT_MS, times } from './support/how-often.ts';

interface Row {
  readonly id: string;
  readonly parent: Row | null;
  isLive: boolean;
  isCancelled: boolean;
}

const which = fc.nat();
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ type: fc.constant('ask' as const), which }) },
  { weight: 5, arbitrary: fc.record({ type: fc.constant('admit' as const), which }) },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('end' as const), which }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('cancel' as const), which }) },
);

const above = (row: Row): Row[] => (row.parent === null ? [] : [row.parent, ...above(row.parent)]);

it(
  'LIN1, LIN3, LIN4: descendants, ancestors and cancelled ancestors are those of the table, also through ancestors that have ended',
  () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80, size: 'max' }), (steps) => {
        const lineage = new Lineage();
        const rows: Row[] = [];
        /** Parents of children that are being admitted. */
        const asked: Row[] = [];
        const at = (index: number): Row | undefined => rows[index % Math.max(1, rows.length)];
        const rowOf = (id: string): Row => rows.find((row) => row.id === id) as Row;
        const ask = (parent: Row): void => {
          for (const row of [parent, ...above(parent)]) {
            if (row.isLive) lineage.markLive(row.id, row.parent?.id ?? null);
            else lineage.addEnded(row.id, row.parent?.id ?? null, row.isCancelled);
            if (row === parent) lineage.hold(row.id);
            if (!row.isLive) continue;
            if (row.isCancelled) lineage.markCancelled(row.id);
            return;
          }
        };
        const admit = (parent: Row): void => {
          const cancelled = [parent, ...above(parent)].find(({ isCancelled }) => isCancelled);
          // An ancestor above a living one is known by the living one's own cancel.
          expect(lineage.cancelledAncestor(parent.id) !== null).toBe(cancelled !== undefined);
          if (cancelled === undefined) {
            const row: Row = { id: `j${rows.length}`, parent, isLive: true, isCancelled: false };
            rows.push(row);
            lineage.add(row.id, parent.id);
          }
          lineage.release(parent.id);
        };
        for (const one of steps) {
          const row = at(one.which);
          if (one.type === 'ask') {
            const parent = one.which % 4 === 0 ? undefined : row;
            if (parent === undefined) rows.push({ id: `j${rows.length}`, parent: null, isLive: true, isCancelled: false });
            else {
              ask(parent);
              asked.push(parent);
            }
          } else if (one.type === 'admit') {
            const [parent] = asked.splice(one.which % Math.max(1, asked.length), 1);
            if (parent !== undefined) admit(parent);
          } else if (one.type === 'end' && row !== undefined) {
            row.isLive = false;
            lineage.end(row.id);
          } else if (one.type === 'cancel' && row?.isLive === true) {
            for (const id of lineage.descendants(row.id)) {
              lineage.markCancelled(id);
              rowOf(id).isCancelled = true;
            }
            lineage.markCancelled(row.id);
            row.isCancelled = true;
          }
          for (const ancestor of rows.filter(({ isLive }) => isLive)) {
            const below = rows.filter((other) => other.isLive && above(other).includes(ancestor)).map(({ id }) => id);
            const found = lineage.descendants(ancestor.id);
            expect(found.filter((id) => rowOf(id).isLive).toSorted()).toEqual(below.toSorted());
            const position = new Map(found.map((id, index) => [id, index]));
            expect(position.size).toBe(found.length);
            for (const id of found) {
              const parent = position.get(rowOf(id).parent?.id as string);
              if (parent !== undefined) expect(position.get(id)).toBeLessThan(parent);
            }
            for (const other of rows.filter(({ isLive }) => isLive)) {
              expect(lineage.isAncestor(ancestor.id, other.id)).toBe(above(other).includes(ancestor));
            }
          }
          const needed = new Set<Row>();
          for (const used of [...rows.filter(({ isLive }) => isLive), ...asked]) {
            for (const known of [used, ...above(used)]) needed.add(known);
          }
          expect(lineage.size).toBeLessThanOrEqual(needed.size);
        }
        for (const parent of asked) lineage.release(parent.id);
        for (const row of rows) if (row.isLive) lineage.end(row.id);
        expect(lineage.size).toBe(0);
      }),
      times(80),
    );
  },
  LIMIT_MS,
);

it('LIN2: every walk ends, also on cycles', () => {
  const id = fc.nat(6).map((number) => `j${number}`);
  fc.assert(
    fc.property(fc.array(fc.tuple(id, id), { maxLength: 20 }), id, (edges, start) => {
      const lineage = new Lineage();
      const children = new Map<string, Set<string>>();
      for (const [child, parent] of edges) {
        lineage.add(child, parent);
        children.set(parent, (children.get(parent) ?? new Set()).add(child));
      }
      const reached = new Set([start]);
      for (const one of reached) for (const child of children.get(one) ?? []) reached.add(child);
      const found = lineage.descendants(start);
      expect(new Set([...found, start])).toEqual(reached);
      expect(new Set(found).size).toBe(found.length);
      expect(lineage.isAncestor(start, start)).toBe(false);
      expect(lineage.cancelledAncestor(start)).toBeNull();
      for (const edge of edges) for (const ended of edge) lineage.end(ended);
      expect(lineage.descendants(start).length).toBeLessThan(8);
    }),
    times(500),
  );
});
