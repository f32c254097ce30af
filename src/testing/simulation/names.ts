/**
 * What has been made in a world, by who made it (STG2).
 *
 * NMS1  Only the newest are picked from: what people act on is mostly what is new, and a pick costs the same in an old world.
 */
import type { Names } from './stage.ts';

const KEPT = 24;

export function names(): Names {
  const ids = new Map<string, string>();
  return {
    add(key, id) {
      ids.delete(key);
      ids.set(key, id);
      const [oldest] = ids.keys();
      if (ids.size > KEPT && oldest !== undefined) ids.delete(oldest);
    },
    delete(id) {
      for (const [key, known] of ids) if (known === id) ids.delete(key);
    },
    pick(random) {
      const key = random.pickNamed(ids.keys());
      return key === undefined ? undefined : ids.get(key);
    },
    get ids() {
      return [...ids.values()];
    },
  };
}
