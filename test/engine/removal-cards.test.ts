/** Cards and notices when sessions are removed (RMB1, RMB2; spec 9). */
import { describe, expect, it } from 'vitest';
import { cardIdOf } from '../../src/model/cards.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import type { Store } from '../../src/persistence/store.ts';
import { gate } from '../support/executors.ts';
import { keptStore } from '../support/kept-store.ts';
import { sessionLab } from '../support/sessions.ts';

async function keysBelow(store: Store, letters: readonly string[]): Promise<readonly string[]> {
  const keys: string[] = [];
  for await (const { key } of store.range({ gte: '', lt: '~' })) if (letters.includes(key.slice(0, 2))) keys.push(key);
  return keys;
}

it('RMB1: cards of a removed conversation go with it, pruned ones and notices too', async () => {
  const store = memoryStore();
  await using lab = await sessionLab({ store, notices: true, executors: { echo: async () => 'done' } });
  const { offstage } = lab;
  const busy = await lab.running('s');
  const pruned = await offstage.spawn({ kind: 'echo', sessionId: 's', wait: true });
  await lab.settled();
  await offstage.prune({ maxJobs: 0 });
  // Its notice waits for the end of the turn.
  const kept = await offstage.spawn({ kind: 'echo', sessionId: 's' });
  await lab.settled();
  expect((await offstage.sessions.tickets('s')).length).toBe(1);
  expect(await keysBelow(store, ['k/', 'u/'])).toHaveLength(2);
  expect(await offstage.sessions.remove('s', { confirm: true })).toEqual({ done: true });
  await lab.settled();
  expect(busy.prompts).toHaveLength(1);
  for (const { jobId } of [pruned, kept]) {
    await expect(offstage.cards.get(cardIdOf(jobId))).rejects.toMatchObject({ code: 'card.not_found' });
  }
  // What is left is the permanent upper end of the range.
  expect(await keysBelow(store, ['k/', 'u/', 'w/'])).toEqual(['w/~']);
});

it('RMB1: so do notices that nobody in this process can tell', async () => {
  const kept = keptStore(memoryStore());
  const options = { notices: true, executors: { echo: async () => 'done' } };
  const first = await sessionLab({ ...options, store: kept.open(), names: ['special'] });
  await (await first.create('s', undefined, 'special')).ask('begin');
  await first.offstage.spawn({ kind: 'echo', sessionId: 's' });
  await first.settled();
  await first[Symbol.asyncDispose]();
  const store = kept.open();
  await using second = await sessionLab({ ...options, store });
  await second.settled();
  expect(await keysBelow(store, ['u/'])).toHaveLength(1);
  const removing = second.offstage.sessions.remove('s', { confirm: true });
  await second.settled();
  expect(await removing).toEqual({ done: true });
  expect(await keysBelow(store, ['u/'])).toEqual([]);
});

it('RMB2: the card of a job that ran in a removed session stays with the conversation that asked for it', async () => {
  const opened = gate();
  await using lab = await sessionLab({ executors: { gate: opened } });
  const { offstage } = lab;
  await offstage.tasks.create({ taskId: 't' });
  await lab.create('caller', 't');
  await lab.create('host', 't');
  const job = await offstage.spawn({ kind: 'gate', sessionId: 'host', callerSessionId: 'caller', subject: 'look' });
  await lab.settled();
  await offstage.sessions.remove('host', { confirm: true });
  await expect(offstage.get(job.jobId)).rejects.toMatchObject({ code: 'job.expired' });
  expect(await offstage.cards.get(cardIdOf(job.jobId))).toMatchObject({
    sessionId: 'caller',
    attach: { session_id: 'host', status: 'cancelled', label: 'look' },
  });
  expect(await offstage.cards.list({ sessionId: 'caller' })).toHaveLength(1);
});

it('a job that is pruned after its caller was removed leaves no card of it', async () => {
  const store = memoryStore();
  await using lab = await sessionLab({ store, executors: { echo: async () => 'done' } });
  const { offstage } = lab;
  await offstage.tasks.create({ taskId: 't' });
  await lab.create('caller', 't');
  await lab.create('host', 't');
  const { jobId } = await offstage.spawn({ kind: 'echo', sessionId: 'host', callerSessionId: 'caller' });
  await lab.settled();
  await offstage.sessions.remove('caller', { confirm: true });
  // While its job is there, so is its card.
  expect((await offstage.cards.get(cardIdOf(jobId))).sessionId).toBe('caller');
  await offstage.prune({ maxJobs: 0 });
  expect(await keysBelow(store, ['k/', 'w/'])).toEqual(['w/~']);
});

describe('KCD1: a card is kept for nobody who is gone', () => {
  async function callerAndHost() {
    const store = memoryStore();
    const lab = await sessionLab({ store, executors: { echo: async () => 'done' } });
    await lab.offstage.tasks.create({ taskId: 't' });
    for (const sessionId of ['caller', 'host']) await lab.create(sessionId, 't');
    return { store, lab };
  }

  const orders: readonly [string, (remove: (sessionId: string) => Promise<unknown>) => Promise<unknown>][] = [
    ['before the host is', (remove) => remove('caller').then(() => remove('host'))],
    ['in the same tick as the host is', (remove) => Promise.all([remove('caller'), remove('host')])],
    ['right after the host is', (remove) => Promise.all([remove('host'), remove('caller')])],
  ];
  it.each(orders)('where the caller is removed %s', async (_, removeBoth) => {
    const { store, ...pair } = await callerAndHost();
    await using lab = pair.lab;
    const { offstage } = lab;
    const { jobId } = await offstage.spawn({ kind: 'echo', sessionId: 'host', callerSessionId: 'caller' });
    await lab.settled();
    const removing = removeBoth((sessionId) => offstage.sessions.remove(sessionId, { confirm: true }));
    await lab.settled();
    await removing;
    await expect(offstage.cards.get(cardIdOf(jobId))).rejects.toMatchObject({ code: 'card.not_found' });
    expect(await keysBelow(store, ['k/', 'w/'])).toEqual(['w/~']);
  });

  it.each([
    ['the caller', 'caller'],
    ['the session that it ran on', 'host'],
  ])('where %s is removed while its job is pruned', async (_, sessionId) => {
    const { store, ...pair } = await callerAndHost();
    await using lab = pair.lab;
    const { offstage } = lab;
    await offstage.spawn({ kind: 'echo', sessionId: 'host', callerSessionId: 'caller' });
    await offstage.spawn({ kind: 'echo', sessionId: 'host' });
    await lab.settled();
    const both = Promise.all([offstage.prune({ maxJobs: 0 }), offstage.sessions.remove(sessionId, { confirm: true })]);
    await lab.settled();
    await both;
    const kept = await keysBelow(store, ['w/']);
    expect(kept.filter((key) => key.startsWith(`w/${sessionId}/`))).toEqual([]);
    expect((await keysBelow(store, ['k/'])).length).toBe(kept.length - 1);
  });
});
