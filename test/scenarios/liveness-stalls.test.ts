/** A session that is declared failed because its agent is silent in the middle of a turn (liveness 9): L156, L157. */
import { describe, expect, it } from 'vitest';
import { offstageError } from '../../src/model/errors.ts';
import type { SessionState } from '../../src/model/records.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { KEYS } from '../../src/persistence/row-keys.ts';
import { readSessionRow } from '../../src/persistence/session-rows.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { type LabSession, type SessionLab, sessionLab } from '../support/sessions.ts';

const STALL_MS = 60_000;

/** With a turn that has been silent for all but the last millisecond. */
async function almostStalled() {
  const store = controlledStore(memoryStore());
  const lab = await sessionLab({ store, stallFailMs: STALL_MS });
  const s = await lab.running();
  await lab.clock.advance(STALL_MS - 1);
  return {
    ...{ store, lab, s },
    async [Symbol.asyncDispose]() {
      store.failAll(null);
      store.release();
      await lab[Symbol.asyncDispose]();
    },
  };
}

/** What the store says of the session whenever its agent is told to close; `close` does what it is given instead, if it is. */
function noteCloses(lab: SessionLab, s: LabSession, close?: () => Promise<void>): (SessionState | null)[] {
  const seen: (SessionState | null)[] = [];
  const agent = s.agent as unknown as { close: () => Promise<void> };
  const own = agent.close.bind(agent);
  agent.close = async () => {
    const row = readSessionRow((await lab.engine.store.get(KEYS.session('s'))) as string);
    seen.push(row !== null && 'state' in row ? row.state : null);
    await (close ?? own)();
  };
  return seen;
}

const stallsOf = (lab: SessionLab) => lab.engine.log.filter(({ event }) => event === 'session.stalled');

describe('L156: a stall that is declared a failure', () => {
  it('L156: failed is persisted, with what is to be torn down; then the agent is, once', async () => {
    await using stalled = await almostStalled();
    const { lab, s, store } = stalled;
    const { executionId } = s;
    const closes = noteCloses(lab, s);
    store.hold();
    await lab.clock.advance(1);
    expect([closes, (await s.view()).state]).toEqual([[], 'running']);
    const batch = store.writes.at(-1)?.operations.flatMap((operation) => (operation.type === 'put' ? [operation.key] : []));
    expect(batch).toEqual(expect.arrayContaining([KEYS.session('s'), KEYS.process(executionId)]));
    store.release();
    await lab.settled();
    expect(closes).toEqual(['failed']);
    expect(await s.view()).toMatchObject({ state: 'failed', executionId: null, endingAgents: 0, foregroundActivity: null });
    expect(await lab.offstage.processes()).toEqual([]);
    await lab.clock.advance(10 * STALL_MS);
    expect([closes, stallsOf(lab).length]).toEqual([['failed'], 1]);
  });

  it('L156: when the store refuses, the agent is torn down all the same, and failed is stored once that works', async () => {
    await using stalled = await almostStalled();
    const { lab, s, store } = stalled;
    const closes = noteCloses(lab, s);
    store.failAll(offstageError('store.failed', { message: 'no space left on device' }));
    await lab.clock.advance(1);
    expect(closes).toEqual(['running']);
    expect(await s.view()).toMatchObject({ executionId: null, foregroundActivity: null, turn: null });
    store.failAll(null);
    await lab.clock.advance(60_000);
    expect(closes).toEqual(['running']);
    expect(await s.view()).toMatchObject({ state: 'failed', executionId: null });
  });

  it('L156: when somebody else has decided before, neither is failed persisted nor the agent torn down for it', async () => {
    await using stalled = await almostStalled();
    const { lab, s, store } = stalled;
    const closes = noteCloses(lab, s);
    store.hold();
    const stopping = lab.offstage.sessions.stop('s');
    await lab.clock.advance(1);
    expect([closes, stallsOf(lab)]).toEqual([[], []]);
    store.release();
    expect((await (await stopping).settled).stopped).toHaveLength(1);
    expect([closes, await s.view()]).toEqual([['cancelled'], expect.objectContaining({ state: 'cancelled', endingAgents: 0 })]);
    expect(lab.engine.events.find(({ type }) => type === 'session.turn_ended')).toMatchObject({
      error: { code: 'session.stopped' },
    });
    await lab.clock.advance(10 * STALL_MS);
    expect([closes, stallsOf(lab), (await s.view()).state]).toEqual([['cancelled'], [], 'cancelled']);
  });
});

describe('L157: a teardown that fails', () => {
  it('L157: failed stays, the execution stays registered, and the next stop tries again', async () => {
    await using stalled = await almostStalled();
    const { lab, s } = stalled;
    const { executionId } = s;
    let isBroken = true;
    const closes = noteCloses(lab, s, async () => {
      if (isBroken) throw new Error('it does not die');
    });
    await lab.clock.advance(1);
    const failed = { state: 'failed', executionId: null };
    expect([closes, await s.view()]).toEqual([['failed'], expect.objectContaining({ ...failed, endingAgents: 1 })]);
    expect(await lab.offstage.processes()).toMatchObject([{ executionId, sessionId: 's', teardownAt: expect.any(Number) }]);
    isBroken = false;
    const result = await lab.offstage.tasks.stop(s.taskId);
    expect(result).toMatchObject({ recovered: [{ sessionId: 's', executionId }], stopped: [], failed: [] });
    await result.settled;
    await lab.settled();
    expect([closes, await s.view()]).toEqual([['failed', 'failed'], expect.objectContaining({ ...failed, endingAgents: 0 })]);
    expect(await lab.offstage.processes()).toEqual([]);
    await expect(lab.offstage.tasks.stop(s.taskId)).rejects.toMatchObject({ code: 'stop.nothing_running' });
  });
});
