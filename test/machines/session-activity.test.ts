/** The activity chart, cell by cell, and the numbered rules of its header. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { AnyStateNode } from 'xstate';
import { takes } from '../../src/actors/activity-actor.ts';
import { sessionActivityMachine } from '../../src/machines/session-activity.ts';
import { EVENTS, keysOf, reached, SCENES, seen, TRUTH } from './session-activity-table.ts';

// XState's development build warns about every event that a finished actor is sent; here that is the point.
beforeEach(() => void vi.spyOn(console, 'warn').mockReturnValue(undefined));
afterEach(() => void vi.restoreAllMocks());

const WORK = ['work began', 'work ended'] as const;
const shownAs = (scene: string): string => scene.replace(' to B', '');

describe('the activity chart, cell by cell', () => {
  for (const scene of keysOf(SCENES)) {
    for (const asked of keysOf(EVENTS)) {
      if (WORK.some((word) => word === asked)) continue;
      const expected = TRUTH[scene][asked];
      it(`${scene} + ${asked} -> ${expected ?? '-'}`, () => {
        const actor = reached(scene);
        expect(seen(actor.getSnapshot())).toBe(shownAs(scene));
        expect(takes(actor, EVENTS[asked]), 'what changes nothing says so').toBe(expected !== undefined);
        expect(seen(actor.getSnapshot())).toBe(expected ?? shownAs(scene));
      });
    }
  }

  it('ACY1: with work in the background every cell leads to the same foreground, and the work stays', () => {
    for (const scene of keysOf(SCENES)) {
      if (scene === 'dropped') continue;
      for (const asked of keysOf(EVENTS)) {
        if (WORK.some((word) => word === asked)) continue;
        const actor = reached(scene, true);
        // A record with work is kept, whatever its foreground.
        const expected = asked === 'drop' ? undefined : TRUTH[scene][asked];
        expect([scene, asked, takes(actor, EVENTS[asked])]).toEqual([scene, asked, expected !== undefined]);
        expect([scene, asked, seen(actor.getSnapshot())]).toEqual([scene, asked, `${expected ?? shownAs(scene)} +`]);
      }
    }
  });

  it('ACY1: work begins and ends in every scene, and moves no foreground', () => {
    for (const scene of keysOf(SCENES)) {
      if (scene === 'dropped') continue;
      const actor = reached(scene);
      const steps = (['work ended', 'work began', 'work began', 'work ended', 'work ended'] as const).map((asked) => [
        takes(actor, EVENTS[asked]),
        seen(actor.getSnapshot()),
      ]);
      const [without, present] = [shownAs(scene), `${shownAs(scene)} +`];
      expect(steps).toEqual([
        [false, without],
        [true, present],
        [false, present],
        [true, without],
        [false, without],
      ]);
    }
  });

  it('knows every event of the chart', () => {
    expect([...new Set(Object.values(EVENTS).map(({ type }) => type))].sort()).toEqual([...sessionActivityMachine.events].sort());
  });

  it('a dropped record takes nothing any more', () => {
    const actor = reached('dropped');
    for (const event of Object.values(EVENTS)) expect([event.type, takes(actor, event)]).toEqual([event.type, false]);
    expect(actor.getSnapshot().status).toBe('done');
  });
});

describe('the rules of the header', () => {
  it('ACY2: one claim at a time, in every scene that has one', () => {
    for (const scene of keysOf(SCENES)) {
      const hasClaim = scene.includes('#7');
      const actor = reached(scene);
      expect([scene, actor.getSnapshot().hasTag('claimed')]).toEqual([scene, hasClaim]);
      if (!hasClaim) continue;
      for (const asked of ['take 9', 'take 9 at hand-off', 'open 5'] as const)
        expect([scene, asked, takes(actor, EVENTS[asked])]).toEqual([scene, asked, false]);
    }
  });

  it('ACY5: idle exactly when nobody holds a claim and every open turn has yielded', () => {
    for (const scene of keysOf(SCENES)) {
      expect([scene, reached(scene).getSnapshot().hasTag('foreground-idle')]).toEqual([scene, scene.startsWith('idle')]);
    }
  });

  it('ACY6: a hand-off lets in one prompt, and the next one only after another yield', () => {
    const actor = reached('idle 1y');
    const tries = () => takes(actor, EVENTS['take 9 at hand-off']);
    expect([tries(), tries()]).toEqual([true, false]);
    actor.send({ type: 'turn.begin', claimId: 9, generation: 2, executionId: 'A' });
    actor.send({ type: 'turn.accept', generation: 2 });
    expect([tries(), seen(actor.getSnapshot())]).toEqual([false, 'generating 2']);
    actor.send({ type: 'turn.yield', generation: 2 });
    expect([tries(), seen(actor.getSnapshot())]).toEqual([true, 'claimed #9 2y']);
  });

  it('ACY4: the retry of a rolled back prompt is not touched by a second rollback of the first', () => {
    const actor = reached('dispatching #7 2?');
    actor.send(EVENTS['roll back 2']);
    actor.send(EVENTS['take 9']);
    actor.send({ type: 'turn.begin', claimId: 9, generation: 3, executionId: 'A' });
    expect([takes(actor, EVENTS['roll back 2']), seen(actor.getSnapshot())]).toEqual([false, 'dispatching #9 3?']);
  });

  it('refuses a generation that is not newer than the open ones', () => {
    for (const generation of [0, 1]) {
      const actor = reached('claimed #7 1y');
      const event = { type: 'turn.begin', claimId: 7, generation, executionId: 'A' } as const;
      expect([takes(actor, event), seen(actor.getSnapshot())]).toEqual([false, 'claimed #7 1y']);
    }
  });
});

describe('what the chart says about itself', () => {
  const nodes = (node: AnyStateNode): readonly AnyStateNode[] => [node, ...Object.values(node.states).flatMap(nodes)];

  it('describes every state and bounds its own loops', () => {
    const states = nodes(sessionActivityMachine.root).slice(1);
    expect(states.map(({ key }) => key).sort()).toEqual([
      'background',
      'claimed',
      'dispatching',
      'dropped',
      'dropped',
      'foreground',
      'generating',
      'idle',
      'none',
      'present',
      'resting',
    ]);
    for (const state of states) {
      expect(String((state.meta as { description?: string } | undefined)?.description ?? ''), state.id).toMatch(
        /^[A-Z].{8,}[.?]$/,
      );
    }
    expect(sessionActivityMachine.options?.maxIterations).toBeGreaterThan(0);
  });

  it('tags the presence of work', () => {
    expect(reached('idle', true).getSnapshot().hasTag('has-work')).toBe(true);
    expect(reached('idle').getSnapshot().hasTag('has-work')).toBe(false);
  });
});
