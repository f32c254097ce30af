/** People who ask, start, interrupt, cancel and stop, all at once, in a scene of two tasks (`stop-scene.ts`). */
import fc from 'fast-check';
import { codeOf } from './session-scene.ts';
import { KINDS } from './stop-bodies.ts';
import { checkStop } from './stop-checks.ts';
import { CANCEL_GRACE_MS, OTHER, STOPPED, type StopScene } from './stop-scene.ts';

const session = fc.nat(5);
const which = fc.nat(20);

const wish = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      wish: fc.constant('ask' as const),
      session,
      origin: fc.constantFrom('human' as const, 'human' as const, 'synthetic' as const),
      whenBusy: fc.constantFrom('reject' as const, 'queue' as const),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      wish: fc.constant('spawn' as const),
      host: session,
      caller: fc.option(session, { freq: 2 }),
      kind: fc.constantFrom(...KINDS),
      wait: fc.boolean(),
      isNamed: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ wish: fc.constant('release' as const), which }) },
  { weight: 2, arbitrary: fc.record({ wish: fc.constant('leave' as const), which }) },
  { weight: 1, arbitrary: fc.record({ wish: fc.constant('interrupt' as const), session }) },
  { weight: 1, arbitrary: fc.record({ wish: fc.constant('cancel' as const), which }) },
  {
    weight: 1,
    arbitrary: fc.record({ wish: fc.constant('pass' as const), ms: fc.constantFrom(500, 1_500, CANCEL_GRACE_MS + 1) }),
  },
);
type Wish = typeof wish extends fc.Arbitrary<infer One> ? One : never;
const wishes = fc.array(wish, { maxLength: 8, size: 'max' });
export const people = fc.record({
  before: fc.array(wishes, { minLength: 1, maxLength: 3 }),
  /** What somebody wants as soon as the first stop has decided, and nobody has been told yet. */
  amidst: fc.array(wish, { maxLength: 6, size: 'max' }),
});
type People = typeof people extends fc.Arbitrary<infer One> ? One : never;

const stop = fc.record({
  /** Null: the whole task. */
  session: fc.option(fc.nat(3), { freq: 3 }),
  isForced: fc.constantFrom(false, false, true),
  /** Steps that it waits before it is asked for. */
  after: fc.nat(30),
  /** What somebody wants in the same tick, and just before. */
  justBefore: fc.array(wish, { maxLength: 2 }),
});
type Stop = typeof stop extends fc.Arbitrary<infer One> ? One : never;
export const stops = fc.array(stop, { minLength: 1, maxLength: 2 });

export class StopCrowd {
  readonly #scene: StopScene;

  constructor(scene: StopScene) {
    this.#scene = scene;
  }

  /** Resolves when everybody has had his say; what comes of it is another matter. */
  async act({ before, amidst }: People, stoppers: readonly Stop[]): Promise<void> {
    const { ledger } = this.#scene;
    ledger.onDecided = () => void this.#person(amidst);
    await Promise.all([...before.map((all) => this.#person(all)), ...stoppers.map((one) => this.#stopper(one))]);
  }

  async #person(wishes: readonly Wish[]): Promise<void> {
    for (const one of wishes) {
      await this.#scene.ticks.hop('a person');
      this.#act(one);
    }
  }

  async #stopper({ session: index, isForced, after, justBefore }: Stop): Promise<void> {
    const { ticks, ledger, sessionIds } = this.#scene;
    for (let step = 0; step < after; step++) await ticks.hop('a stopper waits');
    for (const one of justBefore) this.#act(one);
    const own = sessionIds.filter((sessionId) => ledger.taskOf(sessionId) === STOPPED);
    const note = ledger.stopped(STOPPED, index === null ? null : (own[index % own.length] ?? null), isForced);
    void checkStop(ledger, note, this.#scene.stop(note, isForced));
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
