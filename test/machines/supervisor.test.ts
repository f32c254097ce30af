/** The supervisor chart, cell by cell; written by hand from spec 3 and 6. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type AnyStateNode, createActor } from 'xstate';
import { type SupervisorEvent, supervisorMachine } from '../../src/machines/supervisor.ts';

const EVENTS = {
  failed: { type: 'store.failed', message: 'disk full' },
  recovered: { type: 'store.recovered' },
  detached: { type: 'body.detached' },
  reclaimed: { type: 'body.reclaimed' },
  drain: { type: 'engine.drain' },
  closed: { type: 'engine.closed' },
} as const satisfies Record<string, SupervisorEvent>;
type Asked = keyof typeof EVENTS;

const PATHS = {
  healthy: [],
  degraded: ['failed'],
  draining: ['drain'],
  closed: ['drain', 'closed'],
} as const satisfies Record<string, readonly Asked[]>;
type Reached = keyof typeof PATHS;

/** `-` is a refusal. */
const TRUTH: Readonly<Record<Reached, Readonly<Record<Asked, string>>>> = {
  healthy: { failed: 'degraded', recovered: '-', detached: 'healthy', reclaimed: 'healthy', drain: 'draining', closed: '-' },
  degraded: {
    failed: 'degraded',
    recovered: 'healthy',
    detached: 'degraded',
    reclaimed: 'degraded',
    drain: 'draining',
    closed: '-',
  },
  draining: {
    failed: 'draining',
    recovered: 'draining',
    detached: 'draining',
    reclaimed: 'draining',
    drain: '-',
    closed: 'closed',
  },
  closed: { failed: '-', recovered: '-', detached: '-', reclaimed: '-', drain: '-', closed: '-' },
};

const TAGS: Readonly<Record<Reached, readonly string[]>> = {
  healthy: ['accepts-work'],
  degraded: ['degraded'],
  draining: ['closing'],
  closed: ['closing'],
};

const inner = (value: unknown): string => (typeof value === 'string' ? value : String(Object.values(value as object)[0]));
const keysOf = <Key extends string>(table: Readonly<Record<Key, unknown>>): readonly Key[] => Object.keys(table) as Key[];
const started = () => createActor(supervisorMachine, { input: { workers: 4, perSessionLimit: null } }).start();
const reached = (state: Reached) => {
  const actor = started();
  for (const step of PATHS[state]) actor.send(EVENTS[step]);
  return actor;
};

// XState's development build warns about every event that a finished actor is sent; here that is the point.
beforeEach(() => void vi.spyOn(console, 'warn').mockReturnValue(undefined));
afterEach(() => void vi.restoreAllMocks());

describe('the supervisor chart, cell by cell', () => {
  for (const state of keysOf(TRUTH)) {
    for (const asked of keysOf(EVENTS)) {
      const expected = TRUTH[state][asked];
      it(`${state} + ${asked} -> ${expected}`, () => {
        const actor = reached(state);
        const before = actor.getSnapshot();
        expect(inner(before.value)).toBe(state);
        // An actor that is done takes nothing, whatever its root would allow.
        expect(before.status === 'active' && before.can(EVENTS[asked])).toBe(expected !== '-');
        actor.send(EVENTS[asked]);
        expect(inner(actor.getSnapshot().value)).toBe(expected === '-' ? state : expected);
        if (expected === '-') expect(actor.getSnapshot().context).toEqual(before.context);
      });
    }
    it(`SUP1: ${state} is tagged ${TAGS[state].join(', ')}`, () => {
      expect([...reached(state).getSnapshot().tags].sort()).toEqual(TAGS[state]);
    });
  }

  it('SUP2: nothing leads back from draining, or from closed', () => {
    for (const state of ['draining', 'closed'] as const) {
      const actor = reached(state);
      for (const event of Object.values(EVENTS)) {
        if (event.type === 'engine.closed') continue;
        actor.send(event);
        expect(inner(actor.getSnapshot().value)).toBe(state);
      }
    }
  });

  it('SUP3: detached counts up and down and never falls below zero', () => {
    const actor = started();
    const count = (): number => actor.getSnapshot().context.detached;
    actor.send(EVENTS.reclaimed);
    expect(count()).toBe(0);
    actor.send(EVENTS.detached);
    actor.send(EVENTS.detached);
    expect(count()).toBe(2);
    actor.send(EVENTS.reclaimed);
    expect(count()).toBe(1);
  });

  it('names the last failure while degraded, and forgets it afterwards', () => {
    const actor = reached('degraded');
    expect(actor.getSnapshot().context.lastStoreError).toBe('disk full');
    actor.send({ type: 'store.failed', message: 'still full' });
    expect(actor.getSnapshot().context.lastStoreError).toBe('still full');
    actor.send(EVENTS.recovered);
    expect(actor.getSnapshot().context.lastStoreError).toBeNull();
  });

  it('describes every state and bounds its own loops', () => {
    const nodes = (node: AnyStateNode): readonly AnyStateNode[] => [node, ...Object.values(node.states).flatMap(nodes)];
    const states = nodes(supervisorMachine.root).slice(1);
    expect(states.map(({ key }) => key).sort()).toEqual(['accepting', 'closed', 'degraded', 'draining', 'healthy']);
    for (const state of states) {
      expect(String((state.meta as { description?: string } | undefined)?.description ?? ''), state.id).toMatch(/^[A-Z].{8,}\.$/);
    }
    expect(supervisorMachine.options?.maxIterations).toBeGreaterThan(0);
  });
});
