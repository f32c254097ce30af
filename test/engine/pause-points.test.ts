/** PAU1, PAU2: points at which a test holds an engine still. */
import { expect, it } from 'vitest';
import { pausePoints } from '../../src/testing/pause-at.ts';
import { bareLiveness } from '../support/bare-liveness.ts';

it('PAU1, PAU2: while it is held nothing is told and everything goes on; the last release tells what is new, once', () => {
  const { points, pauseAt } = pausePoints();
  const bare = bareLiveness(points);
  const s = bare.session('s');
  const [first, second] = [pauseAt('publish'), pauseAt('publish')];
  s.reg('one');
  s.reg('two');
  expect(s.tier).toBe('background');
  first.release();
  // Its second call lets nobody else go.
  first.release();
  expect(bare.events).toEqual([]);
  second.release();
  expect(bare.publications()).toEqual([['background', 2]]);
  second.release();
  s.bgc({ workloadId: 'one' });
  expect(bare.publications()).toEqual([
    ['background', 2],
    ['background', 1],
  ]);
});

it('PAU2: a hold under which nothing happened tells nothing', () => {
  const { points, pauseAt } = pausePoints();
  const bare = bareLiveness(points);
  const s = bare.session('s');
  s.reg('one');
  const since = bare.events.length;
  const held = pauseAt('publish');
  s.reg('two');
  s.bgc({ workloadId: 'two' });
  held.release();
  pauseAt('publish').release();
  expect(bare.events.slice(since)).toEqual([]);
});
