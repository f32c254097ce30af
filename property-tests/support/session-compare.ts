/**
 * What there is to see of sessions, tasks, workloads, prompts and tickets when everything has settled, as the engine shows it and as the
 * reference has it.
 */
import { expect } from 'vitest';
import { aggregateActivity } from '../../src/model/activity.ts';
import { isTerminal, type JobView } from '../../src/model/records.ts';
import { activityOf, type ModelAsk, type ModelSession } from './session-facts.ts';
import type { SessionPair } from './session-pair.ts';
import { type AskedPrompt, TASKS, taskOf } from './session-scene.ts';
import { QUIET_AFTER_MS } from './work-model.ts';

interface Record {
  readonly isHeld: boolean;
  readonly execution: ModelSession['execution'];
  readonly epoch: number;
}

export class SessionComparison {
  readonly #pair: SessionPair;
  /** Jobs as they were the last time. */
  #jobs = '';
  #generation = 0;
  readonly #records = new Map<string, Record>();

  constructor(pair: SessionPair) {
    this.#pair = pair;
  }

  async compare(): Promise<void> {
    const { model, scene, witness, cancelled } = this.#pair;
    model.settle();
    const jobs = await this.#pair.jobs();
    this.#giveFacts(jobs);
    for (const session of model.sessions.values()) model.note(session);
    // A job makes the session tell something on its own, when it is accepted and when it starts.
    const facts = JSON.stringify(jobs.map(({ jobId, status }) => [jobId, status]));
    const isTellingKnown = facts === this.#jobs;
    this.#jobs = facts;
    expect(scene.mock.prompts.map(({ content }) => content)).toEqual(model.called.map(({ ask }) => ask.promptId));
    this.#takeGenerations();
    const shown: unknown[] = [scene.starts.map(({ context }) => context.sessionId).length];
    const expected: unknown[] = [model.starts.length];
    for (const session of model.sessions.values()) {
      const told = witness.take(session.id);
      shown.push(await this.#shown(session), isTellingKnown ? told.map(({ value }) => value) : null);
      expected.push(this.#expected(session, jobs), isTellingKnown ? session.published : null);
      session.published = [];
      this.#compareEpochs(session, told);
    }
    for (const taskId of TASKS) {
      const values = [...model.sessions.values()]
        .filter(({ id }) => taskOf(id) === taskId)
        .map((one) => activityOf(one, model.rules));
      const { foregroundActivity, activeSubagentCount } = await scene.engine.offstage.tasks.get(taskId);
      shown.push({ foregroundActivity, activeSubagentCount }, witness.valueOf('tasks', taskId));
      expected.push(aggregateActivity(values), aggregateActivity(values));
    }
    shown.push(
      jobs
        .filter(({ cancelRequestedAt }) => cancelRequestedAt !== null)
        .map(({ jobId }) => jobId)
        .toSorted(),
    );
    expected.push([...cancelled].toSorted());
    for (const asked of this.#latest()) {
      shown.push([asked.promptId, asked.answer, witness.tickets.get(asked.promptId) ?? []]);
      expected.push(answerOf(asked, model.asks));
    }
    shown.push(witness.problems);
    expected.push([]);
    expect(shown).toEqual(expected);
  }

  #giveFacts(jobs: readonly JobView[]): void {
    const { model } = this.#pair;
    for (const session of model.sessions.values()) session.jobs = { present: 0, subagents: 0 };
    for (const job of jobs) {
      if (isTerminal(job.status)) continue;
      const caller = model.at(job.callerSessionId ?? job.sessionId).jobs;
      caller.present += 1;
      if (job.status === 'running' && job.kind !== 'shellish') caller.subagents += 1;
      if (job.callerSessionId !== null) model.at(job.sessionId).jobs.present += 1;
    }
  }

  /** The n-th call of an agent is the n-th call. */
  #takeGenerations(): void {
    const { model, scene } = this.#pair;
    for (const [index, prompt] of model.called.entries()) {
      if (prompt.generation > 0) continue;
      prompt.generation = scene.mock.prompts[index]?.generation ?? 0;
      this.#assertNew(prompt.generation);
    }
  }

  /** Generations only grow. */
  #assertNew(generation: number): void {
    expect(generation).toBeGreaterThan(this.#generation);
    this.#generation = generation;
  }

  async #shown(session: ModelSession): Promise<unknown> {
    const { scene, witness } = this.#pair;
    const { sessions, workloads } = scene.engine.offstage;
    const view = await sessions.get(session.id);
    if (session.own !== null && session.own.generation === 0) {
      session.own.generation = view.turn?.generation ?? 0;
      this.#assertNew(session.own.generation);
    }
    const listed = await workloads.list(session.id);
    const { state, interrupted, executionId, uncertainCount, quietCount, foregroundActivity, activeSubagentCount } = view;
    return {
      ...{ state, interrupted, executionId, uncertainCount, quietCount, foregroundActivity, activeSubagentCount },
      turn: view.turn === null ? null : [view.turn.generation, view.turn.origin],
      told: witness.valueOf('sessions', session.id),
      tickets: (await sessions.tickets(session.id)).map(({ promptId }) => promptId),
      queuedPrompts: view.queuedPrompts,
      works: listed
        .filter(({ source }) => source === 'provider')
        .map((work) => [work.workloadId, work.executionId, work.kind, work.toolCallId, work.uncertain, work.quiet]),
      jobs: listed
        .filter(({ source }) => source === 'engine')
        .map(({ workloadId, kind, phase, hosted }) => `${workloadId} ${kind} ${phase} ${hosted}`)
        .toSorted(),
    };
  }

  #expected(session: ModelSession, jobs: readonly JobView[]): unknown {
    const { scene, model } = this.#pair;
    const { state, isInterrupted, execution, tickets } = session;
    const { works } = session.work;
    const isQuiet = (heardAt: number): boolean => model.now - heardAt >= QUIET_AFTER_MS;
    const value = activityOf(session, model.rules);
    return {
      state,
      interrupted: isInterrupted,
      executionId: execution === null ? null : scene.executionId(execution.id),
      uncertainCount: works.filter((work) => work.isUncertain).length,
      quietCount: works.filter(({ heardAt }) => isQuiet(heardAt)).length,
      ...value,
      turn: turnOf(session),
      told: value,
      tickets: tickets.map(({ ask }) => ask.promptId),
      queuedPrompts: tickets.length,
      works: works.map((work) => [
        work.workloadId,
        scene.executionId(work.execution),
        work.kind,
        work.toolCallId,
        work.isUncertain,
        isQuiet(work.heardAt),
      ]),
      jobs: jobs.flatMap((job) => jobWorks(job, session.id)).toSorted(),
    };
  }

  /** A record lives as long as anything holds it; made anew, it has a later epoch. */
  #compareEpochs(session: ModelSession, told: readonly { readonly epoch: number }[]): void {
    const { isHeld, execution, id } = session;
    const before = this.#records.get(id);
    const epochs = told.map(({ epoch }) => epoch);
    if (before?.isHeld === false && epochs[0] !== undefined) expect(epochs[0]).toBeGreaterThan(before.epoch);
    if (before?.isHeld === true && execution !== null && execution === before.execution)
      expect(epochs).toEqual(epochs.map(() => before.epoch));
    if (!isHeld) session.work.forget();
    this.#records.set(id, { isHeld, execution, epoch: epochs.at(-1) ?? before?.epoch ?? 0 });
  }

  /** Of each promptId the last one asked; an earlier one that was refused counts no more. */
  #latest(): readonly AskedPrompt[] {
    return [...new Map(this.#pair.scene.asked.map((asked) => [asked.promptId, asked])).values()];
  }
}

const turnOf = ({ own, turns, claim }: ModelSession): unknown => {
  if (own !== null) return [own.generation, 'provider'];
  // Whoever is about to take the place of another one has it.
  const speaking = claim ?? turns.findLast(({ hasYielded }) => !hasYielded) ?? null;
  return speaking === null ? null : [speaking.generation, 'prompt'];
};

/** A job is listed where it was asked for, and, as hosted, where it runs, if that is elsewhere. */
const jobWorks = ({ jobId, kind, status, sessionId, callerSessionId }: JobView, at: string): readonly string[] => {
  if (isTerminal(status)) return [];
  const text = `${jobId} ${kind === 'shellish' ? 'shell' : 'subagent'} ${status === 'running' ? 'live' : 'queued'}`;
  return [
    ...((callerSessionId ?? sessionId) === at ? [`${text} false`] : []),
    ...(callerSessionId !== null && sessionId === at ? [`${text} true`] : []),
  ];
};

function answerOf({ promptId, answer }: AskedPrompt, asks: readonly ModelAsk[]): unknown {
  const ask = asks.find((one) => one.promptId === promptId);
  const told = ask?.told ?? [];
  const expected = ask?.answer ?? 'pending';
  if (expected === 'pending') return [promptId, null, told];
  // Its position depends on what was stored when.
  if (expected === 'queued') return [promptId, answer !== null && 'queued' in answer ? answer : 'a ticket', told];
  if ('refused' in expected) return [promptId, expected, told];
  return [promptId, { accepted: true, promptId, generation: expected.accepted.generation }, told];
}
