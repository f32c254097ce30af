/** Liveness and stop, "Fallback and fresh load": L58–L63. What a page shows that is opened now (liveness 2, 7). */
import { describe, expect, it } from 'vitest';
import { sessionToWire, taskToWire } from '../../src/doors/wire/wire-sessions.ts';
import { type LabSession, type SessionLab, sessionLab } from '../support/sessions.ts';
import { testEngine } from '../support/test-engine.ts';

/** Session and task as a page reads them: through JSON. */
async function page({ offstage }: Pick<SessionLab, 'offstage'>, { sessionId, taskId }: Pick<LabSession, 'sessionId' | 'taskId'>) {
  const session = JSON.parse(JSON.stringify(sessionToWire(await offstage.sessions.get(sessionId))));
  const task = JSON.parse(JSON.stringify(taskToWire(await offstage.tasks.get(taskId))));
  const [listed] = (await offstage.sessions.list()).filter((row) => row.sessionId === sessionId);
  const [listedTask] = (await offstage.tasks.list()).filter((row) => row.taskId === taskId);
  const snapshot = await offstage.snapshot();
  // Wherever it is read, it is the same.
  expect(listed).toEqual(await offstage.sessions.get(sessionId));
  expect(listedTask).toEqual(await offstage.tasks.get(taskId));
  expect(snapshot.sessions.find((row) => row.sessionId === sessionId)).toEqual(listed);
  expect(snapshot.tasks.find((row) => row.taskId === taskId)).toEqual(listedTask);
  return [session, task].map((shown) => [shown.foreground_activity, shown.active_subagent_count]);
}

const both = (tier: string | null, count: number) => [
  [tier, count],
  [tier, count],
];

describe('a page that is opened now', () => {
  it('L58: shows a running session of which nothing is known as generating, and its task', async () => {
    await using lab = await sessionLab({ script: {}, announces: null });
    const session = await lab.running();
    expect(await session.view()).toMatchObject({ state: 'running', turn: { origin: 'prompt', quiet: false } });
    expect(await page(lab, session)).toEqual(both('generating', 0));
  });

  it('L58: and so while the prompt is still on its way', async () => {
    await using lab = await sessionLab({ script: { hangStart: true } });
    const session = await lab.create();
    const asking = session.ask().catch(({ code }) => code);
    await lab.settled();
    expect(await session.view()).toMatchObject({ state: 'starting', turn: { generation: 0 } });
    expect(await page(lab, session)).toEqual(both('generating', 0));
    await lab.offstage.sessions.interrupt('s');
    expect(await asking).toBe('prompt.interrupted');
    await lab.settled();
    expect(await page(lab, session)).toEqual(both(null, 0));
  });

  it('L60: shows what works behind a session that waits for input', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    await session.reg('w', 'shell');
    await session.idle();
    await session.done();
    expect(await session.view()).toMatchObject({ state: 'waiting_for_input' });
    expect(await page(lab, session)).toEqual(both('background', 0));
  });

  it('L61: counts per session, and for the task over all of them, whatever their state', async () => {
    await using lab = await sessionLab();
    await lab.offstage.tasks.create({ taskId: 'T' });
    const one = await lab.running('session-one', 'T');
    await one.reg('a');
    await one.reg('b');
    const two = await lab.running('session-two', 'T');
    await two.reg('c');
    await two.done();
    expect((await two.view()).state).toBe('waiting_for_input');
    expect(await page(lab, one)).toEqual([
      ['generating', 2],
      ['generating', 3],
    ]);
    expect(await page(lab, two)).toEqual([
      ['background', 1],
      ['generating', 3],
    ]);
    expect(await lab.offstage.tasks.get('T')).toMatchObject({ sessions: ['session-one', 'session-two'], pending: 'work' });
  });

  it('L63: says 0 and null where nothing lives, and where there are no agents at all', async () => {
    await using lab = await sessionLab();
    const session = await lab.create();
    expect(await page(lab, session)).toEqual(both(null, 0));
    await session.ask();
    await lab.settled();
    await session.done();
    expect(await page(lab, session)).toEqual(both(null, 0));

    await using engine = await testEngine();
    const { sessionId, taskId } = await engine.offstage.sessions.create();
    expect(await page(engine, { sessionId, taskId })).toEqual(both(null, 0));
    const { uncertainCount, quietCount, queuedPrompts, turn } = await engine.offstage.sessions.get(sessionId);
    expect([uncertainCount, quietCount, queuedPrompts, turn]).toEqual([0, 0, 0, null]);
  });

  it('shows a coarse session as generating while it runs, and admits as if it did not', async () => {
    await using lab = await sessionLab({ display: 'coarse' });
    const session = await lab.running();
    await session.reg('w');
    await session.idle();
    expect(await page(lab, session)).toEqual(both('generating', 1));
    expect(await session.attempt()).toBe('accepted');
    await session.done();
    expect(await page(lab, session)).toEqual(both('background', 1));
    // What is told is what is shown.
    expect(lab.publications('s')).toEqual([
      ['generating', 0],
      ['generating', 1],
      ['background', 1],
    ]);
  });

  it('shows the same where admission is conservative, and admits no prompt while one is open', async () => {
    await using lab = await sessionLab({ admission: 'conservative' });
    const session = await lab.running();
    await session.reg('w');
    await session.idle();
    expect(await page(lab, session)).toEqual(both('background', 1));
    expect(await session.attempt()).toBe('prompt.busy');
    await session.done();
    expect(await session.attempt()).toBe('accepted');
  });
});
