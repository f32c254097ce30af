/** Read models of sessions and tasks: set before what is published of the same telling (RMO1, RMO2). */
import { describe, expect, it } from 'vitest';
import { mockAgent } from '../../src/adapters/mock-agent.ts';
import { testEngine } from '../support/test-engine.ts';

describe('read models of activity', () => {
  it('show what an event tells by the time it is told, and nothing of what is over', async () => {
    const mock = mockAgent();
    await using engine = await testEngine({ agents: { default: mock.factory } });
    const { offstage } = engine;
    const { taskId } = await offstage.sessions.create({ sessionId: 's' });
    const seen: unknown[] = [];
    offstage.onEvent((event) => {
      if (event.type === 'session.activity_changed') {
        seen.push([event.foregroundActivity, offstage.sessionsModel.get().live.get('s')?.foregroundActivity ?? null]);
      } else if (event.type === 'task.updated') {
        seen.push([event.foregroundActivity, offstage.tasksModel.get().live.get(taskId)?.foregroundActivity ?? null]);
      }
    });
    await offstage.sessions.prompt('s', { content: 'hi' });
    (await mock.nextPrompt()).end();
    await engine.eventOf((event) => event.type === 'session.state_changed' && event.newState === 'waiting_for_input');
    expect(seen).toEqual([
      ['generating', 'generating'],
      ['generating', 'generating'],
      [null, null],
      [null, null],
    ]);
    expect([offstage.sessionsModel.get().live.size, offstage.tasksModel.get().live.size]).toEqual([0, 0]);
  });

  it('call back after each change, and outlive a subscriber that throws', async () => {
    const mock = mockAgent();
    await using engine = await testEngine({ agents: { default: mock.factory } });
    const { offstage } = engine;
    await offstage.sessions.create({ sessionId: 's' });
    offstage.sessionsModel.subscribe(() => {
      throw new Error('not my day');
    });
    const sizes: number[] = [];
    const stop = offstage.sessionsModel.subscribe(({ live }) => sizes.push(live.size));
    await offstage.sessions.prompt('s', { content: 'hi' });
    (await mock.nextPrompt()).end();
    await engine.eventOf((event) => event.type === 'session.state_changed' && event.newState === 'waiting_for_input');
    stop();
    await offstage.sessions.prompt('s', { content: 'again' });
    expect(sizes).toEqual([1, 0]);
    expect(engine.log.filter(({ event }) => event === 'read_model.observer_failed').length).toBeGreaterThan(0);
  });
});
