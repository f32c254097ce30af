import { describe, expect, it } from 'vitest';
import { BoundedMap } from '../../src/model/bounded-map.ts';

const filled = (limit: number, ...keys: readonly string[]): BoundedMap<string, number> => {
  const map = new BoundedMap<string, number>(limit);
  for (const [index, key] of keys.entries()) map.set(key, index);
  return map;
};

describe('a bounded map', () => {
  it('holds what it is given, up to its limit', () => {
    const map = filled(3, 'a', 'b', 'c');
    expect([map.size, map.has('a'), map.get('c'), map.get('d'), map.has('d')]).toEqual([3, true, 2, undefined, false]);
    expect([...map.keys()]).toEqual(['a', 'b', 'c']);
    expect([...map.values()]).toEqual([0, 1, 2]);
    expect([...map.entries()]).toEqual([
      ['a', 0],
      ['b', 1],
      ['c', 2],
    ]);
  });

  it('forgets the oldest first, and never grows beyond its limit', () => {
    const map = new BoundedMap<number, number>(10);
    for (let key = 0; key < 1_000; key++) {
      map.set(key, key);
      expect(map.size).toBe(Math.min(10, key + 1));
    }
    expect([...map.keys()]).toEqual([990, 991, 992, 993, 994, 995, 996, 997, 998, 999]);
  });

  it('takes what is set again for new, and forgets nothing for it', () => {
    const map = filled(3, 'a', 'b', 'c');
    map.set('b', 9);
    expect([...map.keys()]).toEqual(['a', 'c', 'b']);
    map.set('d', 3);
    expect([...map.keys()]).toEqual(['c', 'b', 'd']);
    expect(map.get('b')).toBe(9);
  });

  it('has room again for what was deleted', () => {
    const map = filled(2, 'a', 'b');
    expect([map.delete('a'), map.delete('a'), map.size]).toEqual([true, false, 1]);
    map.set('c', 2);
    expect([...map.keys()]).toEqual(['b', 'c']);
  });
});
