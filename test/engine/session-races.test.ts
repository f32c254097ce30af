/** Calls that cross with what happens: each acts on what was there when it was made, and on nothing that came later. */
import { describe, expect, it } from 'vitest';
import type { Frame } from '../../src/model/agent.ts';
import type { OffstageEvent } from '../../src/model/events.ts';
import type { Changed } from '../../src/model/session-requests.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { KEYS } from '../../src/persistence/row-keys.ts';
import type { Store } from '../../src/persistence/store.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { held } from '../support/bare-agent.ts';
import { keptStore } from '../support/kept-store.ts';
import { type LabSession, type SessionLab, sessionLab } from '../support/sessions.ts';
import { slowReads } from '../support/slow-reads.ts';

type TicketEvent = Extract<OffstageEvent, { type: 'session.ticket' }>;

const STORES: readonly (readonly [string, () => Store])[] = [
  ['a store in memory', () => memoryStore()],
  ['a store whose reads take their time', () => slowReads(memoryStore())],
];

describe.each(STORES)('an interrupt ends what was open when it was called: %s', (_name, store) => {
  it('of an idle session it leaves the prompt alone that follows in the same tick', async () => {
    await using lab = await sessionLab({ store: store() });
    const s = await lab.running();
    await s.done();
    const interrupted = lab.offstage.sessions.interrupt('s');
    const asked = s.ask('next');
    expect(await interrupted).toEqual({ changed: false });
    expect(await asked).toMatchObject({ accepted: true });
    await lab.settled();
    expect([s.prompt.content, s.prompt.isOpen, s.prompt.signal.aborted]).toEqual(['next', true, false]);
  });

  it('of a session that nobody has prompted yet, too', async () => {
    await using lab = await sessionLab({ store: store() });
    const s = await lab.create();
    const interrupted = lab.offstage.sessions.interrupt('s');
    const asked = s.ask('first');
    expect([await interrupted, await asked]).toMatchObject([{ changed: false }, { accepted: true }]);
    expect(s.prompt.signal.aborted).toBe(false);
  });

  it('in the event of the end of a turn it leaves the prompt alone that has waited for it', async () => {
    await using lab = await sessionLab({ store: store() });
    const s = await lab.running();
    await s.ask('next', { whenBusy: 'queue' });
    await lab.settled();
    const answers: Promise<Changed>[] = [];
    const stop = lab.offstage.onEvent((event) => {
      if (event.type === 'session.turn_ended') answers.push(lab.offstage.sessions.interrupt('s'));
    });
    await s.done();
    await lab.settled();
    stop();
    expect(await Promise.all(answers)).toEqual([{ changed: false }]);
    expect([s.prompt.content, s.prompt.isOpen, s.prompt.signal.aborted]).toEqual(['next', true, false]);
  });

  it('of a turn that ends meanwhile it does not go on to the next one', async () => {
    await using lab = await sessionLab({ store: store(), script: { ignoreCancel: true } });
    const s = await lab.running();
    await s.ask('next', { whenBusy: 'queue' });
    await lab.settled();
    const { prompt } = s;
    const interrupted = lab.offstage.sessions.interrupt('s');
    prompt.end();
    await interrupted;
    await lab.settled();
    expect([prompt.signal.aborted, s.prompt.content, s.prompt.signal.aborted]).toEqual([true, 'next', false]);
  });
});

/** A session whose first turn is open, and prompts that wait behind it, with their tickets by their contents. */
async function waiting(lab: SessionLab, contents: readonly string[] = ['B', 'C', 'D']) {
  const s = await lab.running();
  const tickets = new Map<string, string>();
  for (const content of contents) {
    const answer = await s.ask(content, { whenBusy: 'queue', promptId: content });
    if ('queued' in answer) tickets.set(content, answer.ticketId);
  }
  await lab.settled();
  return { s, ticketOf: (content: string) => tickets.get(content) ?? '' };
}

/** Ends turn after turn until nobody waits. */
async function serveAll(lab: SessionLab, s: LabSession): Promise<void> {
  for (let turn = 0; turn < 6; turn++) {
    for (const prompt of s.prompts) prompt.end();
    await lab.settled();
    await lab.clock.advance(5_000);
  }
  expect(await lab.offstage.sessions.tickets('s')).toEqual([]);
}

const toldOf = (lab: SessionLab, content: string): readonly TicketEvent['status'][] =>
  lab.engine.events.flatMap((event) => (event.type === 'session.ticket' && event.promptId === content ? [event.status] : []));

const served = (s: LabSession, content: string): number => s.prompts.filter((prompt) => prompt.content === content).length;

/** Each ticket has one end: it was served once, or it was cancelled, and then never. */
function expectOneEndEach(lab: SessionLab, s: LabSession, cancelled: ReadonlySet<string>, contents = ['B', 'C', 'D']): void {
  for (const content of contents) {
    const isCancelled = cancelled.has(content);
    expect([content, ...toldOf(lab, content)]).toEqual([content, 'queued', isCancelled ? 'cancelled' : 'accepted']);
    expect([content, served(s, content)]).toEqual([content, isCancelled ? 0 : 1]);
  }
  const order = s.prompts.map(({ content }) => content);
  expect(order).toEqual(['begin', ...contents.filter((content) => !cancelled.has(content))]);
}

const outcomeOf = (cancel: Promise<Changed>): Promise<string> =>
  cancel.then(
    ({ changed }) => (changed ? 'cancelled' : 'nothing'),
    ({ code }: { code: string }) => code,
  );

describe('a ticket that is cancelled while it is being served', () => {
  it.each(['B', 'C', 'D'])('in whatever event: it has one end, and so has each other one; %s', async (content) => {
    const outcomes = new Set<string>();
    for (let at = 0, isOver = false; !isOver; at++) {
      await using lab = await sessionLab();
      const { s, ticketOf } = await waiting(lab);
      const answers: Promise<string>[] = [];
      let told = 0;
      lab.offstage.onEvent(() => {
        if (told++ === at) answers.push(outcomeOf(lab.offstage.sessions.cancelTicket(ticketOf(content))));
      });
      // A person's prompt is let in beside the open one.
      await s.idle();
      await serveAll(lab, s);
      isOver = answers.length === 0;
      const [outcome] = await Promise.all(answers);
      if (outcome !== undefined) outcomes.add(outcome);
      expectOneEndEach(lab, s, new Set(outcome === 'cancelled' ? [content] : []));
    }
    expect([...outcomes].sort()).toEqual(['cancelled', 'ticket.not_found']);
  });

  it('twice at once: one of the two has cancelled it', async () => {
    await using lab = await sessionLab();
    const { s, ticketOf } = await waiting(lab);
    const { cancelTicket } = lab.offstage.sessions;
    const both = [cancelTicket(ticketOf('C')), cancelTicket(ticketOf('C'))].map(outcomeOf);
    expect((await Promise.all(both)).sort()).toEqual(['cancelled', 'ticket.not_found']);
    await serveAll(lab, s);
    expectOneEndEach(lab, s, new Set(['C']));
  });
});

describe.each(['before', 'after'] as const)('a write that fails %s it is done', (when) => {
  it('loses no ticket but the one that was being written, which was cancelled meanwhile', async () => {
    const store = controlledStore(memoryStore());
    await using lab = await sessionLab({ store });
    const { s } = await waiting(lab, ['B', 'C']);
    store.hold();
    store.failNext({ when });
    const refused = s.ask('D', { whenBusy: 'queue', promptId: 'D' }).then(
      () => 'queued',
      ({ code }: { code: string }) => code,
    );
    await lab.settled();
    const last = (await lab.offstage.sessions.tickets('s')).at(-1);
    expect(last?.promptId).toBe('D');
    const cancelled = outcomeOf(lab.offstage.sessions.cancelTicket(last?.ticketId ?? ''));
    store.release();
    await lab.clock.advance(5_000);
    expect([await refused, await cancelled]).toEqual(['store.failed', 'cancelled']);
    expect((await lab.offstage.sessions.tickets('s')).map(({ promptId }) => promptId)).toEqual(['B', 'C']);
    await serveAll(lab, s);
    expect(served(s, 'D')).toBe(0);
    expect(toldOf(lab, 'D').filter((status) => status !== 'queued').length).toBeLessThanOrEqual(1);
    expectOneEndEach(lab, s, new Set(), ['B', 'C']);
  });

  it('of a cancel is done later; the ticket is not served, the others are', async () => {
    const store = controlledStore(memoryStore());
    await using lab = await sessionLab({ store });
    const { s, ticketOf } = await waiting(lab);
    store.failNext({ when });
    const cancelled = outcomeOf(lab.offstage.sessions.cancelTicket(ticketOf('B')));
    await lab.settled();
    await serveAll(lab, s);
    expect(await cancelled).toBe('cancelled');
    expectOneEndEach(lab, s, new Set(['B']));
  });
});

it('a read of a session that takes long does not bring back what has changed meanwhile', async () => {
  const inner = memoryStore();
  const kept = keptStore(inner);
  {
    await using before = await sessionLab({ store: kept.open() });
    await before.create();
  }
  const reading = held();
  let isHeld = false;
  const store: Store = {
    ...kept.open(),
    async get(key) {
      const value = await inner.get(key);
      if (key === KEYS.session('s') && isHeld) {
        isHeld = false;
        await reading.promise;
      }
      return value;
    },
  };
  await using lab = await sessionLab({ store, executors: { nothing: async () => null } });
  const { offstage } = lab;
  isHeld = true;
  const job = offstage.spawn({ kind: 'nothing', sessionId: 's' });
  await lab.settled();
  expect(isHeld).toBe(false);
  await offstage.sessions.prompt('s', { content: 'go on' });
  const shown = async () => {
    const [listed] = await offstage.sessions.list();
    const [one, ofTask] = [await offstage.sessions.get('s'), await offstage.tasks.list()];
    return [one.state, one.revision, listed?.state, ofTask[0]?.pending];
  };
  const now = await shown();
  expect(now[0]).toBe('running');
  reading.resolve();
  await lab.settled();
  expect(await shown()).toEqual(now);
  await job;
  lab.mock.prompts[0]?.end();
  await lab.settled();
  expect((await offstage.sessions.get('s')).state).toBe('waiting_for_input');
});

describe('while the store does not answer', () => {
  it('a prompt whose agent is not called yet is not taken, whatever generation a frame has guessed', async () => {
    const store = controlledStore(memoryStore());
    await using lab = await sessionLab({ store });
    const s = await lab.running();
    const { generation } = s;
    await s.done();
    store.hold();
    const asked = s.ask('next');
    await lab.settled();
    for (const type of ['prompt.accepted', 'turn.ended'] as const)
      s.agent.emit({ type, generation: generation + 1, stopReason: 'end_turn' } as Frame);
    await lab.settled();
    expect(s.prompts).toHaveLength(1);
    store.release();
    expect(await asked).toEqual({ accepted: true, promptId: expect.any(String), generation: generation + 1 });
    expect(s.prompts.map(({ content }) => content)).toEqual(['begin', 'next']);
  });

  it('a ticket that is cancelled before it is stored is refused, and is never said to be queued', async () => {
    const store = controlledStore(memoryStore());
    await using lab = await sessionLab({ store });
    const s = await lab.running();
    store.hold();
    const asked = s.ask('next', { whenBusy: 'queue', promptId: 'p' });
    const refusal = expect(asked).rejects.toMatchObject({ code: 'prompt.interrupted' });
    await lab.settled();
    const [ticket] = await lab.offstage.sessions.tickets('s');
    const cancelled = lab.offstage.sessions.cancelTicket(ticket?.ticketId ?? '');
    await lab.clock.advance(10_000);
    expect(await cancelled).toEqual({ changed: true, durable: false });
    store.release();
    await refusal;
    await lab.settled();
    expect(lab.engine.events.flatMap((event) => (event.type === 'session.ticket' ? [event.status] : []))).toEqual(['cancelled']);
  });

  it('nothing is put in line that was asked for before the close and is looked at after it', async () => {
    const inner = memoryStore();
    const kept = keptStore(inner);
    {
      await using before = await sessionLab({ store: kept.open() });
      await before.create();
    }
    const reading = held();
    let isHeld = false;
    const get: Store['get'] = async (key) => {
      if (key === KEYS.session('s') && isHeld) await reading.promise;
      return inner.get(key);
    };
    const lab = await sessionLab({ store: { ...kept.open(), get } });
    isHeld = true;
    const asked = ['first', 'second'].map((content) =>
      lab.offstage.sessions.prompt('s', { content, whenBusy: 'queue' }).then(
        () => 'taken',
        (error: { code: string }) => error.code,
      ),
    );
    const closed = lab.offstage.close();
    reading.resolve();
    await closed;
    expect(await Promise.all(asked)).toEqual(['engine.closing', 'engine.closing']);
  });
});
