/** The task chart, cell by cell; written by hand from liveness 7, 10, 11 and 12. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type AnyStateNode, createActor } from 'xstate';
import { type TaskContext, type TaskEvent, taskMachine } from '../../src/machines/task.ts';
import type { ActivityValue } from '../../src/model/activity.ts';

const GENERATING: ActivityValue = { foregroundActivity: 'generating', activeSubagentCount: 0 };
const COUNTED: ActivityValue = { foregroundActivity: 'generating', activeSubagentCount: 1 };

const EVENTS = {
  'to open': { type: 'task.move', to: 'open' },
  'to in_progress': { type: 'task.move', to: 'in_progress' },
  'to review': { type: 'task.move', to: 'review' },
  'to done': { type: 'task.move', to: 'done' },
  'to cancelled': { type: 'task.move', to: 'cancelled' },
  'to archived': { type: 'task.move', to: 'archived' },
  'same aggregate': { type: 'activity.aggregated', value: { ...GENERATING } },
  'other tier': { type: 'activity.aggregated', value: { foregroundActivity: 'background', activeSubagentCount: 0 } },
  'other count': { type: 'activity.aggregated', value: COUNTED },
  tell: { type: 'task.tell' },
  stop: { type: 'task.stop', epoch: 3 },
  remove: { type: 'task.remove' },
  forget: { type: 'task.forget' },
} as const satisfies Record<string, TaskEvent>;
type Asked = keyof typeof EVENTS;

/** What a task is before each event under test: it was told GENERATING with number 4, and was stopped twice. */
const BEFORE: TaskContext = { told: GENERATING, taskSeq: 4, stopEpoch: 2 };

const STATES = ['open', 'in_progress', 'review', 'done', 'cancelled', 'archived', 'forgotten', 'removed'] as const;
type State = (typeof STATES)[number];

/** The board is the host's: every way is open while the task is there. `=` stays with a change of what is counted, `-` is a refusal. */
const TABLE = `
            | to open | to in_progress | to review | to done | to cancelled | to archived | same aggregate | other tier | other count | tell | stop | remove  | forget
open        | open    | in_progress    | review    | done    | cancelled    | archived    | -              | =          | =           | =    | =    | removed | forgotten
in_progress | open    | in_progress    | review    | done    | cancelled    | archived    | -              | =          | =           | =    | =    | removed | forgotten
review      | open    | in_progress    | review    | done    | cancelled    | archived    | -              | =          | =           | =    | =    | removed | forgotten
done        | open    | in_progress    | review    | done    | cancelled    | archived    | -              | =          | =           | =    | =    | removed | forgotten
cancelled   | open    | in_progress    | review    | done    | cancelled    | archived    | -              | =          | =           | =    | =    | removed | forgotten
archived    | open    | in_progress    | review    | done    | cancelled    | archived    | -              | =          | =           | =    | =    | removed | forgotten
forgotten   | -       | -              | -         | -       | -            | -           | -              | -          | -           | -    | -    | -       | -
removed     | -       | -              | -         | -       | -            | -           | -              | -          | -           | -    | -    | -       | -
`;

/** What else an accepted event changes. */
const FIELDS: Partial<Readonly<Record<Asked, Partial<TaskContext>>>> = {
  'other tier': { told: { foregroundActivity: 'background', activeSubagentCount: 0 }, taskSeq: 5 },
  'other count': { told: COUNTED, taskSeq: 5 },
  tell: { taskSeq: 5 },
  stop: { stopEpoch: 3 },
};

const lines = TABLE.split('\n')
  .filter((line) => line !== '')
  .map((line) => line.split('|').map((cell) => cell.trim()));
const columns = (lines[0] as readonly string[]).slice(1);
const rows = new Map(lines.slice(1).map(([state, ...cells]) => [state as string, cells]));

function truth(state: State, asked: Asked): string {
  const cell = rows.get(state)?.[columns.indexOf(asked)];
  if (cell === undefined) throw new Error(`the table has no cell ${state} + ${asked}`);
  return cell === '=' ? state : cell;
}

const keysOf = <Key extends string>(table: Readonly<Record<Key, unknown>>): readonly Key[] => Object.keys(table) as Key[];
const reached = (state: State) => {
  const way = state === 'forgotten' || state === 'removed' ? 'open' : state;
  const actor = createActor(taskMachine, { snapshot: taskMachine.resolveState({ value: way, context: BEFORE }) }).start();
  if (state === 'forgotten') actor.send(EVENTS.forget);
  if (state === 'removed') actor.send(EVENTS.remove);
  return actor;
};

// XState's development build warns about every event that a finished actor is sent; here that is the point.
beforeEach(() => void vi.spyOn(console, 'warn').mockReturnValue(undefined));
afterEach(() => void vi.restoreAllMocks());

describe('the task chart, cell by cell', () => {
  for (const state of STATES) {
    for (const asked of keysOf(EVENTS)) {
      const expected = truth(state, asked);
      it(`${state} + ${asked} -> ${expected}`, () => {
        const actor = reached(state);
        const before = actor.getSnapshot();
        expect(before.value).toBe(state);
        // An actor that is done takes nothing, whatever its root would allow.
        expect(before.status === 'active' && before.can(EVENTS[asked])).toBe(expected !== '-');
        actor.send(EVENTS[asked]);
        const { value, context } = actor.getSnapshot();
        expect(value).toBe(expected === '-' ? state : expected);
        expect(context).toEqual(expected === '-' ? BEFORE : { ...BEFORE, ...FIELDS[asked] });
      });
    }
  }

  it('knows every event of the chart', () => {
    expect([...new Set(Object.values(EVENTS).map(({ type }) => type))].sort()).toEqual([...taskMachine.events].sort());
  });

  it('begins open, with nothing told', () => {
    const { value, context } = createActor(taskMachine).start().getSnapshot();
    expect([value, context]).toEqual([
      'open',
      { told: { foregroundActivity: null, activeSubagentCount: 0 }, taskSeq: 0, stopEpoch: 0 },
    ]);
  });

  it('TSK1: each telling has the next number, whatever it was for; what does not differ is not told', () => {
    const actor = createActor(taskMachine).start();
    const numbers: number[] = [];
    for (const asked of ['other tier', 'other tier', 'tell', 'other count', 'same aggregate', 'same aggregate'] as const) {
      actor.send(EVENTS[asked]);
      numbers.push(actor.getSnapshot().context.taskSeq);
    }
    expect(numbers).toEqual([1, 1, 2, 3, 4, 4]);
  });

  it('tags what outsiders ask for', () => {
    const TAGS: Readonly<Record<State, readonly string[]>> = {
      open: ['listed'],
      in_progress: ['listed'],
      review: ['listed'],
      done: ['listed'],
      cancelled: ['listed'],
      archived: [],
      forgotten: [],
      removed: ['removed'],
    };
    for (const state of STATES) expect([state, [...reached(state).getSnapshot().tags]]).toEqual([state, TAGS[state]]);
  });

  it('describes every state and bounds its own loops', () => {
    const states = Object.values(taskMachine.states) as AnyStateNode[];
    expect(states.map(({ key }) => key).sort()).toEqual([...STATES].sort());
    for (const state of states) {
      expect(String((state.meta as { description?: string } | undefined)?.description ?? ''), state.key).toMatch(
        /^[A-Z].{7,}\.$/,
      );
    }
    expect(taskMachine.options?.maxIterations).toBeGreaterThan(0);
  });
});
