/** What the dashboard's chart marks: the parts of it that need no browser. */
import { describe, expect, it } from 'vitest';
import { activePaths, innermost, markedEdges } from '../../web/src/chart/chart-states.ts';

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
