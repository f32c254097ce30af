/** Questions belong to their turn (liveness 1): its end clears them, and no other one does. */
import { describe, expect, it } from 'vitest';
import { FULL, type LabSession, sessionLab } from '../support/sessions.ts';

const ask = (s: LabSession, requestId: string, generation = s.generation) =>
  s.tell({ type: 'permission.request', generation, requestId, kind: 'permission', options: [] });

describe('liveness 1: pending is cleared by the end of its own turn', () => {
  it('of a turn whose place another prompt has taken', async () => {
    await using lab = await sessionLab();
    const s = await lab.running();
    await ask(s, 'r1');
    await s.idle();
    await s.ask('second');
    await lab.settled();
    expect((await s.view()).pending).toBeNull();
  });

  it('of a turn that returns while the next prompt is on its way', async () => {
    await using lab = await sessionLab({ script: { attests: FULL, acceptAtOnce: false } });
    const s = await lab.create();
    const begun = s.ask('begin');
    await lab.settled();
    s.prompt.accept();
    await begun;
    const first = s.prompt;
    await ask(s, 'r1');
    await s.idle();
    const second = s.ask('second');
    await lab.settled();
    await s.done(first);
    s.prompt.accept();
    await second;
    await lab.settled();
    expect((await s.view()).pending).toBeNull();
  });

  it('and not by that of another turn: what background work asks stays until it is answered', async () => {
    await using lab = await sessionLab();
    const s = await lab.running();
    await s.reg('work', 'subagent', 'launch');
    await s.done();
    await ask(s, 'of the background', 0);
    await s.ask('next');
    await lab.settled();
    await s.done();
    await expect(lab.offstage.sessions.answer('s', 'of the background', 'yes')).resolves.toBeUndefined();
  });
});

it('liveness 2, 7: no event of a session has an earlier activityEpoch than one before it', async () => {
  await using lab = await sessionLab();
  const s = await lab.running();
  s.agent.exit();
  await lab.settled();
  const epochs = lab.engine.events.flatMap((event) =>
    event.type === 'session.activity_changed' || event.type === 'session.state_changed' ? [event.activityEpoch ?? 0] : [],
  );
  expect(epochs).toEqual([...epochs].sort((a, b) => a - b));
});
