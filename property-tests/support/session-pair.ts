/**
 * One scene and its reference: every step is done to both. What the call itself answers is compared here, everything else by `compare`.
 */
import { expect } from 'vitest';
import type { Frame } from '../../src/model/agent.ts';
import { isTerminal, type JobView } from '../../src/model/records.ts';
import { ActivityWitness } from './activity-witness.ts';
import type { ModelPrompt, ModelSession, Rules } from './session-facts.ts';
import { takeFrame } from './session-frames.ts';
import { SessionModel } from './session-model.ts';
import { codeOf, SESSIONS, SessionScene, taskOf } from './session-scene.ts';
import type { Stamp, Step, StepOf } from './session-steps.ts';

export class SessionPair {
  readonly scene: SessionScene;
  readonly model: SessionModel;
  readonly witness = new ActivityWitness();
  /** Jobs that somebody has cancelled, or that an interrupt has to. */
  readonly cancelled = new Set<string>();
  #prompts = 0;

  constructor(rules: Rules) {
    this.scene = new SessionScene(rules);
    this.model = new SessionModel(SESSIONS, rules);
  }

  async open(): Promise<void> {
    await this.scene.open();
    this.scene.engine.offstage.onEvent(this.witness.observe);
  }

  jobs(): Promise<readonly JobView[]> {
    return this.scene.engine.offstage.list({ limit: 1_000 });
  }

  async act(one: Step): Promise<void> {
    switch (one.type) {
      case 'ask':
        return this.#ask(one);
      case 'started':
        return this.#started(one);
      case 'accept':
      case 'return':
        return this.#answer(one);
      case 'returnAll':
        for (const prompt of this.model.called)
          if (prompt.isRpcOpen && this.#sessionOf(prompt) === this.#at(one.session)) this.#return(prompt, true);
        return;
      case 'frame':
        return this.#frame(one);
      case 'gone':
        this.scene.gone(this.#at(one.session).id, one.isCrash);
        this.model.gone(this.#at(one.session));
        return;
      case 'interrupt':
        return this.#interrupt(one);
      case 'advance':
        await this.scene.clock.advance(one.ms);
        this.model.advance(one.ms);
        return;
      case 'cancelTicket':
        return this.#cancelTicket(one);
      case 'dismiss':
        return this.#dismiss(one);
      case 'register':
      case 'complete':
      case 'snapshot':
        return this.#tell(one);
      case 'spawn':
        return this.#spawn(one);
      case 'settle':
        this.scene.settleJob(one.which, one.isWell);
        return;
      case 'cancel':
        return this.#cancel(one);
      case 'stop':
        return this.#stop(one);
    }
  }

  #at(index: number): ModelSession {
    return this.model.at(SESSIONS[index] as string);
  }

  #sessionOf(prompt: ModelPrompt): ModelSession {
    const found = [...this.model.sessions.values()].find(({ prompts }) => prompts.includes(prompt));
    if (found === undefined) throw new Error('a prompt of no session');
    return found;
  }

  #ask({ session, origins, whenBusy, again, startsAs, acceptsAtOnce }: StepOf<'ask'>): void {
    const { model, scene } = this;
    const of = this.#at(session);
    const earlier = model.asks.filter(({ promptId }) => promptId.startsWith(of.id));
    const repeated = again === null ? undefined : earlier[again % Math.max(1, earlier.length)];
    of.startsAs = startsAs;
    of.acceptsAtOnce = acceptsAtOnce;
    scene.startsAs.set(of.id, startsAs);
    scene.acceptsAtOnce.set(of.id, acceptsAtOnce);
    for (const [index, origin] of origins.entries()) {
      const given =
        repeated !== undefined && index === 0
          ? { promptId: repeated.promptId, origin: repeated.origin, whenBusy: repeated.whenBusy }
          : { promptId: `${of.id}${this.#prompts++}`, origin, whenBusy };
      void scene.ask(of.id, given);
      model.ask(of, given);
    }
  }

  #started({ session, isWell }: StepOf<'started'>): void {
    const of = this.#at(session);
    if (of.start === null) return;
    this.scene.starts[this.model.starts.indexOf(of.start.execution)]?.decide(isWell);
    this.model.started(of, isWell);
  }

  #answer(one: StepOf<'accept'> | StepOf<'return'>): void {
    const { model, scene } = this;
    // Those that nobody has answered, most of the time.
    const open = model.called.filter(({ isRpcOpen }) => isRpcOpen);
    const among = open.length > 0 && one.which < 25 ? open : model.called;
    const prompt = among[one.which % Math.max(1, among.length)];
    if (prompt === undefined) return;
    if (one.type === 'return') {
      this.#return(prompt, one.isWell);
      return;
    }
    scene.mock.prompts[model.called.indexOf(prompt)]?.accept();
    const of = this.#sessionOf(prompt);
    if (prompt.execution === of.execution) model.accept(of, prompt);
  }

  #return(prompt: ModelPrompt, isWell: boolean): void {
    const real = this.scene.mock.prompts[this.model.called.indexOf(prompt)];
    if (isWell) real?.end();
    else real?.fail(new Error('it broke'));
    this.model.returned(this.#sessionOf(prompt), prompt, isWell);
  }

  #frame({ session, stamp, said }: StepOf<'frame'>): void {
    const of = this.#at(session);
    const frame = { ...said, generation: this.#generation(of, stamp) } as Frame;
    if (this.scene.newestAgent(of.id)?.emit(frame) === true) takeFrame(this.model, of, frame);
  }

  #generation(of: ModelSession, stamp: Stamp): number {
    const seen = of.prompts.filter(({ generation }) => generation > 0);
    const open = seen.findLast(({ phase }) => phase !== 'over');
    if (stamp === 'right') return (of.own ?? open ?? seen.at(-1))?.generation ?? 0;
    if (stamp === 'stale') return seen.findLast(({ phase }) => phase === 'over')?.generation ?? 0;
    if (stamp === 'foreign') return this.model.called.findLast((prompt) => !of.prompts.includes(prompt))?.generation ?? 0;
    return stamp === 'future' ? 1_000_000 : 0;
  }

  async #interrupt({ session, isHeeded }: StepOf<'interrupt'>): Promise<void> {
    const of = this.#at(session);
    const jobs = await this.jobs();
    const changed = this.model.interrupt(of, isHeeded);
    // The jobs that the turn waits for go with it.
    for (const job of changed ? jobs : []) {
      const isAwaited = job.wait && !isTerminal(job.status) && (job.callerSessionId ?? job.sessionId) === of.id;
      if (isAwaited) this.cancelled.add(job.jobId);
    }
    expect(await this.scene.interrupt(of.id, isHeeded)).toBe(changed);
  }

  async #cancelTicket({ which }: StepOf<'cancelTicket'>): Promise<void> {
    const all = [...this.model.sessions.values()].flatMap((of) => of.tickets.map(({ ask }) => ({ of, ask })));
    const one = all[which % Math.max(1, all.length)];
    if (one === undefined) return;
    const { sessions } = this.scene.engine.offstage;
    const tickets = await sessions.tickets(one.of.id);
    const ticketId = tickets.find(({ promptId }) => promptId === one.ask.promptId)?.ticketId ?? 'missing';
    expect(await sessions.cancelTicket(ticketId)).toEqual({ changed: true });
    expect(await sessions.cancelTicket(ticketId).catch(codeOf)).toBe('ticket.not_found');
    this.model.cancelTicket(one.of, one.ask);
  }

  async #dismiss({ session, workloadId }: StepOf<'dismiss'>): Promise<void> {
    const of = this.#at(session);
    const answer = await this.scene.engine.offstage.workloads.dismiss(of.id, workloadId).then(({ changed }) => changed, codeOf);
    expect(answer).toBe(of.work.dismiss(workloadId) ? true : 'workload.not_found');
    this.model.settled(of);
  }

  /** What the host itself says of background work. */
  async #tell(one: StepOf<'register'> | StepOf<'complete'> | StepOf<'snapshot'>): Promise<void> {
    const { model } = this;
    const { workloads } = this.scene.engine.offstage;
    const of = this.#at(one.session);
    const { work, id: sessionId } = of;
    const owner = this.#execution(of, one.whose);
    const executionId = this.scene.executionId(owner);
    const isLive = of.execution?.id === owner;
    const answered = (answer: Promise<{ readonly changed: boolean }>) => answer.then(({ changed }) => changed, codeOf);
    if (one.type === 'register') {
      const { entry } = one;
      const answer = await answered(workloads.register({ sessionId, executionId, ...entry }));
      if (!isLive) expect(answer).toBe('execution.not_found');
      else if (work.ruleOf(entry.kind) === null) expect(answer).toBe('workload.not_attested');
      else expect(answer).toBe(work.register(owner, entry, model.now));
    } else if (one.type === 'complete') {
      const answer = await answered(workloads.complete({ sessionId, executionId, ...one.completion }));
      expect(answer).toBe(isLive && work.complete({ execution: owner, ...one.completion }));
    } else {
      const { listed } = one;
      const answer = await answered(workloads.snapshot({ sessionId, executionId, workloads: listed }));
      if (!isLive) expect(answer).toBe('execution.not_found');
      else if (!listed.every((entry) => work.isVouchedFor(owner, entry))) expect(answer).toBe('workload.not_attested');
      else expect(answer).toBe(work.snapshot(owner, listed, model.now));
    }
    model.settled(of);
  }

  #execution(of: ModelSession, whose: StepOf<'register'>['whose']): string {
    if (whose === 'current') return of.execution?.id ?? 'nobody';
    const others = this.model.starts.filter((execution) => execution !== of.execution && execution !== of.start?.execution);
    return others.at(-1)?.id ?? 'nobody';
  }

  async #spawn({ session, caller, kind, wait, toolCallId }: StepOf<'spawn'>): Promise<void> {
    const host = this.#at(session);
    const asks = caller === null ? host : this.#at(caller);
    const execution = asks.execution ?? asks.start?.execution ?? null;
    const call = toolCallId === null ? {} : { toolCallId };
    const answer = await this.scene.spawn({ kind, sessionId: host.id, callerSessionId: asks.id, wait, ...call });
    if (taskOf(host.id) !== taskOf(asks.id)) {
      expect(answer).toBe('job.cross_task');
      return;
    }
    expect(answer).toMatch(/^job_/);
    if (execution !== null && toolCallId !== null) asks.work.dispatched(execution.id, toolCallId);
    this.model.settled(asks);
  }

  async #stop({ session, isWhole, isForced }: StepOf<'stop'>): Promise<void> {
    const { sessions, tasks } = this.scene.engine.offstage;
    const { id } = this.#at(session);
    const scope = isWhole ? SESSIONS.filter((other) => taskOf(other) === taskOf(id)) : [id];
    const all = scope.map((sessionId) => this.model.at(sessionId));
    const jobs = (await this.jobs()).filter(({ status }) => !isTerminal(status));
    const isOfScope = ({ sessionId, callerSessionId }: JobView): boolean =>
      scope.includes(sessionId) || (callerSessionId !== null && scope.includes(callerSessionId));
    for (const job of jobs) if (isOfScope(job)) this.cancelled.add(job.jobId);
    const live = all.filter(
      (of) => of.isLive || jobs.some(({ sessionId, callerSessionId }) => [sessionId, callerSessionId].includes(of.id)),
    );
    const ended = all.flatMap(({ execution, start }) => execution ?? start?.execution ?? []);
    const absent = all.filter((of) => !live.includes(of) && ['created', 'waiting_for_input'].includes(of.state));
    for (const of of live) this.model.stop(of, isWhole ? 'task.stopping' : 'session.stopped', isForced);
    const stopping = isWhole ? tasks.stop(taskOf(id), { force: isForced }) : sessions.stop(id, { force: isForced });
    const answer = await stopping.catch(codeOf);
    if (typeof answer === 'string' || live.length === 0) {
      expect([answer, live.length]).toEqual(['stop.nothing_running', 0]);
      return;
    }
    const agents = answer.stopped.flatMap(({ executionId, jobId }) => (jobId === undefined ? (executionId ?? []) : []));
    expect(agents.toSorted()).toEqual(ended.map((execution) => this.scene.executionId(execution.id)).toSorted());
    expect(answer.absent.map(({ sessionId }) => sessionId)).toEqual(absent.map((of) => of.id));
  }

  async #cancel({ which }: StepOf<'cancel'>): Promise<void> {
    const { jobs, engine } = this.scene;
    const jobId = jobs[which % Math.max(1, jobs.length)]?.jobId;
    if (jobId === undefined) return;
    if (!isTerminal((await engine.offstage.get(jobId)).status)) this.cancelled.add(jobId);
    await engine.offstage.cancel(jobId);
  }
}
