/**
 * Liveness 8: what providers said, told again by the mock through the mapping of their adapters, and what the engine makes of it: L15, L16, L22,
 * L112, L123 and L124 from the wire to what is shown.
 */
import { describe, expect, it } from 'vitest';
import type { Attestation } from '../../src/model/agent.ts';
import { type FixturePair, fixturePair, fixturePairs } from '../adapters/fixture-files.ts';
import { FULL, type LabSession, type SessionLab, sessionLab } from '../support/sessions.ts';

async function replay(lab: SessionLab, session: LabSession, { adapter, launch, end }: FixturePair, part: 'launch' | 'end') {
  const [first] = launch.steps.flatMap((step) => ('generation' in step ? [step.generation] : []));
  const shift = (session.prompts[0]?.generation ?? 0) - (first ?? 0);
  session.agent.replay({ adapter, steps: (part === 'launch' ? launch : end).steps }, shift);
  await lab.settled();
}

const outliving = fixturePairs.filter(({ launch }) => launch.frames.some(({ type }) => type === 'turn.ended'));

describe('a recorded launch, and its accountable end', () => {
  it.each(outliving)('$name: the work outlives its turn, keeps no prompt out, and ends by its own word, once', async (pair) => {
    await using lab = await sessionLab({ announces: null });
    const session = await lab.running();
    await replay(lab, session, pair, 'launch');
    const isCounted = pair.kind === 'subagent';
    expect(await session.view()).toMatchObject({
      state: 'waiting_for_input',
      foregroundActivity: 'background',
      activeSubagentCount: isCounted ? 1 : 0,
      turn: null,
    });
    expect((await lab.offstage.workloads.list('s')).map(({ kind, source }) => [kind, source])).toEqual([[pair.kind, 'provider']]);
    expect(await session.attempt()).toBe('accepted');
    await session.done();
    await replay(lab, session, pair, 'end');
    await session.idle(0);
    expect([await session.works(), await session.count(), await session.tier()]).toEqual([[], 0, null]);
    const since = lab.engine.events.length;
    await replay(lab, session, pair, 'end');
    expect(await session.works()).toEqual([]);
    expect(lab.publications('s', since).some(([tier, count]) => tier === 'background' || count > 0)).toBe(false);
  });

  it.each(fixturePairs)(
    'L21, L123: $name: of an agent that nobody vouches for it is no work, and frees nothing',
    async (pair) => {
      const nothing: Attestation = { workloads: [], yield: false, handoff: false, snapshot: false };
      await using lab = await sessionLab({ announces: null, script: { attests: nothing } });
      const session = await lab.running();
      for (const part of ['launch', 'end'] as const) {
        await replay(lab, session, pair, part);
        expect([await session.works(), await session.count()]).toEqual([[], 0]);
        expect(await session.tier()).not.toBe('background');
      }
    },
  );

  it('L112: the provider yields, and the follow-up is let in beside the open request; the child stays behind it', async () => {
    const pair = fixturePair('acp-v1-claude-handoff');
    await using lab = await sessionLab({ announces: null, script: { attests: FULL } });
    const session = await lab.running();
    await replay(lab, session, pair, 'launch');
    expect(await session.view()).toMatchObject({ state: 'running', foregroundActivity: 'background', activeSubagentCount: 1 });
    expect(await session.attempt()).toBe('accepted');
    expect(session.prompts.map(({ isOpen }) => isOpen)).toEqual([true, true]);
  });
});
