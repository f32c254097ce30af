/** LST1, LST2: what the store of a life makes of batches and reads, and what is noted of it. */
import { describe, expect, it } from 'vitest';
import { isOffstageError } from '../../../src/model/errors.ts';
import { memoryStore } from '../../../src/persistence/memory-store.ts';
import type { Store, StoreOperation } from '../../../src/persistence/store.ts';
import type { FactBody, FactOf } from '../../../src/testing/simulation/facts.ts';
import { Hops } from '../../../src/testing/simulation/hops.ts';
import { LifeStore } from '../../../src/testing/simulation/life-store.ts';

const put = (key: string, value = key): readonly StoreOperation[] => [{ type: 'put', key, value }];
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

class Lab {
  readonly hops = new Hops();
  readonly facts: FactBody[] = [];
  readonly answers: string[] = [];
  readonly store: LifeStore;

  constructor(rows: Store = memoryStore()) {
    this.store = new LifeStore(rows, this.hops, (fact) => this.facts.push(fact));
  }

  write(key: string, sync = false): this {
    this.store.batch(put(key), { sync }).then(
      () => this.answers.push(`${key} stored`),
      () => this.answers.push(`${key} refused`),
    );
    return this;
  }

  /** Lets the first hop with this label happen, and whatever follows of it. */
  async happen(label: string): Promise<void> {
    await turn();
    const index = this.hops.labels.indexOf(label);
    expect(index, `${label} is due, among ${this.hops.labels}`).toBeGreaterThanOrEqual(0);
    this.hops.happen(index);
    await turn();
  }

  get outcomes(): readonly string[] {
    return this.facts.flatMap((fact) =>
      fact.type === 'wrote' ? [`${fact.operations[0]?.key} ${fact.outcome}${fact.sync ? ', synced' : ''}`] : [],
    );
  }
}

const keysOf = async (store: Store): Promise<readonly string[]> => {
  const keys: string[] = [];
  for await (const { key } of store.range({})) keys.push(key);
  return keys;
};

describe('batches', () => {
  it('LST1: reach the rows in the order of their calls, one hop each, and are answered by another', async () => {
    const lab = new Lab().write('b').write('a', true);
    await turn();
    expect(lab.hops.labels).toEqual(['write']);
    await lab.happen('write');
    expect(lab.outcomes).toEqual(['b written']);
    expect(lab.answers).toEqual([]);
    // The second is on its way before the first is answered.
    expect(lab.hops.labels.toSorted()).toEqual(['stored', 'write']);
    await lab.happen('write');
    expect(lab.outcomes).toEqual(['b written', 'a written, synced']);
    await lab.happen('stored');
    await lab.happen('stored');
    expect(lab.answers.toSorted()).toEqual(['a stored', 'b stored']);
    expect(await keysOf(await lab.store.controlled.tear())).toEqual(['a', 'b']);
  });

  it('LST1: one that fails is not there, one that is denied is; both are refused, and noted as what they are', async () => {
    const lab = new Lab();
    lab.store.controlled.failNext({ when: 'before' });
    lab.store.controlled.failNext({ when: 'after', nth: 2 });
    lab.write('fails').write('denied').write('kept');
    for (let count = 0; count < 3; count++) await lab.happen('write');
    for (let count = 0; count < 3; count++) await lab.happen('stored');
    expect(lab.outcomes).toEqual(['fails failed', 'denied denied', 'kept written']);
    expect(lab.answers).toEqual(['fails refused', 'denied refused', 'kept stored']);
    expect(await keysOf(await lab.store.controlled.tear())).toEqual(['denied', 'kept']);
  });

  it('is what it was when it was called', async () => {
    const lab = new Lab();
    const operations = [...put('first')];
    void lab.store.batch(operations, { sync: false });
    operations.push(...put('second'));
    await lab.happen('write');
    expect((lab.facts[0] as FactOf<'wrote'>).operations).toEqual(put('first'));
  });
});

describe('crashes', () => {
  it('LST2: between the writing of a batch and its answer: it is found, and nobody is answered', async () => {
    const lab = new Lab().write('written').write('not yet');
    await lab.happen('write');
    lab.hops.end();
    const found = await lab.store.controlled.crash(lab.store.controlled.unsynced);
    await turn();
    expect(lab.answers).toEqual([]);
    expect(await keysOf(found)).toEqual(['written']);
  });

  it('with the power whole batches go, the newest first, and none that lies before a synced one', async () => {
    const left = async (keep: number): Promise<readonly string[]> => {
      const lab = new Lab().write('a').write('b', true).write('c').write('d');
      for (let count = 0; count < 4; count++) await lab.happen('write');
      expect(lab.store.controlled.unsynced).toBe(2);
      return keysOf(await lab.store.controlled.crash(keep));
    };
    expect(await left(0)).toEqual(['a', 'b']);
    expect(await left(1)).toEqual(['a', 'b', 'c']);
    expect(await left(2)).toEqual(['a', 'b', 'c', 'd']);
  });
});

describe('reads', () => {
  it('wait for their hops, and see what is there then', async () => {
    const lab = new Lab().write('k');
    let seen: unknown = 'nothing';
    void lab.store.get('k').then((value) => {
      seen = value;
    });
    await lab.happen('write');
    expect(seen).toBe('nothing');
    await lab.happen('read');
    expect(seen).toBe('k');
  });

  it('a range is as of its call, and is read by pages', async () => {
    const rows = memoryStore();
    const many = Array.from({ length: 150 }, (_, index) => String(index).padStart(3, '0'));
    await rows.batch(
      many.flatMap((key) => put(key)),
      { sync: true },
    );
    const lab = new Lab(rows);
    const seen: string[] = [];
    const range = lab.store.range({});
    const reading = (async () => {
      for await (const { key } of range) seen.push(key);
    })();
    lab.write('late');
    await lab.happen('write');
    await lab.happen('read');
    expect(seen).toHaveLength(64);
    await lab.happen('read');
    await lab.happen('read');
    await reading;
    expect(seen).toEqual(many);
  });

  it('fail as often as they are told to', async () => {
    const lab = new Lab();
    lab.store.failReads(1);
    const first = lab.store.get('k').catch((error) => isOffstageError(error, 'store.failed'));
    await lab.happen('read');
    expect(await first).toBe(true);
    const second = lab.store.get('k');
    await lab.happen('read');
    expect(await second).toBeUndefined();
  });
});

describe('the close', () => {
  it('waits for what has begun', async () => {
    const lab = new Lab().write('k');
    let isClosed = false;
    void lab.store.get('k');
    void lab.store.close().then(() => {
      isClosed = true;
    });
    for (const label of ['write', 'read']) {
      await turn();
      expect(lab.hops.labels).not.toContain('closed');
      await lab.happen(label);
    }
    await lab.happen('closed');
    expect(isClosed).toBe(true);
  });
});
