/** WIR1–WIR3: the words of the wire, there and back. */
import { describe, expect, it } from 'vitest';
import {
  cancelledManyToWire,
  healthFromWire,
  healthToWire,
  historyFromWire,
  historyToWire,
  processFromWire,
  processToWire,
  spawnFromWire,
  spawnToWire,
} from '../../src/doors/wire/wire-answers.ts';
import { eventFromWire, eventToWire } from '../../src/doors/wire/wire-events.ts';
import { jobFromWire, jobToWire } from '../../src/doors/wire/wire-names.ts';
import type { OffstageEvent } from '../../src/model/events.ts';
import type { JobView, ProcessRecord } from '../../src/model/records.ts';

const JOB: JobView = {
  jobId: 'job_1',
  kind: 'agent',
  subject: 'short',
  description: 'the whole prompt',
  agentId: 'default',
  input: { fooBar: 1, sessionId: 'not a name of ours' },
  status: 'errored',
  createdAt: 1,
  queuedAt: 2,
  startedAt: 3,
  completedAt: 4,
  lastActivityAt: 3,
  sessionId: 's',
  callerSessionId: 'c',
  taskId: 't',
  parentJobId: 'job_0',
  parentMessageId: 'm',
  contextMode: 'clean',
  wait: true,
  headId: 'h',
  sourceCommitId: 'sc',
  resultText: 'text',
  result: { innerValue: [1] },
  error: { code: 'job.failed', message: 'Error: no' },
  reasonCode: 'failed',
  cancelRequestedAt: null,
  cancelReason: null,
  detached: false,
  attempt: 0,
  timeoutMs: 5,
  idleTimeoutMs: null,
  cardId: 'card_j',
  revision: 4,
  bodyLive: false,
  progress: { doneParts: 2 },
  partialText: null,
};

describe('records on the wire', () => {
  it('a job has the names of the seed', () => {
    expect(jobToWire(JOB)).toEqual({
      job_id: 'job_1',
      kind: 'agent',
      subject: 'short',
      description: 'the whole prompt',
      agent_id: 'default',
      input: { fooBar: 1, sessionId: 'not a name of ours' },
      status: 'errored',
      created_at: 1,
      queued_at: 2,
      started_at: 3,
      completed_at: 4,
      last_activity_at: 3,
      parent_session_id: 's',
      caller_session_id: 'c',
      task_id: 't',
      parent_job_id: 'job_0',
      parent_msg_id: 'm',
      context_mode: 'clean',
      wait: true,
      head_id: 'h',
      source_commit_id: 'sc',
      result_text: 'text',
      result: { innerValue: [1] },
      error: 'Error: no',
      error_code: 'job.failed',
      reason_code: 'failed',
      cancel_requested_at: null,
      cancel_reason: null,
      detached: false,
      attempt: 0,
      timeout_ms: 5,
      idle_timeout_ms: null,
      card_id: 'card_j',
      revision: 4,
      body_live: false,
      progress: { doneParts: 2 },
      partial_result: null,
    });
  });

  it.each([
    ['a job', JOB, jobToWire, jobFromWire],
    ['a job without an error', { ...JOB, error: null, timedOut: true, durable: false }, jobToWire, jobFromWire],
    ['a line of history', { at: 1, type: 'transition', from: 'queued', to: 'running' }, historyToWire, historyFromWire],
    [
      'a process',
      {
        executionId: 'e',
        jobId: 'j',
        sessionId: null,
        pid: 7,
        startTime: '9',
        bootId: 'b',
        at: 1,
        teardownAt: null,
      } satisfies ProcessRecord,
      processToWire,
      processFromWire,
    ],
    [
      'health',
      {
        status: 'ok',
        pool: { workers: 4, running: 1, waiting: 0, queued: 0, detached: 0 },
        agents: { live: 2, ending: 1, detached: 0 },
        store: { durability: 'full', pendingWrites: 0, lastError: null },
      },
      healthToWire,
      healthFromWire,
    ],
  ] as const)('%s comes back as it was', (_, record, toWire, fromWire) => {
    const wire = JSON.parse(JSON.stringify((toWire as (value: unknown) => object)(record)));
    expect(fromWire(wire)).toEqual(record);
    expect(Object.keys(wire).filter((name) => /[A-Z]/.test(name))).toEqual([]);
  });

  it('a request to spawn: prompt is the description, description is the subject', () => {
    const wire = {
      session_id: 's',
      prompt: 'long text',
      description: 'short',
      parent_msg_id: 'm',
      context: 'clean',
      timeout_ms: 5,
    };
    const options = {
      sessionId: 's',
      description: 'long text',
      subject: 'short',
      parentMessageId: 'm',
      contextMode: 'clean',
      timeoutMs: 5,
    } as const;
    expect(spawnFromWire(wire)).toEqual(options);
    expect(spawnToWire({ kind: 'agent', ...options })).toEqual({ kind: 'agent', ...wire });
  });

  it('the answer to cancel_jobs', () => {
    expect(cancelledManyToWire({ cancelled: ['a'], cancelling: [], alreadyTerminal: ['b'], notFound: ['c'] })).toEqual({
      cancelled: ['a'],
      cancelling: [],
      already_terminal: ['b'],
      not_found: ['c'],
    });
  });
});

describe('events on the wire', () => {
  const head = { seq: 3, epoch: 'e', at: 9 };
  const job = {
    jobId: 'j',
    sessionId: 's',
    callerSessionId: null,
    taskId: 't',
    parentJobId: null,
    status: 'running',
    reasonCode: null,
    cancelRequestedAt: null,
    completedAt: null,
    detached: false,
    revision: 3,
  } as const;
  const EVENTS: readonly OffstageEvent[] = [
    { ...head, type: 'job.created', ...job },
    { ...head, type: 'job.status', ...job },
    { ...head, type: 'job.progress', jobId: 'j', sessionId: 's', progress: { partDone: 1 } },
    { ...head, type: 'job.output', jobId: 'j', sessionId: 's', text: 'x', stream: 'stderr', offset: 7 },
    { ...head, type: 'session.state_changed', sessionId: 's', taskId: 't', oldState: null, newState: 'created' },
    { ...head, type: 'task.created', taskId: 't', title: 'T', state: 'open' },
    { ...head, type: 'resync' },
    { ...head, type: 'session.output', sessionId: 's', generation: 4, channel: 'thought', text: 'hm' },
    { ...head, type: 'session.turn_ended', sessionId: 's', generation: 4, stopReason: 'end_turn', error: null },
    {
      ...head,
      type: 'session.ticket',
      sessionId: 's',
      ticketId: 'k',
      promptId: 'p',
      status: 'failed',
      generation: 0,
      error: { code: 'agent.gone', message: 'It has gone.' },
    },
  ];

  it.each(EVENTS.map((event) => [event.type, event] as const))('%s comes back as it was', (_, event) => {
    expect(eventFromWire(JSON.parse(JSON.stringify(eventToWire(event))))).toEqual(event);
  });

  it('jobs are told with their names, sessions with theirs', () => {
    expect(EVENTS.map((event) => eventToWire(event).type)).toEqual([
      'job_created',
      'job_status',
      'job_progress',
      'job_output',
      'session.state_changed',
      'task.created',
      'resync',
      'session.output',
      'session.turn_ended',
      'session.ticket',
    ]);
    expect(eventToWire(EVENTS[1] as OffstageEvent)).toMatchObject({ parent_session_id: 's', cancel_requested_at: null });
    expect(eventToWire(EVENTS[4] as OffstageEvent)).toMatchObject({ session_id: 's', old_state: null, new_state: 'created' });
  });

  it("those who ask for the seed's names get them", () => {
    expect(EVENTS.map((event) => eventToWire(event, 'seed').type).slice(0, 3)).toEqual([
      'task_created',
      'job_status',
      'task_progress',
    ]);
  });

  it('WIR3: why a prompt failed is a sentence with its code beside it', () => {
    expect(eventToWire(EVENTS.at(-1) as OffstageEvent)).toMatchObject({ error: 'It has gone.', error_code: 'agent.gone' });
    expect(eventToWire(EVENTS.at(-2) as OffstageEvent)).toMatchObject({ error: null, error_code: null });
    expect(eventToWire(EVENTS[0] as OffstageEvent)).not.toHaveProperty('error');
  });

  it('a frame that is no event of ours is none', () => {
    expect(eventFromWire({ type: 'running_task', job_id: 'j' })).toBeNull();
  });
});
