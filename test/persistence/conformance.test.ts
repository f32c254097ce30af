/** Both stores of the house against the suite that others may use for theirs. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { levelStore } from '../../src/persistence/level-store.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { storeConformance } from '../../src/testing/store-conformance.ts';

describe('memoryStore', () => {
  storeConformance({ test, manifest: { durable: false }, create: async () => ({ store: memoryStore() }) });
});

describe('levelStore', () => {
  storeConformance({
    test,
    manifest: { durable: true },
    create: async () => {
      const folder = await mkdtemp(join(tmpdir(), 'offstage-conformance-'));
      return {
        store: await levelStore(folder),
        reopen: () => levelStore(folder),
        dispose: () => rm(folder, { recursive: true }),
      };
    },
  });
});
