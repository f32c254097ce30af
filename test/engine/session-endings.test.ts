/** What is left of what has ended: prompts that came to nothing, records that have gone, engines that close. */
import { describe, expect, it } from 'vitest';
import type { OffstageEvent } from '../../src/model/events.ts';
import type { PromptAnswer } from '../../src/model/session-requests.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { controlledExecutor } from '../../src/testing/controlled-executor.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { type LabSession, type SessionLab, sessionLab } from '../support/sessions.ts';

describe('PRM3: a promptId whose ticket came to nothing', () => {
  const cases: readonly (readonly [
    string,
    'human' | 'synthetic',
    (lab: SessionLab, s: LabSession, ticketId: string) => Promise<void>,
  ])[] = [
    [
      'failed',
      'human',
      async (lab, s) => {
        lab.mock.script.failStart = new Error('not today');
        s.agent.crash();
        await lab.settled();
        lab.mock.script.failStart = undefined;
      },
    ],
    ['cancelled', 'human', async (lab, _s, ticketId) => void (await lab.offstage.sessions.cancelTicket(ticketId))],
    [
      'dropped',
      'synthetic',
      async (lab, s) => {
        // Another agent takes over, for a person who waits in front.
        s.agent.crash();
        await lab.settled();
      },
    ],
  ];

  it.each(cases)('may be tried again: %s', async (status, origin, comesToNothing) => {
    await using lab = await sessionLab();
    const s = await lab.running();
    if (status === 'dropped') await s.ask('a person', { whenBusy: 'queue', promptId: 'other' });
    const first = await s.ask('try', { whenBusy: 'queue', promptId: 'p', origin });
    if (!('queued' in first)) throw new Error('it was to wait');
    await lab.settled();
    await comesToNothing(lab, s, first.ticketId);
    await lab.settled();
    const told = lab.engine.events.flatMap((event) =>
      event.type === 'session.ticket' && event.promptId === 'p' ? [event.status] : [],
    );
    expect(told).toEqual(['queued', status]);
    const again = await s.ask('try', { whenBusy: 'queue', promptId: 'p', origin });
    if ('queued' in again) expect(again.ticketId).not.toBe(first.ticketId);
    await lab.settled();
    for (const prompt of s.prompts) prompt.end();
    await lab.settled();
    expect(s.prompts.filter(({ content }) => content === 'try')).toHaveLength(1);
  });

  it('gets the same answer where the ticket was served', async () => {
    await using lab = await sessionLab();
    const s = await lab.running();
    const ask = (): Promise<PromptAnswer> => s.ask('once', { whenBusy: 'queue', promptId: 'p' });
    const first = await ask();
    await lab.settled();
    await s.done();
    expect(await ask()).toEqual(first);
    await s.done();
    await lab.settled();
    expect([await ask(), s.prompts.filter(({ content }) => content === 'once').length]).toEqual([first, 1]);
  });
});

describe('liveness 2, 7: the numbers of one session', () => {
  type Numbered = Extract<OffstageEvent, { type: 'session.state_changed' | 'session.activity_changed' }>;

  const isNumbered = (event: OffstageEvent): event is Numbered =>
    event.type === 'session.state_changed' || event.type === 'session.activity_changed';

  it('never go back, over all its events, whatever comes and goes of it and of others', async () => {
    const gate = controlledExecutor();
    await using lab = await sessionLab({ executors: { gate } });
    const [a, b] = [await lab.create('a'), await lab.create('b')];
    for (let round = 0; round < 3; round++) {
      await a.ask();
      await lab.settled();
      await a.reg(`w${round}`);
      await a.done();
      await b.ask();
      await lab.settled();
      a.agent.exit();
      await lab.settled();
      const { jobId } = await lab.offstage.spawn({ kind: 'gate', sessionId: 'a' });
      await lab.settled();
      await b.done();
      await gate.release(jobId);
      await lab.settled();
      await a.ask();
      await lab.settled();
      // In the midst of a turn.
      a.agent.crash();
      await lab.settled();
      lab.mock.script.failStart = new Error('not today');
      await a.attempt();
      lab.mock.script.failStart = undefined;
      b.agent.exit();
      await lab.settled();
    }
    for (const sessionId of ['a', 'b']) {
      const numbers = lab.engine.events.filter(isNumbered).filter((event) => event.sessionId === sessionId);
      const epochs = numbers.map(({ activityEpoch }) => activityEpoch ?? -1);
      const seqs = numbers.map(({ sessionSeq }) => sessionSeq ?? -1);
      expect(numbers.length).toBeGreaterThan(10);
      expect(epochs).toEqual([...epochs].sort((one, two) => one - two));
      expect(seqs).toEqual([...new Set(seqs)].sort((one, two) => one - two));
      expect((await lab.offstage.sessions.get(sessionId)).sessionSeq).toBeGreaterThanOrEqual(seqs.at(-1) ?? 0);
    }
  });
});

describe('an engine that closes with an agent', () => {
  const saidUnsaved = (lab: SessionLab): number => lab.engine.log.filter(({ event }) => event === 'close.unsaved').length;

  it.each<readonly [string, (lab: SessionLab, s: LabSession) => Promise<unknown>]>([
    ['between two turns', (_lab, s) => s.done()],
    ['in the midst of a turn', async () => {}],
    ['behind whose turn others wait', (_lab, s) => s.ask('next', { whenBusy: 'queue' })],
    ['that works behind its turn', (_lab, s) => s.reg('w').then(() => s.done())],
    [
      'that has asked something',
      (_lab, s) =>
        s.tell({ type: 'permission.request', generation: s.generation, requestId: 'r', kind: 'permission', options: [] }),
    ],
  ])('has stored everything, and says nothing else: %s', async (_when, happens) => {
    const store = controlledStore(memoryStore());
    await using lab = await sessionLab({ store });
    const s = await lab.running();
    await happens(lab, s);
    await lab.settled();
    await lab.offstage.close();
    expect(store.writes.every(({ outcome }) => outcome === 'written')).toBe(true);
    expect(saidUnsaved(lab)).toBe(0);
  });

  it('says so, once, where the store refuses what became of the session', async () => {
    const store = controlledStore(memoryStore());
    await using lab = await sessionLab({ store });
    await lab.running();
    store.failAll(new Error('the disk is full'));
    const closed = lab.offstage.close();
    await lab.clock.advance(60_000);
    await closed;
    expect(saidUnsaved(lab)).toBe(1);
  });
});
