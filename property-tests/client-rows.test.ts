/** Rows of a client against the server they follow: whatever is dropped, held up, told twice or told late, in the end they are the same. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { eventToWire } from '../src/doors/wire/wire-events.ts';
import { jobFromWire } from '../src/doors/wire/wire-names.ts';
import { isVolatileEvent, type OffstageEvent } from '../src/model/events.ts';
import { isTerminal, type SessionState } from '../src/model/records.ts';
import { type LiveLab, liveLab } from '../test/support/live-client.ts';
import { briefly, epochOfTold, type ModelSocket } from '../test/support/model-server.ts';
import { LIMIT_MS, times } from './support/how-often.ts';

const which = fc.nat(20);
const plain = <Type extends string>(type: Type) => fc.record({ type: fc.constant(type), which });
const step = fc.oneof(
  { weight: 1, arbitrary: plain('task') },
  { weight: 2, arbitrary: plain('session') },
  { weight: 6, arbitrary: plain('spawn') },
  { weight: 12, arbitrary: plain('advance') },
  { weight: 2, arbitrary: plain('progress') },
  { weight: 3, arbitrary: plain('state') },
  { weight: 4, arbitrary: plain('activity') },
  { weight: 1, arbitrary: plain('ticket') },
  { weight: 1, arbitrary: plain('rename') },
  { weight: 2, arbitrary: plain('remove session') },
  { weight: 1, arbitrary: plain('remove task') },
  { weight: 3, arbitrary: plain('drop') },
  { weight: 2, arbitrary: plain('restart') },
  { weight: 2, arbitrary: plain('forget') },
  { weight: 2, arbitrary: plain('fall behind') },
  { weight: 1, arbitrary: plain('down') },
  { weight: 2, arbitrary: plain('up') },
  { weight: 3, arbitrary: plain('hold answers') },
  { weight: 6, arbitrary: plain('answer') },
  { weight: 2, arbitrary: plain('hold frames') },
  { weight: 4, arbitrary: plain('deliver') },
  { weight: 5, arbitrary: plain('again') },
  { weight: 1, arbitrary: plain('late') },
  { weight: 4, arbitrary: plain('fail') },
  {
    weight: 6,
    arbitrary: fc.record({ type: fc.constant('time' as const), which: fc.constantFrom(1, 20, 50, 260, 1_100, 12_000) }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

const STATES: readonly SessionState[] = ['running', 'idle', 'waiting_for_input'];
const TIERS = ['generating', 'background', null] as const;
const ASKED = ['list_jobs', 'list_sessions', 'list_tasks', 'await_jobs', 'get_session', 'get_task', 'subscribe'];

class Scene {
  readonly lab: LiveLab;
  /** What was told to observers. */
  readonly #told = new Map<number, OffstageEvent>();
  readonly #published: OffstageEvent[] = [];
  readonly #log = new Map<number, OffstageEvent>();
  readonly #highest = new Map<string, number>();
  /** Of record events; null before the first one. */
  #lastSeq: number | null = null;
  #isGapSaid = false;
  readonly #wrong: string[] = [];
  #count = 0;

  constructor() {
    this.lab = liveLab({
      prepare: (server) => {
        for (const id of ['t', 'u']) {
          server.addTask(id);
          server.addSession(`${id}s`, id);
          for (const job of ['1', '2', '3']) server.spawn(`${id}${job}`, `${id}s`);
        }
        for (const event of server.log) this.#log.set(event.seq, event);
      },
    });
    const { client, server } = this.lab;
    server.pageRows = 4;
    const tell = server.tell.bind(server);
    server.tell = (told) => {
      const event = tell(told);
      if (!isVolatileEvent(event)) this.#log.set(event.seq, event);
      this.#published.push(event);
      return event;
    };
    client.onEvent((event) => {
      if (isVolatileEvent(event) && event.epoch !== server.shownEpoch) this.#wrong.push(`${event.type} of ${event.epoch}`);
      if (isVolatileEvent(event)) return;
      // Some may be missing, and that is said.
      if (event.type === 'resync') this.#isGapSaid = true;
      if (event.type === 'resync') return;
      const last = this.#lastSeq ?? event.seq - 1;
      const isNext = this.#isGapSaid ? event.seq > last : event.seq === last + 1;
      if (!isNext) this.#wrong.push(`${event.seq} is told after ${last}`);
      this.#lastSeq = event.seq;
      this.#isGapSaid = false;
      this.#told.set(event.seq, event);
    });
  }

  async perform({ type, which: number }: Step): Promise<void> {
    const { server, network, clock, sockets } = this.lab;
    const [task, session, job] = [[...server.tasks.keys()], [...server.sessions.keys()], [...server.jobs.keys()]].map(
      (ids) => ids[number % Math.max(1, ids.length)],
    );
    const socket = sockets.at(-1);
    this.#count += 1;
    const id = `${type[0]}${this.#count}`;
    if (type === 'task') server.addTask(id);
    else if (type === 'session') task !== undefined && server.addSession(id, task);
    else if (type === 'spawn') session !== undefined && server.spawn(id, session);
    else if (type === 'advance') job !== undefined && server.advance(job);
    else if (type === 'progress') job !== undefined && server.progress(job, number);
    else if (type === 'state') session !== undefined && server.setState(session, STATES[number % 3] as SessionState);
    else if (type === 'activity')
      session !== undefined &&
        server.setActivity(session, { foregroundActivity: TIERS[number % 3] ?? null, activeSubagentCount: number });
    else if (type === 'ticket') session !== undefined && server.ticket(session);
    else if (type === 'rename') task !== undefined && server.rename(task, `${number} of ${id}`);
    else if (type === 'remove session') session !== undefined && server.removeSession(session);
    else if (type === 'remove task') task !== undefined && server.removeTask(task);
    else if (type === 'drop') server.dropAll(number % 2 === 0 ? 1006 : 1008);
    else if (type === 'restart') server.restart();
    else if (type === 'forget') server.forgetLog();
    else if (type === 'fall behind') server.fallBehind();
    else if (type === 'down') network.isDown = true;
    else if (type === 'up') network.isDown = false;
    else if (type === 'hold answers') server.holdsAnswers = true;
    else if (type === 'answer') this.#letGo(socket, number);
    else if (type === 'hold frames') this.#holdFrames(true);
    else if (type === 'deliver') number % 4 === 0 ? this.#holdFrames(false) : socket?.deliver(number);
    else if (type === 'again') this.#again(socket, number);
    else if (type === 'late') this.#late(number);
    else if (type === 'fail')
      server.failing.set(ASKED[number % ASKED.length] as string, { error: 'x', error_code: 'limit.rate', retryable: true });
    else await clock.advance(number);
    await clock.settle();
    this.check();
  }

  /** One that is on its way for longer than those after it; sometimes all of them. */
  #letGo(socket: ModelSocket | undefined, number: number): void {
    if (number % 5 === 0) this.lab.server.holdsAnswers = false;
    // An answer may come before events that it knows of, too.
    if (number % 5 > 1) socket?.letGo(number % Math.max(1, socket.answers.length), number % 2 === 0);
    else while ((socket?.answers.length ?? 0) > 0) socket?.letGo(0);
  }

  #holdFrames(isHeld: boolean): void {
    this.lab.network.holdsFrames = isHeld;
    for (const socket of this.lab.sockets) {
      socket.holdsFrames = isHeld;
      if (!isHeld) socket.deliver();
    }
  }

  /** An event that was told before. Of progress nobody could know. */
  #again(socket: ModelSocket | undefined, number: number): void {
    const event = this.#published.at(-1 - (number % 10));
    // What is held up has not been told yet.
    if (event === undefined || event.type === 'job.progress' || (socket?.frames.length ?? 0) > 0) return;
    if (event.seq <= this.lab.client.live.get().connection.seq) socket?.emitLate(eventToWire(event));
  }

  /** From a connection that is gone. */
  #late(number: number): void {
    const gone = this.lab.sockets.filter(({ hasEnded }) => hasEnded);
    const socket = gone[number % Math.max(1, gone.length)];
    for (const frame of socket?.frames.splice(0) ?? []) socket?.emitLate(frame);
  }

  /** What holds at any time. */
  check(): void {
    const { client, server, reported } = this.lab;
    expect(reported).toEqual([]);
    expect(this.#wrong).toEqual([]);
    for (const [seq, event] of this.#told) {
      // From the log, an event has no activity.
      expect(this.#log.get(seq)).toMatchObject(event);
      this.#told.delete(seq);
    }
    const { jobs, sessions, tasks } = client.live.get();
    for (const { sessionId, sessionSeq } of sessions.values()) this.#neverFalls(`session ${sessionId}`, sessionSeq);
    for (const { taskId, taskSeq } of tasks.values()) this.#neverFalls(`task ${taskId}`, taskSeq);
    for (const { jobId, revision, status, progress } of jobs.values()) {
      if (isTerminal(status) && progress !== null) throw new Error(`${jobId} has ended, and still makes progress`);
      const highest = this.#highest.get(jobId) ?? 0;
      if (revision < highest) throw new Error(`${jobId} was at ${highest}, and is ${status} at ${revision}`);
      this.#highest.set(jobId, revision);
      const real = server.jobs.get(jobId);
      if (real !== undefined && real.revision < revision)
        throw new Error(`${jobId} is at ${real.revision}, and not at ${revision}`);
    }
  }

  /** Numbers of tellings begin anew with each process. Until it tells of a row, the one of the process before it stays, and never comes back. */
  #neverFalls(what: string, number: number): void {
    const { shownEpoch } = this.lab.server;
    const key = `${what} of ${shownEpoch}`;
    const highest = this.#highest.get(key) ?? 0;
    const epoch = epochOfTold(number) ?? shownEpoch;
    if (epoch !== shownEpoch && highest === 0) return;
    if (epoch !== shownEpoch) throw new Error(`${key} knew of ${highest}, and is one of ${epoch} again`);
    if (number < highest) throw new Error(`${key} knew of ${highest}, and now only of ${number}`);
    this.#highest.set(key, number);
  }

  async finish(): Promise<void> {
    const { client, server, network, clock } = this.lab;
    network.isDown = false;
    server.holdsAnswers = false;
    server.failing.clear();
    this.#holdFrames(false);
    for (const socket of this.lab.sockets) while (socket.answers.length > 0) socket.letGo(0);
    // Long enough for the longest pause, and too short for silence to count.
    await clock.advance(20_000);
    this.check();
    const { tasks, sessions, jobs, isComplete, connection, counts } = client.live.get();
    expect(new Map(tasks)).toEqual(server.tasks);
    expect(new Map(sessions)).toEqual(server.sessions);
    const rows = [...server.jobs.values()].map((job) => [job.jobId, jobFromWire(briefly(job))] as const);
    expect(new Map(jobs)).toEqual(new Map(rows));
    expect({ isComplete, status: connection.status, seq: connection.seq }).toEqual({
      isComplete: true,
      status: 'open',
      seq: server.seq,
    });
    expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(server.jobs.size);
    client.close();
    expect(clock.pending).toBe(0);
  }
}

it(
  'whatever happens on the way, the rows become those of the server, and no job goes back',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 30, maxLength: 160 }), async (steps) => {
        const scene = new Scene();
        for (const one of steps) await scene.perform(one);
        await scene.finish();
      }),
      times(60),
    );
  },
  LIMIT_MS,
);
