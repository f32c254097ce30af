/** What the dashboard's chart marks: the parts of it that need no browser. */
import { describe, expect, it } from 'vitest';
import { activePaths, innermost, markedEdges } from '../../web/src/chart/chart-states.ts';
import { InspectedActors } from '../../web/src/chart/inspected-actors.ts';

describe('WCH1: active states', () => {
  it.each([
    ['queued', ['queued'], ['queued']],
    [{ running: 'active' }, ['running', 'running.active'], ['running.active']],
    [
      { foreground: 'idle', background: 'none' },
      ['foreground', 'foreground.idle', 'background', 'background.none'],
      ['foreground.idle', 'background.none'],
    ],
    [undefined, [], []],
    [null, [], []],
  ])('%j', (value, paths, inner) => {
    expect(activePaths(value)).toEqual(paths);
    expect(innermost(paths)).toEqual(inner);
  });
});

describe('WCH2: marked arrows', () => {
  const edges = [
    'running.ending|body.returned|cancelled',
    'running.ending|body.returned|errored',
    'running.active|body.returned|completed',
    'running|job.abandon|errored',
    '*|task.move|open',
    '*|task.move|done',
    'generating|turn.end|resting',
    'idle|turn.end|resting',
  ];
  it.each([
    ['nothing before anything has happened', null, []],
    [
      'the one of several that it took',
      { event: 'body.returned', from: ['running', 'running.ending'], to: ['errored'] },
      ['running.ending|body.returned|errored'],
    ],
    [
      'one that the parent has taken',
      { event: 'job.abandon', from: ['running', 'running.active'], to: ['errored'] },
      ['running|job.abandon|errored'],
    ],
    ['one that is taken in any state', { event: 'task.move', from: ['open'], to: ['done'] }, ['*|task.move|done']],
    [
      'one that leads to a state which is left at once',
      { event: 'turn.end', from: ['generating'], to: ['idle'] },
      ['generating|turn.end|resting'],
    ],
    ['none for an event that leads nowhere', { event: 'task.tell', from: ['open'], to: ['open'] }, []],
  ])('%s', (_, last, expected) => {
    expect([...markedEdges(edges, last)]).toEqual(expected);
  });
});

describe('actors of one connection', () => {
  const actor = (sessionId: string, name: string, value: unknown) =>
    JSON.stringify({ type: '@xstate.actor', sessionId, name, createdAt: '1', snapshot: { status: 'active', value } });
  const snapshot = (sessionId: string, type: string, value: unknown, status = 'active') =>
    JSON.stringify({ type: '@xstate.snapshot', sessionId, createdAt: '2', event: { type }, snapshot: { status, value } });

  it('are what they are by their names, in the state that was told last, with the way there', () => {
    const actors = new InspectedActors();
    expect(actors.take(actor('x:0', 'supervisor', { accepting: 'healthy' }))).toBe(true);
    expect(actors.take(actor('x:1', 'jobs', undefined))).toBe(false);
    expect(actors.take(actor('x:7', 'job job_1 "a b"', { running: 'active' }))).toBe(true);
    expect(actors.take(actor('x:8', 'activity s', { foreground: 'idle', background: 'none' }))).toBe(true);
    expect(actors.take(snapshot('x:7', 'job.cancel', { running: 'ending' }))).toBe(true);
    expect(actors.list().map(({ machine }) => machine)).toEqual(['supervisor', 'job', 'session-activity']);
    expect(actors.list()[1]).toEqual({
      machine: 'job',
      name: 'job job_1 "a b"',
      isOver: false,
      active: ['running', 'running.ending'],
      lastEdge: { event: 'job.cancel', from: ['running', 'running.active'], to: ['running', 'running.ending'] },
      changedAt: 2,
    });
  });

  it('keep the way there when an event has moved nothing', () => {
    const actors = new InspectedActors();
    actors.take(actor('x:1', 'task t', 'open'));
    actors.take(snapshot('x:1', 'task.move', 'review'));
    actors.take(snapshot('x:1', 'task.tell', 'review'));
    expect(actors.list()[0]?.lastEdge?.event).toBe('task.move');
  });

  it('pass over what is not understood', () => {
    const actors = new InspectedActors();
    for (const data of [
      '',
      'null',
      '[]',
      '{}',
      '{"type":"@xstate.event","sessionId":"x:1"}',
      snapshot('x:9', 'e', 'v'),
      new ArrayBuffer(1),
    ]) {
      expect(actors.take(data)).toBe(false);
    }
    expect(actors.list()).toEqual([]);
  });

  it('WIA2: that have ended are kept for a while, those that live always', () => {
    const actors = new InspectedActors();
    actors.take(actor('x:0', 'supervisor', 'accepting'));
    for (let n = 1; n <= 3_000; n++) {
      actors.take(actor(`x:${n}`, `job ${n} ""`, { running: 'active' }));
      actors.take(snapshot(`x:${n}`, 'body.returned', 'completed', 'done'));
    }
    const list = actors.list();
    expect(list).toHaveLength(1_000);
    expect([list[0]?.name, list.at(-1)?.name]).toEqual(['supervisor', 'job 3000 ""']);
  });
});
