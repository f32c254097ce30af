/** Archiving, and which tasks are listed. */
import { describe, expect, it } from 'vitest';
import { removalLab, resting } from '../support/removing.ts';

const CONFIRMED = { confirm: true } as const;
const DONE = { done: true } as const;

describe('archive', () => {
  const idsOf = async (rows: Promise<readonly { readonly taskId: string }[]>) => (await rows).map(({ taskId }) => taskId);

  it('warns of live work, unless that is confirmed or not asked for; work goes on', async () => {
    for (const confirmArchive of [true, false]) {
      await using lab = await removalLab({ confirmArchive });
      const { tasks } = lab.offstage;
      const s = await lab.running('s', 't');
      const warning = { generating: 1, background: 0, activeSubagentCount: 0, jobs: 0 };
      if (confirmArchive) {
        expect(await tasks.archive('t')).toEqual({ done: false, warning });
        expect((await tasks.get('t')).state).toBe('open');
      }
      expect(await tasks.archive('t', confirmArchive ? CONFIRMED : {})).toEqual(DONE);
      expect(await tasks.get('t')).toMatchObject({ state: 'archived', foregroundActivity: 'generating' });
      expect([s.agent.isClosed, s.prompt.isOpen]).toEqual([false, true]);
      expect(lab.engine.events.findLast(({ type }) => type === 'task.updated')).toMatchObject({ state: 'archived' });
      // Again: nothing changes.
      expect(await tasks.archive('t', CONFIRMED)).toEqual(DONE);
      expect((await tasks.get('t')).revision).toBe(2);
    }
  });

  it('needs no word where nothing lives', async () => {
    await using lab = await removalLab();
    await resting(lab);
    expect(await lab.offstage.tasks.archive('t')).toEqual(DONE);
  });

  it('keeps the task listed while anything of it lives: activity, jobs, a body or an agent that is ending', async () => {
    await using lab = await removalLab({ script: { ignoreClose: true, attests: { workloads: ['subagent'] } } });
    const { tasks } = lab.offstage;
    const isListed = async (): Promise<boolean> => {
      await lab.settled();
      const [listed, { tasks: shown }] = await Promise.all([idsOf(tasks.list()), lab.offstage.snapshot()]);
      expect(shown.map(({ taskId }) => taskId)).toEqual(listed);
      expect(await idsOf(tasks.list({ archived: true }))).toEqual(['t']);
      return listed.includes('t');
    };
    const s = await resting(lab);
    await tasks.archive('t', CONFIRMED);
    expect(await isListed()).toBe(false);
    await s.ask();
    expect(await isListed()).toBe(true);
    await s.done();
    expect(await isListed()).toBe(false);
    await lab.offstage.spawn({ kind: 'stubborn', jobId: 'late', sessionId: 's' });
    expect(await isListed()).toBe(true);
    await lab.offstage.cancel('late');
    await lab.clock.advance(60_000);
    expect(await isListed()).toBe(true);
    await lab.stubborns.release('late');
    expect(await isListed()).toBe(false);
    s.agent.crash();
    expect(await isListed()).toBe(true);
  });

  it('limits and pages by what is listed', async () => {
    await using lab = await removalLab();
    const { tasks } = lab.offstage;
    for (const taskId of ['a', 'b', 'c', 'd']) {
      await lab.clock.advance(1);
      await tasks.create({ taskId });
    }
    for (const taskId of ['d', 'b']) await tasks.archive(taskId);
    expect(await idsOf(tasks.list({ limit: 2 }))).toEqual(['c', 'a']);
    expect(await idsOf(tasks.list({ limit: 3, archived: true }))).toEqual(['d', 'c', 'b']);
    // Also one that is not listed any more tells where to go on.
    expect(await idsOf(tasks.list({ limit: 1, before: 'b' }))).toEqual(['a']);
    expect(await idsOf(tasks.list({ archived: false, before: 'a' }))).toEqual(['t']);
    await expect(tasks.list({ archived: 'yes' as never })).rejects.toMatchObject({
      code: 'input.invalid',
      details: { argument: 'archived' },
    });
    await expect(lab.offstage.sessions.list({ archived: true } as never)).rejects.toMatchObject({ code: 'input.invalid' });
  });
});
