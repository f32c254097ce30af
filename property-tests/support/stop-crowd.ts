/** People who ask, start, interrupt, cancel and stop, all at once, in a scene of two tasks (`stop-scene.ts`). */
import { codeOf } from './session-scene.ts';
import { checkStop } from './stop-checks.ts';
import { OTHER, STOPPED, type StopScene } from './stop-scene.ts';
import type { Around, People, Stop, Wish } from './stop-wishes.ts';

export class StopCrowd {
  readonly #scene: StopScene;

  constructor(scene: StopScene) {
    this.#scene = scene;
  }

  /** Resolves when everybody has had his say; what comes of it is another matter. */
  async act({ before, amidst }: People, stoppers: readonly Stop[]): Promise<void> {
    this.#scene.ledger.onDecided = () => {
      this.#scene.readOn.give();
      void this.#person(amidst);
    };
    await Promise.all([...before.map((all) => this.#person(all)), ...stoppers.map((one) => this.#stopper(one))]);
  }

  async #person(wishes: readonly Wish[]): Promise<void> {
    for (const one of wishes) {
      await this.#scene.ticks.hop('a person');
      this.#act(one);
    }
  }

  async #stopper({ session: index, isForced, after, justBefore, lastMinute }: Stop): Promise<void> {
    for (let step = 0; step < after; step++) await this.#scene.ticks.hop('a stopper waits');
    for (const one of justBefore.before) this.#act(one);
    const atOnce = [...justBefore.after, ...lastMinute.after];
    this.#stop(index, isForced, { before: lastMinute.before, after: atOnce });
  }

  #stop(index: number | null, isForced: boolean, { before, after }: Around): void {
    const scene = this.#scene;
    const { ledger } = scene;
    const own = scene.sessionIds.filter((sessionId) => ledger.taskOf(sessionId) === STOPPED);
    const note = ledger.stopped(STOPPED, index === null ? null : (own[index % own.length] ?? null), isForced);
    note.onRead = () => {
      for (const one of before) this.#act(one);
    };
    note.onDecided = () => void this.#person(after);
    void checkStop(ledger, note, scene.stop(note, isForced));
  }

  #act(one: Wish): void {
    const scene = this.#scene;
    const { ledger, engine, agents, bodies } = scene;
    const { offstage } = engine;
    if (one.wish === 'ask') scene.ask(scene.sessionAt(one.session), one.origin, one.whenBusy);
    else if (one.wish === 'spawn') {
      const { kind, host, caller, wait, isNamed } = one;
      const callerId = caller === null ? null : scene.sessionAt(caller);
      scene.spawn({ kind, host: scene.sessionAt(host), caller: callerId, wait, isNamed });
    } else if (one.wish === 'release') bodies.release(one.which);
    else if (one.wish === 'leave') agents.leave(one.which);
    else if (one.wish === 'unload') agents.unload(scene.sessionAt(one.session));
    else if (one.wish === 'stop') this.#stop(one.session, one.isForced, { before: [], after: [] });
    else if (one.wish === 'interrupt') {
      const sessionId = scene.sessionAt(one.session);
      ledger.interrupts.push({ sessionId, at: ledger.now });
      offstage.sessions.interrupt(sessionId).catch(codeOf);
    } else if (one.wish === 'cancel') {
      const known = ledger.jobs.filter(({ jobId }) => jobId !== null);
      const note = known[one.which % Math.max(1, known.length)];
      if (note?.jobId == null) return;
      note.cancelledAt ??= ledger.now;
      offstage.cancel(note.jobId).catch(codeOf);
    } else void scene.pass(one.ms);
  }

  /** Everything that can still happen happens. */
  async settle(): Promise<void> {
    const { ticks, agents, ledger } = this.#scene;
    const waiting = (): number => ledger.prompts.filter(({ answer, told }) => answer === null || told.length === 1).length;
    for (let round = 0; round < 4 || waiting() > 0; round++) {
      if (round === 40) return;
      agents.answerAll();
      await ticks.pump(this.#scene.pass(60_001));
      await ticks.drain();
    }
  }

  /** What is asked for after every stop is normal, also in the task that was stopped. */
  async probe(): Promise<void> {
    const { engine, ledger, ticks, bodies } = this.#scene;
    const { sessions } = engine.offstage;
    for (const taskId of [STOPPED, OTHER]) {
      const sessionId = `${taskId}9`;
      await ticks.pump(sessions.create({ sessionId, taskId }));
      this.#scene.agents.plan(sessionId, { start: 'at once', turn: ['accept'], close: 'at once' });
      this.#scene.ask(sessionId, 'human', 'reject');
      this.#scene.spawn({ kind: 'gate', host: sessionId, caller: null, wait: false, isNamed: false });
      const [prompt, job] = [ledger.prompts.at(-1), ledger.jobs.at(-1)];
      await ticks.drain();
      if (prompt?.answer !== 'accepted')
        ledger.problems.push(`afterwards a prompt in ${taskId} is ${JSON.stringify(prompt?.answer)}`);
      if (job !== undefined) bodies.releaseJob(job);
      await ticks.drain();
      const told = job === undefined ? null : ledger.toldOf(job);
      if (told?.reasonCode !== 'completed')
        ledger.problems.push(`afterwards a job in ${taskId} has not ended: ${JSON.stringify(told)}, ${job?.refused}`);
    }
  }
}
