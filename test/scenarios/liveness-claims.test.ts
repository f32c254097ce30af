/**
 * Liveness and stop, rows L23–L37: claims and dispatch (liveness 3).
 *
 * Where a row speaks of a bare CLAIM, BEGIN, ACCEPT, ROLLBACK or RELEASE, the chart and the publication are driven by themselves; the same story
 * is then told through `sessions.prompt`, as far as a prompt can tell it. What the row calls "false" or "no change" is that nothing was published.
 */
import { describe, expect, it } from 'vitest';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { bareLiveness } from '../support/bare-liveness.ts';
import { gate } from '../support/executors.ts';
import { FULL, type SessionLab, sessionLab } from '../support/sessions.ts';

/** A session in the background tier: its agent works on behind, its foreground is free, its prompt has returned. */
async function inBackground(lab: SessionLab) {
  const session = await lab.running();
  await session.reg('work');
  await session.done();
  expect(await session.tier()).toBe('background');
  return session;
}

/** The same with a job, and without an agent. */
async function withJob(lab: SessionLab) {
  const session = await lab.create();
  const job = await lab.offstage.spawn({ kind: 'gate', sessionId: 's', jobId: 'job' });
  await lab.settled();
  expect(await session.tier()).toBe('background');
  return { session, job };
}

describe('one claim wins', () => {
  it('L23: of 32 concurrent claims on a background tier exactly one wins, in 1,000 rounds; tier generating', () => {
    const bare = bareLiveness();
    const s = bare.session('s');
    s.reg('work', 'shell');
    for (let round = 0; round < 1_000; round++) {
      const won = Array.from({ length: 32 }, () => s.claim()).filter((claimId) => claimId !== null);
      expect(won).toHaveLength(1);
      expect(s.tier).toBe('generating');
      s.release(won[0] ?? null);
      expect(s.tier).toBe('background');
    }
  });

  it('L24: of 32 concurrent prompts one is forwarded, the others are told that the session is busy', async () => {
    await using lab = await sessionLab();
    const session = await inBackground(lab);
    const outcomes = await Promise.all(Array.from({ length: 32 }, () => session.attempt()));
    expect(outcomes.filter((outcome) => outcome === 'accepted')).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === 'prompt.busy')).toHaveLength(31);
    // The first prompt of the session, and this one.
    expect(session.prompts).toHaveLength(2);
    expect(await session.tier()).toBe('generating');
  });

  it('L25: a claim is held while the agent is resumed; waiting_for_input by then, it is accepted', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    session.agent.crash();
    await lab.settled();
    expect(await session.view()).toMatchObject({ state: 'waiting_for_input', executionId: null });
    const since = lab.engine.events.length;
    const prompting = session.ask('again');
    await expect(prompting).resolves.toMatchObject({ accepted: true });
    const states = lab.engine.events.slice(since).flatMap((event) => (event.type === 'session.state_changed' ? [event] : []));
    expect(states[0]).toMatchObject({ oldState: 'waiting_for_input', newState: 'starting', foregroundActivity: 'generating' });
    expect(states.at(-1)).toMatchObject({ newState: 'running', foregroundActivity: 'generating' });
    expect(lab.mock.agents).toHaveLength(2);
  });

  it('L25: who asks while the agent is being started waits, and is busy, or next when the start has failed', async () => {
    let failures = 1;
    const script = { attests: FULL, failStart: () => (failures-- > 0 ? new Error('the first start fails') : undefined) };
    await using lab = await sessionLab({ script });
    const session = await lab.create();
    const outcomes = await Promise.all([session.attempt(), session.attempt(), session.attempt()]);
    expect(outcomes).toEqual(['agent.start_failed', 'accepted', 'prompt.busy']);
    expect(lab.mock.starts).toHaveLength(2);
    expect(session.prompts).toHaveLength(1);
  });

  it('L27: work that registers under a claim changes nothing of it; idle afterwards is background', () => {
    const bare = bareLiveness();
    const s = bare.session('s');
    s.reg('first', 'shell');
    const claim = s.claim();
    const since = bare.events.length;
    s.reg('second', 'shell');
    expect(s.claim()).toBeNull();
    const generation = s.begin(claim);
    s.accept(generation);
    expect(bare.publications('s', since)).toEqual([]);
    expect(s.tier).toBe('generating');
    expect(s.claim()).toBeNull();
    s.idle(generation);
    expect(s.tier).toBe('background');
    expect(s.claim()).not.toBeNull();
  });
});

describe('release', () => {
  it('L28: output under a claim survives its release: busy, and the next claim fails', () => {
    const bare = bareLiveness();
    const s = bare.session('s');
    s.reg('work', 'shell');
    const earlier = s.begin(s.claim());
    s.accept(earlier);
    s.idle(earlier);
    const claim = s.claim();
    s.out(earlier);
    const since = bare.events.length;
    s.release(claim);
    expect(bare.publications('s', since)).toEqual([]);
    expect(s.tier).toBe('generating');
    expect(s.claim()).toBeNull();
  });

  it('L28: the same through a prompt that is interrupted before its agent hears of it, while the agent speaks by itself', async () => {
    const store = controlledStore(memoryStore());
    await using lab = await sessionLab({ store });
    const session = await inBackground(lab);
    store.hold();
    const prompting = session.ask();
    await lab.settled();
    const since = lab.engine.events.length;
    await session.out('by myself', 0);
    expect(await lab.offstage.sessions.interrupt('s')).toEqual({ changed: true });
    store.release();
    await expect(prompting).rejects.toMatchObject({ code: 'prompt.interrupted' });
    await lab.settled();
    expect(lab.publications('s', since)).toEqual([]);
    expect(await session.view()).toMatchObject({ foregroundActivity: 'generating', turn: { origin: 'provider' } });
    expect(await session.attempt()).toBe('prompt.busy');
    expect(session.prompts).toHaveLength(1);
  });

  it('L30: a released claim leaves background, and can be taken again', () => {
    const bare = bareLiveness();
    const s = bare.session('s');
    s.reg('work', 'shell');
    const claim = s.claim();
    expect(s.release(claim)).toBe(true);
    expect(s.tier).toBe('background');
    // It is over: once more does nothing.
    expect(s.release(claim)).toBe(false);
    const next = s.claim();
    expect(next).not.toBeNull();
    expect(s.release(claim)).toBe(false);
    expect(s.begin(claim)).toBe(0);
    expect(s.begin(next)).toBeGreaterThan(0);
  });

  it('L30: the same through a prompt whose agent does not start', async () => {
    const executor = gate();
    await using lab = await sessionLab({ executors: { gate: executor }, script: { attests: FULL, failStart: new Error('no') } });
    const { session } = await withJob(lab);
    expect(await session.attempt()).toBe('agent.start_failed');
    expect(await session.tier()).toBe('background');
    lab.mock.script.failStart = undefined;
    expect(await session.attempt()).toBe('accepted');
  });

  it('L31: work that completed under the claim is gone at its release; the claim can be taken again', () => {
    const bare = bareLiveness();
    const s = bare.session('s');
    s.reg('work', 'shell');
    const claim = s.claim();
    s.bgc({ workloadId: 'work' });
    expect(s.tier).toBe('generating');
    s.release(claim);
    expect(bare.publications().at(-1)).toEqual([null, 0]);
    expect(s.tier).toBeNull();
    expect(s.claim()).not.toBeNull();
  });

  it('L31: the same through a prompt: a job ends while its agent starts, and then does not', async () => {
    const executor = gate();
    let fail = (_: Error): void => {};
    const failing = new Promise<Error>((resolve) => {
      fail = resolve;
    });
    const script = { attests: FULL, failStart: () => failing };
    await using lab = await sessionLab({ executors: { gate: executor }, script });
    const { session } = await withJob(lab);
    const prompting = session.ask();
    await lab.settled();
    await executor.release('job');
    await lab.settled();
    expect(await session.tier()).toBe('generating');
    fail(new Error('it does not start'));
    await expect(prompting).rejects.toMatchObject({ code: 'agent.start_failed' });
    expect(lab.publications('s').at(-1)).toEqual([null, 0]);
    lab.mock.script.failStart = undefined;
    expect(await session.attempt()).toBe('accepted');
  });
});

describe('rollback', () => {
  it('L33: an unobserved rollback restores background; the retry has a later generation', () => {
    const bare = bareLiveness();
    const s = bare.session('s');
    s.reg('work', 'shell');
    const failed = s.begin(s.claim());
    expect(s.rollback(failed)).toBe(true);
    expect(s.tier).toBe('background');
    const retry = s.begin(s.claim());
    expect(retry).toBeGreaterThan(failed);
    const since = bare.events.length;
    s.accept(retry);
    expect(bare.publications('s', since)).toEqual([]);
    s.idle(retry);
    expect(s.tier).toBe('background');
  });

  it('L34: a second rollback of the first is inert; the retry goes on', () => {
    const bare = bareLiveness();
    const s = bare.session('s');
    s.reg('work', 'shell');
    const first = s.begin(s.claim());
    s.rollback(first);
    const retry = s.begin(s.claim());
    const since = bare.events.length;
    expect(s.rollback(first)).toBe(false);
    expect(bare.publications('s', since)).toEqual([]);
    expect(s.tier).toBe('generating');
    expect(s.accept(retry)).toBe(true);
    s.idle(retry);
    expect(s.tier).toBe('background');
  });

  it('L33, L34: through prompts that their agent refuses before it took them', async () => {
    await using lab = await sessionLab({ script: { attests: FULL, acceptAtOnce: false } });
    const session = await lab.create();
    const first = session.ask('first');
    await lab.settled();
    session.prompt.accept();
    await first;
    await session.reg('work', 'shell');
    await session.done();
    const since = lab.engine.events.length;
    const refused = session.ask('refused');
    await lab.settled();
    const { generation } = session;
    session.prompt.fail(new Error('the provider is overloaded'));
    await expect(refused).rejects.toMatchObject({ code: 'agent.failed' });
    await lab.settled();
    expect(lab.publications('s', since)).toEqual([
      ['generating', 0],
      ['background', 0],
    ]);
    expect(await session.view()).toMatchObject({ state: 'waiting_for_input', queuedPrompts: 0 });
    const retry = session.ask('retry');
    await lab.settled();
    const failedAgain = session.prompts.at(-2);
    failedAgain?.fail(new Error('once more'));
    session.prompt.accept();
    await expect(retry).resolves.toMatchObject({ accepted: true, generation: session.generation });
    expect(session.generation).toBeGreaterThan(generation);
    await session.idle();
    expect(await session.tier()).toBe('background');
  });
});

describe('what happens under a claim', () => {
  it('L36: output that belongs to no turn opens none while a prompt is on its way; the claim stays current', async () => {
    const bare = bareLiveness();
    const s = bare.session('s');
    const claim = s.claim();
    expect(s.openByProvider()).toBe(false);
    s.out(0);
    expect(s.record?.context).toMatchObject({ claimId: claim, turns: [] });
    expect(s.begin(claim)).toBeGreaterThan(0);
    expect(s.openByProvider()).toBe(false);
    expect(s.record?.context.turns).toHaveLength(1);

    const store = controlledStore(memoryStore());
    await using lab = await sessionLab({ store });
    const session = await inBackground(lab);
    store.hold();
    const prompting = session.ask();
    await lab.settled();
    await session.out('by myself', 0);
    store.release();
    const answer = await prompting;
    await lab.settled();
    expect((await session.view()).turn).toMatchObject({ origin: 'prompt', generation: session.generation });
    expect(answer).toMatchObject({ accepted: true, generation: session.generation });
    await session.done();
    // Nothing is left of what was said in between.
    expect(await session.view()).toMatchObject({ foregroundActivity: 'background', turn: null });
  });

  it('L37: a late accept is refused, and the claim is released all the same', () => {
    const ends: readonly ((s: ReturnType<ReturnType<typeof bareLiveness>['session']>, generation: number) => void)[] = [
      (s, generation) => s.done(generation),
      (s, generation) => s.rollback(generation),
      (s) => s.retire('other'),
    ];
    for (const advance of ends) {
      const bare = bareLiveness();
      const s = bare.session('s');
      s.reg('work', 'shell');
      const generation = s.begin(s.claim(), 'other');
      advance(s, generation);
      const since = bare.events.length;
      expect(s.accept(generation)).toBe(false);
      expect(s.record?.context.claimId).toBeNull();
      expect(bare.publications('s', since)).toEqual([]);
      expect(s.tier).toBe('background');
      const next = s.begin(s.claim());
      s.accept(next);
      s.idle(next);
      expect(s.tier).toBe('background');
    }
  });
});
