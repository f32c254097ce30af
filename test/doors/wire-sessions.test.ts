/** WSE1, WSE2, WEV1: sessions, tasks and their activity on the wire, in the words of liveness 7. */
import { describe, expect, it } from 'vitest';
import { eventFromWire, eventToWire } from '../../src/doors/wire/wire-events.ts';
import {
  changedFromWire,
  changedToWire,
  promptAnswerFromWire,
  promptAnswerToWire,
  sessionFromWire,
  sessionToWire,
  taskFromWire,
  taskToWire,
  ticketFromWire,
  ticketToWire,
  workloadFromWire,
  workloadToWire,
} from '../../src/doors/wire/wire-sessions.ts';
import type { SessionView, TaskView, WorkloadView } from '../../src/model/activity.ts';
import type { OffstageEvent } from '../../src/model/events.ts';
import type { PromptAnswer, PromptTicket } from '../../src/model/session-requests.ts';

const SESSION: SessionView = {
  sessionId: 's',
  taskId: 't',
  agentId: null,
  state: 'running',
  interrupted: false,
  pending: { kind: 'permission', requestId: 'r', options: [{ optionId: 'yes' }] },
  createdAt: 1,
  updatedAt: 2,
  revision: 1,
  foregroundActivity: 'generating',
  activeSubagentCount: 2,
  uncertainCount: 1,
  quietCount: 0,
  queuedPrompts: 3,
  sessionSeq: 41,
  turn: { generation: 7, origin: 'prompt', startedAt: 2, quiet: true },
  executionId: 'exec_1',
  endingAgents: 0,
  usage: { inputTokens: 5, output_tokens: 6 },
};
const IDLE: SessionView = {
  ...SESSION,
  state: 'created',
  pending: null,
  turn: null,
  executionId: null,
  usage: {},
  foregroundActivity: null,
  activeSubagentCount: 0,
};
const TASK: TaskView = {
  taskId: 't',
  title: 'T',
  state: 'in_progress',
  createdAt: 1,
  revision: 1,
  foregroundActivity: 'background',
  activeSubagentCount: 1,
  pending: 'clarification',
  sessions: ['s', 'u'],
  runningJobs: 2,
  taskSeq: 42,
};
const WORKLOAD: WorkloadView = {
  sessionId: 's',
  workloadId: 'w',
  kind: 'shell',
  source: 'provider',
  phase: 'live',
  executionId: 'exec_1',
  toolCallId: null,
  hosted: false,
  uncertain: true,
  quiet: false,
  startedAt: 4,
};
const TICKET: PromptTicket = { ticketId: 'k', promptId: 'p', sessionId: 's', origin: 'human', position: 1, createdAt: 3 };
const ACCEPTED: PromptAnswer = { accepted: true, promptId: 'p', generation: 7 };
const QUEUED: PromptAnswer = { queued: true, promptId: 'p', ticketId: 'k', position: 2 };

const throughText = (wire: object) => JSON.parse(JSON.stringify(wire));

describe('records on the wire', () => {
  it.each([
    ['a session at work', SESSION, sessionToWire, sessionFromWire],
    ['a session without activity', IDLE, sessionToWire, sessionFromWire],
    ['a task', TASK, taskToWire, taskFromWire],
    ['a workload', WORKLOAD, workloadToWire, workloadFromWire],
    ['a ticket', TICKET, ticketToWire, ticketFromWire],
    ['a prompt that was accepted', ACCEPTED, promptAnswerToWire, promptAnswerFromWire],
    ['a prompt whose acceptance is not stored', { ...ACCEPTED, durable: false }, promptAnswerToWire, promptAnswerFromWire],
    ['a prompt that waits', QUEUED, promptAnswerToWire, promptAnswerFromWire],
    ['a change', { changed: true }, changedToWire, changedFromWire],
    ['a change that is not stored', { changed: true, durable: false }, changedToWire, changedFromWire],
  ] as const)('%s comes back as it was', (_, record, toWire, fromWire) => {
    const wire = throughText((toWire as (value: unknown) => object)(record));
    expect(fromWire(wire)).toEqual(record);
    // Those of the provider are its own.
    expect(Object.keys({ ...wire, usage: null }).filter((name) => /[A-Z]/.test(name))).toEqual([]);
  });

  it('a session has the names of liveness 7; a question has its own request_id', () => {
    expect(sessionToWire(SESSION)).toEqual({
      session_id: 's',
      task_id: 't',
      agent_id: null,
      state: 'running',
      interrupted: false,
      pending: { kind: 'permission', request_id: 'r', options: [{ optionId: 'yes' }] },
      created_at: 1,
      updated_at: 2,
      revision: 1,
      foreground_activity: 'generating',
      active_subagent_count: 2,
      uncertain_count: 1,
      quiet_count: 0,
      queued_prompts: 3,
      turn: { generation: 7, origin: 'prompt', started_at: 2, quiet: true },
      execution_id: 'exec_1',
      ending_agents: 0,
      usage: { inputTokens: 5, output_tokens: 6 },
      session_seq: 41,
    });
    expect(taskToWire(TASK)).toEqual({
      task_id: 't',
      title: 'T',
      state: 'in_progress',
      created_at: 1,
      revision: 1,
      foreground_activity: 'background',
      active_subagent_count: 1,
      pending: 'clarification',
      sessions: ['s', 'u'],
      running_jobs: 2,
      task_seq: 42,
    });
  });

  it('WSE1 (L63): null and 0 are told, as null and 0', () => {
    expect(throughText(sessionToWire(IDLE))).toMatchObject({
      foreground_activity: null,
      active_subagent_count: 0,
      pending: null,
      turn: null,
    });
    const idle = taskToWire({ ...TASK, foregroundActivity: null, activeSubagentCount: 0, pending: null });
    expect(throughText(idle)).toMatchObject({ foreground_activity: null, active_subagent_count: 0, pending: null });
  });

  it('WSE2: what is not told is unknown, and not filled in', () => {
    for (const name of ['foreground_activity', 'active_subagent_count', 'pending', 'turn']) {
      const { [name]: _, ...rest } = sessionToWire(SESSION);
      expect(Object.keys(sessionFromWire(rest))).toHaveLength(Object.keys(SESSION).length - 1);
    }
    const { foreground_activity: _, active_subagent_count: __, ...rest } = taskToWire(TASK);
    expect(taskFromWire(rest)).not.toHaveProperty('foregroundActivity');
    expect(taskFromWire(rest)).not.toHaveProperty('activeSubagentCount');
  });
});

describe('activity in events (liveness 7)', () => {
  const head = { seq: 3, epoch: 'e', at: 9 };
  const EVENTS: readonly OffstageEvent[] = [
    {
      ...head,
      type: 'session.activity_changed',
      sessionId: 's',
      taskId: 't',
      foregroundActivity: null,
      activeSubagentCount: 0,
      activityEpoch: 2,
      sessionSeq: 5,
    },
    {
      ...head,
      type: 'session.state_changed',
      sessionId: 's',
      taskId: 't',
      oldState: 'running',
      newState: 'waiting_for_input',
      foregroundActivity: 'background',
      activeSubagentCount: 1,
      activityEpoch: 2,
      sessionSeq: 6,
    },
    {
      ...head,
      type: 'task.updated',
      taskId: 't',
      foregroundActivity: 'background',
      activeSubagentCount: 1,
      taskSeq: 4,
      isVolatile: true,
    },
    {
      ...head,
      type: 'task.updated',
      taskId: 't',
      title: 'T',
      state: 'review',
      foregroundActivity: null,
      activeSubagentCount: 0,
      taskSeq: 5,
    },
  ];

  it('has these names, null and 0 included', () => {
    const [activity, state, aggregate, row] = EVENTS.map((event) => throughText(eventToWire(event)));
    expect(activity).toEqual({
      ...head,
      type: 'session.activity_changed',
      task_id: 't',
      session_id: 's',
      foreground_activity: null,
      active_subagent_count: 0,
      activity_epoch: 2,
      session_seq: 5,
    });
    expect(state).toEqual({
      ...head,
      type: 'session.state_changed',
      task_id: 't',
      session_id: 's',
      old_state: 'running',
      new_state: 'waiting_for_input',
      foreground_activity: 'background',
      active_subagent_count: 1,
      activity_epoch: 2,
      session_seq: 6,
    });
    expect(aggregate).toEqual({
      ...head,
      type: 'task.updated',
      task_id: 't',
      foreground_activity: 'background',
      active_subagent_count: 1,
      task_seq: 4,
      volatile: true,
    });
    expect(row).toMatchObject({ title: 'T', state: 'review', foreground_activity: null, active_subagent_count: 0, task_seq: 5 });
  });

  it.each(EVENTS.map((event) => [event.type, event] as const))('%s comes back as it was', (_, event) => {
    expect(eventFromWire(throughText(eventToWire(event)))).toEqual(event);
  });

  it('WEV1: a replayed event knows no activity, and says none', () => {
    const replayed: OffstageEvent = { ...head, type: 'task.updated', taskId: 't', title: 'T', state: 'review' };
    const wire = eventToWire(replayed);
    expect(Object.keys(wire)).not.toContain('foreground_activity');
    expect(Object.keys(wire)).not.toContain('active_subagent_count');
    expect(eventFromWire(throughText(wire))).toEqual(replayed);
  });
});
