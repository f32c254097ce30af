/** Liveness 3: tickets, promptId, what a prompt is answered; 13: what a close and a crash make of prompts that wait. */
import { describe, expect, it } from 'vitest';
import { LIMITS } from '../../src/model/limits.ts';
import type { PromptAnswer } from '../../src/model/session-requests.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { FULL, type LabSession, type SessionLab, sessionLab } from '../support/sessions.ts';

const contents = (session: LabSession): readonly unknown[] => session.prompts.map(({ content }) => content);

const ticketOf = (answer: PromptAnswer): string => {
  if (!('ticketId' in answer)) throw new Error('it was not queued');
  return answer.ticketId;
};

const queue = (session: LabSession, content: string, origin: 'human' | 'synthetic' = 'human', promptId = content) =>
  session.ask(content, { whenBusy: 'queue', origin, promptId });

const told = (lab: SessionLab) =>
  lab.engine.events.flatMap((event) =>
    event.type === 'session.ticket' ? [[event.promptId, event.status, event.error?.code ?? event.generation]] : [],
  );

describe('tickets', () => {
  it('are visible, listed in their order, and cancelled one by one; nobody who was cancelled is served', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    const { sessions } = lab.offstage;
    const [first, second, third] = [await queue(session, 'a'), await queue(session, 'b', 'synthetic'), await queue(session, 'c')];
    expect([first, second, third]).toMatchObject([{ position: 1 }, { position: 2 }, { position: 3 }]);
    expect(await session.view()).toMatchObject({ queuedPrompts: 3 });
    const head = { sessionId: 's', createdAt: expect.any(Number) };
    expect(await sessions.tickets('s')).toEqual([
      { ...head, ticketId: ticketOf(first), promptId: 'a', origin: 'human', position: 1 },
      { ...head, ticketId: ticketOf(second), promptId: 'b', origin: 'synthetic', position: 2 },
      { ...head, ticketId: ticketOf(third), promptId: 'c', origin: 'human', position: 3 },
    ]);
    expect(await sessions.cancelTicket(ticketOf(second))).toEqual({ changed: true });
    await expect(sessions.cancelTicket(ticketOf(second))).rejects.toMatchObject({ code: 'ticket.not_found' });
    expect((await sessions.tickets('s')).map(({ promptId, position }) => [promptId, position])).toEqual([
      ['a', 1],
      ['c', 2],
    ]);
    for (let turn = 0; turn < 3; turn++) await session.done();
    expect(contents(session)).toEqual(['begin', 'a', 'c']);
    await expect(sessions.cancelTicket(ticketOf(first))).rejects.toMatchObject({ code: 'ticket.not_found' });
    const [, a, c] = session.prompts;
    expect(told(lab)).toEqual([
      ['a', 'queued', 0],
      ['b', 'queued', 0],
      ['c', 'queued', 0],
      ['b', 'cancelled', 'prompt.interrupted'],
      ['a', 'accepted', a?.generation],
      ['c', 'accepted', c?.generation],
    ]);
  });

  it('of nobody: the session is not found, or the list is empty', async () => {
    await using lab = await sessionLab();
    await lab.create();
    expect(await lab.offstage.sessions.tickets('s')).toEqual([]);
    await expect(lab.offstage.sessions.tickets('nobody')).rejects.toMatchObject({ code: 'session.not_found' });
  });

  it('come first: who asks when somebody waits already is busy, although the foreground is free', async () => {
    const store = controlledStore(memoryStore());
    await using lab = await sessionLab({ store });
    const session = await lab.running();
    store.hold();
    const queued = queue(session, 'waits');
    await session.done();
    // It cannot be served yet, and nobody else is.
    expect(await session.view()).toMatchObject({ foregroundActivity: null, queuedPrompts: 1 });
    const late = session.ask('late').catch(({ code }) => code);
    await lab.settled();
    store.release();
    expect(await late).toBe('prompt.busy');
    expect(await queued).toMatchObject({ position: 1 });
    await lab.settled();
    expect(contents(session)).toEqual(['begin', 'waits']);
  });

  it('at a hand-off a person passes what the program asked for, and then it goes on in order', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    await queue(session, 'wake up', 'synthetic');
    await queue(session, 'person one');
    await queue(session, 'person two');
    await session.idle();
    expect(contents(session)).toEqual(['begin', 'person one']);
    await session.done();
    expect(contents(session)).toEqual(['begin', 'person one', 'wake up']);
    await session.done();
    expect(contents(session)).toEqual(['begin', 'person one', 'wake up', 'person two']);
  });

  it('one whose prompt fails is told so, and is not tried again', async () => {
    await using lab = await sessionLab({ script: { attests: FULL, acceptAtOnce: false } });
    const session = await lab.create();
    const begun = session.ask('begin');
    await lab.settled();
    session.prompt.accept();
    await begun;
    await queue(session, 'refused');
    await queue(session, 'next');
    await session.done();
    session.prompt.fail(new Error('not this one'));
    await lab.settled();
    session.prompt.accept();
    await lab.settled();
    expect(contents(session)).toEqual(['begin', 'refused', 'next']);
    expect(told(lab).slice(2)).toEqual([
      ['refused', 'failed', 'agent.failed'],
      ['next', 'accepted', session.generation],
    ]);
    expect(await session.view()).toMatchObject({ queuedPrompts: 0, state: 'running' });
  });

  it('are limited', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    const all = Array.from({ length: LIMITS.ticketsPerSession }, (_, index) => queue(session, `p${index}`));
    expect((await Promise.all(all)).at(-1)).toMatchObject({ position: LIMITS.ticketsPerSession });
    await expect(queue(session, 'one too many')).rejects.toMatchObject({ code: 'limit.tickets', retryable: true });
    expect(await session.view()).toMatchObject({ queuedPrompts: LIMITS.ticketsPerSession });
  });
});

describe('the same promptId', () => {
  it('gets the same answer, whatever is asked under it, and reaches the agent once', async () => {
    await using lab = await sessionLab();
    const session = await lab.create();
    const [first, again] = await Promise.all([session.ask('a', { promptId: 'p' }), session.ask('a', { promptId: 'p' })]);
    expect(again).toEqual(first);
    expect(first).toMatchObject({ accepted: true, promptId: 'p' });
    await session.done();
    expect(await session.ask('something else', { promptId: 'p' })).toEqual(first);
    expect(contents(session)).toEqual(['a']);
  });

  it('means another prompt in another session', async () => {
    await using lab = await sessionLab();
    const [one, other] = [await lab.create('one'), await lab.create('other')];
    await one.ask('a', { promptId: 'p' });
    await other.ask('b', { promptId: 'p' });
    expect([contents(one), contents(other)]).toEqual([['a'], ['b']]);
  });

  it('may be tried again when it was refused: nothing of it was taken', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    expect(await session.attempt({ promptId: 'p' })).toBe('prompt.busy');
    await session.done();
    expect(await session.attempt({ promptId: 'p' })).toBe('accepted');
  });

  it('names the ticket for good: asked for again after it was served it is not served again', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    const answer = await queue(session, 'p');
    await session.done();
    await session.done();
    expect(await queue(session, 'p')).toEqual(answer);
    await lab.settled();
    expect(contents(session)).toEqual(['begin', 'p']);
  });
});

describe('what cannot be asked', () => {
  it.each([
    ['content', { content: undefined as never }],
    ['content', { content: (() => {}) as never }],
    ['origin', { content: 'a', origin: 'robot' as never }],
    ['whenBusy', { content: 'a', whenBusy: 'wait' as never }],
    ['promptId', { content: 'a', promptId: '' }],
    ['promptId', { content: 'a', promptId: 7 as never }],
  ])('%s', async (argument, options) => {
    await using lab = await sessionLab();
    const session = await lab.create();
    const asking = lab.offstage.sessions.prompt('s', options);
    await expect(asking).rejects.toMatchObject({ code: 'input.invalid', details: { argument } });
    expect(await session.view()).toMatchObject({ state: 'created', foregroundActivity: null });
  });

  it('too much, of a session that is not there, or of an agent that is not registered', async () => {
    await using lab = await sessionLab();
    await lab.create();
    const { sessions } = lab.offstage;
    await expect(sessions.prompt('s', { content: 'x'.repeat(LIMITS.inputBytes) })).rejects.toMatchObject({
      code: 'limit.input_bytes',
    });
    await expect(sessions.prompt('nobody', { content: 'a' })).rejects.toMatchObject({ code: 'session.not_found' });
    expect(lab.mock.starts).toEqual([]);
  });
});

describe('the end of the process', () => {
  it('close: open turns are cut off, who is on the way and who waits is told, and nothing is served any more', async () => {
    const lab = await sessionLab();
    const session = await lab.running();
    await queue(session, 'waits');
    lab.mock.script.hangStart = true;
    const starting = await lab.create('starting');
    const onTheWay = starting.ask().catch(({ code }) => code);
    await lab.settled();
    const { prompt } = session;
    await lab[Symbol.asyncDispose]();
    expect(await onTheWay).toBe('engine.closing');
    expect(prompt.isOpen).toBe(false);
    expect(prompt.agent).toMatchObject({ isClosed: true, isGone: true });
    expect(contents(session)).toEqual(['begin']);
    expect(told(lab)).toContainEqual(['waits', 'dropped', 'engine.closing']);
    expect(lab.engine.events).toContainEqual(
      expect.objectContaining({ type: 'session.turn_ended', generation: prompt.generation, stopReason: null }),
    );
    const last = lab.engine.events.findLast((event) => event.type === 'session.state_changed' && event.sessionId === 's');
    expect(last).toMatchObject({ newState: 'waiting_for_input', foregroundActivity: null });
    await expect(session.ask()).rejects.toMatchObject({ code: 'engine.closing' });
  });

  it('crash: prompts that waited are reported as lost by the next process, and never served', async () => {
    const store = controlledStore(memoryStore());
    const lab = await sessionLab({ store });
    const session = await lab.running();
    await queue(session, 'served');
    const [first, second] = [await queue(session, 'first'), await queue(session, 'second', 'synthetic')];
    await session.done();
    const found = await store.crash();
    await using next = await sessionLab({ store: found });
    const lost = next.engine.recovery.lostTickets.map(({ ticketId, promptId, sessionId }) => [ticketId, promptId, sessionId]);
    expect(lost).toHaveLength(2);
    expect(lost).toContainEqual([ticketOf(first), 'first', 's']);
    expect(lost).toContainEqual([ticketOf(second), 'second', 's']);
    expect(await next.offstage.sessions.tickets('s')).toEqual([]);
    expect(await next.offstage.sessions.get('s')).toMatchObject({ queuedPrompts: 0, interrupted: true });
    await next.settled();
    expect(next.mock.starts).toEqual([]);
  });
});
