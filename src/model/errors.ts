/**
 * Every error code, once. `docs/errors.md` has one heading per code; a test compares both.
 *
 * ERR1  Programs branch on `code`, never on messages.
 * ERR2  A message is a whole sentence for a person: what happened, to which thing, and, where it helps, what to do.
 */
import { OffstageError } from './offstage-error.ts';
import type { StopEntry } from './stop.ts';

export { isOffstageError, OffstageError } from './offstage-error.ts';

interface ErrorSpec<Details> {
  /** True when the same call may succeed later without any change by the caller. */
  readonly retryable: boolean;
  readonly message: (details: Details) => string;
}

const spec = <Details>(retryable: boolean, message: (details: Details) => string): ErrorSpec<Details> => ({ retryable, message });

const quote = (text: string): string => {
  const shown = text.length > 80 ? `${text.slice(0, 79)}…` : text;
  return JSON.stringify(shown);
};

type Why = { readonly message: string };
type Nothing = Readonly<Record<string, never>> | undefined;
type JobId = { readonly jobId: string };

/**
 * The table of codes: the sentence of each, and whether the same call may succeed later.
 * @example
 * const isWorthAnotherTry = ERRORS['engine.degraded'].retryable; // true
 */
export const ERRORS = {
  'access.forbidden': spec(false, (d: { message: string }) => `This token does not allow it: ${d.message}`),
  'access.refused': spec(false, (d: Why) => `The server does not answer requests of this origin: ${d.message}`),
  'access.unauthorized': spec(false, (d: Why) => `The server needs a token: ${d.message}`),
  'agent.failed': spec(false, (d: Why) => `The agent could not do it: ${d.message}`),
  'agent.gone': spec(true, (d: Why) => `The agent has ended: ${d.message}`),
  'agent.start_failed': spec(
    true,
    (d: { agentId: string; message: string }) => `The agent ${quote(d.agentId)} could not be started: ${d.message}`,
  ),
  'agent.unknown': spec(false, (d: { agentId: string }) => `No agent is registered under the name ${quote(d.agentId)}.`),
  'card.not_found': spec(false, (d: { cardId: string }) => `No card has the id ${quote(d.cardId)}.`),
  'command.cwd_missing': spec(
    false,
    (d: { cwd: string }) => `The working directory ${quote(d.cwd)} does not exist or is not a directory.`,
  ),
  'command.failed': spec(
    false,
    (d: { exitCode: number; signal?: null; lastLine?: string | null }) =>
      `The command ended with exit code ${d.exitCode}${d.lastLine ? `: ${d.lastLine}` : '.'}`,
  ),
  'command.killed': spec(
    false,
    (d: { signal: string; exitCode?: null }) => `The command was killed by ${d.signal}, which nobody here asked for.`,
  ),
  'command.not_found': spec(
    false,
    (d: { command: string }) => `There is no command ${quote(d.command)}: it is not an executable file and not on the PATH.`,
  ),
  'command.start_failed': spec(false, (d: Why) => `The command could not be started: ${d.message}`),
  'config.invalid': spec(false, (d: { option: string; message: string }) => `The option ${d.option} is not valid: ${d.message}.`),
  'control.failed': spec(false, (d: Why) => `The request failed for a reason that was not foreseen: ${d.message}.`),
  'control.lost': spec(
    true,
    (d: { dataDir: string; pid: number | null }) =>
      `The process${d.pid === null ? '' : ` ${d.pid}`} that owns ${d.dataDir} ended the connection before it answered.`,
  ),
  'control.protocol': spec(false, (d: Why) => `What was sent is not understood: ${d.message}.`),
  'control.unavailable': spec(
    true,
    (d: { dataDir: string; pid: number | null }) =>
      `${d.dataDir} is in use${d.pid === null ? '' : ` by process ${d.pid}`}, which serves no control socket; open it with control: true, or wait until it ends.`,
  ),
  'engine.closing': spec(false, (_: Nothing) => 'This engine is closing and accepts no more work.'),
  'engine.degraded': spec(true, (_: Nothing) => 'The store refuses writes at the moment, so no new work is accepted.'),
  'execution.detached': spec(
    false,
    (d: { executionId: string; message: string }) =>
      `The execution ${quote(d.executionId)} was told to end and was not seen to: ${d.message}`,
  ),
  'execution.not_found': spec(
    false,
    (d: { executionId: string }) => `No agent that is at work on this session has the execution id ${quote(d.executionId)}.`,
  ),
  'execution.unknown': spec(
    true,
    (d: { executionId: string; message: string }) =>
      `Nobody can say whether the execution ${quote(d.executionId)} is still at work: ${d.message}`,
  ),
  'executor.unknown': spec(false, (d: { kind: string }) => `No executor is registered for the kind ${quote(d.kind)}.`),
  'executor.unsupported_platform': spec(
    false,
    (d: { kind: string; platform: string }) => `Jobs of kind ${d.kind} do not run on ${d.platform}.`,
  ),
  'input.invalid': spec(false, (d: { argument: string; message: string }) => `${d.argument} is not valid: ${d.message}.`),
  'inspector.unavailable': spec(true, (d: Why) => `There is nothing to inspect: ${d.message}.`),
  'job.abandoned': spec(false, (d: Why) => d.message),
  'job.cancelled': spec(false, (d: { reason: string }) => d.reason),
  'job.conflict': spec(false, (d: JobId) => `A job ${quote(d.jobId)} exists already, with different content.`),
  'job.context_closed': spec(false, (d: JobId) => `The job ${quote(d.jobId)} has ended, so its context can do nothing any more.`),
  'job.cross_task': spec(false, (_: Nothing) => 'A job, its caller and its parent must belong to the same task.'),
  'job.expired': spec(false, (d: JobId) => `The job ${quote(d.jobId)} ended long ago and its record was pruned.`),
  'job.failed': spec(false, (d: Why) => d.message),
  'job.idle_timed_out': spec(false, (d: { idleTimeoutMs: number }) => `The job gave no sign of life for ${d.idleTimeoutMs} ms.`),
  'job.not_found': spec(false, (d: JobId) => `No job has the id ${quote(d.jobId)}.`),
  'job.parent_cancelled': spec(
    false,
    (d: { parentJobId: string }) => `The job ${quote(d.parentJobId)} is being cancelled, so nothing is started under it.`,
  ),
  'job.result_invalid': spec(false, (d: { argument: string; message: string }) => `${d.argument} is not valid: ${d.message}.`),
  'job.result_not_serializable': spec(false, (d: Why) => `The result of the job could not be stored: ${d.message}.`),
  'job.result_too_large': spec(
    false,
    (d: { bytes: number; limit: number }) => `The result has ${d.bytes} bytes; at most ${d.limit} can be stored.`,
  ),
  'job.timed_out': spec(false, (d: { timeoutMs: number }) => `The job ran longer than its limit of ${d.timeoutMs} ms.`),
  'job.wait_cycle': spec(
    false,
    (d: JobId) =>
      `Waiting for ${quote(d.jobId)} here would never end: it is this job, one of its ancestors, or it waits for this job.`,
  ),
  'job.worker_died': spec(false, (d: Why) => `The worker died before the job was done: ${d.message}.`),
  'limit.connections': spec(true, (d: { limit: number }) => `${d.limit} connections are open already, and no more are accepted.`),
  'limit.input_bytes': spec(
    false,
    (d: { bytes: number; limit: number }) => `The input has ${d.bytes} bytes; at most ${d.limit} are accepted.`,
  ),
  'limit.queue_full': spec(true, (d: { limit: number }) => `${d.limit} jobs are queued already, and no more are accepted.`),
  'limit.rate': spec(
    true,
    (d: { retryAfterMs: number }) => `Too many requests came at once; the next one is accepted in ${d.retryAfterMs} ms.`,
  ),
  'limit.tickets': spec(
    true,
    (d: { limit: number }) => `${d.limit} prompts wait for this session already, and no more are accepted.`,
  ),
  'limit.tree_depth': spec(false, (d: { limit: number }) => `Jobs may start jobs at most ${d.limit} levels deep.`),
  'limit.waiters': spec(true, (d: { limit: number }) => `${d.limit} callers are waiting already, and no more are accepted.`),
  'limit.workloads': spec(
    true,
    (d: { limit: number }) => `This session has ${d.limit} registered workloads already, and no more are accepted.`,
  ),
  'package.missing': spec(
    false,
    (d: { package: string }) => `This needs the package ${quote(d.package)}, which is not installed: npm install ${d.package}`,
  ),
  'plan.not_found': spec(false, (d: { parentMessageId: string }) => `No job belongs to a plan ${quote(d.parentMessageId)}.`),
  'prompt.busy': spec(true, (d: { sessionId: string }) => `The session ${quote(d.sessionId)} is busy with another prompt.`),
  'prompt.interrupted': spec(false, (d: Why) => `The prompt was interrupted: ${d.message}`),
  'remove.refused': spec(
    true,
    (d: { id: string; message: string }) =>
      `${quote(d.id)} was not removed, because something of it may be at work: ${d.message}`,
  ),
  'request.not_found': spec(
    false,
    (d: { requestId: string }) => `The session waits for no answer to a request ${quote(d.requestId)}.`,
  ),
  'session.expired': spec(
    false,
    (d: { sessionId: string }) => `The session ${quote(d.sessionId)} was removed; ids are never used again.`,
  ),
  'session.not_found': spec(false, (d: { sessionId: string }) => `No session has the id ${quote(d.sessionId)}.`),
  'session.not_promptable': spec(
    false,
    (d: { sessionId: string; state: string }) => `The session ${quote(d.sessionId)} is ${d.state} and takes no more prompts.`,
  ),
  'session.stalled': spec(
    false,
    (d: { sessionId: string; stallFailMs: number }) =>
      `The agent of the session ${quote(d.sessionId)} gave no sign of life for ${d.stallFailMs} ms, so the session was declared failed.`,
  ),
  'session.stopped': spec(
    false,
    (d: { sessionId: string }) => `The session ${quote(d.sessionId)} was stopped before this was done.`,
  ),
  'stop.failed': spec(
    true,
    (d: {
      id: string;
      message: string;
      failed?: readonly StopEntry[];
      detached?: readonly StopEntry[];
      loadErrors?: readonly StopEntry[];
    }) => `Nothing of ${quote(d.id)} could be stopped: ${d.message}`,
  ),
  'stop.nothing_running': spec(
    false,
    (d: { id: string; detached?: readonly StopEntry[]; loadErrors?: readonly StopEntry[] }) =>
      `Nothing of ${quote(d.id)} is running, so nothing was stopped.`,
  ),
  'store.closed': spec(false, (_: Nothing) => 'The store is closed.'),
  'store.corrupt': spec(
    false,
    (d: { folder: string; message: string }) =>
      `The data in ${d.folder} is damaged: ${d.message}. Run 'offstage doctor --repair' to keep what is intact.`,
  ),
  'store.failed': spec(true, (d: Why) => `The store could not do it: ${d.message}.`),
  'store.locked': spec(
    true,
    (d: { folder: string; pid: number | null }) => `${d.folder} is in use${d.pid === null ? '' : ` by process ${d.pid}`}.`,
  ),
  'task.expired': spec(false, (d: { taskId: string }) => `The task ${quote(d.taskId)} was removed; ids are never used again.`),
  'task.not_found': spec(false, (d: { taskId: string }) => `No task has the id ${quote(d.taskId)}.`),
  'task.stopping': spec(
    true,
    (d: { taskId: string }) =>
      `The task ${quote(d.taskId)} was stopped, or is being removed, after this was asked for, so it was not done.`,
  ),
  'thread.start_failed': spec(false, (d: Why) => `The thread could not be started: ${d.message}`),
  'ticket.not_found': spec(false, (d: { ticketId: string }) => `No prompt waits under the ticket ${quote(d.ticketId)}.`),
  'workload.not_attested': spec(
    false,
    (d: { kind: string }) => `The agent of this session does not vouch for work of kind ${d.kind}, so none is registered.`,
  ),
  'workload.not_found': spec(false, (d: { workloadId: string }) => `The session has no workload ${quote(d.workloadId)}.`),
} as const;

/** `area.reason`; every one has a heading in docs/errors.md. */
export type ErrorCode = keyof typeof ERRORS;
export type ErrorDetails<Code extends ErrorCode> = Parameters<(typeof ERRORS)[Code]['message']>[0];

/** The one way to make an OffstageError: the table supplies the sentence and `retryable`. */
export function offstageError<Code extends ErrorCode>(
  code: Code,
  details: ErrorDetails<Code>,
  options?: { cause?: unknown },
): OffstageError {
  const { message, retryable } = ERRORS[code] as ErrorSpec<unknown>;
  return new OffstageError(code, message(details), (details ?? {}) as Readonly<Record<string, unknown>>, {
    ...options,
    retryable,
  });
}
