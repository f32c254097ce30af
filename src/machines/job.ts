/**
 * The lifecycle of one job (seed 000 D2; spec 2). Pure: no clock, no I/O; times and texts arrive in events.
 *
 * JOB1  A job reaches exactly one of completed, cancelled, errored, and leaves it for nothing.
 * JOB2  The first cause that ends a running job fixes its end; later causes are ignored.
 * JOB3  A job that never held a slot never has `startedAt`.
 * JOB4  `completed` is reached only by a body that returned: unasked, or in time under shutdown.
 * JOB5  Only `grace.over` and abandonment say `detached`: the record is terminal and the body was not seen to end.
 */
import { assign, setup } from 'xstate';
import type { JsonValue } from '../model/json.ts';
import type { CancelCode, JobError, ReasonCode } from '../model/records.ts';

/** What told a running body to end. */
export type EndingCause = 'cancel' | 'timeout' | 'idle_timeout' | 'shutdown';

/** What the body left behind. Null where it left nothing. */
export interface BodyResult {
  readonly text: string | null;
  readonly value: JsonValue;
  readonly headId: string | null;
  readonly sourceCommitId: string | null;
}

export type JobEvent =
  | { readonly type: 'job.queue'; readonly at: number }
  | { readonly type: 'job.start'; readonly at: number }
  | { readonly type: 'job.cancel'; readonly at: number; readonly code: CancelCode; readonly reason: string | null }
  | { readonly type: 'job.time_out'; readonly at: number; readonly cause: 'timeout' | 'idle_timeout'; readonly message: string }
  | { readonly type: 'job.shut_down'; readonly at: number }
  | { readonly type: 'job.abandon'; readonly at: number; readonly detail: string | null }
  | { readonly type: 'body.returned'; readonly at: number; readonly result: BodyResult }
  | {
      readonly type: 'body.threw';
      readonly at: number;
      readonly error: JobError;
      readonly reasonCode: 'failed' | 'worker_died';
      readonly result: BodyResult;
    }
  | { readonly type: 'grace.over'; readonly at: number; readonly result: BodyResult; readonly survivors: string | null };

/** The part of a job that its chart decides; everything else in a record is fixed at acceptance. */
export interface JobChartContext {
  readonly queuedAt: number | null;
  readonly startedAt: number | null;
  readonly completedAt: number | null;
  readonly cause: EndingCause | null;
  readonly causeMessage: string | null;
  readonly cancelRequestedAt: number | null;
  readonly cancelReason: string | null;
  readonly cancelCode: CancelCode | null;
  readonly reasonCode: ReasonCode | null;
  readonly error: JobError | null;
  readonly resultText: string | null;
  readonly result: JsonValue;
  readonly headId: string | null;
  readonly sourceCommitId: string | null;
  readonly detached: boolean;
}

export const NEW_JOB: JobChartContext = {
  queuedAt: null,
  startedAt: null,
  completedAt: null,
  cause: null,
  causeMessage: null,
  cancelRequestedAt: null,
  cancelReason: null,
  cancelCode: null,
  reasonCode: null,
  error: null,
  resultText: null,
  result: null,
  headId: null,
  sourceCommitId: null,
  detached: false,
};

export const SHUTDOWN_MESSAGE = 'worker pool shutdown';
export const CRASH_MESSAGE = 'worker died before completion';
export const FORCED_CANCEL_MESSAGE = 'cancel timed out, worker may be stuck';

const withDetail = (message: string, detail: string | null): string => (detail === null ? message : `${message}; ${detail}`);

export interface Abandonment {
  readonly at: number;
  readonly code: 'abandoned.crash' | 'abandoned.shutdown';
  readonly message: string;
  /** What may still be at work of it; null: nothing. */
  readonly detail: string | null;
}

/** What abandonment makes of any unfinished job; it depends on nothing the job has been through. */
export const abandonedFields = ({ at, code, message, detail }: Abandonment) => ({
  completedAt: at,
  reasonCode: code,
  error: { code: 'job.abandoned' as const, message: withDetail(message, detail) },
  detached: detail !== null,
});

/** Reason and error of a running job that was told to end and did not complete; total over the causes. */
function endOf(context: JobChartContext): Pick<JobChartContext, 'reasonCode' | 'error'> {
  switch (context.cause) {
    case 'timeout':
      return { reasonCode: 'timed_out', error: { code: 'job.timed_out', message: context.causeMessage ?? 'timed out' } };
    case 'idle_timeout':
      return {
        reasonCode: 'idle_timed_out',
        error: { code: 'job.idle_timed_out', message: context.causeMessage ?? 'idle for too long' },
      };
    case 'shutdown':
      return { reasonCode: 'abandoned.shutdown', error: { code: 'job.abandoned', message: SHUTDOWN_MESSAGE } };
    default:
      return {
        reasonCode: context.cancelCode ?? 'cancel.user',
        error: { code: 'job.cancelled', message: context.cancelReason ?? 'cancelled' },
      };
  }
}

const chart = setup({
  types: {
    context: {} as JobChartContext,
    events: {} as JobEvent,
    tags: {} as 'terminal' | 'occupies-slot' | 'ending',
  },
  guards: {
    endsCancelled: ({ context }) => context.cause === 'cancel',
    endsErrored: ({ context }) => context.cause === 'timeout' || context.cause === 'idle_timeout',
  },
  actions: {
    markQueued: assign((_, params: { at: number }) => ({ queuedAt: params.at })),
    markStarted: assign((_, params: { at: number }) => ({ startedAt: params.at })),
    requestCancel: assign((_, params: { at: number; code: CancelCode; reason: string | null }) => ({
      cause: 'cancel' as const,
      cancelRequestedAt: params.at,
      cancelReason: params.reason,
      cancelCode: params.code,
    })),
    cancelBeforePickup: assign((_, params: { at: number; code: CancelCode; reason: string | null }) => ({
      cancelRequestedAt: params.at,
      cancelReason: params.reason,
      cancelCode: params.code,
      completedAt: params.at,
      reasonCode: params.code,
      error: { code: 'job.cancelled' as const, message: params.reason ?? 'cancelled before pickup' },
    })),
    fixCause: assign((_, params: { cause: EndingCause; message: string | null }) => ({
      cause: params.cause,
      causeMessage: params.message,
    })),
    complete: assign((_, params: { at: number; result: BodyResult }) => ({
      completedAt: params.at,
      reasonCode: 'completed' as const,
      resultText: params.result.text,
      result: params.result.value,
      headId: params.result.headId,
      sourceCommitId: params.result.sourceCommitId,
    })),
    fail: assign((_, params: { at: number; error: JobError; reasonCode: 'failed' | 'worker_died'; result: BodyResult }) => ({
      completedAt: params.at,
      reasonCode: params.reasonCode,
      error: params.error,
      resultText: params.result.text,
      result: params.result.value,
    })),
    endAsCaused: assign(({ context }, params: { at: number; result: BodyResult }) => ({
      completedAt: params.at,
      resultText: params.result.text,
      result: params.result.value,
      headId: params.result.headId,
      sourceCommitId: params.result.sourceCommitId,
      ...endOf(context),
    })),
    forceEnd: assign(({ context }, params: { at: number; result: BodyResult; survivors: string | null }) => {
      const end = endOf(context);
      const base = context.cause === 'cancel' ? FORCED_CANCEL_MESSAGE : (end.error?.message ?? '');
      return {
        completedAt: params.at,
        resultText: params.result.text,
        detached: true,
        reasonCode: context.cause === 'cancel' ? ('cancel.timed_out' as const) : end.reasonCode,
        error: { code: end.error?.code ?? 'job.cancelled', message: withDetail(base, params.survivors) },
      };
    }),
    abandon: assign((_, params: Abandonment) => abandonedFields(params)),
  },
});

/** What ends a job that has not begun, wherever it waits. */
const BEFORE_PICKUP = chart.createStateConfig({
  on: {
    'job.cancel': { target: 'cancelled', actions: { type: 'cancelBeforePickup', params: ({ event }) => event } },
    'job.shut_down': {
      target: 'errored',
      actions: {
        type: 'abandon',
        params: ({ event }) => ({ at: event.at, code: 'abandoned.shutdown', message: SHUTDOWN_MESSAGE, detail: null }),
      },
    },
    'job.abandon': {
      target: 'errored',
      actions: {
        type: 'abandon',
        params: ({ event }) => ({ at: event.at, code: 'abandoned.crash', message: CRASH_MESSAGE, detail: event.detail }),
      },
    },
  },
});

export const jobMachine = chart.createMachine({
  id: 'job',
  initial: 'pending',
  context: NEW_JOB,
  states: {
    pending: {
      meta: { description: 'Accepted and durable; not yet handed to the pool.' },
      on: {
        'job.queue': { target: 'queued', actions: { type: 'markQueued', params: ({ event }) => ({ at: event.at }) } },
        ...BEFORE_PICKUP.on,
      },
    },
    queued: {
      meta: { description: 'Waiting for a slot, first in, first out.' },
      on: {
        'job.start': { target: 'running', actions: { type: 'markStarted', params: ({ event }) => ({ at: event.at }) } },
        ...BEFORE_PICKUP.on,
      },
    },
    running: {
      tags: 'occupies-slot',
      meta: { description: 'The body is at work.' },
      initial: 'active',
      on: {
        'job.abandon': {
          target: 'errored',
          actions: {
            type: 'abandon',
            params: ({ event }) => ({ at: event.at, code: 'abandoned.crash', message: CRASH_MESSAGE, detail: event.detail }),
          },
        },
      },
      states: {
        active: {
          meta: { description: 'Working, and nobody has told it to end.' },
          on: {
            'job.cancel': { target: 'ending', actions: { type: 'requestCancel', params: ({ event }) => event } },
            'job.time_out': {
              target: 'ending',
              actions: { type: 'fixCause', params: ({ event }) => ({ cause: event.cause, message: event.message }) },
            },
            'job.shut_down': { target: 'ending', actions: { type: 'fixCause', params: { cause: 'shutdown', message: null } } },
            'body.returned': { target: '#job.completed', actions: { type: 'complete', params: ({ event }) => event } },
            'body.threw': { target: '#job.errored', actions: { type: 'fail', params: ({ event }) => event } },
          },
        },
        ending: {
          tags: 'ending',
          meta: { description: 'Told to end; waiting for the body to settle, or for the grace to run out.' },
          on: {
            'body.returned': [
              {
                guard: 'endsCancelled',
                target: '#job.cancelled',
                actions: { type: 'endAsCaused', params: ({ event }) => event },
              },
              { guard: 'endsErrored', target: '#job.errored', actions: { type: 'endAsCaused', params: ({ event }) => event } },
              { target: '#job.completed', actions: { type: 'complete', params: ({ event }) => event } },
            ],
            'body.threw': [
              {
                guard: 'endsCancelled',
                target: '#job.cancelled',
                actions: { type: 'endAsCaused', params: ({ event }) => event },
              },
              { target: '#job.errored', actions: { type: 'endAsCaused', params: ({ event }) => event } },
            ],
            'grace.over': [
              { guard: 'endsCancelled', target: '#job.cancelled', actions: { type: 'forceEnd', params: ({ event }) => event } },
              { target: '#job.errored', actions: { type: 'forceEnd', params: ({ event }) => event } },
            ],
          },
        },
      },
    },
    completed: {
      type: 'final',
      tags: 'terminal',
      meta: { description: 'The body returned, and nothing had ended the job before.' },
    },
    cancelled: { type: 'final', tags: 'terminal', meta: { description: 'Ended on request.' } },
    errored: { type: 'final', tags: 'terminal', meta: { description: 'The body failed, ran out of time, or was abandoned.' } },
  },
  options: { maxIterations: 100 },
});
