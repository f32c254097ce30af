/** NTC4, NTC5: stops, and the built-in session, start no agent to tell it of an end. */
import { describe, expect, it } from 'vitest';
import { LIMITS } from '../../src/model/limits.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { RANGES } from '../../src/persistence/row-keys.ts';
import type { Store } from '../../src/persistence/store.ts';
import { type ControlledStore, controlledStore } from '../../src/testing/controlled-store.ts';
import { echo, gate, stubborn } from '../support/executors.ts';
import { keptStore } from '../support/kept-store.ts';
import { keysUnder } from '../support/left-behind.ts';
import { type SessionLab, type SessionLabOptions, sessionLab } from '../support/sessions.ts';
import { slowReads } from '../support/slow-reads.ts';

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

it.each(['sessions', 'tasks'] as const)(
  'NTC4: what a stop of %s has ended is told to nobody, and starts no agent',
  async (scope) => {
    await using lab = await sessionLab({ notices: true, executors: { gate: gate() } });
    const { offstage, mock } = lab;
    const s = await lab.create('s');
    const job = await offstage.spawn({ kind: 'gate', sessionId: 's' });
    await lab.settled();
    const report = await (scope === 'tasks' ? offstage.tasks.stop(s.taskId) : offstage.sessions.stop('s'));
    await report.settled;
    await lab.settled();
    expect((await offstage.get(job.jobId)).reasonCode).toBe('cancel.stop');
    expect([mock.agents.length, (await s.view()).state]).toEqual([0, 'created']);
    // Somebody's cancel is told.
    const other = await offstage.spawn({ kind: 'gate', sessionId: 's' });
    await offstage.cancel(other.jobId);
    await lab.settled();
    expect(s.prompts.map(({ content }) => content)).toEqual([expect.stringContaining(`[task ${other.jobId} cancelled]`)]);
  },
);

it('NTC4: jobs that name no session start no agent, until somebody talks to the built-in one', async () => {
  await using lab = await sessionLab({ notices: true, executors: { echo } });
  const { offstage, mock } = lab;
  await offstage.wait((await offstage.spawn({ kind: 'echo', input: 'a' })).jobId);
  await lab.settled();
  expect(mock.agents).toEqual([]);
  await offstage.sessions.prompt('default', { content: 'hello' });
  await lab.settled();
  mock.prompts[0]?.end();
  await lab.settled();
  await offstage.spawn({ kind: 'echo', input: 'b' });
  await lab.settled();
  expect(mock.prompts.map(({ content }) => content)).toEqual(['hello', expect.stringContaining('b')]);
});

describe('NTC5: what a session was not told of before its stop, it is not told after it', () => {
  const SCOPES = ['sessions', 'tasks'] as const;

  const lab = (options: SessionLabOptions = {}): Promise<SessionLab> =>
    sessionLab({ ...options, notices: true, executors: { echo, ...options.executors } });

  /** Told to end, and seen to; or its code. */
  async function stopped({ offstage, settled }: SessionLab, scope: (typeof SCOPES)[number] = 'tasks'): Promise<string> {
    const answer = await (scope === 'tasks' ? offstage.tasks.stop('t') : offstage.sessions.stop('s')).then(
      async (report) => {
        await report.settled;
        return 'stopped';
      },
      (error: { code: string }) => error.code,
    );
    await settled();
    return answer;
  }

  const noticesIn = (store: Store): Promise<readonly string[]> => keysUnder(store, RANGES.notices);

  /** However long one waits. */
  async function expectSilence(it: SessionLab, store: Store, starts = 0): Promise<void> {
    expect(await noticesIn(store)).toEqual([]);
    await it.clock.advance(LIMITS.lastNoticeRetryMs);
    expect(it.mock.starts).toHaveLength(starts);
    expect(it.mock.prompts).toEqual([]);
    expect(await it.offstage.sessions.get('s')).toMatchObject({ state: 'created' });
  }

  const withSession = async (options: SessionLabOptions = {}): Promise<SessionLab> => {
    const it = await lab(options);
    await it.offstage.tasks.create({ taskId: 't' });
    await it.create('s', 't', options.names?.[0]);
    return it;
  };

  it.each(SCOPES)('a notice that waits to be tried again, and those behind it: a stop of %s takes them back', async (scope) => {
    const script = { failStart: new Error('not yet') as unknown };
    await using it = await withSession({ script });
    for (const jobId of ['a', 'b']) await it.offstage.spawn({ kind: 'echo', jobId, sessionId: 's' });
    await it.settled();
    expect(it.mock.starts).toHaveLength(1);
    expect(await stopped(it, scope)).toBe('stop.nothing_running');
    script.failStart = undefined;
    await expectSilence(it, it.engine.store, 1);
    expect(it.engine.log.filter(({ event }) => event === 'notice.dropped')).toMatchObject([{ fields: { sessionId: 's' } }]);
    // What ends after the stop is told.
    await it.offstage.spawn({ kind: 'echo', jobId: 'c', sessionId: 's' });
    await it.settled();
    expect(it.mock.prompts.map(({ content }) => content)).toEqual([expect.stringContaining('[task c completed]')]);
  });

  it.each(SCOPES)('a job whose end is on its way to the store when a stop of %s comes', async (scope) => {
    const held = gate();
    const store = controlledStore(memoryStore());
    await using it = await withSession({ store, executors: { held } });
    for (const jobId of ['a', 'b']) await it.offstage.spawn({ kind: 'held', jobId, sessionId: 's' });
    await held.started('b');
    await it.settled();
    store.hold();
    // The end of one is being written, that of the other is next.
    await held.release('a');
    await it.settled();
    await held.release('b');
    const answer = stopped(it, scope);
    await it.settled();
    store.release();
    expect(await answer).toBe('stop.nothing_running');
    expect(await Promise.all(['a', 'b'].map(async (jobId) => (await it.offstage.get(jobId)).status))).toEqual([
      'completed',
      'completed',
    ]);
    await expectSilence(it, store);
  });

  it.each(SCOPES)('a job that somebody had cancelled, and that ends while a stop of %s waits for it', async (scope) => {
    const stuck = stubborn();
    await using it = await withSession({ executors: { stuck } });
    await it.offstage.spawn({ kind: 'stuck', jobId: 'a', sessionId: 's' });
    await stuck.started('a');
    await it.offstage.cancel('a');
    const answer = stopped(it, scope);
    await it.settled();
    await stuck.release('a');
    expect(await answer).toBe('stopped');
    expect(await it.offstage.get('a')).toMatchObject({ status: 'cancelled', reasonCode: 'cancel.user' });
    await expectSilence(it, it.engine.store);
  });

  it('wherever a notice on its way is when the stop comes: what it has started is ended, and nothing is started afterwards', async () => {
    const seen = new Set<string>();
    // So many turns after the stop was asked for, or before, the job ends.
    for (let offset = -24; offset <= 24; offset += 1) {
      const held = gate();
      await using it = await withSession({ store: slowReads(memoryStore()), executors: { held } });
      await it.offstage.spawn({ kind: 'held', jobId: 'a', sessionId: 's' });
      await held.started('a');
      const end = async (): Promise<void> => {
        await turns(offset);
        // It may have been told to end by then.
        await held.release('a').catch(() => {});
      };
      const stop = async (): Promise<string> => {
        await turns(-offset);
        return stopped(it);
      };
      const [outcome] = await Promise.all([stop(), end()]);
      const { starts, agents } = it.mock;
      const before = starts.length;
      seen.add(`${(await it.offstage.get('a')).status}, ${before}, ${outcome}`);
      expect(
        agents.every(({ isClosed }) => isClosed),
        String(offset),
      ).toBe(true);
      expect(await noticesIn(it.engine.store), String(offset)).toEqual([]);
      await it.clock.advance(LIMITS.lastNoticeRetryMs);
      expect(starts, String(offset)).toHaveLength(before);
    }
    // The stop came before the end, between it and the start of the agent, and after that.
    expect([...seen]).toEqual(
      expect.arrayContaining(['cancelled, 0, stopped', 'completed, 0, stop.nothing_running', 'completed, 1, stopped']),
    );
  });

  it('a session that is not stopped is told, also of what has ended in one that is', async () => {
    const store = controlledStore(memoryStore());
    const held = gate();
    await using it = await withSession({ store, executors: { held } });
    const caller = await it.create('caller', 't');
    await it.offstage.spawn({ kind: 'held', jobId: 'a', sessionId: 's', callerSessionId: 'caller' });
    await held.started('a');
    await it.settled();
    store.hold();
    await held.release('a');
    await it.settled();
    const answer = stopped(it, 'sessions');
    await it.settled();
    store.release();
    expect(await answer).toBe('stop.nothing_running');
    expect(caller.prompts.map(({ content }) => content)).toEqual([expect.stringContaining('[task a completed]')]);
  });

  describe('in the next process', () => {
    /** Whether the session is told of a job whose end the first process has left untold, after `between`. */
    async function isTold(options: SessionLabOptions, between: (it: SessionLab) => Promise<unknown>): Promise<boolean> {
      const kept = keptStore(memoryStore());
      {
        const script = { failStart: new Error('not yet') as unknown };
        await using first = await withSession({ store: kept.open(), script, names: ['special'] });
        await first.offstage.spawn({ kind: 'echo', jobId: 'a', sessionId: 's' });
        await first.settled();
      }
      {
        await using second = await sessionLab({ ...options, store: kept.open() });
        await second.settled();
        await between(second);
      }
      await using third = await lab({ store: kept.open(), names: ['special'] });
      await third.settled();
      return third.mock.prompts.length > 0;
    }

    const SILENT: readonly [string, SessionLabOptions][] = [
      ['tells nobody', { notices: false, names: ['special'] }],
      ['does not have the agent', { notices: true }],
    ];

    it.each(SILENT)('one that %s leaves it to the next one, unless the session is stopped in it', async (_, options) => {
      expect(await isTold(options, async () => {})).toBe(true);
      expect(await isTold(options, (it) => stopped(it))).toBe(false);
    });

    describe('after a power loss as soon as the stop has answered', () => {
      /** Of a stop that is asked for now: whether it has answered, and its code. */
      async function begin({ offstage, settled }: SessionLab) {
        const seen = { isOver: false };
        const answer = offstage.tasks.stop('t').catch((error: { code: string }) => {
          seen.isOver = true;
          return error.code;
        });
        await settled();
        return { seen, answer };
      }

      async function expectNobodyTold(store: ControlledStore): Promise<void> {
        await using next = await lab({ store: keptStore(await store.crash(0)).open() });
        await next.settled();
        expect((await next.offstage.get('a')).status).toBe('completed');
        expect(next.mock.starts).toEqual([]);
      }

      it('of a notice that waits to be tried again', async () => {
        const store = controlledStore(memoryStore());
        const first = await withSession({ store, script: { failStart: new Error('not yet') } });
        await first.offstage.spawn({ kind: 'echo', jobId: 'a', sessionId: 's' });
        await first.settled();
        expect(await noticesIn(store)).toHaveLength(1);
        store.hold();
        const { seen, answer } = await begin(first);
        expect(seen.isOver).toBe(false);
        store.release();
        expect(await answer).toBe('stop.nothing_running');
        await expectNobodyTold(store);
      });

      it('of a job whose end was being written', async () => {
        const held = gate();
        const store = controlledStore(memoryStore());
        const first = await withSession({ store, executors: { held } });
        await first.offstage.spawn({ kind: 'held', jobId: 'a', sessionId: 's' });
        await held.started('a');
        await first.settled();
        store.hold();
        await held.release('a');
        await first.settled();
        const { seen, answer } = await begin(first);
        // Its notice goes in the write after that of its end.
        const unwatch = first.offstage.onEvent(() => store.hold());
        store.release();
        await first.settled();
        unwatch();
        expect((await first.offstage.get('a')).status).toBe('completed');
        expect(seen.isOver).toBe(false);
        store.release();
        expect(await answer).toBe('stop.nothing_running');
        await expectNobodyTold(store);
      });
    });
  });
});
