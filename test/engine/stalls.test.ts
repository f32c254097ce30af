/** STL1 to STL4, OTN1, OTN2: silence is told of once and shown from the same instant on; a session is declared failed only where that is asked for. */
import { describe, expect, it } from 'vitest';
import { AgentExecution } from '../../src/engine/agent-execution.ts';
import { Core } from '../../src/engine/core.ts';
import { settingsFrom } from '../../src/engine/settings.ts';
import { Stalls } from '../../src/engine/stalls.ts';
import type { Turns } from '../../src/engine/turns.ts';
import type { OffstageError } from '../../src/model/errors.ts';
import type { EngineOptions } from '../../src/model/options.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { controlledExecutor } from '../../src/testing/controlled-executor.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { virtualClock } from '../../src/testing/virtual-clock.ts';
import { FULL, type LabSession, type SessionLab, sessionLab } from '../support/sessions.ts';

const QUIET_MS = 300_000;

/** What was told of silence: the turn, the work, and for how long. */
const notices = (lab: SessionLab) =>
  lab.engine.events.flatMap((event) =>
    event.type === 'session.quiet' ? [[event.generation, event.workloads, event.silentMs] as const] : [],
  );

const isShownQuiet = async (s: LabSession): Promise<boolean | undefined> => (await s.view()).turn?.quiet;

const ask = (s: LabSession, requestId: string, generation = s.generation): Promise<void> =>
  s.tell({ type: 'permission.request', generation, requestId, kind: 'permission', options: ['yes', 'no'] });

describe('a turn that says nothing', () => {
  it('is told of once, at the instant from which on it is shown as quiet, and goes on', async () => {
    await using lab = await sessionLab();
    const s = await lab.running();
    await lab.clock.advance(QUIET_MS - 1);
    expect([await isShownQuiet(s), notices(lab)]).toEqual([false, []]);
    await lab.clock.advance(1);
    expect([await isShownQuiet(s), notices(lab)]).toEqual([true, [[s.generation, [], QUIET_MS]]]);
    await lab.clock.advance(20 * QUIET_MS);
    expect(notices(lab)).toHaveLength(1);
    expect(await s.view()).toMatchObject({ state: 'running', foregroundActivity: 'generating', turn: { quiet: true } });
    expect(lab.engine.events.find(({ type }) => type === 'session.quiet')).toMatchObject({
      sessionId: 's',
      taskId: s.taskId,
      seq: (await lab.offstage.snapshot()).seq,
    });
    expect(lab.engine.log.filter(({ event }) => event === 'session.quiet')).toEqual([
      {
        level: 'warn',
        event: 'session.quiet',
        fields: { sessionId: 's', taskId: s.taskId, generation: s.generation, workloads: [], silentMs: QUIET_MS },
      },
    ]);
  });

  it.each([1, 1_000, QUIET_MS - 1])(
    'is told of again after its next word, to the instant; %i ms into a round',
    async (afterMs) => {
      await using lab = await sessionLab();
      const s = await lab.running();
      await lab.clock.advance(3 * QUIET_MS + afterMs);
      await s.out();
      await lab.clock.advance(QUIET_MS - 1);
      expect([await isShownQuiet(s), notices(lab).length]).toEqual([false, 1]);
      await lab.clock.advance(1);
      expect([await isShownQuiet(s), notices(lab)]).toEqual([
        true,
        [
          [s.generation, [], QUIET_MS],
          [s.generation, [], QUIET_MS],
        ],
      ]);
    },
  );

  it('is not told of while it goes on saying something, nor when it is over', async () => {
    await using lab = await sessionLab();
    const s = await lab.running();
    for (let word = 0; word < 5; word++) {
      await lab.clock.advance(QUIET_MS - 1);
      await s.out();
    }
    await s.done();
    await lab.clock.advance(2 * QUIET_MS);
    expect(notices(lab)).toEqual([]);
  });

  it('is told of also where the agent began it by itself', async () => {
    await using lab = await sessionLab({ outOfTurnIdleMs: null });
    const s = await lab.running();
    await s.done();
    await lab.clock.advance(QUIET_MS);
    await s.out('by the way', 0);
    const generation = (await s.view()).turn?.generation;
    await lab.clock.advance(QUIET_MS - 1);
    expect([await isShownQuiet(s), notices(lab)]).toEqual([false, []]);
    await lab.clock.advance(1);
    expect([await isShownQuiet(s), notices(lab)]).toEqual([true, [[generation, [], QUIET_MS]]]);
  });

  it('is told of without a generation while its agent is only starting, and once more when that has taken it', async () => {
    let letStart: () => void = () => {};
    const script = { attests: FULL, failStart: () => new Promise<undefined>((resolve) => (letStart = () => resolve(undefined))) };
    await using lab = await sessionLab({ script });
    const s = await lab.create();
    const asking = s.ask();
    await lab.clock.advance(QUIET_MS);
    expect([await isShownQuiet(s), notices(lab)]).toEqual([true, [[0, [], QUIET_MS]]]);
    letStart();
    await asking;
    await lab.settled();
    expect(await isShownQuiet(s)).toBe(false);
    await lab.clock.advance(QUIET_MS);
    expect(notices(lab).slice(1)).toEqual([[s.generation, [], QUIET_MS]]);
  });

  it('is not silent once it has handed the foreground on', async () => {
    await using lab = await sessionLab();
    const s = await lab.running();
    await s.idle();
    await lab.clock.advance(2 * QUIET_MS);
    expect([(await s.view()).turn, notices(lab)]).toEqual([null, []]);
  });
});

describe('work in the background that says nothing', () => {
  it('is told of by its ids: what falls quiet at the same time in one notice, with its turn', async () => {
    await using lab = await sessionLab();
    const s = await lab.running();
    await s.reg('one');
    await s.reg('two', 'shell');
    await lab.clock.advance(QUIET_MS);
    expect(notices(lab)).toEqual([[s.generation, ['one', 'two'], QUIET_MS]]);
  });

  it('is told of by itself, each at its time and once for each silence', async () => {
    await using lab = await sessionLab();
    const s = await lab.running();
    await s.reg('early', 'subagent', 'launch of early');
    await lab.clock.advance(1_000);
    await s.hostReg('late', 'monitor');
    await s.done();
    await lab.clock.advance(QUIET_MS - 1_001);
    expect(notices(lab)).toEqual([]);
    await lab.clock.advance(1);
    expect(notices(lab)).toEqual([[null, ['early'], QUIET_MS]]);
    await lab.clock.advance(999);
    expect((await s.view()).quietCount).toBe(1);
    await lab.clock.advance(1);
    expect(notices(lab).slice(1)).toEqual([[null, ['late'], QUIET_MS]]);
    expect((await s.view()).quietCount).toBe(2);
    await s.update('launch of early');
    await lab.clock.advance(QUIET_MS - 1);
    expect(notices(lab)).toHaveLength(2);
    await lab.clock.advance(1);
    expect(notices(lab).slice(2)).toEqual([[null, ['early'], QUIET_MS]]);
    await lab.clock.advance(10 * QUIET_MS);
    expect(notices(lab)).toHaveLength(3);
  });

  it('is told of beside a turn that speaks, and not after its end', async () => {
    await using lab = await sessionLab();
    const s = await lab.running();
    await s.reg('work');
    await s.reg('ended');
    await lab.clock.advance(QUIET_MS - 1);
    await s.out();
    await s.bgc({ workloadId: 'ended' });
    await lab.clock.advance(1);
    expect(notices(lab)).toEqual([[null, ['work'], QUIET_MS]]);
  });

  it('says in one notice how long what has been silent for longest has been', async () => {
    await using lab = await sessionLab({ quietAfterMs: 50 });
    const s = await lab.running();
    await s.reg('work');
    await lab.clock.advance(60);
    await s.reg('work');
    await lab.clock.advance(5);
    await s.out();
    // So short a limit is looked at no more often than ten times a second.
    await lab.clock.advance(85);
    expect(notices(lab)).toEqual([
      [s.generation, ['work'], 50],
      [s.generation, ['work'], 90],
    ]);
  });

  it('that is a job of the engine is not told of: jobs have limits of their own', async () => {
    const gate = controlledExecutor();
    await using lab = await sessionLab({ executors: { gate } });
    const s = await lab.running();
    await s.done();
    await lab.offstage.spawn({ kind: 'gate', sessionId: 's' });
    await lab.clock.advance(2 * QUIET_MS);
    expect(notices(lab)).toEqual([]);
  });
});

describe('OTN2: a turn whose agent waits', () => {
  it('for an answer is neither told of nor shown as quiet; its silence counts from the answer', async () => {
    await using lab = await sessionLab({ stallFailMs: 2 * QUIET_MS });
    const s = await lab.running();
    await ask(s, 'first');
    await ask(s, 'second');
    await lab.clock.advance(5 * QUIET_MS + 1_000);
    await lab.offstage.sessions.answer('s', 'first', 'yes');
    await lab.clock.advance(5 * QUIET_MS + 1_000);
    expect([await isShownQuiet(s), notices(lab)]).toEqual([false, []]);
    await lab.offstage.sessions.answer('s', 'second', 'yes');
    await lab.clock.advance(QUIET_MS - 1);
    expect([await isShownQuiet(s), notices(lab)]).toEqual([false, []]);
    await lab.clock.advance(1);
    expect([await isShownQuiet(s), notices(lab)]).toEqual([true, [[s.generation, [], QUIET_MS]]]);
    await lab.clock.advance(QUIET_MS - 1);
    expect((await s.view()).state).toBe('running');
    await lab.clock.advance(1);
    expect((await s.view()).state).toBe('failed');
  });

  it('for an answer is told of nevertheless as far as its work goes', async () => {
    await using lab = await sessionLab();
    const s = await lab.running();
    await s.reg('work');
    await ask(s, 'r');
    await lab.clock.advance(QUIET_MS);
    expect(notices(lab)).toEqual([[null, ['work'], QUIET_MS]]);
  });

  it('for foreground jobs of the engine the same', async () => {
    const gate = controlledExecutor();
    await using lab = await sessionLab({ executors: { gate }, stallFailMs: 2 * QUIET_MS });
    const s = await lab.running();
    const [first, second] = await Promise.all([1, 2].map(() => lab.offstage.spawn({ kind: 'gate', sessionId: 's', wait: true })));
    await lab.clock.advance(5 * QUIET_MS);
    await gate.release(first?.jobId as string);
    await lab.clock.advance(5 * QUIET_MS);
    expect([await isShownQuiet(s), notices(lab)]).toEqual([false, []]);
    await gate.release(second?.jobId as string);
    await lab.clock.advance(QUIET_MS - 1);
    expect([await isShownQuiet(s), notices(lab)]).toEqual([false, []]);
    await lab.clock.advance(1);
    expect([await isShownQuiet(s), notices(lab)]).toEqual([true, [[s.generation, [], QUIET_MS]]]);
    await lab.clock.advance(QUIET_MS);
    expect((await s.view()).state).toBe('failed');
  });

  it('that it began by itself, the same', async () => {
    await using lab = await sessionLab({ outOfTurnIdleMs: null });
    const s = await lab.running();
    await s.done();
    await s.out('by the way', 0);
    const generation = (await s.view()).turn?.generation as number;
    await ask(s, 'r', 0);
    await lab.clock.advance(QUIET_MS + 1_000);
    expect([await isShownQuiet(s), notices(lab)]).toEqual([false, []]);
    await lab.offstage.sessions.answer('s', 'r', 'yes');
    await lab.clock.advance(QUIET_MS - 1);
    expect([await isShownQuiet(s), notices(lab)]).toEqual([false, []]);
    await lab.clock.advance(1);
    expect([await isShownQuiet(s), notices(lab)]).toEqual([true, [[generation, [], QUIET_MS]]]);
  });

  it('waits neither for background jobs nor for those that only a job waits for', async () => {
    const gate = controlledExecutor();
    await using lab = await sessionLab({ executors: { gate } });
    const s = await lab.running();
    const parent = await lab.offstage.spawn({ kind: 'gate', sessionId: 's' });
    const { context } = await gate.started(parent.jobId);
    await context.spawn({ kind: 'gate', wait: true });
    await lab.clock.advance(QUIET_MS);
    expect([await isShownQuiet(s), notices(lab)]).toEqual([true, [[s.generation, [], QUIET_MS]]]);
  });
});

describe('STL3: a turn that is silent for `stallFailMs`', () => {
  const STALL_MS = 60_000;

  it('fails its session, where that is asked for, and only then', async () => {
    await using never = await sessionLab();
    const patient = await never.running();
    await never.clock.advance(24 * 60 * 60 * 1000);
    expect(await patient.view()).toMatchObject({ state: 'running' });
    await using lab = await sessionLab({ stallFailMs: STALL_MS });
    const s = await lab.running();
    const { executionId, generation } = s;
    await s.reg('work');
    await lab.clock.advance(STALL_MS - 1);
    expect(await s.view()).toMatchObject({ state: 'running', executionId });
    await lab.clock.advance(1);
    expect(await s.view()).toMatchObject({ state: 'failed', executionId: null, foregroundActivity: null, turn: null });
    expect(lab.engine.log.filter(({ event }) => event === 'session.stalled')).toEqual([
      {
        level: 'warn',
        event: 'session.stalled',
        fields: { sessionId: 's', taskId: s.taskId, generation, executionId, stallFailMs: STALL_MS },
      },
    ]);
    expect(lab.engine.events.find(({ type }) => type === 'session.turn_ended')).toMatchObject({
      generation,
      stopReason: null,
      error: { code: 'session.stalled', message: expect.stringContaining('60000 ms') },
    });
    // The failure comes first: there is nothing left that could fall quiet.
    expect(notices(lab)).toEqual([]);
  });

  it('lets no prompt of it wait for ever: whoever was not taken is told why, and so is a ticket', async () => {
    await using lab = await sessionLab({ stallFailMs: STALL_MS, script: { attests: FULL, acceptAtOnce: false } });
    const s = await lab.create();
    const asking = s.ask().catch(({ code }) => code);
    await lab.settled();
    expect(await s.attempt({ whenBusy: 'queue' })).toBe('queued');
    await lab.clock.advance(STALL_MS);
    expect(await asking).toBe('session.stalled');
    const tickets = lab.engine.events.flatMap((event) =>
      event.type === 'session.ticket' ? [[event.status, event.error?.code]] : [],
    );
    expect(tickets).toEqual([
      ['queued', undefined],
      ['failed', 'session.not_promptable'],
    ]);
    expect(await s.attempt()).toBe('session.not_promptable');
    expect([s.agent.isClosed, lab.mock.agents.length]).toEqual([true, 1]);
  });

  it.each<[string, (s: LabSession) => Promise<void>]>([
    ['an output of its turn', (s) => s.out()],
    ['the voice of a child', (s) => s.tell({ type: 'output', generation: 0, text: 'child', parentToolCallId: 'launch' })],
    ['a word of its work', (s) => s.reg('work')],
    ['a word of no turn', (s) => s.tell({ type: 'usage', generation: 0, usage: {} })],
    ['a frame that cannot be read', (s) => s.tell({ type: 'nonsense', generation: 0 } as never)],
  ])('is not silent where its agent sends anything at all: %s', async (_what, say) => {
    await using lab = await sessionLab({ stallFailMs: STALL_MS });
    const s = await lab.running();
    await s.reg('work', 'subagent', 'launch');
    await lab.clock.advance(STALL_MS - 1);
    await say(s);
    await lab.clock.advance(STALL_MS - 1);
    expect((await s.view()).state).toBe('running');
    await lab.clock.advance(1);
    expect((await s.view()).state).toBe('failed');
  });

  it('a frame that is no word of the turn leaves the turn quiet', async () => {
    await using lab = await sessionLab({ stallFailMs: 2 * QUIET_MS });
    const s = await lab.running();
    await lab.clock.advance(QUIET_MS - 1);
    await s.tell({ type: 'usage', generation: 0, usage: {} });
    await lab.clock.advance(1);
    expect([await isShownQuiet(s), notices(lab)]).toEqual([true, [[s.generation, [], QUIET_MS]]]);
  });

  it('is neither a start that hangs, nor work in the background, nor a turn that is over', async () => {
    await using lab = await sessionLab({ stallFailMs: STALL_MS });
    const s = await lab.running('works');
    await s.reg('work');
    await s.done();
    lab.mock.script.hangStart = true;
    const hanging = await lab.create('hangs');
    const asking = hanging.ask().catch(({ code }) => code);
    await lab.clock.advance(10 * STALL_MS);
    expect(await s.view()).toMatchObject({ state: 'waiting_for_input', foregroundActivity: 'background' });
    expect(await hanging.view()).toMatchObject({ state: 'starting' });
    await lab.offstage.sessions.interrupt('hangs');
    expect(await asking).toBe('prompt.interrupted');
  });

  it('is not one whose agent has not been asked yet, because the store is slow', async () => {
    const store = controlledStore(memoryStore());
    await using lab = await sessionLab({ stallFailMs: 5_000, store });
    const s = await lab.running();
    await s.done();
    store.hold();
    const asking = s.ask();
    await lab.clock.advance(9_000);
    store.release();
    await asking;
    await lab.clock.advance(4_999);
    expect((await s.view()).state).toBe('running');
    await lab.clock.advance(1);
    expect((await s.view()).state).toBe('failed');
  });

  it('that the agent began by itself fails it too', async () => {
    await using lab = await sessionLab({ stallFailMs: STALL_MS, outOfTurnIdleMs: null });
    const s = await lab.running();
    await s.done();
    await s.out('by the way', 0);
    await lab.clock.advance(STALL_MS - 1);
    expect((await s.view()).state).toBe('running');
    await lab.clock.advance(1);
    expect((await s.view()).state).toBe('failed');
  });

  it('concerns its own session only', async () => {
    await using lab = await sessionLab({ stallFailMs: STALL_MS });
    await lab.offstage.tasks.create({ taskId: 't' });
    const silent = await lab.running('silent', 't');
    const other = await lab.running('other', 't');
    await lab.clock.advance(STALL_MS - 1);
    await other.out();
    await lab.clock.advance(1);
    expect([(await silent.view()).state, (await other.view()).state]).toEqual(['failed', 'running']);
    expect([silent.agent.isClosed, other.agent.isClosed]).toEqual([true, false]);
  });
});

/** The room alone, with one turn of its own agent, and a host that only notes what it is asked. */
function bareStalls(options: EngineOptions, fail: () => boolean = () => true) {
  const clock = virtualClock();
  const core = new Core(settingsFrom({ clock, log: () => {}, ...options }, {}, null), memoryStore(), new Map(), NEW, {
    reap: async () => ({ verdict: 'gone', detail: 'no processes in this test' }),
  });
  const session = core.liveness.at('s', 'task');
  const identity = { executionId: 'e', sessionId: 's', taskId: 'task', agentId: 'default' };
  const execution = new AgentExecution(identity, () => {});
  const turn = { generation: 1, execution, startedAt: 0, lastHeard: 0, stopWatch: null, stopGrace: null };
  const failed: [string, string, OffstageError['code']][] = [];
  const stalls = new Stalls(core, {
    turns: { byProvider: () => turn } as unknown as Turns,
    fail: (of, { executionId }, { code }) => {
      failed.push([of.sessionId, executionId, code]);
      return fail();
    },
  });
  core.liveness.onTold = (touched) => stalls.follow(touched);
  const send = (event: Parameters<typeof core.liveness.send>[1]): void => {
    core.liveness.send(session, event);
    core.liveness.settle();
  };
  return {
    ...{ clock, core, execution, turn, failed },
    open: () => send({ type: 'turn.open', generation: 1, executionId: 'e' }),
    end: () => send({ type: 'turn.end', generation: 1 }),
  };
}

const NEW = { seq: 0, ordinal: 0 };

describe('the room alone', () => {
  it('asks once for each silence, also where somebody else has decided before', async () => {
    const { clock, execution, failed, open } = bareStalls({ stallFailMs: 1_000 }, () => false);
    open();
    await clock.advance(10_000);
    expect(failed).toEqual([['s', 'e', 'session.stalled']]);
    execution.lastHeard = clock.monotonic();
    await clock.advance(999);
    expect(failed).toHaveLength(1);
    await clock.advance(1);
    expect(failed).toHaveLength(2);
  });

  it('declares nothing failed that has ended while it was told of', async () => {
    const stalls = bareStalls({
      quietAfterMs: 1_000,
      stallFailMs: 1_000,
      log: (_level, event) => (event === 'session.quiet' ? stalls.end() : undefined),
    });
    stalls.open();
    await stalls.clock.advance(5_000);
    expect([stalls.failed, stalls.core.timers.size]).toEqual([[], 0]);
  });

  it('STL4: has one timer while something is open, and none otherwise', async () => {
    const { clock, core, execution, turn, open, end } = bareStalls({ stallFailMs: QUIET_MS + 1_000 });
    expect(core.timers.size).toBe(0);
    open();
    expect(core.timers.size).toBe(1);
    for (let round = 0; round < 10; round++) {
      await clock.advance(QUIET_MS / 3);
      execution.lastHeard = clock.monotonic();
      if (round % 2 === 0) turn.lastHeard = clock.monotonic();
      expect(core.timers.size).toBe(1);
    }
    end();
    expect([core.timers.size, clock.pending]).toEqual([0, 0]);
  });

  it('STL4: has none where it is to notice nothing', async () => {
    const { clock, core, open } = bareStalls({ quietAfterMs: null, stallFailMs: null });
    open();
    expect(core.timers.size).toBe(0);
    await clock.advance(10 * QUIET_MS);
  });

  it.each([0, 1, 0.3, 99])('goes on with a limit of %d ms', async (quietAfterMs) => {
    const told: string[] = [];
    const { clock, turn, open } = bareStalls({ quietAfterMs, log: (_level, event) => void told.push(event) });
    open();
    await clock.advance(0.7);
    turn.lastHeard = clock.monotonic() - 0.1;
    await clock.advance(1_000);
    turn.lastHeard = clock.monotonic();
    await clock.advance(1_000);
    expect(told.length).toBeGreaterThanOrEqual(2);
    expect(told.length).toBeLessThanOrEqual(3);
  });

  it('does not look again and again at one instant, because of rounding', async () => {
    const told: string[] = [];
    const { clock, turn, open } = bareStalls({ quietAfterMs: 122.7, log: (_level, event) => void told.push(event) });
    await clock.advance(279);
    turn.lastHeard = 279;
    open();
    // By now it should be quiet, and by what the machine calls a difference it is not: 122.7 - (279 + 122.7 - 279) > 0.
    await clock.advance(122.7);
    await clock.advance(1);
    expect(told).toEqual(['session.quiet']);
  });

  it('an engine with a silent turn has one timer of its own, until the turn is over', async () => {
    await using lab = await sessionLab();
    const before = lab.clock.pending;
    const s = await lab.running();
    expect(lab.clock.pending).toBe(before + 1);
    await s.reg('work');
    await s.done();
    expect(lab.clock.pending).toBe(before + 1);
    await s.bgc({ workloadId: 'work' });
    expect(lab.clock.pending).toBe(before);
  });
});
