/** All that a store holds, for tests that compare before and after. */
import type { Store } from '../../src/persistence/store.ts';

export async function contentOf(store: Store): Promise<Readonly<Record<string, string>>> {
  const content: Record<string, string> = {};
  for await (const { key, value } of store.range({})) content[key] = value;
  return content;
}
