/**
 * Background work that a host itself tells of (liveness 6; api.md): the same rules as for frames.
 *
 * WKV1  No registration without an execution that owns it, none without attestation.
 * WKV2  Work of the engine, that is jobs, is only listed here: `cancel` ends it.
 */
import type { WorkloadView } from '../model/activity.ts';
import { offstageError } from '../model/errors.ts';
import type { WorkloadKind } from '../model/executor.ts';
import { LIMITS } from '../model/limits.ts';
import type { Changed, CompleteWorkload, RegisterWorkload, WorkloadSnapshot } from '../model/session-requests.ts';
import type { AgentExecution } from './agent-execution.ts';
import { invalidInput, namesOf, readArray, readOptions } from './check-options.ts';
import type { Core } from './core.ts';
import type { LiveJob } from './live-job.ts';
import type { LiveSession } from './live-session.ts';
import type { Moment } from './provider-works.ts';
import type { Sessions } from './sessions.ts';
import { checkId } from './spawn-request.ts';
import { isNotDispatched, workKind } from './workload-rules.ts';

const REGISTER_NAMES = namesOf<RegisterWorkload>({
  sessionId: true,
  executionId: true,
  kind: true,
  workloadId: true,
  toolCallId: true,
});
const COMPLETE_NAMES = namesOf<CompleteWorkload>({
  sessionId: true,
  executionId: true,
  workloadId: true,
  toolCallId: true,
  kind: true,
  eventId: true,
});
const SNAPSHOT_NAMES = namesOf<WorkloadSnapshot>({ sessionId: true, executionId: true, workloads: true });
const LISTED_NAMES = namesOf<WorkloadSnapshot['workloads'][number]>({ workloadId: true, kind: true, toolCallId: true });

const KINDS: readonly WorkloadKind[] = ['subagent', 'shell', 'monitor'];

export class Workloads {
  readonly #core: Core;
  readonly #sessions: Sessions;

  constructor(core: Core, sessions: Sessions) {
    this.#core = core;
    this.#sessions = sessions;
  }

  async register(given: RegisterWorkload): Promise<Changed> {
    const options = readOptions('options', given, REGISTER_NAMES);
    const { session, execution } = this.#owner(options.sessionId, options.executionId);
    const kind = checkKind(options.kind);
    const rule = workKind(execution, kind);
    if (rule === null) throw offstageError('workload.not_attested', { kind });
    const workloadId = checkId('workloadId', options.workloadId);
    const toolCallId = optionalId('toolCallId', options.toolCallId);
    if (toolCallId !== null && !isNotDispatched(session, execution.executionId, toolCallId)) return { changed: false };
    const { provider } = this.#core.liveness.recordOf(session);
    const entry = { workloadId, toolCallId, kind, admits: rule.admits };
    if (provider.size >= LIMITS.workloadsPerSession && provider.findListed(execution.executionId, entry) === null)
      throw offstageError('limit.workloads', { limit: LIMITS.workloadsPerSession });
    return this.#told(session, provider.register(execution.executionId, entry, this.#moment()));
  }

  async complete(given: CompleteWorkload): Promise<Changed> {
    const options = readOptions('options', given, COMPLETE_NAMES);
    const sessionId = checkId('sessionId', options.sessionId);
    const workloadId = optionalId('workloadId', options.workloadId);
    const toolCallId = optionalId('toolCallId', options.toolCallId);
    const executionId = optionalId('executionId', options.executionId);
    const hasId = workloadId !== null || toolCallId !== null;
    if (hasId && executionId === null)
      throw invalidInput('executionId', 'an id says nothing without the execution that it belongs to');
    const kind = options.kind === undefined ? null : checkKind(options.kind);
    const eventId = optionalId('eventId', options.eventId);
    await this.#sessions.get(sessionId);
    const session = this.#core.liveness.find(sessionId);
    // What nobody runs any more has nothing left to complete; a late word for it must not bring it back.
    if (session?.record == null || (executionId !== null && !isOf(session, executionId))) return { changed: false };
    const hasChanged = session.record.provider.complete({ executionId, workloadId, toolCallId, kind, eventId });
    return this.#told(session, hasChanged);
  }

  async snapshot(given: WorkloadSnapshot): Promise<Changed> {
    const options = readOptions('options', given, SNAPSHOT_NAMES);
    const { session, execution } = this.#owner(options.sessionId, options.executionId);
    const { provider } = this.#core.liveness.recordOf(session);
    const listed = readArray('workloads', options.workloads).flatMap((entry, index) => {
      const argument = `workloads[${index}]`;
      const { workloadId, kind, toolCallId } = readOptions(
        argument,
        entry as WorkloadSnapshot['workloads'][number],
        LISTED_NAMES,
      );
      const checkedKind = kind === undefined ? null : checkKind(kind);
      const ids = {
        workloadId: checkId(`${argument}.workloadId`, workloadId),
        toolCallId: optionalId(`${argument}.toolCallId`, toolCallId),
      };
      // What is registered already stays what it is, whatever the list calls it.
      const rule = provider.findListed(execution.executionId, ids) ?? workKind(execution, checkedKind ?? 'shell');
      if (rule === null) throw offstageError('workload.not_attested', { kind: checkedKind ?? 'shell' });
      // A job of the engine, by another name (W3).
      if (ids.toolCallId !== null && !isNotDispatched(session, execution.executionId, ids.toolCallId)) return [];
      return [{ ...ids, kind: checkedKind, admits: rule.admits }];
    });
    return this.#told(session, provider.replace(execution.executionId, listed, this.#moment()));
  }

  async dismiss(sessionId: string, workloadId: string): Promise<Changed> {
    await this.#sessions.get(checkId('sessionId', sessionId));
    checkId('workloadId', workloadId);
    const session = this.#core.liveness.find(sessionId);
    if (session?.record?.provider.dismiss(workloadId) !== true) throw offstageError('workload.not_found', { workloadId });
    this.#core.settings.log('info', 'workload.dismissed', { sessionId, workloadId });
    return this.#told(session, true);
  }

  async list(sessionId: string): Promise<readonly WorkloadView[]> {
    await this.#sessions.get(checkId('sessionId', sessionId));
    const record = this.#core.liveness.find(sessionId)?.record;
    if (record == null) return [];
    const { clock, quietAfterMs } = this.#core.settings;
    const now = clock.monotonic();
    const provider = record.providerWorks.map(
      (work): WorkloadView => ({
        sessionId,
        workloadId: work.workloadId,
        kind: work.kind,
        source: 'provider',
        phase: 'live',
        executionId: work.executionId,
        toolCallId: work.toolCallId,
        hosted: false,
        uncertain: work.isUncertain,
        quiet: now - work.lastHeard >= quietAfterMs,
        startedAt: work.startedAt,
      }),
    );
    const jobs = [...record.jobs.own].map((job) => this.#jobView(sessionId, job, false));
    const hosted = [...record.jobs.hosted].map((job) => this.#jobView(sessionId, job, true));
    return [...provider, ...jobs, ...hosted].sort((a, b) => a.startedAt - b.startedAt);
  }

  #jobView(sessionId: string, job: LiveJob, hosted: boolean): WorkloadView {
    const { base } = job;
    return {
      sessionId,
      workloadId: base.jobId,
      kind: this.#core.executors.get(base.kind)?.capabilities.workload ?? 'subagent',
      source: 'engine',
      phase: job.status === 'running' ? 'live' : 'queued',
      executionId: null,
      toolCallId: job.toolCall?.toolCallId ?? null,
      hosted,
      uncertain: false,
      quiet: false,
      startedAt: job.committed?.context.startedAt ?? base.createdAt,
    };
  }

  /** WKV1. */
  #owner(sessionId: string, executionId: string): { readonly session: LiveSession; readonly execution: AgentExecution } {
    this.#core.assertOpen();
    const session = this.#core.liveness.find(checkId('sessionId', sessionId));
    const execution = this.#core.registry.agent(checkId('executionId', executionId));
    if (session === null || execution === undefined || execution.sessionId !== sessionId || execution.phase !== 'current') {
      throw offstageError('execution.not_found', { executionId });
    }
    return { session, execution };
  }

  #told(session: LiveSession, changed: boolean): Changed {
    if (changed) this.#core.liveness.workChanged(session);
    this.#core.liveness.settle();
    return { changed };
  }

  #moment(): Moment {
    const { clock } = this.#core.settings;
    return { at: clock.now(), heardAt: clock.monotonic() };
  }
}

const isOf = (session: LiveSession, executionId: string): boolean => session.agent?.executionId === executionId;

const optionalId = (argument: string, value: unknown): string | null => (value === undefined ? null : checkId(argument, value));

function checkKind(kind: unknown): WorkloadKind {
  if (KINDS.includes(kind as WorkloadKind)) return kind as WorkloadKind;
  throw invalidInput('kind', `it must be one of ${KINDS.join(', ')}`);
}
