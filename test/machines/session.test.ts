/** The session chart, cell by cell, and the one table of what its states mean; written by hand from liveness 1, 9, 11 and 13. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type AnyStateNode, createActor } from 'xstate';
import { decideSession } from '../../src/actors/session-chart.ts';
import { SESSION_STATES, type SessionContext, type SessionEvent, sessionMachine } from '../../src/machines/session.ts';
import type { PendingRequest, SessionState } from '../../src/model/records.ts';

const FIRST: PendingRequest = { kind: 'permission', requestId: 'r1', options: ['yes', 'no'] };
const SECOND: PendingRequest = { kind: 'clarification', requestId: 'r2', options: [] };

interface Scene extends SessionContext {
  readonly state: SessionState;
}
const at = (state: SessionState, more: Partial<SessionContext> = {}): Scene => ({
  state,
  interrupted: false,
  pending: null,
  launchedFrom: null,
  ...more,
});

const SCENES = {
  created: at('created'),
  'starting from created': at('starting', { launchedFrom: 'created' }),
  'starting from waiting': at('starting', { launchedFrom: 'waiting_for_input' }),
  'starting from idle': at('starting', { launchedFrom: 'idle' }),
  'starting from completed': at('starting', { launchedFrom: 'completed' }),
  'starting, interrupted': at('starting', { launchedFrom: 'waiting_for_input', interrupted: true }),
  running: at('running'),
  'running, interrupted': at('running', { interrupted: true }),
  'running, asking': at('running', { pending: FIRST }),
  waiting: at('waiting_for_input'),
  'waiting, interrupted': at('waiting_for_input', { interrupted: true }),
  'waiting, asking': at('waiting_for_input', { pending: FIRST }),
  idle: at('idle'),
  'idle, interrupted': at('idle', { interrupted: true }),
  completed: at('completed'),
  failed: at('failed'),
  cancelled: at('cancelled'),
} as const satisfies Record<string, Scene>;
type SceneName = keyof typeof SCENES;

const EVENTS = {
  launch: { type: 'session.launch' },
  launched: { type: 'session.launched' },
  'launch failed': { type: 'launch.failed' },
  opened: { type: 'turn.opened' },
  accepted: { type: 'turn.accepted' },
  closed: { type: 'turns.closed' },
  gone: { type: 'agent.gone' },
  died: { type: 'process.died' },
  asked: { type: 'request.asked', request: SECOND },
  settled: { type: 'request.settled' },
  complete: { type: 'session.complete' },
  fail: { type: 'session.fail' },
  cancel: { type: 'session.cancel' },
} as const satisfies Record<string, SessionEvent>;
type Asked = keyof typeof EVENTS;

/**
 * Where each event leads; `-` is a refusal. By liveness 11 a stop leaves created, idle and terminal rows as they are, so nothing cancels them.
 */
const TABLE = `
                        | launch   | launched | launch failed | opened  | accepted | closed  | gone    | died    | asked   | settled | complete  | fail   | cancel
created                 | starting | -        | -             | -       | -        | -       | -       | -       | -       | -       | -         | failed | -
starting from created   | -        | waiting  | created       | running | -        | -       | -       | waiting | -       | -       | -         | failed | cancelled
starting from waiting   | -        | waiting  | waiting       | running | -        | -       | -       | waiting | -       | -       | -         | failed | cancelled
starting from idle      | -        | waiting  | idle          | running | -        | -       | -       | waiting | -       | -       | -         | failed | cancelled
starting from completed | -        | waiting  | completed     | running | -        | -       | -       | waiting | -       | -       | -         | failed | cancelled
starting, interrupted   | -        | waiting  | waiting       | running | -        | -       | -       | waiting | -       | -       | -         | failed | cancelled
running                 | -        | -        | -             | -       | -        | waiting | waiting | waiting | running | -       | completed | failed | cancelled
running, interrupted    | -        | -        | -             | -       | running  | waiting | waiting | waiting | running | -       | completed | failed | cancelled
running, asking         | -        | -        | -             | -       | -        | waiting | waiting | waiting | running | running | completed | failed | cancelled
waiting                 | starting | -        | -             | running | -        | -       | idle    | -       | waiting | -       | completed | failed | cancelled
waiting, interrupted    | starting | -        | -             | running | -        | -       | idle    | -       | waiting | -       | completed | failed | cancelled
waiting, asking         | starting | -        | -             | running | -        | -       | idle    | waiting | waiting | waiting | completed | failed | cancelled
idle                    | starting | -        | -             | -       | -        | -       | -       | -       | -       | -       | completed | failed | -
idle, interrupted       | starting | -        | -             | -       | -        | -       | -       | -       | -       | -       | completed | failed | -
completed               | starting | -        | -             | -       | -        | -       | -       | -       | -       | -       | -         | -      | -
failed                  | -        | -        | -             | -       | -        | -       | -       | -       | -       | -       | -         | -      | -
cancelled               | -        | -        | -             | -       | -        | -       | -       | -       | -       | -       | -         | -      | -
`;

const lines = TABLE.split('\n')
  .filter((line) => line !== '')
  .map((line) => line.split('|').map((cell) => cell.trim()));
const columns = (lines[0] as readonly string[]).slice(1);
const rows = new Map(lines.slice(1).map(([scene, ...cells]) => [scene as string, cells]));

/** Null for a refusal. */
function truth(scene: SceneName, asked: Asked): SessionState | null {
  const cell = rows.get(scene)?.[columns.indexOf(asked)];
  if (cell === undefined) throw new Error(`the table has no cell ${scene} + ${asked}`);
  if (cell === '-') return null;
  return cell === 'waiting' ? 'waiting_for_input' : (cell as SessionState);
}

/** What changes beside the state. A request ends with its turn, its agent, its answer; only an accepted prompt clears the interruption. */
function fieldsAfter(scene: SceneName, asked: Asked): Partial<SessionContext> {
  const { state, launchedFrom } = SCENES[scene];
  switch (asked) {
    case 'launch':
      return { launchedFrom: state as 'created' | 'waiting_for_input' | 'idle' | 'completed', pending: null };
    case 'launched':
    case 'launch failed':
      return { launchedFrom: null };
    case 'opened':
      return { launchedFrom: null };
    case 'accepted':
      return { interrupted: false };
    case 'died':
      return { pending: null, launchedFrom: null, ...(state === 'waiting_for_input' ? {} : { interrupted: true }) };
    case 'gone':
      return { pending: null, ...(state === 'running' ? { interrupted: true } : {}) };
    case 'asked':
      return { pending: SECOND };
    case 'closed':
    case 'settled':
    case 'complete':
      return { pending: null };
    case 'fail':
    case 'cancel':
      return { pending: null, launchedFrom };
  }
}

const keysOf = <Key extends string>(table: Readonly<Record<Key, unknown>>): readonly Key[] => Object.keys(table) as Key[];

// XState's development build warns about every event that a finished actor is sent; here that is the point.
beforeEach(() => void vi.spyOn(console, 'warn').mockReturnValue(undefined));
afterEach(() => void vi.restoreAllMocks());

describe('the session chart, cell by cell', () => {
  for (const scene of keysOf(SCENES)) {
    for (const asked of keysOf(EVENTS)) {
      const expected = truth(scene, asked);
      it(`${scene} + ${asked} -> ${expected ?? '-'}`, () => {
        const before = SCENES[scene];
        const after = decideSession(before, EVENTS[asked]);
        expect(after).toEqual(expected === null ? null : { ...before, ...fieldsAfter(scene, asked), state: expected });
      });
    }
  }

  it('knows every event of the chart', () => {
    expect([...new Set(Object.values(EVENTS).map(({ type }) => type))].sort()).toEqual([...sessionMachine.events].sort());
  });

  it('begins as created, and goes the way of a first prompt, an interruption and its resumption', () => {
    const actor = createActor(sessionMachine, { input: { interrupted: false, pending: null, launchedFrom: null } }).start();
    const states = [actor.getSnapshot().value];
    for (const asked of [
      'launch',
      'opened',
      'asked',
      'gone',
      'launch',
      'launch failed',
      'launch',
      'opened',
      'accepted',
    ] as const) {
      actor.send(EVENTS[asked]);
      states.push(actor.getSnapshot().value);
    }
    expect(states).toEqual([
      'created',
      'starting',
      'running',
      'running',
      'waiting_for_input',
      'starting',
      'waiting_for_input',
      'starting',
      'running',
      'running',
    ]);
    expect(actor.getSnapshot().context).toEqual({ interrupted: false, pending: null, launchedFrom: null });
  });

  it('SSN1: failed and cancelled are left for nothing, and end their actor', () => {
    for (const end of ['fail', 'cancel'] as const) {
      const actor = createActor(sessionMachine, { input: { interrupted: false, pending: null, launchedFrom: null } }).start();
      actor.send(EVENTS.launch);
      actor.send(EVENTS[end]);
      expect(actor.getSnapshot().status).toBe('done');
      for (const event of Object.values(EVENTS)) actor.send(event);
      expect(actor.getSnapshot().value).toBe(end === 'fail' ? 'failed' : 'cancelled');
    }
  });
});

/** Liveness 1, row by row. */
const MEANING: Readonly<
  Record<SessionState, { active: boolean; terminal: boolean; promptable: string; tags: readonly string[] }>
> = {
  created: { active: true, terminal: false, promptable: 'launches', tags: ['active'] },
  starting: { active: true, terminal: false, promptable: 'waits', tags: ['active'] },
  running: { active: true, terminal: false, promptable: 'by_activity', tags: ['active', 'takes-input'] },
  waiting_for_input: { active: true, terminal: false, promptable: 'yes', tags: ['active', 'takes-input'] },
  idle: { active: false, terminal: false, promptable: 'launches', tags: [] },
  completed: { active: false, terminal: true, promptable: 'resumes', tags: ['terminal'] },
  failed: { active: false, terminal: true, promptable: 'no', tags: ['terminal'] },
  cancelled: { active: false, terminal: true, promptable: 'no', tags: ['terminal'] },
};

describe('what the states mean', () => {
  it('is what the specification says, for all eight and no other', () => {
    expect(SESSION_STATES).toEqual(
      Object.fromEntries(Object.entries(MEANING).map(([state, { tags: _, ...rules }]) => [state, rules])),
    );
    expect(Object.keys(sessionMachine.states).sort()).toEqual(Object.keys(MEANING).sort());
  });

  it('is what the chart is tagged with', () => {
    for (const state of keysOf(MEANING)) {
      const context = { interrupted: false, pending: null, launchedFrom: null };
      expect([state, [...sessionMachine.resolveState({ value: state, context }).tags].sort()]).toEqual([
        state,
        MEANING[state].tags,
      ]);
    }
  });

  it('is said of every state, and loops are bounded', () => {
    for (const state of Object.values(sessionMachine.states) as AnyStateNode[]) {
      expect(String((state.meta as { description?: string } | undefined)?.description ?? ''), state.key).toMatch(
        /^[A-Z].{8,}\.$/,
      );
    }
    expect(sessionMachine.options?.maxIterations).toBeGreaterThan(0);
  });
});
