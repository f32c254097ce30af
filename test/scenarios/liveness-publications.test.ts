/**
 * Liveness and stop, rows L39–L57: publications and cycles (liveness 3 and 7).
 *
 * "pub" is `session.activity_changed`, from the event that the row begins with; "task recompute" is the aggregate that a task's chart is handed.
 * A change of nothing but the count is a publication too (liveness 7), so where a row lists tiers, `tiersOf` leaves those out.
 */
import { describe, expect, it } from 'vitest';
import type { Frame } from '../../src/model/agent.ts';
import { tiersOf } from '../support/bare-liveness.ts';
import { gate } from '../support/executors.ts';
import { FULL, type LabSession, type SessionLab, type SessionLabOptions, sessionLab } from '../support/sessions.ts';

/** A lab that counts how often an aggregate was handed to the chart of a task. */
async function countingLab(options: SessionLabOptions = {}): Promise<{ lab: SessionLab; recomputed(): number }> {
  let count = 0;
  const inspect = (event: { readonly type: string; readonly event?: { readonly type: string } }): void => {
    if (event.type === '@xstate.event' && event.event?.type === 'activity.aggregated') count += 1;
  };
  return { lab: await sessionLab({ ...options, inspect }), recomputed: () => count };
}

const pubsOf = async (lab: SessionLab, act: () => Promise<unknown>) => {
  const since = lab.engine.events.length;
  await act();
  await lab.settled();
  return lab.publications('s', since);
};

const launch = (session: LabSession, isDetached = false) =>
  session.call('launch', { work: { kind: 'subagent', isDetached }, generation: session.generation });

describe('one publication per flip', () => {
  it('L39: flips are published once each; repeated output, a shell under generating, empty chunks are not', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    const told = await pubsOf(lab, async () => {
      await session.reg('shell', 'shell');
      await session.idle();
      await session.out();
      await session.out();
      await session.out('');
      await session.reg('another', 'monitor');
      await session.idle();
      await session.idle();
      await session.out('');
      await session.bgc({ workloadId: 'shell' });
      await session.bgc({ workloadId: 'another' });
    });
    expect(told).toEqual([
      ['background', 0],
      ['generating', 0],
      ['background', 0],
      [null, 0],
    ]);
  });

  it('L40: a claim that is released because the agent does not start publishes background once', async () => {
    const executor = gate();
    await using lab = await sessionLab({ executors: { gate: executor }, script: { attests: FULL, failStart: new Error('no') } });
    const session = await lab.create();
    await lab.offstage.spawn({ kind: 'gate', sessionId: 's' });
    await lab.settled();
    const told = await pubsOf(lab, async () => expect(await session.attempt()).toBe('agent.start_failed'));
    expect(told).toEqual([
      ['generating', 1],
      ['background', 1],
    ]);
  });

  it('L42: work registered during a claim and an idle that comes before the accept: the accept publishes background', async () => {
    const executor = gate();
    await using lab = await sessionLab({ executors: { gate: executor }, script: { attests: FULL, acceptAtOnce: false } });
    const session = await lab.create();
    const prompting = session.ask();
    await lab.settled();
    await lab.offstage.spawn({ kind: 'gate', sessionId: 's' });
    await lab.settled();
    expect(lab.publications('s')).toEqual([
      ['generating', 0],
      ['generating', 1],
    ]);
    // The provider's word comes before the word that it took the prompt: it is that word, too.
    const told = await pubsOf(lab, () => session.idle());
    expect(told).toEqual([['background', 1]]);
    await expect(prompting).resolves.toMatchObject({ accepted: true });
    expect(await pubsOf(lab, async () => session.prompt.accept())).toEqual([]);
    const next = session.ask();
    await lab.settled();
    session.prompt.accept();
    await expect(next).resolves.toMatchObject({ accepted: true });
  });

  it('L43: any flip of a session recomputes the aggregate of its own task, once', async () => {
    const { lab, recomputed } = await countingLab();
    await using _ = lab;
    await lab.offstage.tasks.create({ taskId: 'task' });
    await lab.offstage.tasks.create({ taskId: 'another task' });
    const session = await lab.running('s', 'task');
    const other = await lab.running('other', 'another task');
    const flips: readonly (() => Promise<unknown>)[] = [
      () => session.reg('work'),
      () => session.idle(),
      () => session.out(),
      () => session.idle(),
      () => session.bgc({ workloadId: 'work' }),
    ];
    for (const flip of flips) {
      const [before, since] = [recomputed(), lab.engine.events.length];
      await flip();
      expect(recomputed() - before).toBe(1);
      expect(lab.publications('s', since)).toHaveLength(1);
      expect(lab.taskUpdates('task', since)).toHaveLength(1);
      expect(lab.taskUpdates('another task', since)).toEqual([]);
    }
    expect(await other.tier()).toBe('generating');
  });
});

describe('cycles', () => {
  const finals: Readonly<Record<string, (session: LabSession) => Frame>> = {
    'final message': ({ generation }) => ({ type: 'output', generation, text: 'done' }),
    'final thinking': ({ generation }) => ({ type: 'output', generation, channel: 'thought', text: 'hm' }),
    'terminal foreground tool with output': ({ generation }) => ({
      type: 'tool.update',
      generation,
      toolCallId: 'foreground tool',
      status: 'completed',
      hasOutput: true,
    }),
  };

  it.each(Object.entries(finals))('L45: subagent call, idle, then %s, then the return', async (_, final) => {
    const { lab, recomputed } = await countingLab();
    await using _lab = lab;
    const session = await lab.running();
    await session.call('foreground tool');
    const before = recomputed();
    const told = await pubsOf(lab, async () => {
      await launch(session);
      await session.idle();
      await session.tell(final(session));
      await session.done();
    });
    expect(told).toEqual([
      ['generating', 1],
      ['background', 1],
      ['generating', 1],
      ['background', 1],
    ]);
    expect(recomputed() - before).toBe(4);
    expect(await session.attempt()).toBe('accepted');
  });

  it('L46: the card of a detached launch completes with output: background, and registered', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    const told = await pubsOf(lab, async () => {
      await launch(session, true);
      await session.idle();
      await session.update('launch', { status: 'completed', hasOutput: true });
    });
    expect(told).toEqual([
      ['generating', 1],
      ['background', 1],
    ]);
    expect(await session.works()).toEqual(['launch']);
  });

  it('L48: the turn completes, then the work does: background, then none', async () => {
    const { lab, recomputed } = await countingLab();
    await using _ = lab;
    const session = await lab.running();
    await session.reg('work', 'shell');
    const before = recomputed();
    const told = await pubsOf(lab, async () => {
      await session.done();
      await session.bgc();
    });
    expect(told).toEqual([
      ['background', 0],
      [null, 0],
    ]);
    expect(recomputed() - before).toBe(2);
  });

  it('L49: the old completion under a successor that speaks changes nothing', async () => {
    const { lab, recomputed } = await countingLab();
    await using _ = lab;
    const session = await lab.running();
    const old = session.prompt;
    await session.reg('work');
    await session.idle();
    expect(await session.attempt()).toBe('accepted');
    await session.out();
    const before = recomputed();
    const told = await pubsOf(lab, async () => {
      await session.done(old);
      await session.tell({ type: 'turn.ended', generation: old.generation, stopReason: 'end_turn' });
    });
    expect(told).toEqual([]);
    expect(recomputed()).toBe(before);
    expect(await session.tier()).toBe('generating');
  });

  it('L51: a completion that cannot be taken in changes nothing; the next one counts', async () => {
    // There is no look-up of the session here that could fail: what can fail is the frame.
    await using lab = await sessionLab();
    const session = await lab.running();
    await session.reg('work', 'shell');
    const { generation } = session;
    const stopReason = {
      toString(): never {
        throw new Error('unreadable');
      },
    };
    const told = await pubsOf(lab, () =>
      session.tell({ type: 'turn.ended', generation, stopReason: stopReason as unknown as string }),
    );
    expect(told).toEqual([]);
    expect(lab.engine.log).toContainEqual(expect.objectContaining({ event: 'frame.unreadable' }));
    expect(await session.view()).toMatchObject({ state: 'running', foregroundActivity: 'generating' });
    const again = await pubsOf(lab, () => session.tell({ type: 'turn.ended', generation, stopReason: 'end_turn' }));
    expect(again).toEqual([['background', 0]]);
  });

  it('L52: of two sessions one completes; the other is unchanged', async () => {
    await using lab = await sessionLab();
    await lab.offstage.tasks.create({ taskId: 'task' });
    const session = await lab.running('s', 'task');
    const other = await lab.running('other', 'task');
    await other.reg('work');
    const since = lab.engine.events.length;
    await session.done();
    expect(await session.tier()).toBeNull();
    expect(lab.publications('other', since)).toEqual([]);
    expect(await other.view()).toMatchObject({ state: 'running', foregroundActivity: 'generating', activeSubagentCount: 1 });
  });

  it('L54: an idle of the earlier generation is ignored, that of the current one is published', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    const first = session.generation;
    await session.reg('work', 'shell');
    await session.done();
    expect(await session.attempt()).toBe('accepted');
    expect(session.generation).toBeGreaterThan(first);
    expect(await pubsOf(lab, () => session.idle(first))).toEqual([]);
    expect(await session.attempt()).toBe('prompt.busy');
    expect(await pubsOf(lab, () => session.idle())).toEqual([['background', 0]]);
  });

  it('L55: the second cycle of an execution is like its first; two completions are one', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    await session.done();
    const told = await pubsOf(lab, async () => {
      await session.ask('follow-up');
      await launch(session);
      await session.idle();
      await session.tell({ type: 'output', generation: session.generation, channel: 'thought', text: 'hm' });
      await session.out('message');
      await session.tell({ type: 'turn.ended', generation: session.generation, stopReason: 'end_turn' });
      await session.done();
    });
    expect(tiersOf(told)).toEqual(['generating', 'background', 'generating', 'background']);
    expect(await session.count()).toBe(1);
    expect(await session.attempt()).toBe('accepted');
  });

  describe('L57: everything comes before the acknowledgement', () => {
    const withWork = async (lab: SessionLab) => {
      const session = await lab.create();
      await lab.offstage.spawn({ kind: 'gate', sessionId: 's', jobId: 'job' });
      await lab.settled();
      const since = lab.engine.events.length;
      const prompting = session.ask();
      await lab.settled();
      return { session, prompting, since };
    };
    const slowLab = (executor = gate()) =>
      sessionLab({ executors: { gate: executor }, script: { attests: FULL, acceptAtOnce: false } });

    it('idle, completion, with work live: generating, background; promptable', async () => {
      await using lab = await slowLab();
      const { session, prompting, since } = await withWork(lab);
      await session.idle();
      await session.done();
      session.prompt.accept();
      await prompting;
      await lab.settled();
      expect(tiersOf(lab.publications('s', since))).toEqual(['generating', 'background']);
      const next = session.ask();
      await lab.settled();
      session.prompt.accept();
      await expect(next).resolves.toMatchObject({ accepted: true });
    });

    it('idle, output, completion, with work live: the first word is the acknowledgement, so every flip shows; promptable', async () => {
      await using lab = await slowLab();
      const { session, prompting, since } = await withWork(lab);
      await session.idle();
      await session.out();
      await session.done();
      session.prompt.accept();
      await prompting;
      await lab.settled();
      expect(tiersOf(lab.publications('s', since))).toEqual(['generating', 'background', 'generating', 'background']);
      const next = session.ask();
      await lab.settled();
      session.prompt.accept();
      await expect(next).resolves.toMatchObject({ accepted: true });
    });

    it('the return alone: it is the acknowledgement', async () => {
      await using lab = await slowLab();
      const { session, prompting, since } = await withWork(lab);
      await session.done();
      await expect(prompting).resolves.toMatchObject({ accepted: true });
      expect(tiersOf(lab.publications('s', since))).toEqual(['generating', 'background']);
      expect(await session.view()).toMatchObject({ state: 'waiting_for_input', foregroundActivity: 'background' });
    });

    it('the work has finished before: not background, and no claim is stranded', async () => {
      const executor = gate();
      await using lab = await slowLab(executor);
      const { session, prompting, since } = await withWork(lab);
      await executor.release('job');
      await lab.settled();
      await session.idle();
      await session.done();
      session.prompt.accept();
      await prompting;
      await lab.settled();
      expect(tiersOf(lab.publications('s', since))).toEqual(['generating', null]);
      expect(await session.view()).toMatchObject({ state: 'waiting_for_input', foregroundActivity: null });
      const next = session.ask();
      await lab.settled();
      session.prompt.accept();
      await expect(next).resolves.toMatchObject({ accepted: true });
    });
  });
});
