/** What answers are made of, as JSON Schema; a test compares them with real answers. */

import { CARD_BADGES } from '../../model/cards.ts';
import { JOB_STATUSES, TASK_STATES } from '../../model/records.ts';
import { anything, listOf, nullable, object, ref, type Schema, withOptional } from './schema-words.ts';

const string: Schema = { type: 'string' };
const number: Schema = { type: 'number' };
const integer: Schema = { type: 'integer' };
const boolean: Schema = { type: 'boolean' };
const maybe = nullable(string);
const time: Schema = { type: 'number', description: 'Epoch milliseconds.' };
const maybeTime = nullable(time);
const any = anything('Any JSON.');

const error = { error: maybe, error_code: maybe };

const activity = {
  foreground_activity: { enum: ['generating', 'background', null] },
  active_subagent_count: integer,
};

const stopEntry = withOptional(
  { session_id: string },
  { execution_id: string, job_id: string, error: string, error_code: string },
);

const STOP_LISTS = ['stopped', 'recovered', 'already_stopping', 'detached', 'absent', 'failed', 'load_errors'];

export const COMPONENT_SCHEMAS: Readonly<Record<string, Schema>> = {
  JobStatus: { type: 'string', enum: [...JOB_STATUSES] },
  Job: withOptional(
    {
      job_id: string,
      kind: string,
      subject: string,
      agent_id: maybe,
      status: ref('JobStatus'),
      created_at: time,
      queued_at: maybeTime,
      started_at: maybeTime,
      completed_at: maybeTime,
      last_activity_at: maybeTime,
      parent_session_id: string,
      caller_session_id: maybe,
      task_id: string,
      parent_job_id: maybe,
      parent_msg_id: maybe,
      context_mode: { type: 'string', enum: ['inherit', 'clean'] },
      wait: boolean,
      head_id: maybe,
      source_commit_id: maybe,
      reason_code: maybe,
      cancel_requested_at: maybeTime,
      cancel_reason: maybe,
      detached: boolean,
      attempt: integer,
      timeout_ms: nullable(number),
      idle_timeout_ms: nullable(number),
      card_id: string,
      revision: integer,
      body_live: boolean,
      progress: any,
      ...error,
    },
    {
      // Left out where rows are brief.
      description: string,
      input: any,
      result: any,
      result_text: maybe,
      partial_result: maybe,
      timed_out: boolean,
      durable: boolean,
    },
  ),
  Missing: object({ job_id: string, error: string, error_code: string }),
  HistoryEntry: withOptional(
    { at: time, type: string },
    { from: ref('JobStatus'), to: ref('JobStatus'), reason_code: string, detail: string },
  ),
  Card: object({
    card_id: string,
    session_id: string,
    function: string,
    content: string,
    attach: object({
      session_id: string,
      job_id: string,
      status: { type: 'string', enum: Object.keys(CARD_BADGES) },
      head_id: maybe,
      source_commit_id: maybe,
      label: string,
    }),
  }),
  Session: object({
    session_id: string,
    task_id: string,
    agent_id: maybe,
    state: string,
    interrupted: boolean,
    ...activity,
    uncertain_count: integer,
    quiet_count: integer,
    queued_prompts: integer,
    session_seq: integer,
    execution_id: maybe,
    pending: nullable(object({ kind: string, request_id: string, options: listOf(any) })),
    turn: nullable(object({ generation: integer, origin: string, started_at: time, quiet: boolean })),
    ending_agents: integer,
    usage: { type: 'object', description: 'What the provider counts.' },
    created_at: time,
    updated_at: time,
    revision: integer,
  }),
  Task: object({
    task_id: string,
    title: string,
    state: { type: 'string', enum: [...TASK_STATES] },
    ...activity,
    pending: anything('The question that waits, if there is one.'),
    sessions: listOf(string),
    running_jobs: integer,
    task_seq: integer,
    created_at: time,
    revision: integer,
  }),
  Ticket: object({
    ticket_id: string,
    prompt_id: string,
    session_id: string,
    origin: string,
    position: integer,
    created_at: time,
  }),
  Workload: object({
    session_id: string,
    workload_id: string,
    kind: string,
    source: string,
    phase: string,
    execution_id: maybe,
    tool_call_id: maybe,
    hosted: boolean,
    uncertain: boolean,
    quiet: boolean,
    started_at: time,
  }),
  Process: object({
    execution_id: string,
    job_id: maybe,
    session_id: maybe,
    pid: nullable(integer),
    start_time: maybe,
    boot_id: maybe,
    at: time,
    teardown_at: maybeTime,
  }),
  Health: object({
    status: { type: 'string', enum: ['ok', 'degraded', 'starved', 'closing'] },
    pool: object({ workers: nullable(integer), running: integer, waiting: integer, queued: integer, detached: integer }),
    agents: object({ live: integer, ending: integer, detached: integer }),
    store: object({ durability: { type: 'string', enum: ['full', 'process'] }, pending_writes: integer, last_error: maybe }),
  }),
  Snapshot: object({
    epoch: string,
    seq: integer,
    tasks: listOf(ref('Task')),
    sessions: listOf(ref('Session')),
    jobs: listOf(ref('Job')),
    next_before: maybe,
    counts: object({ pending: integer, queued: integer, running: integer }),
  }),
  StopReport: object({
    ...Object.fromEntries(STOP_LISTS.map((name) => [name, listOf(stopEntry)])),
    source_error: nullable(object(error)),
    durable: boolean,
  }),
  Confirmed: withOptional(
    { done: boolean },
    { warning: object({ generating: integer, background: integer, active_subagent_count: integer, jobs: integer }) },
  ),
  Error: withOptional({ error: string, error_code: string, retryable: boolean }, { details: { type: 'object' } }),
};
