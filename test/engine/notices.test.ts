/** NTC1–NTC4: the agent that asked for a background job is told of its end, once, in its turn (spec 9). */
import { describe, expect, it } from 'vitest';
import { mockAgent } from '../../src/adapters/mock-agent.ts';
import { offstageError } from '../../src/model/errors.ts';
import { outcome } from '../../src/model/executor.ts';
import { LIMITS } from '../../src/model/limits.ts';
import type { SessionState } from '../../src/model/records.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { KEYS } from '../../src/persistence/row-keys.ts';
import type { Store } from '../../src/persistence/store.ts';
import { type ControlledStore, controlledStore } from '../../src/testing/controlled-store.ts';
import { virtualClock } from '../../src/testing/virtual-clock.ts';
import { echo, gate, scripted, stubborn } from '../support/executors.ts';
import { heldReads } from '../support/held-reads.ts';
import { keptStore } from '../support/kept-store.ts';
import { leave, session as row, storeWith } from '../support/left-behind.ts';
import { type LabSession, type SessionLab, type SessionLabOptions, sessionLab } from '../support/sessions.ts';
import { contentOf } from '../support/store-content.ts';
import { testEngine } from '../support/test-engine.ts';

const contents = (session: LabSession): readonly unknown[] => session.prompts.map(({ content }) => content);

/** The keys of the notices that nobody has taken. */
const rowsIn = async (store: Store): Promise<readonly string[]> =>
  Object.keys(await contentOf(store)).filter((key) => key.startsWith('u/'));

const noticesWritten = ({ writes }: ControlledStore) =>
  writes.flatMap(({ operations }) => operations).filter(({ type, key }) => type === 'put' && key.startsWith('u/'));

const lab = (options: SessionLabOptions = {}): Promise<SessionLab> =>
  sessionLab({ ...options, notices: true, executors: { echo, ...options.executors } });

/** A background job of the session that ends at once. */
async function finish({ offstage, settled }: SessionLab, jobId: string, input: unknown = null): Promise<void> {
  await offstage.spawn({ kind: 'echo', jobId, sessionId: 's', subject: `about ${jobId}`, input });
  await offstage.wait(jobId);
  await settled();
}

const notice = (jobId: string, text = '(no output)', status = 'completed'): string =>
  `[task ${jobId} ${status}] about ${jobId}\n${text}`;

const tickets = (of: SessionLab) =>
  of.engine.events.flatMap((event) => (event.type === 'session.ticket' ? [[event.promptId, event.status]] : []));

describe('what is told', () => {
  it('of a job that somebody waits for: nothing', async () => {
    await using it = await lab();
    const session = await it.running();
    await session.done();
    await it.offstage.run({ kind: 'echo', sessionId: 's' });
    await it.settled();
    expect(contents(session)).toEqual(['begin']);
    expect(await rowsIn(it.engine.store)).toEqual([]);
  });

  it.each<[string, unknown, string]>([
    ['a text', 'the text\nof it', 'the text\nof it'],
    ['an empty text', '', '(no output)'],
    ['nothing', undefined, '(no output)'],
    ['a value', { found: 2 }, '{"found":2}'],
    ['only a head', outcome({ headId: 'h' }), '(no output)'],
  ])('of a job that answered %s', async (_, result, text) => {
    await using it = await lab({ executors: { body: () => result } });
    const session = await it.running();
    await session.done();
    await it.offstage.spawn({ kind: 'body', jobId: 'a', sessionId: 's', subject: 'about a' });
    await it.settled();
    expect(contents(session)).toEqual(['begin', notice('a', text)]);
    expect(session.prompt.origin).toBe('synthetic');
    expect(await rowsIn(it.engine.store)).toEqual([]);
  });

  it('of jobs that failed or were cancelled by others: what they had reported, and why', async () => {
    const bodies = scripted({
      failing: (context) => {
        context.partial('half of it');
        throw new Error('no\nway');
      },
      mute: () => {
        throw new Error('no way');
      },
    });
    const held = gate();
    await using it = await lab({ executors: { bodies, held } });
    const session = await it.create();
    const { offstage } = it;
    for (const subject of ['failing', 'mute']) await offstage.spawn({ kind: 'bodies', jobId: subject, sessionId: 's', subject });
    await offstage.waitMany(['failing', 'mute']);
    await offstage.spawn({ kind: 'held', jobId: 'gone', sessionId: 's', subject: 'gone' });
    (await held.started('gone')).context.partial('some');
    await offstage.cancel('gone', { reason: 'a person said so' });
    await it.settled();
    await session.done();
    await session.done();
    expect(contents(session)).toEqual([
      '[task failing errored] failing\nhalf of it\nError: no\nway',
      '[task mute errored] mute\nError: no way',
      '[task gone cancelled] gone\nsome\na person said so',
    ]);
  });

  it('of a body that outlives its end: once', async () => {
    const stuck = stubborn();
    await using it = await lab({ executors: { stuck }, cancelGraceMs: 1_000 });
    const session = await it.create();
    await it.offstage.spawn({ kind: 'stuck', jobId: 'a', sessionId: 's', subject: 'about a' });
    await stuck.started('a');
    await it.offstage.cancel('a');
    await it.clock.advance(1_000);
    const text = 'cancel timed out, worker may be stuck';
    expect(contents(session)).toEqual([notice('a', text, 'cancelled')]);
    await session.done();
    await stuck.release('a', 'late');
    await it.settled();
    expect((await it.offstage.history('a')).map(({ type }) => type)).toContain('late_result_dropped');
    expect(contents(session)).toHaveLength(1);
    expect(await rowsIn(it.engine.store)).toEqual([]);
  });

  it('is told to the caller, not to the session that the job ran on', async () => {
    await using it = await lab();
    const [caller, target] = [await it.create('s', undefined), await it.create('target', undefined)];
    await it.offstage.tasks.create({ taskId: 't' });
    const [a, b] = [await it.create('a', 't'), await it.create('b', 't')];
    await it.offstage.spawn({ kind: 'echo', jobId: 'j', sessionId: 'b', callerSessionId: 'a', subject: 'about j' });
    await it.settled();
    expect(contents(a)).toEqual([notice('j')]);
    for (const other of [caller, target, b]) expect(contents(other)).toEqual([]);
  });

  it('keeps the end of a text that is too long, and says so', async () => {
    await using it = await lab();
    const session = await it.create();
    await finish(it, 'a', 'é'.repeat(LIMITS.noticeBytes));
    const [head, cut, text] = String(session.prompt.content).split('\n');
    expect(head).toBe('[task a completed] about a');
    expect(cut).toBe(`[… ${LIMITS.noticeBytes} bytes cut]`);
    expect(text).toBe('é'.repeat(LIMITS.noticeBytes / 2));
  });
});

describe('NTC2, NTC3: through prompt admission, one after the other', () => {
  it('J102, J103: two jobs that end together: notice 1, answer 1, notice 2, answer 2', async () => {
    const held = gate();
    const store = controlledStore(memoryStore());
    await using it = await lab({ executors: { held }, store });
    const session = await it.running();
    await session.done();
    for (const jobId of ['a', 'b']) await it.offstage.spawn({ kind: 'held', jobId, sessionId: 's', subject: `about ${jobId}` });
    // Both ends go into one batch.
    store.hold();
    const other = it.offstage.sessions.create({ sessionId: 'other' });
    await it.settled();
    for (const jobId of ['a', 'b']) await held.release(jobId);
    await it.settled();
    store.release();
    await other;
    await it.settled();
    expect(contents(session)).toEqual(['begin', notice('a')]);
    expect(await rowsIn(store)).toEqual([KEYS.notice('s', 2)]);
    await session.done();
    expect(contents(session)).toEqual(['begin', notice('a'), notice('b')]);
    expect(await rowsIn(store)).toEqual([]);
    // At the head of the one conversation: each turn had ended before the next began.
    expect(it.mock.agents).toHaveLength(1);
    await session.done();
    expect(await session.view()).toMatchObject({ state: 'waiting_for_input', queuedPrompts: 0 });
  });

  it('launches an agent that never ran, and one that was unloaded', async () => {
    await using it = await lab();
    const session = await it.create();
    await finish(it, 'a');
    expect(contents(session)).toEqual([notice('a')]);
    await session.done();
    session.agent.exit();
    await it.settled();
    expect((await session.view()).state).toBe('idle');
    await finish(it, 'b');
    expect(contents(session)).toEqual([notice('a'), notice('b')]);
    expect(it.mock.agents).toHaveLength(2);
  });

  it('waits as a ticket behind the turn, and is seen there', async () => {
    await using it = await lab();
    const session = await it.running();
    const { offstage } = it;
    await finish(it, 'a');
    expect(contents(session)).toEqual(['begin']);
    expect(await offstage.sessions.tickets('s')).toEqual([
      {
        ticketId: expect.any(String),
        promptId: 'notice_a',
        sessionId: 's',
        origin: 'synthetic',
        position: 1,
        createdAt: it.clock.now(),
      },
    ]);
    expect(await session.view()).toMatchObject({ queuedPrompts: 1 });
    expect(await rowsIn(it.engine.store)).toEqual([KEYS.notice('s', 1)]);
    // Who comes later is served later; a second notice is not even in line.
    await finish(it, 'b');
    await session.ask('a person', { whenBusy: 'queue', promptId: 'human' });
    expect((await offstage.sessions.tickets('s')).map(({ promptId }) => promptId)).toEqual(['notice_a', 'human']);
    for (let turn = 0; turn < 3; turn++) await session.done();
    expect(contents(session)).toEqual(['begin', notice('a'), 'a person', notice('b')]);
    expect(tickets(it)).toEqual([
      ['notice_a', 'queued'],
      ['human', 'queued'],
      ['notice_a', 'accepted'],
      ['notice_b', 'queued'],
      ['human', 'accepted'],
      ['notice_b', 'accepted'],
    ]);
    expect(await rowsIn(it.engine.store)).toEqual([]);
  });

  it('a person goes first at a hand-off; the notice waits for the end of the turn', async () => {
    await using it = await lab();
    const session = await it.running();
    await session.reg('w');
    await finish(it, 'a');
    await session.idle();
    expect(contents(session)).toEqual(['begin']);
    expect(await session.attempt()).toBe('accepted');
    for (const prompt of session.prompts) await session.done(prompt);
    expect(contents(session)).toEqual(['begin', 'may I?', notice('a')]);
  });

  it('an agent that is replaced meanwhile takes no notice along', async () => {
    await using it = await lab();
    const session = await it.running();
    await finish(it, 'a');
    await session.ask('of the program', { origin: 'synthetic', whenBusy: 'queue', promptId: 'p' });
    session.agent.crash();
    await it.settled();
    // What the program asked of that agent is dropped (PRM5); what has happened has happened.
    expect(contents(session)).toEqual(['begin', notice('a')]);
    expect(it.mock.agents).toHaveLength(2);
    await session.done();
    expect(contents(session)).toEqual(['begin', notice('a')]);
    expect(tickets(it)).toContainEqual(['p', 'dropped']);
  });

  it('an agent that goes before it took the notice, or refuses it, is told again later', async () => {
    await using it = await lab({ script: { acceptAtOnce: false } });
    const session = await it.create();
    await finish(it, 'a');
    expect(contents(session)).toEqual([notice('a')]);
    session.agent.crash();
    await it.settled();
    expect(contents(session)).toHaveLength(1);
    expect(await rowsIn(it.engine.store)).toEqual([KEYS.notice('s', 1)]);
    await it.clock.advance(LIMITS.firstNoticeRetryMs);
    expect(contents(session)).toEqual([notice('a'), notice('a')]);
    session.prompt.fail(new Error('not now'));
    await it.settled();
    await it.clock.advance(2 * LIMITS.firstNoticeRetryMs - 1);
    expect(contents(session)).toHaveLength(2);
    await it.clock.advance(1);
    expect(contents(session)).toHaveLength(3);
    session.prompt.accept();
    await it.settled();
    expect(await rowsIn(it.engine.store)).toEqual([]);
    await session.done();
    await it.clock.advance(LIMITS.lastNoticeRetryMs);
    expect(contents(session)).toHaveLength(3);
  });

  it.each([
    ['throws', new Error('no such program')],
    ['says why in a code of its own', offstageError('command.not_found', { command: 'agent' })],
  ])('an agent whose start %s is tried again, less and less often', async (_, error) => {
    const script = { failStart: error as unknown };
    await using it = await lab({ script });
    const session = await it.create();
    await finish(it, 'a');
    await finish(it, 'b');
    expect(it.mock.starts).toHaveLength(1);
    let started = 1;
    for (let delayMs: number = LIMITS.firstNoticeRetryMs; delayMs < LIMITS.lastNoticeRetryMs; delayMs *= 2) {
      await it.clock.advance(delayMs - 1);
      expect(it.mock.starts).toHaveLength(started);
      await it.clock.advance(1);
      started += 1;
      expect(it.mock.starts).toHaveLength(started);
    }
    await it.clock.advance(LIMITS.lastNoticeRetryMs);
    expect(it.mock.starts).toHaveLength(started + 1);
    expect(await rowsIn(it.engine.store)).toEqual([KEYS.notice('s', 1), KEYS.notice('s', 2)]);
    expect(await session.view()).toMatchObject({ state: 'created' });
    script.failStart = undefined;
    await it.clock.advance(LIMITS.lastNoticeRetryMs);
    expect(contents(session)).toEqual([notice('a')]);
    // It begins anew with the next one that fails.
    script.failStart = error;
    session.agent.exit();
    await it.settled();
    const before = it.mock.starts.length;
    await it.clock.advance(LIMITS.firstNoticeRetryMs);
    expect(it.mock.starts).toHaveLength(before + 1);
    script.failStart = undefined;
    await it.clock.advance(2 * LIMITS.firstNoticeRetryMs);
    expect(contents(session)).toEqual([notice('a'), notice('b')]);
    await session.done();
    expect(await rowsIn(it.engine.store)).toEqual([]);
  });

  it('sessions do not wait for each other', async () => {
    await using it = await lab();
    const [s, other] = [await it.running('s'), await it.running('other')];
    await s.done();
    await finish(it, 'a');
    await it.offstage.spawn({ kind: 'echo', jobId: 'b', sessionId: 'other', subject: 'about b' });
    await it.settled();
    await other.done();
    expect(contents(s)).toEqual(['begin', notice('a')]);
    expect(contents(other)).toEqual(['begin', notice('b')]);
  });
});

describe('NTC4: who is not told', () => {
  it.each<SessionState>(['completed', 'failed', 'cancelled'])('a session that is %s: no row is kept', async (state) => {
    const store = await storeWith({ sessions: [row('s', state)] });
    await using it = await lab({ store });
    await finish(it, 'a');
    expect(it.mock.starts).toEqual([]);
    expect(await rowsIn(store)).toEqual([]);
    expect(it.engine.statuses('a').at(-1)).toBe('completed');
  });

  it('a session without an agent: no row is ever written', async () => {
    const store = controlledStore(memoryStore());
    await using engine = await testEngine({ store, executors: { echo }, agents: { other: mockAgent().factory } });
    await engine.offstage.spawn({ kind: 'echo', jobId: 'a' });
    await engine.offstage.wait('a');
    await engine.clock.settle();
    expect(noticesWritten(store)).toEqual([]);
  });

  it('a session whose agent this process does not have: the row waits for one that has', async () => {
    const kept = keptStore(memoryStore());
    const first = await lab({ store: kept.open(), names: ['special'] });
    await (await first.create('s', undefined, 'special')).ask('begin');
    await finish(first, 'a');
    expect(await rowsIn(first.engine.store)).toHaveLength(1);
    await first[Symbol.asyncDispose]();
    const second = await lab({ store: kept.open() });
    await second.settled();
    expect(second.mock.starts).toEqual([]);
    expect(await rowsIn(second.engine.store)).toHaveLength(1);
    await second[Symbol.asyncDispose]();
    await using third = await lab({ store: kept.open(), names: ['special'] });
    await third.settled();
    expect(third.mock.prompts).toHaveLength(1);
    expect(await rowsIn(third.engine.store)).toEqual([]);
  });

  it('a stopped session: neither of the jobs that the stop ends, nor of those that have ended before', async () => {
    const held = gate();
    await using it = await lab({ executors: { held } });
    const session = await it.running();
    await finish(it, 'a');
    await it.offstage.spawn({ kind: 'held', jobId: 'b', sessionId: 's' });
    await held.started('b');
    expect(await rowsIn(it.engine.store)).toHaveLength(1);
    const { settled } = await it.offstage.sessions.stop('s');
    await settled;
    await it.settled();
    expect((await it.offstage.get('b')).status).toBe('cancelled');
    expect(contents(session)).toEqual(['begin']);
    expect(tickets(it)).toEqual([
      ['notice_a', 'queued'],
      ['notice_a', 'stopped'],
    ]);
    expect(await rowsIn(it.engine.store)).toEqual([]);
    await it.clock.advance(LIMITS.lastNoticeRetryMs);
    expect(it.mock.starts).toHaveLength(1);
  });

  it('a session that is stopped while its agent starts for a notice', async () => {
    await using it = await lab({ script: { hangStart: true } });
    await it.create();
    await finish(it, 'a');
    expect(it.mock.starts).toHaveLength(1);
    await (await it.offstage.sessions.stop('s')).settled;
    await it.settled();
    expect(await rowsIn(it.engine.store)).toEqual([]);
    await it.clock.advance(LIMITS.lastNoticeRetryMs);
    expect(it.mock.starts).toHaveLength(1);
  });

  it('a person who takes its ticket back has meant it', async () => {
    await using it = await lab();
    const session = await it.running();
    await finish(it, 'a');
    await finish(it, 'b');
    const [ticket] = await it.offstage.sessions.tickets('s');
    await it.offstage.sessions.cancelTicket(ticket?.ticketId ?? '');
    await it.settled();
    await session.done();
    expect(contents(session)).toEqual(['begin', notice('b')]);
    expect(await rowsIn(it.engine.store)).toEqual([]);
  });

  it('anybody, where the option says so; what an earlier process has left waits for the next one', async () => {
    const kept = keptStore(memoryStore());
    const first = await lab({ store: kept.open() });
    await first.running();
    await finish(first, 'a');
    await first[Symbol.asyncDispose]();
    await using second = await sessionLab({ store: kept.open(), executors: { echo } });
    expect(await rowsIn(second.engine.store)).toHaveLength(1);
    await second.settled();
    await finish(second, 'b');
    expect(second.mock.starts).toEqual([]);
    expect(await rowsIn(second.engine.store)).toHaveLength(1);
  });
});

describe('offstage.notices.received', () => {
  it('in time: before the notice is on its way, or while it waits', async () => {
    await using it = await lab();
    const session = await it.running();
    const { offstage } = it;
    await offstage.spawn({ kind: 'echo', jobId: 'a', sessionId: 's' });
    // The tool that waited has it first.
    await offstage.wait('a');
    offstage.notices.received('s', 'a');
    await it.settled();
    expect(tickets(it)).toEqual([]);
    expect(await rowsIn(it.engine.store)).toEqual([]);
    await finish(it, 'b');
    await finish(it, 'c');
    await finish(it, 'd');
    offstage.notices.received('s', 'c');
    await it.settled();
    expect(await rowsIn(it.engine.store)).toEqual([KEYS.notice('s', 2), KEYS.notice('s', 4)]);
    offstage.notices.received('s', 'b');
    await it.settled();
    expect(tickets(it)).toEqual([
      ['notice_b', 'queued'],
      ['notice_b', 'dropped'],
      ['notice_d', 'queued'],
    ]);
    expect(await rowsIn(it.engine.store)).toEqual([KEYS.notice('s', 4)]);
    await session.done();
    expect(contents(session)).toEqual(['begin', notice('d')]);
    expect(await rowsIn(it.engine.store)).toEqual([]);
    expect(it.engine.log.filter(({ event }) => event === 'notice.dropped')).toEqual([]);
  });

  it('stopping: the end of the job, and of all below it which the same session asked for, is nothing new', async () => {
    const held = gate();
    const parent = scripted({
      parent: async (context) => {
        await context.spawn({ kind: 'held', jobId: 'child', subject: 'child' });
        await context.wait('child');
      },
    });
    const store = controlledStore(memoryStore());
    await using it = await lab({ executors: { held, parent }, store });
    const session = await it.create();
    const { offstage } = it;
    await offstage.spawn({ kind: 'parent', jobId: 'parent', sessionId: 's', subject: 'parent' });
    await held.started('child');
    offstage.notices.stopping('s', 'parent');
    await offstage.cancel('parent');
    await it.settled();
    expect((await offstage.get('child')).status).toBe('cancelled');
    expect(contents(session)).toEqual([]);
    expect(noticesWritten(store)).toEqual([]);
  });

  it('says nothing of jobs that others asked for, nor of those that go on', async () => {
    const held = gate();
    const parent = scripted({
      parent: async (context) => {
        await context.spawn({ kind: 'held', jobId: 'child', sessionId: 's', subject: 'about child' });
        await context.spawn({
          kind: 'held',
          jobId: 'foreign',
          sessionId: 'other',
          callerSessionId: 'other',
          subject: 'about foreign',
        });
      },
    });
    await using it = await lab({ executors: { held, parent } });
    await it.offstage.tasks.create({ taskId: 't' });
    const [session, other] = [await it.create('s', 't'), await it.create('other', 't')];
    const { offstage } = it;
    await offstage.spawn({ kind: 'parent', jobId: 'parent', sessionId: 's', subject: 'parent' });
    for (const jobId of ['child', 'foreign']) await held.started(jobId);
    await it.settled();
    expect(await offstage.get('parent')).toMatchObject({ status: 'completed' });
    await session.done();
    // The parent has ended, and its children have not.
    offstage.notices.received('s', 'parent');
    // Another session's word.
    offstage.notices.received('other', 'child');
    for (const jobId of ['child', 'foreign']) await held.release(jobId);
    await it.settled();
    expect(contents(session)).toEqual(['[task parent completed] parent\n(no output)', notice('child')]);
    expect(contents(other)).toEqual([notice('foreign')]);
  });

  it('below a job that is about to be cancelled: what another session asked for is told to that one', async () => {
    const held = gate();
    const parent = scripted({
      parent: async (context) => {
        await context.spawn({ kind: 'held', jobId: 'foreign', sessionId: 'other', callerSessionId: 'other', subject: 'foreign' });
        await context.wait('foreign');
      },
    });
    await using it = await lab({ executors: { held, parent } });
    await it.offstage.tasks.create({ taskId: 't' });
    const [session, other] = [await it.create('s', 't'), await it.create('other', 't')];
    await it.offstage.spawn({ kind: 'parent', jobId: 'parent', sessionId: 's', subject: 'parent' });
    await held.started('foreign');
    it.offstage.notices.received('s', 'parent');
    await it.offstage.cancel('parent');
    await it.settled();
    expect(contents(session)).toEqual([]);
    expect(contents(other)).toEqual(['[task foreign cancelled] foreign\ncancelled']);
  });

  it('while its text is read: it is not told', async () => {
    const held = gate();
    const reads = heldReads();
    await using it = await lab({ executors: { held }, store: reads.store });
    const session = await it.create();
    await it.offstage.spawn({ kind: 'held', jobId: 'a', sessionId: 's' });
    await held.started('a');
    await it.settled();
    const open = reads.hold();
    await held.release('a');
    await it.settled();
    it.offstage.notices.received('s', 'a');
    open();
    await it.settled();
    expect(contents(session)).toEqual([]);
    expect(await rowsIn(reads.store)).toEqual([]);
  });

  it('at any instant on its way into the line: it is not told', async () => {
    for (let steps = 0; steps < 60; steps++) {
      const clock = virtualClock();
      const turn = clock.nextTurn;
      let isEnded = false;
      const received = async (it: SessionLab): Promise<void> => {
        for (let step = 0; step < steps; step++) await null;
        it.offstage.notices.received('s', 'a');
      };
      let after = (): void => {};
      clock.nextTurn = (callback) =>
        turn(() => {
          callback();
          after();
        });
      await using it = await lab({ clock });
      const session = await it.running();
      it.offstage.onEvent((event) => {
        isEnded ||= event.type === 'card.updated' && event.status === 'completed';
      });
      after = () => {
        if (!isEnded) return;
        after = () => {};
        void received(it);
      };
      await finish(it, 'a');
      expect(await it.offstage.sessions.tickets('s'), String(steps)).toEqual([]);
      expect(await rowsIn(it.engine.store), String(steps)).toEqual([]);
      await session.done();
      expect(contents(session), String(steps)).toEqual(['begin']);
    }
  });

  it('by another session, of an unknown job, and after the fact: nothing happens', async () => {
    await using it = await lab();
    const session = await it.running();
    const { notices } = it.offstage;
    await finish(it, 'a');
    notices.received('other', 'a');
    notices.received('s', 'nobody');
    await it.settled();
    await session.done();
    expect(contents(session)).toEqual(['begin', notice('a')]);
    notices.received('s', 'a');
    notices.received('s', 'a');
    await session.done();
    expect(contents(session)).toHaveLength(2);
    expect(() => notices.received('', 'a')).toThrow(expect.objectContaining({ code: 'input.invalid' }));
    expect(() => notices.received('s', 5 as never)).toThrow(expect.objectContaining({ code: 'input.invalid' }));
    await it.offstage.close();
    expect(() => notices.received('s', 'a')).toThrow(expect.objectContaining({ code: 'engine.closing' }));
  });

  it('while the store holds the end back: nothing is told before it is stored, and nothing of what is known by then', async () => {
    const held = gate();
    const store = controlledStore(memoryStore());
    await using it = await lab({ executors: { held }, store });
    const session = await it.create();
    const { offstage, clock } = it;
    for (const jobId of ['a', 'b']) await offstage.spawn({ kind: 'held', jobId, sessionId: 's', subject: `about ${jobId}` });
    await held.started('b');
    await it.settled();
    store.failAll(new Error('the disk is full'));
    for (const jobId of ['a', 'b']) await held.release(jobId);
    expect(await offstage.wait('a')).toMatchObject({ status: 'completed', durable: false });
    offstage.notices.received('s', 'a');
    await it.settled();
    expect(contents(session)).toEqual([]);
    store.failAll(null);
    await clock.advance(10_000);
    expect(contents(session)).toEqual([notice('b')]);
    expect(await rowsIn(store)).toEqual([]);
  });

  it('while the end is on its way to the store: the row goes again', async () => {
    const held = gate();
    const store = controlledStore(memoryStore());
    await using it = await lab({ executors: { held }, store });
    const session = await it.create();
    await it.offstage.spawn({ kind: 'held', jobId: 'a', sessionId: 's' });
    await held.started('a');
    await it.settled();
    store.hold();
    await held.release('a');
    await it.settled();
    it.offstage.notices.received('s', 'a');
    store.release();
    await it.settled();
    expect(contents(session)).toEqual([]);
    expect(await rowsIn(store)).toEqual([]);
  });
});

describe('NTC1: across restarts', () => {
  /** What the next owner finds when everything stops now; and a lab on it. */
  const crashed = async (store: ControlledStore, options: SessionLabOptions = {}) => {
    const left = keptStore(await store.crash()).open();
    return { left, next: await lab({ store: left, ...options }) };
  };

  it('a crash: what a session was not told is joined into one prompt, in the order of its jobs', async () => {
    const held = gate();
    const store = controlledStore(memoryStore());
    const first = await lab({ store, executors: { held } });
    await first.running();
    await first.running('other');
    await first.offstage.spawn({ kind: 'held', jobId: 'cut off', sessionId: 's', subject: 'about cut off' });
    await finish(first, 'a', 'one\ntwo');
    await finish(first, 'b');
    await first.offstage.spawn({ kind: 'echo', jobId: 'c', sessionId: 'other', subject: 'about c' });
    await first.settled();
    const { left, next } = await crashed(store, { executors: { held } });
    await using it = next;
    expect(it.engine.recovery.abandoned).toEqual(['cut off']);
    await it.settled();
    const sessions = ['s', 'other'].map((sessionId) =>
      it.mock.prompts.filter(({ agent }) => agent.context.sessionId === sessionId),
    );
    expect(sessions.map((prompts) => prompts.map(({ content }) => content))).toEqual([
      [[notice('cut off', 'worker died before completion', 'errored'), notice('a', 'one\ntwo'), notice('b')].join('\n\n')],
      [notice('c')],
    ]);
    expect(await rowsIn(left)).toEqual([]);
  });

  it('joined ones share the room', async () => {
    const store = controlledStore(memoryStore());
    const first = await lab({ store });
    await first.running();
    for (const jobId of ['a', 'b', 'c']) await finish(first, jobId, 'x'.repeat(100_000));
    const { next } = await crashed(store);
    await using it = next;
    await it.settled();
    const share = Math.floor(LIMITS.noticeBytes / 3);
    const expected = ['a', 'b', 'c'].map((jobId) => notice(jobId, `[… ${100_000 - share} bytes cut]\n${'x'.repeat(share)}`));
    expect(it.mock.prompts.map(({ content }) => content)).toEqual([expected.join('\n\n')]);
  });

  it('of joined ones that wait, one that is received meanwhile is told no more, and no other twice', async () => {
    const store = controlledStore(memoryStore());
    const first = await lab({ store });
    await first.running();
    for (const jobId of ['a', 'b']) await finish(first, jobId);
    const left = keptStore(await store.crash()).open();
    // A turn is open when the notices of the last process come.
    const script = { failStart: new Error('not yet') as unknown };
    await using it = await lab({ store: left, script });
    await it.settled();
    script.failStart = undefined;
    await it.offstage.sessions.prompt('s', { content: 'a person' });
    await it.clock.advance(LIMITS.firstNoticeRetryMs);
    expect((await it.offstage.sessions.tickets('s')).map(({ promptId }) => promptId)).toEqual(['notice_a']);
    it.offstage.notices.received('s', 'a');
    await it.settled();
    expect((await it.offstage.sessions.tickets('s')).map(({ promptId }) => promptId)).toEqual(['notice_b']);
    expect(await rowsIn(left)).toEqual([KEYS.notice('s', 2)]);
    for (let turn = 0; turn < 3; turn++) {
      it.mock.prompts.at(-1)?.end();
      await it.settled();
    }
    expect(it.mock.prompts.map(({ content }) => content)).toEqual(['a person', notice('b')]);
    expect(await rowsIn(left)).toEqual([]);
  });

  it('what was taken, and that is stored, is not told again; what is not stored may be', async () => {
    const store = controlledStore(memoryStore());
    const first = await lab({ store });
    const session = await first.running();
    await finish(first, 'a');
    await finish(first, 'b');
    await session.done();
    expect(contents(session)).toEqual(['begin', notice('a')]);
    const stored = keptStore(await store.tear()).open();
    {
      await using it = await lab({ store: stored });
      await it.settled();
      expect(it.mock.prompts.map(({ content }) => content)).toEqual([notice('b')]);
    }
    // The turn of the next one begins, and the store says no more.
    store.hold();
    await session.done();
    store.release();
    await store.whenInFlight(0);
    await first.settled();
    expect(contents(session)).toEqual(['begin', notice('a'), notice('b')]);
    const { next, left } = await crashed(store);
    await using it = next;
    await it.settled();
    expect(it.mock.prompts).toEqual([]);
    expect(await rowsIn(left)).toEqual([]);
  });

  it('taken, and dead before that is stored: told again', async () => {
    const store = controlledStore(memoryStore());
    const script = { acceptAtOnce: false };
    const first = await lab({ store, script });
    const session = await first.create();
    await finish(first, 'a');
    store.hold();
    session.prompt.accept();
    await first.settled();
    // What was held has not reached the store.
    const left = keptStore(await store.crash(0)).open();
    await using it = await lab({ store: left });
    await it.settled();
    expect(it.mock.prompts.map(({ content }) => content)).toEqual([notice('a')]);
    expect(await rowsIn(left)).toEqual([]);
  });

  it('a close: what waits is told by the next process, once; what is being told is not told again', async () => {
    const kept = keptStore(memoryStore());
    const held = gate();
    const first = await lab({ store: kept.open(), executors: { held } });
    const session = await first.running();
    await finish(first, 'told');
    await session.done();
    expect(contents(session)).toEqual(['begin', notice('told')]);
    await finish(first, 'waits');
    await first.offstage.spawn({ kind: 'held', jobId: 'at work', sessionId: 's', subject: 'about at work' });
    await first.create('idle');
    await first.offstage.spawn({ kind: 'held', jobId: 'another', sessionId: 'idle', subject: 'about another' });
    await held.started('another');
    await first[Symbol.asyncDispose]();
    // Nobody is woken by an engine that closes.
    expect(first.mock.starts).toHaveLength(1);
    expect(
      first.engine.events.filter((event) => event.type === 'session.state_changed' && event.sessionId === 'idle'),
    ).toHaveLength(1);
    {
      await using second = await lab({ store: kept.open(), executors: { held } });
      await second.settled();
      const told = second.mock.prompts.map(({ content, agent }) => [agent.context.sessionId, content]);
      expect(told.toSorted()).toEqual([
        ['idle', notice('another', 'worker pool shutdown', 'errored')],
        ['s', [notice('waits'), notice('at work', 'worker pool shutdown', 'errored')].join('\n\n')],
      ]);
    }
    await using third = await lab({ store: kept.open(), executors: { held } });
    await third.settled();
    expect(third.mock.prompts).toEqual([]);
  });

  it('what was pruned meanwhile is told from its card', async () => {
    const kept = keptStore(memoryStore());
    const first = await lab({ store: kept.open() });
    await first.running();
    await finish(first, 'a', 'the text');
    await first.offstage.prune({ maxJobs: 0 });
    await first[Symbol.asyncDispose]();
    await using second = await lab({ store: kept.open() });
    await second.settled();
    expect(second.mock.prompts.map(({ content }) => content)).toEqual([notice('a', 'the text')]);
  });

  it('rows that cannot be read are said and left; a job that cannot be read is told without its text', async () => {
    const store = memoryStore();
    const kept = keptStore(store);
    const first = await lab({ store: kept.open() });
    await first.running();
    await finish(first, 'a');
    await first[Symbol.asyncDispose]();
    const bad = ['u/%zz/0000000000000009', KEYS.notice('s', 7), KEYS.notice('s', 8)];
    for (const [index, value] of ['["x","completed","y"]', '["x"', '["x","running","y"]'].entries())
      await store.batch([{ type: 'put', key: bad[index] as string, value }], { sync: false });
    await store.batch([{ type: 'put', key: KEYS.finished(1), value: '[1,' }], { sync: false });
    await using second = await lab({ store: kept.open() });
    await second.settled();
    expect(second.mock.prompts.map(({ content }) => content)).toEqual([notice('a', '(its record cannot be read)')]);
    expect(second.engine.log.filter(({ event }) => event === 'row.unreadable').map(({ fields }) => fields.key)).toEqual(
      expect.arrayContaining(bad),
    );
    expect((await rowsIn(store)).toSorted()).toEqual(bad.toSorted());
  });

  it('a session that is gone: the row goes too', async () => {
    const store = memoryStore();
    await leave(store, { sessions: [row('s', 'idle')] });
    await store.batch([{ type: 'put', key: KEYS.notice('nobody', 3), value: '["a","completed","about a"]' }], { sync: false });
    await using it = await lab({ store });
    await it.settled();
    expect(await rowsIn(store)).toEqual([]);
    expect(it.engine.log).toContainEqual(expect.objectContaining({ event: 'notice.dropped' }));
  });
});
