/** The drawing of a chart: nothing of it is missing. That it is valid mermaid shows where the README is looked at. */
import { describe, expect, it } from 'vitest';
import { setup } from 'xstate';
import {
  jobMachine,
  sessionActivityMachine,
  sessionMachine,
  supervisorMachine,
  taskMachine,
  toMermaid,
} from '../../src/machines/index.ts';

const linesOf = (text: string): readonly string[] => text.split('\n').map((line) => line.trim());

describe('a chart as mermaid', () => {
  it('is drawn with its states, nested ones inside, and one arrow per pair of states', () => {
    const machine = setup({}).createMachine({
      initial: 'idle',
      states: {
        idle: { on: { go: 'at-work', run: 'at-work', wait: { actions: [] } } },
        'at-work': { initial: 'first', on: { halt: 'over' }, states: { first: { on: { next: 'second' } }, second: {} } },
        over: { type: 'final' },
      },
    });
    expect(toMermaid(machine)).toBe(
      [
        'stateDiagram-v2',
        '  [*] --> idle',
        '  state at_work {',
        '    [*] --> at_work_first',
        '  }',
        '  over --> [*]',
        '  idle --> at_work: go, run',
        '  at_work --> over: halt',
        '  at_work_first --> at_work_second: next',
      ].join('\n'),
    );
  });

  it('shows what the chart as a whole takes at each state that is not final', () => {
    const machine = setup({}).createMachine({
      id: 'm',
      initial: 'a',
      on: { end: '.c', note: { actions: [] } },
      states: { a: { on: { go: 'b' } }, b: {}, c: { type: 'final' } },
    });
    expect(linesOf(toMermaid(machine))).toEqual([
      'stateDiagram-v2',
      '[*] --> a',
      'c --> [*]',
      'a --> c: end',
      'b --> c: end',
      'a --> b: go',
    ]);
  });

  it.each([
    [
      'session',
      sessionMachine,
      ['[*] --> created', 'running --> waiting_for_input: turns.closed, agent.gone, process.died', 'failed --> [*]'],
    ],
    ['session-activity', sessionActivityMachine, ['state foreground {', 'state background {', '[*] --> foreground_idle']],
    ['task', taskMachine, ['[*] --> open', 'open --> review: task.move', 'archived --> removed: task.remove', 'removed --> [*]']],
    ['job', jobMachine, ['[*] --> pending', 'state running {']],
    ['supervisor', supervisorMachine, ['[*] --> accepting', 'draining --> closed: engine.closed']],
  ] as const)('%s names every state', (_, machine, lines) => {
    const drawn = toMermaid(machine as never);
    expect(linesOf(drawn)).toEqual(expect.arrayContaining([...lines]));
    const names = (node: { states: Record<string, { path: string[]; states: object }> }): readonly string[] =>
      Object.values(node.states).flatMap((state) => [state.path.join('_'), ...names(state as never)]);
    for (const name of names(machine.root as never)) expect(drawn).toMatch(new RegExp(`\\b${name}\\b`));
  });
});
