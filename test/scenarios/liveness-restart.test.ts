/**
 * Liveness 13, restart: what becomes of sessions, of their agents' processes and of waiting prompts when their process has died.
 * What the dead process left is written as its commits would have; the bodies of its agents are only process records here.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type ProcessReaper, type Recovered, recover } from '../../src/engine/recovery.ts';
import { settingsFrom } from '../../src/engine/settings.ts';
import { bootId, processStartTime } from '../../src/executors/process-tree.ts';
import type { OffstageEvent } from '../../src/model/events.ts';
import type { ProcessRecord } from '../../src/model/records.ts';
import type { LogLevel } from '../../src/model/requests.ts';
import { open } from '../../src/open.ts';
import { readEvents } from '../../src/persistence/event-log.ts';
import { levelStore } from '../../src/persistence/level-store.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { checkRows } from '../../src/persistence/row-check.ts';
import { KEYS, RANGES } from '../../src/persistence/row-keys.ts';
import type { Store, StoreOperation } from '../../src/persistence/store.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { virtualClock } from '../../src/testing/virtual-clock.ts';
import { endLeftBehind, isLiving, newExecutionId } from '../executors/processes.ts';
import { gate } from '../support/executors.ts';
import { agentProcess, keysUnder, leave, NOW, PERMISSION, rowOf, session, storeWith } from '../support/left-behind.ts';
import { contentOf } from '../support/store-content.ts';
import { testEngine } from '../support/test-engine.ts';

const gone: ProcessReaper = async () => ({ verdict: 'gone', detail: 'It is gone.' });
const unverified: ProcessReaper = async () => ({ verdict: 'unverified', detail: 'It may be at work.' });

/** What a start does before it accepts work; its clock stands at NOW. */
async function restart(store: Store, reap: ProcessReaper = gone): Promise<Recovered & { readonly log: readonly unknown[] }> {
  const log: unknown[] = [];
  const settings = settingsFrom(
    { clock: virtualClock(NOW), log: (level: LogLevel, event, fields) => log.push([level, event, fields.key]) },
    {},
    null,
  );
  return { ...(await recover(store, settings, reap, [])), log };
}

async function eventsOf(store: Store): Promise<readonly OffstageEvent[]> {
  const events: OffstageEvent[] = [];
  for await (const event of readEvents(store, 0, 'now')) events.push(event);
  return events;
}

/** A second start finds nothing to do and writes nothing. */
async function expectSettled(store: Store, reap: ProcessReaper = gone): Promise<void> {
  const before = await contentOf(store);
  const watched = controlledStore(store);
  const { report } = await restart(watched, reap);
  expect(report).toMatchObject({ abandoned: [], sessions: [], lostTickets: [] });
  expect(watched.writes).toEqual([]);
  expect(await contentOf(store)).toEqual(before);
}

describe('liveness 13: sessions', () => {
  it('starting and running wait for input, interrupted, without what they asked; one event each', async () => {
    const store = await storeWith({
      sessions: [
        session('launching', 'starting'),
        session('speaking', 'running', { agentId: 'mock' }),
        session('asking', 'running', { pending: PERMISSION, revision: 9 }),
      ],
    });
    const { report, seq } = await restart(store);
    expect([...report.sessions].sort()).toEqual(['asking', 'launching', 'speaking']);
    for (const [sessionId, more] of [
      ['launching', {}],
      ['speaking', { agentId: 'mock' }],
      ['asking', { revision: 10 }],
    ] as const) {
      const expected = { interrupted: true, updatedAt: NOW, revision: 4, ...more };
      expect(await rowOf(store, sessionId)).toEqual(session(sessionId, 'waiting_for_input', expected));
    }
    const events = await eventsOf(store);
    expect(events.map((event) => event.seq)).toEqual([1, 2, 3]);
    expect(seq).toBe(3);
    expect(events).toEqual(
      expect.arrayContaining(
        (
          [
            ['launching', 'starting'],
            ['speaking', 'running'],
            ['asking', 'running'],
          ] as const
        ).map(([sessionId, oldState]) => ({
          type: 'session.state_changed',
          seq: expect.any(Number),
          epoch: 'now',
          at: NOW,
          sessionId,
          taskId: 't',
          oldState,
          newState: 'waiting_for_input',
        })),
      ),
    );
    expect(await store.get(KEYS.head)).toBe('[3,0]');
    await expectSettled(store);
    expect(await checkRows(store, { isMending: false, at: 1 })).toMatchObject({ findings: [], eventGaps: 0 });
  });

  it('others are unchanged, whatever their state', async () => {
    const states = ['created', 'waiting_for_input', 'idle', 'completed', 'failed', 'cancelled'] as const;
    const store = await storeWith({ sessions: states.map((state) => session(state, state)) });
    const before = await contentOf(store);
    const { report } = await restart(store);
    expect(report).toEqual({ abandoned: [], sessions: [], lostTickets: [], processes: [] });
    expect(await contentOf(store)).toEqual(before);
  });

  it('of one that waits for input only its question goes, and the event says that its state is the same', async () => {
    const store = await storeWith({ sessions: [session('s', 'waiting_for_input', { pending: PERMISSION, interrupted: true })] });
    const { report } = await restart(store);
    expect(report.sessions).toEqual([]);
    expect(await rowOf(store, 's')).toEqual(
      session('s', 'waiting_for_input', { interrupted: true, updatedAt: NOW, revision: 4 }),
    );
    expect(await eventsOf(store)).toMatchObject([{ oldState: 'waiting_for_input', newState: 'waiting_for_input' }]);
    await expectSettled(store);
  });

  it('no time lies before the creation, also where the wall clock was put back', async () => {
    const store = await storeWith({ sessions: [session('s', 'running', { createdAt: NOW + 5_000, updatedAt: NOW + 6_000 })] });
    await restart(store);
    expect(await rowOf(store, 's')).toMatchObject({ createdAt: NOW + 5_000, updatedAt: NOW + 5_000 });
  });

  it('RVS1: only what is marked is read, however many sessions there are', async () => {
    const idle = Array.from({ length: 700 }, (_, index) => session(`idle-${index}`, 'idle'));
    const inner = await storeWith({ sessions: [...idle, session('a', 'running'), session('b', 'starting')] });
    const read: string[] = [];
    const store: Store = {
      get: (key) => {
        read.push(key);
        return inner.get(key);
      },
      getMany: (keys) => {
        read.push(...keys);
        return inner.getMany(keys);
      },
      range: (options) => ({
        async *[Symbol.asyncIterator]() {
          for await (const entry of inner.range(options)) {
            read.push(entry.key);
            yield entry;
          }
        },
      }),
      batch: (operations, options) => inner.batch(operations, options),
      close: () => inner.close(),
    };
    const { report } = await restart(store);
    expect(report.sessions).toEqual(['a', 'b']);
    expect(read.filter((key) => key.startsWith('n/'))).toEqual([KEYS.session('a'), KEYS.session('b')]);
    expect(read.length).toBeLessThan(20);
  });
});

describe('liveness 13: agent processes', () => {
  it('are reaped like those of commands, before the sessions and jobs are settled', async () => {
    const command: ProcessRecord = { ...agentProcess('e2', ''), jobId: 'job_1', sessionId: null, teardownAt: NOW - 100 };
    const store = await storeWith({ sessions: [session('s', 'running')], processes: [agentProcess('e1', 's'), command] });
    const reaped: ProcessRecord[] = [];
    const { report } = await restart(store, async (record) => {
      reaped.push(record);
      expect(await rowOf(store, 's')).toMatchObject({ state: 'running' });
      return { verdict: 'killed', detail: 'Ended sh (12).' };
    });
    expect(reaped).toEqual([agentProcess('e1', 's'), command]);
    const told = { verdict: 'killed', detail: 'Ended sh (12).', pid: 4_000_000 };
    expect(report.processes).toEqual([
      { ...told, jobId: null, sessionId: 's', executionId: 'e1', teardownAt: null },
      { ...told, jobId: 'job_1', sessionId: null, executionId: 'e2', teardownAt: NOW - 100 },
    ]);
    expect(await rowOf(store, 's')).toMatchObject({ state: 'waiting_for_input', interrupted: true });
    expect(await keysUnder(store, RANGES.processes)).toEqual([]);
  });

  it('whose end nobody could prove stay recorded and are told at every start; their sessions are settled all the same', async () => {
    const store = await storeWith({ sessions: [session('s', 'running')], processes: [agentProcess('e1', 's')] });
    const { report } = await restart(store, unverified);
    expect(report.sessions).toEqual(['s']);
    expect(report.processes).toMatchObject([{ verdict: 'unverified', sessionId: 's', executionId: 'e1' }]);
    expect(await keysUnder(store, RANGES.processes)).toEqual([KEYS.process('e1')]);
    await expectSettled(store, async () => {
      throw new Error('the table cannot be read');
    });
    expect((await restart(store, unverified)).report.processes).toMatchObject([{ verdict: 'unverified', executionId: 'e1' }]);
    await restart(store);
    expect(await keysUnder(store, RANGES.processes)).toEqual([]);
  });

  it('L159: of a settled session, and gone: the record is removed, the row unchanged', async () => {
    for (const state of ['waiting_for_input', 'idle', 'completed', 'cancelled'] as const) {
      const store = await storeWith({ sessions: [session('s', state)], processes: [agentProcess('e1', 's')] });
      const { report } = await restart(store);
      expect(report.processes).toMatchObject([{ verdict: 'gone', sessionId: 's' }]);
      expect(await keysUnder(store, RANGES.processes)).toEqual([]);
      expect(await rowOf(store, 's')).toEqual(session('s', state));
      expect(await eventsOf(store)).toEqual([]);
      await expectSettled(store);
    }
  });

  it('L160: without a session row, and provably ours: reaped, the record removed, reported', async () => {
    const store = await storeWith({ processes: [agentProcess('e1', 'nobody')] });
    const { report } = await restart(store, async () => ({ verdict: 'killed', detail: 'Ended sh (12).' }));
    expect(report).toMatchObject({
      sessions: [],
      processes: [{ verdict: 'killed', sessionId: 'nobody', executionId: 'e1', detail: 'Ended sh (12).' }],
    });
    expect(await keysUnder(store, RANGES.processes)).toEqual([]);
    expect(await store.get(KEYS.session('nobody'))).toBeUndefined();
    await expectSettled(store);
  });
});

describe('liveness 3: waiting prompts', () => {
  it('are reported as lost after a crash, once, and not served', async () => {
    const store = await storeWith({ sessions: [session('s', 'running')], tickets: ['s', 's', 'other'] });
    const { report } = await restart(store);
    expect(report.lostTickets).toEqual([
      { ticketId: 'q1', promptId: 'p1', sessionId: 's' },
      { ticketId: 'q2', promptId: 'p2', sessionId: 's' },
      { ticketId: 'q3', promptId: 'p3', sessionId: 'other' },
    ]);
    expect(await keysUnder(store, RANGES.tickets)).toEqual([]);
    await expectSettled(store);
  });
});

describe('RVS2: rows that cannot be read', () => {
  it('are said and skipped; what is sound is settled, the rest is for doctor', async () => {
    const store = await storeWith({
      sessions: [session('sound', 'running'), session('spoilt', 'running'), session('lost', 'running')],
      processes: [agentProcess('e1', 'sound')],
      tickets: ['sound'],
    });
    const spoilt = {
      [KEYS.session('spoilt')]: '{"sess',
      [KEYS.ticket('odd')]: '[]',
      [KEYS.process('odd')]: '{}',
      'a/%zz': '',
    };
    await store.batch(
      [
        ...Object.entries(spoilt).map(([key, value]): StoreOperation => ({ type: 'put', key, value })),
        { type: 'del', key: KEYS.session('lost') },
      ],
      { sync: true },
    );
    const { report, log } = await restart(store);
    expect(report.sessions).toEqual(['sound']);
    expect(report.lostTickets).toHaveLength(1);
    const said = [KEYS.process('odd'), 'a/%zz', KEYS.session('lost'), KEYS.session('spoilt'), KEYS.ticket('odd')];
    expect(log).toEqual(expect.arrayContaining(said.map((key) => ['error', 'row.unreadable', key])));
    expect(log).toHaveLength(said.length);
    const content = await contentOf(store);
    for (const [key, value] of Object.entries(spoilt)) expect(content[key]).toBe(value);
    expect(await rowOf(store, 'sound')).toMatchObject({ state: 'waiting_for_input' });
    await expectSettled(store);
    await checkRows(store, { isMending: true, at: 1 });
    expect((await restart(store)).log).toEqual([]);
  });

  it('RVS3: a mark that is left over goes, without an event', async () => {
    const store = await storeWith({ sessions: [session('s', 'idle')] });
    await store.batch(
      [
        { type: 'put', key: KEYS.openSession('s'), value: '' },
        { type: 'put', key: KEYS.openSession('gone'), value: '' },
        { type: 'put', key: KEYS.session('gone'), value: '{"removed":1}' },
      ],
      { sync: true },
    );
    const { report } = await restart(store);
    expect(report.sessions).toEqual([]);
    expect(await keysUnder(store, RANGES.openSessions)).toEqual([]);
    expect(await rowOf(store, 's')).toEqual(session('s', 'idle'));
    expect(await eventsOf(store)).toEqual([]);
    await expectSettled(store);
  });
});

describe('RCV4: a restart that is cut off', () => {
  /** Enough for three batches: sessions, prompts, a process, and jobs. */
  async function crowded(): Promise<Store> {
    const store = controlledStore(memoryStore());
    const held = gate();
    const engine = await testEngine({ store, executors: { held } });
    for (let index = 0; index < 200; index++) await engine.offstage.spawn({ kind: 'held', jobId: `job-${index}` });
    await engine.clock.settle();
    const found = await store.crash();
    await leave(found, {
      sessions: Array.from({ length: 400 }, (_, index) => session(`s${index}`, index % 2 === 0 ? 'running' : 'starting')),
      processes: [agentProcess('e1', 's1')],
      tickets: ['s1', 's2'],
    });
    return found;
  }

  it('at any write, in any way, is finished by the next one: every session settled once, no number twice', async () => {
    const left = await contentOf(await crowded());
    const again = async (): Promise<Store> => {
      const store = memoryStore();
      await store.batch(
        Object.entries(left).map(([key, value]): StoreOperation => ({ type: 'put', key, value })),
        { sync: true },
      );
      return store;
    };
    const undisturbed = controlledStore(await again());
    const { report } = await restart(undisturbed);
    expect([report.sessions.length, report.abandoned.length, report.lostTickets.length]).toEqual([400, 200, 2]);
    const expected = await contentOf(undisturbed);
    expect(undisturbed.writes).toHaveLength(3);
    for (let nth = 1; nth <= undisturbed.writes.length; nth++) {
      for (const when of ['before', 'after'] as const) {
        const store = controlledStore(await again());
        store.failNext({ when, nth });
        await expect(restart(store)).rejects.toMatchObject({ code: 'store.failed' });
        for (const found of [await store.tear(0), await store.tear()]) {
          await restart(found);
          expect(await contentOf(found), `${when} ${nth}`).toEqual(expected);
          await expectSettled(found);
        }
      }
    }
    const numbers = (await eventsOf(undisturbed)).map(({ seq }) => seq);
    expect(numbers).toEqual(numbers.map((_, index) => index + 1));
    expect(await checkRows(undisturbed, { isMending: false, at: 1 })).toMatchObject({ findings: [], eventGaps: 0 });
  });
});

describe('a data folder', () => {
  let folder = '';

  afterEach(async () => {
    await endLeftBehind();
    await rm(folder, { recursive: true, force: true });
  });

  it.runIf(process.platform === 'linux')(
    'liveness 13: the agent of a killed host is ended, its session waits for input, and a second open changes nothing',
    async () => {
      folder = await mkdtemp(join(tmpdir(), 'offstage-restart-'));
      const executionId = newExecutionId();
      const agent = spawn('sh', ['-c', 'echo ready; sleep 600 & wait'], {
        detached: true,
        stdio: ['ignore', 'pipe', 'ignore'],
        env: { PATH: process.env.PATH, OFFSTAGE_EXECUTION: executionId },
      });
      const pid = agent.pid as number;
      const startTime = processStartTime(pid);
      await once(agent.stdout as NonNullable<typeof agent.stdout>, 'data');
      const store = await levelStore(folder);
      await leave(store, {
        sessions: [session('s', 'running', { pending: PERMISSION }), session('quiet', 'idle')],
        processes: [
          { executionId, jobId: null, sessionId: 's', pid, startTime, bootId: bootId(), at: NOW, teardownAt: null },
          { ...agentProcess('gone', 'quiet'), bootId: null, pid: null },
        ],
        tickets: ['s'],
      });
      await store.close();

      const first = await open({ dataDir: folder, killAfterMs: 500 });
      expect(first.recovery.sessions).toEqual(['s']);
      expect(first.recovery.lostTickets).toEqual([{ ticketId: 'q1', promptId: 'p1', sessionId: 's' }]);
      expect(first.recovery.processes).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ executionId, sessionId: 's', jobId: null, verdict: 'killed' }),
          expect.objectContaining({ executionId: 'gone', sessionId: 'quiet', verdict: 'gone' }),
        ]),
      );
      expect(await isLiving(pid)).toBe(false);
      const settled = { state: 'waiting_for_input', interrupted: true, pending: null, revision: 4 };
      expect(await first.sessions.get('s')).toMatchObject(settled);
      expect(await first.processes()).toEqual([]);
      const { seq } = await first.snapshot();
      await first.close();

      const second = await open({ dataDir: folder });
      expect(second.recovery).toEqual({ abandoned: [], sessions: [], lostTickets: [], processes: [] });
      expect(await second.sessions.get('s')).toMatchObject(settled);
      expect((await second.snapshot()).seq).toBe(seq);
      await second.close();
    },
  );
});
