/** ROC1–ROC4, RCJ1, RCJ2: what is left after damage is made to fit together, and nothing that was given is given again. */
import { describe, expect, it } from 'vitest';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { checkRows, type RowCheck } from '../../src/persistence/row-check.ts';
import { KEYS } from '../../src/persistence/row-keys.ts';
import type { Store, StoreOperation } from '../../src/persistence/store.ts';
import { STORE_FORMAT } from '../../src/persistence/store-format.ts';
import { echo, gate } from '../support/executors.ts';
import { keptStore } from '../support/kept-store.ts';
import { contentOf } from '../support/store-content.ts';
import { testEngine } from '../support/test-engine.ts';

const AT = 5_000_000_000_000;
const LARGE = 'x'.repeat(3_000);
type Content = Readonly<Record<string, string>>;

/** Every batch that an engine writes in a short life with a bit of everything: pruned, finished, running and waiting jobs. */
async function recorded(): Promise<{
  readonly batches: readonly (readonly StoreOperation[])[];
  readonly ids: readonly string[];
}> {
  const batches: (readonly StoreOperation[])[] = [];
  const kept = keptStore(memoryStore()).open();
  const held = gate();
  const store: Store = {
    ...kept,
    batch: async (operations, options) => {
      batches.push([...operations]);
      await kept.batch(operations, options);
    },
  };
  const ids: string[] = [];
  const engine = await testEngine({ store, executors: { echo, held }, workers: 2 });
  const { offstage } = engine;
  await offstage.sessions.create({ sessionId: 's/1' });
  const one = async (sessionId: string, index: number): Promise<void> => {
    const jobId = `${sessionId}-${index}`;
    ids.push(jobId);
    await offstage.spawn({
      kind: 'echo',
      jobId,
      sessionId,
      callerSessionId: index % 3 === 0 ? 's/1' : sessionId,
      input: index % 2 === 0 ? LARGE : index,
    });
    await offstage.wait(jobId);
  };
  for (let index = 0; index < 6; index++) await one('s/1', index);
  await engine.clock.settle();
  await offstage.prune({ maxJobs: 3 });
  for (const jobId of ['held-1', 'held-2', 'held-3']) {
    ids.push(jobId);
    await offstage.spawn({ kind: 'held', jobId, input: LARGE });
  }
  await held.started('held-1');
  await engine.clock.settle();
  const soFar = batches.length;
  await held.release('held-1');
  await held.release('held-2');
  await held.release('held-3');
  await engine[Symbol.asyncDispose]();
  return { batches: batches.slice(0, soFar), ids };
}

const life = recorded();

/** A store after these batches, without those that were lost. */
async function storeOf(lost: (index: number) => boolean = () => false): Promise<Store> {
  const store = memoryStore();
  for (const [index, batch] of (await life).batches.entries()) if (!lost(index)) await store.batch(batch, { sync: false });
  return store;
}

const look = (store: Store): Promise<RowCheck> => checkRows(store, { isMending: false, at: AT });
const mend = (store: Store): Promise<RowCheck> => checkRows(store, { isMending: true, at: AT });
const kinds = ({ findings }: RowCheck): Readonly<Record<string, number>> =>
  Object.fromEntries(findings.map(({ kind, count }) => [kind, count]));

/** Looks, mends, and looks again: the first two find the same, the last nothing. */
async function mended(store: Store): Promise<Readonly<Record<string, number>>> {
  const before = await contentOf(store);
  const seen = await look(store);
  expect(await contentOf(store)).toEqual(before);
  expect(await mend(store)).toEqual(seen);
  expect(await look(store)).toMatchObject({ findings: [] });
  return kinds(seen);
}

const put = (store: Store, rows: Content): Promise<void> =>
  store.batch(
    Object.entries(rows).map(([key, value]): StoreOperation => ({ type: 'put', key, value })),
    { sync: false },
  );
const drop = (store: Store, ...keys: readonly string[]): Promise<void> =>
  store.batch(
    keys.map((key): StoreOperation => ({ type: 'del', key })),
    { sync: false },
  );
const reopened = (store: Store) => testEngine({ store: keptStore(store).open(), executors: { echo } });
const expired = expect.objectContaining({ code: 'job.expired' });

/** `s/1-4` has a large input and has ended, `s/1-5` a small one; `s/1-0` was pruned. */
const [PRUNED, BIG, SMALL, HELD] = ['s/1-0', 's/1-4', 's/1-5', 'held-1'] as const;
const ordinalOf = async (store: Store, jobId: string): Promise<number> =>
  Number.parseInt((await store.get(KEYS.id(jobId))) as string, 10);

describe('an undamaged store', () => {
  it('is found to be so, whenever its engine stopped', async () => {
    const { batches } = await life;
    for (let last = 0; last <= batches.length; last++) {
      const store = await storeOf((index) => index >= last);
      expect(await look(store), `after ${last} batches`).toMatchObject({ findings: [], eventGaps: 0 });
    }
    expect(await look(await storeOf())).toEqual({ jobs: 6, findings: [], eventGaps: 0 });
  });
});

describe('ROC1: what is lost of a job, and what is left', () => {
  it('without its input it stays, and its history says so', async () => {
    const store = await storeOf();
    await drop(store, KEYS.large(await ordinalOf(store, BIG)));
    await put(store, { [KEYS.large(await ordinalOf(store, HELD))]: '["half' });
    expect(await mended(store)).toEqual({ input_lost: 2 });
    await using engine = await reopened(store);
    for (const jobId of [BIG, HELD]) {
      expect(await engine.offstage.get(jobId)).toMatchObject({ input: null, description: '' });
      expect(await engine.offstage.history(jobId)).toContainEqual({
        at: AT,
        type: 'note',
        detail: 'The input and the description were lost with damaged data.',
      });
    }
  });

  it('it is found again by its id, by its session, and when it is asked for once more', async () => {
    const store = await storeOf();
    const before = await contentOf(store);
    for (const jobId of [BIG, SMALL]) await drop(store, KEYS.id(jobId), KEYS.sessionJob('s/1', await ordinalOf(store, jobId)));
    expect(await mended(store)).toEqual({ index_lost: 4 });
    expect(await contentOf(store)).toEqual(before);
  });

  it('its session and task come back', async () => {
    const store = await storeOf();
    await drop(store, KEYS.session('default'), KEYS.task('default'));
    await put(store, { [KEYS.session('s/1')]: 'x' });
    // The task of a session that is lost itself is found to be missing only after the session is there.
    expect(await look(store)).toMatchObject({ findings: [{ kind: 'session_lost', count: 2 }] });
    await mend(store);
    expect(await look(store)).toMatchObject({ findings: [] });
    await using engine = await reopened(store);
    const { taskId } = await engine.offstage.get(BIG);
    expect(await engine.offstage.sessions.get('s/1')).toMatchObject({ taskId, state: 'created' });
    expect(await engine.offstage.sessions.get('default')).toMatchObject({ taskId: 'default' });
  });

  it('RCJ1: standing as unfinished and as finished, it is finished', async () => {
    const store = await storeOf();
    const ordinal = await ordinalOf(store, SMALL);
    const finished = (await store.get(KEYS.finished(ordinal))) as string;
    const row = JSON.parse(finished) as unknown[];
    row[22] = 2;
    await put(store, { [KEYS.live(ordinal)]: JSON.stringify(row) });
    expect(await mended(store)).toEqual({ live_and_finished: 1 });
    expect(await store.get(KEYS.live(ordinal))).toBeUndefined();
    expect(await store.get(KEYS.finished(ordinal))).toBe(finished);
  });
});

describe('ROC2: ids and numbers are never given twice', () => {
  it.each([
    ['row', (ordinal: number) => [KEYS.finished(ordinal)]],
    ['row and id', (ordinal: number) => [KEYS.finished(ordinal), KEYS.id(BIG)]],
    [
      'row, number and all',
      (ordinal: number) => [KEYS.finished(ordinal), KEYS.id(BIG), KEYS.large(ordinal), KEYS.output(ordinal)],
    ],
  ] as const)('a job without its %s is expired', async (_, keys) => {
    const store = await storeOf();
    await drop(store, ...keys(await ordinalOf(store, BIG)));
    expect(await mended(store)).toMatchObject({ lost: 1 });
    await using engine = await reopened(store);
    await expect(engine.offstage.get(BIG)).rejects.toEqual(expired);
    await expect(engine.offstage.spawn({ kind: 'echo', jobId: BIG })).rejects.toEqual(expired);
    expect(await engine.offstage.prune({ maxJobs: 0 })).toMatchObject({ jobs: 5 });
    expect(await look(store)).toMatchObject({ findings: [] });
  });

  it('a row that cannot be read is removed, and its id expired, also when only the row knows it', async () => {
    const store = await storeOf();
    const ordinal = await ordinalOf(store, BIG);
    await put(store, { [KEYS.finished(ordinal)]: `[1,${ordinal},${JSON.stringify(BIG)},"ec` });
    await drop(store, KEYS.id(BIG));
    for (const key of Object.keys(await contentOf(store))) if (/^e\/\d/.test(key)) await drop(store, key);
    expect(await mended(store)).toEqual({ unreadable: 1, lost: 1, left_over: 2 });
    await using engine = await reopened(store);
    await expect(engine.offstage.get(BIG)).rejects.toEqual(expired);
  });

  it('a pruned job that came back goes again', async () => {
    for (const withoutId of [false, true]) {
      const store = await storeOf();
      const firstRows = async (prefix: string): Promise<Content> => {
        for (const batch of (await life).batches) {
          for (const one of batch)
            if (one.type === 'put' && one.key.startsWith(prefix) && !one.key.endsWith('~')) return { [one.key]: one.value };
        }
        throw new Error(`nothing under ${prefix}`);
      };
      await put(store, { ...(await firstRows('f/')), ...(await firstRows('b/')), ...(await firstRows('s/')) });
      if (withoutId) await drop(store, KEYS.id(PRUNED));
      expect(await mended(store), String(withoutId)).toEqual({ came_back: 1 });
      await using engine = await reopened(store);
      await expect(engine.offstage.get(PRUNED)).rejects.toEqual(expired);
    }
  });

  it('a tombstone without its id gets it back, one that cannot be read goes', async () => {
    const store = await storeOf();
    const stones = Object.keys(await contentOf(store)).filter((key) => key.startsWith('t/') && key !== 't/~');
    await drop(store, KEYS.id(PRUNED));
    await put(store, { [stones[1] as string]: 'x' });
    expect(await mended(store)).toEqual({ lost: 1, unreadable: 1 });
    await using engine = await reopened(store);
    await expect(engine.offstage.spawn({ kind: 'echo', jobId: PRUNED })).rejects.toEqual(expired);
  });

  it('numbers go on above all that is known, and, if wanted, above all that may be lost', async () => {
    const store = await storeOf();
    const [seq, ordinal] = JSON.parse((await store.get(KEYS.head)) as string) as [number, number];
    await put(store, { [KEYS.head]: JSON.stringify([seq - 3, ordinal - 2]) });
    expect(await mended(store)).toEqual({ frame: 1 });
    expect(await store.get(KEYS.head)).toBe(JSON.stringify([seq, ordinal]));
    await drop(store, KEYS.head);
    await checkRows(store, { isMending: true, at: AT, skippedNumbers: 1_000 });
    expect(await store.get(KEYS.head)).toBe(JSON.stringify([seq + 1_000, ordinal + 1_000]));
    expect(await look(store)).toMatchObject({ findings: [], eventGaps: 1 });
  });
});

describe('the rest', () => {
  it('unreadable events, sessions, tasks, processes and leftovers go; gaps are counted and are no fault', async () => {
    const store = await storeOf();
    const segments = Object.keys(await contentOf(store)).filter((key) => key.startsWith('e/') && key !== 'e/~');
    await put(store, {
      [segments[3] as string]: '[9]',
      [KEYS.session('odd')]: 'x',
      [KEYS.task('odd')]: '[]',
      [KEYS.process('odd')]: '{',
      [KEYS.output(900)]: '{}',
      [KEYS.sessionJob('s/1', 901)]: '',
      [KEYS.low]: '800',
    });
    expect(await mended(store)).toEqual({ unreadable: 4, left_over: 2, frame: 2 });
    expect(await look(store)).toMatchObject({ eventGaps: 1 });
    await using engine = await reopened(store);
    expect(engine.recovery.abandoned).toHaveLength(3);
    await expect(engine.offstage.sessions.create({ sessionId: 'odd' })).rejects.toMatchObject({ code: 'session.expired' });
    expect((await engine.offstage.spawn({ kind: 'echo', jobId: 'next' })).jobId).toBe('next');
    expect(await ordinalOf(store, 'next')).toBe(902);
  });

  it('RCJ2: what a newer release has written is not touched', async () => {
    const store = await storeOf();
    const key = KEYS.finished(await ordinalOf(store, SMALL));
    const sound = (await store.get(key)) as string;
    await put(store, { [key]: sound.replace('[1,', '[2,') });
    const before = await contentOf(store);
    await expect(mend(store)).rejects.toMatchObject({ code: 'store.failed' });
    expect(await contentOf(store)).toEqual(before);
    await put(store, { [KEYS.format]: String(STORE_FORMAT + 1), [key]: sound });
    await expect(look(store)).rejects.toMatchObject({ code: 'store.failed' });
  });
});

describe('ROC1–ROC3: whichever batches are lost', () => {
  /** Opens what is left: every id that any row or event still tells is there or expired, and the engine works. */
  async function works(store: Store, name: string): Promise<void> {
    const { jobs } = await look(store);
    await using engine = await reopened(store);
    const { offstage } = engine;
    const listed = await offstage.list({ limit: 1_000 });
    expect(listed, name).toHaveLength(jobs);
    for (const { jobId } of listed) expect((await offstage.get(jobId)).jobId, name).toBe(jobId);
    for (const jobId of (await life).ids) {
      const error = await offstage.get(jobId).then(
        () => null,
        (thrown: unknown) => thrown as { code: string },
      );
      expect([null, 'job.expired', 'job.not_found'], `${name}: ${jobId}`).toContain(error?.code ?? null);
    }
    await offstage.spawn({ kind: 'echo', jobId: 'new' });
    expect((await offstage.wait('new')).status, name).toBe('completed');
    await engine.clock.settle();
    await offstage.prune({ maxJobs: 0 });
    expect(await offstage.list(), name).toEqual([]);
    expect(
      engine.log.filter(({ level }) => level === 'error'),
      name,
    ).toEqual([]);
    expect(await look(store), name).toMatchObject({ findings: [] });
  }

  it('each one, and each run of three', async () => {
    const { batches } = await life;
    for (const width of [1, 3]) {
      for (let from = 0; from < batches.length; from++) {
        const name = `${width} from ${from}`;
        const store = await storeOf((index) => index >= from && index < from + width);
        const seen = await look(store);
        expect(await mend(store), name).toMatchObject({ jobs: seen.jobs });
        expect(await look(store), name).toMatchObject({ findings: [] });
        await works(store, name);
      }
    }
  });

  it('rows at random, gone or spoilt', async () => {
    const keys = Object.keys(await contentOf(await storeOf()));
    let state = 7;
    const random = (below: number): number => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
    for (let round = 0; round < 150; round++) {
      const store = await storeOf();
      for (let count = 1 + random(8); count > 0; count--) {
        const key = keys[random(keys.length)] as string;
        const value = (await store.get(key)) ?? '';
        if (random(2) === 0) await drop(store, key);
        else if (key !== KEYS.format) await put(store, { [key]: value.slice(0, random(value.length)) });
      }
      await mend(store);
      expect(await look(store), `round ${round}`).toMatchObject({ findings: [] });
      await works(store, `round ${round}`);
    }
  });
});
