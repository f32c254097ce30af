/** The numbered rules of the job chart's header, and what the chart says about itself. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type AnyStateNode, createActor } from 'xstate';
import { type JobEvent, jobMachine } from '../../src/machines/job.ts';
import { EVENTS, keysOf, PATHS, type Reached, reached, truth } from './job-table.ts';

// XState's development build warns about every event that a finished actor is sent; here that is the point.
beforeEach(() => void vi.spyOn(console, 'warn').mockReturnValue(undefined));
afterEach(() => void vi.restoreAllMocks());

const TERMINALS = ['completed', 'cancelled', 'errored'] as const;
const RUNNING: readonly JobEvent[] = PATHS.active;
const run = (events: readonly JobEvent[]) => {
  const actor = createActor(jobMachine).start();
  for (const event of events) actor.send(event);
  return actor.getSnapshot();
};

describe('the rules of the header', () => {
  it('JOB1: a terminal record is left for nothing, whatever comes and however often', () => {
    for (const state of TERMINALS) {
      const actor = reached(state);
      const before = actor.getSnapshot();
      for (const event of [...Object.values(EVENTS), ...Object.values(EVENTS)]) actor.send(event);
      expect(actor.getSnapshot().value).toBe(state);
      expect(actor.getSnapshot().context).toEqual(before.context);
    }
  });

  it('JOB2: the first cause fixes the end, whichever causes follow', () => {
    const causes = [
      { name: 'cancel', event: EVENTS.cancel, end: 'cancelled', reasonCode: 'cancel.user' },
      { name: 'timeout', event: EVENTS['time out'], end: 'errored', reasonCode: 'timed_out' },
      { name: 'idle timeout', event: EVENTS['idle out'], end: 'errored', reasonCode: 'idle_timed_out' },
      { name: 'shutdown', event: EVENTS['shut down'], end: 'errored', reasonCode: 'abandoned.shutdown' },
    ] as const;
    for (const first of causes) {
      for (const later of causes) {
        const { value, context } = run([...RUNNING, first.event, later.event, later.event, EVENTS.threw]);
        expect([first.name, later.name, value, context.reasonCode]).toEqual([
          first.name,
          later.name,
          first.end,
          first.reasonCode,
        ]);
      }
    }
  });

  it('JOB3: a job that never held a slot never has startedAt', () => {
    for (const state of ['pending', 'queued'] as const) {
      for (const asked of keysOf(EVENTS)) {
        if (!['cancelled', 'errored'].includes(truth(state, asked))) continue;
        expect(run([...PATHS[state], EVENTS[asked]]).context.startedAt).toBeNull();
      }
    }
  });

  it('JOB3: startedAt is set once; a second start changes nothing', () => {
    expect(run([...RUNNING, EVENTS.start]).context.startedAt).toBe(20);
  });

  it('JOB4: completed is reached by a body that returned, and by nothing else', () => {
    for (const state of keysOf(PATHS)) {
      for (const asked of keysOf(EVENTS)) if (truth(state, asked) === 'completed') expect(asked).toBe('returned');
    }
    expect(run([...PATHS['ending by shutdown'], EVENTS.returned]).value).toBe('completed');
    expect(run([...PATHS['ending by cancel'], EVENTS.returned]).value).toBe('cancelled');
    expect(run([...PATHS['ending by timeout'], EVENTS.returned]).value).toBe('errored');
  });

  it('JOB5: only a forced end and an abandonment with a surviving tree say detached', () => {
    for (const state of keysOf(PATHS)) {
      for (const asked of keysOf(EVENTS)) {
        if (['-', 'queued', 'active', 'ending'].includes(truth(state, asked))) continue;
        const isDetached = asked.startsWith('grace over') || asked === 'abandon, not gone';
        expect([state, asked, run([...PATHS[state], EVENTS[asked]]).context.detached]).toEqual([state, asked, isDetached]);
      }
    }
  });

  it('tells a cancel without a reason so, before and after the start', () => {
    const cancel: JobEvent = { type: 'job.cancel', at: 40, code: 'cancel.user', reason: null };
    expect(run([...PATHS.queued, cancel]).context.error).toEqual({ code: 'job.cancelled', message: 'cancelled before pickup' });
    expect(run([...RUNNING, cancel, EVENTS.threw]).context.error).toEqual({ code: 'job.cancelled', message: 'cancelled' });
  });

  it('keeps a dead worker apart from a body that threw', () => {
    const died: JobEvent = { ...EVENTS.threw, reasonCode: 'worker_died', error: { code: 'job.worker_died', message: 'it died' } };
    expect(run([...RUNNING, died]).context).toMatchObject({
      reasonCode: 'worker_died',
      error: { code: 'job.worker_died', message: 'it died' },
    });
  });
});

describe('what the chart says about itself', () => {
  const nodes = (node: AnyStateNode): readonly AnyStateNode[] => [node, ...Object.values(node.states).flatMap(nodes)];

  it('describes every state', () => {
    const states = nodes(jobMachine.root).slice(1);
    expect(states.map(({ key }) => key).sort()).toEqual(
      ['active', 'cancelled', 'completed', 'ending', 'errored', 'pending', 'queued', 'running'].sort(),
    );
    for (const state of states) {
      expect(String((state.meta as { description?: string } | undefined)?.description ?? ''), state.id).toMatch(
        /^[A-Z].{10,}\.$/,
      );
    }
  });

  it('bounds its own loops', () => {
    expect(jobMachine.options?.maxIterations).toBeGreaterThan(0);
  });

  it('tags what outsiders ask for', () => {
    const TAGS: Readonly<Record<Reached, readonly string[]>> = {
      pending: [],
      queued: [],
      active: ['occupies-slot'],
      'ending by cancel': ['ending', 'occupies-slot'],
      'ending by timeout': ['ending', 'occupies-slot'],
      'ending by idle timeout': ['ending', 'occupies-slot'],
      'ending by shutdown': ['ending', 'occupies-slot'],
      completed: ['terminal'],
      cancelled: ['terminal'],
      errored: ['terminal'],
    };
    for (const state of keysOf(TAGS))
      expect([state, [...reached(state).getSnapshot().tags].sort()]).toEqual([state, TAGS[state]]);
  });

  it('ends its actor in terminal states, and in no other', () => {
    for (const state of keysOf(PATHS)) {
      const isTerminal = (TERMINALS as readonly string[]).includes(state);
      expect([state, reached(state).getSnapshot().status]).toEqual([state, isTerminal ? 'done' : 'active']);
    }
  });
});
