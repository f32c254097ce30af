/**
 * H10: what a frame of an agent costs beside many sessions, and what a session weighs.
 *
 * SEW1  Frames go round: one to every session, then the next one to every session. Nothing is ever near in a cache.
 * SEW2  Every frame is counted by what it must have caused: tellings by their number, sessions by what they show in the end.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';

const FRAMES_PER_TURN = 500;
const WARM_UP = 100_000;
const ATTESTS = { workloads: ['subagent', 'shell', 'monitor'], yield: true, handoff: true, snapshot: false };

/** What an agent says in one round of its life; `n` makes the ids new. Six of the twenty frames change what the session shows. */
export const CYCLE = [
  (generation) => ({ type: 'output', generation, text: 'thinking' }),
  (generation, n) => ({ type: 'tool.call', generation, toolCallId: `t${n}`, status: 'running', title: 'read' }),
  (generation, n) => ({ type: 'tool.update', generation, toolCallId: `t${n}`, status: 'running' }),
  (generation, n) => ({ type: 'tool.update', generation, toolCallId: `t${n}`, status: 'running' }),
  (generation) => ({ type: 'output', generation, text: 'a line' }),
  (generation) => ({ type: 'output', generation, text: 'a line' }),
  (generation, n) => ({ type: 'tool.update', generation, toolCallId: `t${n}`, status: 'completed', hasOutput: true }),
  (generation, n) => ({ type: 'workload.started', generation, kind: 'subagent', workloadId: `w${n}`, toolCallId: `l${n}` }),
  (generation) => ({ type: 'output', generation, text: 'a line' }),
  (generation) => ({ type: 'foreground.idle', generation }),
  (generation) => ({ type: 'output', generation, text: 'a line' }),
  (generation) => ({ type: 'output', generation, text: 'a line' }),
  (generation, n) => ({ type: 'tool.update', generation, toolCallId: `c${n}`, parentToolCallId: `l${n}`, status: 'running' }),
  (generation) => ({ type: 'foreground.idle', generation }),
  (generation, n) => ({ type: 'workload.ended', generation, workloadId: `w${n}` }),
  (generation) => ({ type: 'output', generation, text: 'a line' }),
  (generation, n) => ({
    type: 'tool.call',
    generation,
    toolCallId: `m${n}`,
    status: 'running',
    work: { kind: 'shell', isDetached: true, workloadId: `s${n}` },
  }),
  (generation, n) => ({ type: 'tool.update', generation, toolCallId: `m${n}`, status: 'completed' }),
  (generation, n) => ({ type: 'workload.ended', generation, workloadId: `s${n}` }),
  (generation) => ({ type: 'output', generation, text: 'a line' }),
];
/** Steps of the cycle after which a session shows something else. */
const TELLING = new Set([7, 9, 10, 13, 14, 15]);

/** The least an agent can be: a queue of frames with one reader. */
class BenchAgent {
  attests = ATTESTS;
  generation = 0;
  said = 0;
  #waiting = [];
  #reader = null;
  #isOver = false;
  #endTurn = null;

  get frames() {
    return { [Symbol.asyncIterator]: () => this };
  }

  next() {
    const value = this.#waiting.shift();
    if (value !== undefined) return Promise.resolve({ done: false, value });
    if (this.#isOver) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve) => {
      this.#reader = resolve;
    });
  }

  emit(frame) {
    const reader = this.#reader;
    if (reader === null) this.#waiting.push(frame);
    else {
      this.#reader = null;
      reader({ done: false, value: frame });
    }
  }

  /** The next frame of its cycle. */
  speak() {
    const step = this.said % CYCLE.length;
    this.emit(CYCLE[step](this.generation, (this.said - step) / CYCLE.length));
    this.said += 1;
  }

  prompt(_, { generation }) {
    this.generation = generation;
    this.emit({ type: 'prompt.accepted', generation });
    return new Promise((resolve) => {
      this.#endTurn = resolve;
    });
  }

  endTurn() {
    this.#endTurn?.({ stopReason: 'end_turn' });
  }

  close() {
    this.#isOver = true;
    this.#reader?.({ done: true, value: undefined });
  }
}

/** An engine with so many sessions whose turn is open, spread over tasks. */
async function openSessions(subject, { sessions, perTask, dataDir }) {
  const agents = [];
  const factory = () => {
    const agent = new BenchAgent();
    agent.emit({ type: 'capability', generation: 0, handoff: true, snapshot: false });
    agents.push(agent);
    return agent;
  };
  const engine = await subject.openEngine({ dataDir, agents: { default: factory } });
  const tasks = await inGroups(Math.ceil(sessions / perTask), () => engine.tasks.create());
  const made = await inGroups(sessions, (index) => engine.sessions.create({ taskId: tasks[Math.floor(index / perTask)].taskId }));
  return { engine, ids: made.map(({ sessionId }) => sessionId), agents };
}

const promptAll = ({ engine, ids }) => inGroups(ids.length, (index) => engine.sessions.prompt(ids[index], { content: 'go on' }));

/** A hundred at a time. */
async function inGroups(count, make) {
  const made = [];
  while (made.length < count) {
    const group = Array.from({ length: Math.min(100, count - made.length) }, (_, index) => make(made.length + index));
    made.push(...(await Promise.all(group)));
  }
  return made;
}

/** Every agent finishes its cycle, and begins the next one where no neighbour is: from then on any stretch of frames is the same mix. */
async function spread({ agents }) {
  for (const [index, agent] of agents.entries()) {
    do agent.speak();
    while (agent.said % CYCLE.length !== index % CYCLE.length);
    if (index % 100 === 0) await nextTurn();
  }
  await nextTurn();
}

/** So many frames, one to each session in turn. @returns microseconds of CPU per frame */
async function speak(crowd, frames) {
  const cpu = process.cpuUsage();
  for (let said = 0; said < frames; ) {
    for (let index = 0; index < FRAMES_PER_TURN && said < frames; index += 1, said += 1) {
      const agent = crowd.agents[crowd.next];
      if (TELLING.has(agent.said % CYCLE.length)) crowd.expected += 1;
      agent.speak();
      crowd.next = (crowd.next + 1) % crowd.agents.length;
    }
    await nextTurn();
  }
  const { user, system } = process.cpuUsage(cpu);
  return (user + system) / frames;
}

async function check({ engine, ids, agents, isObserved, told, expected }) {
  if (isObserved && told.count !== expected) throw new Error(`${told.count} tellings, expected ${expected}`);
  for (const agent of agents) while (agent.said % CYCLE.length !== 0) agent.speak();
  await nextTurn();
  for (const sessionId of ids.filter((_, index) => index % 97 === 0)) {
    const { foregroundActivity, activeSubagentCount } = await engine.sessions.get(sessionId);
    if (foregroundActivity !== 'generating' || activeSubagentCount !== 0)
      throw new Error(`${sessionId} is ${foregroundActivity}`);
  }
}

/**
 * Few and many sessions in one process, in turns of one tenth each, so that both have the same machine.
 * @returns microseconds of CPU per frame: of few, of many, of the first and of the last tenth of many
 */
export async function frameCost(subject, { few, many, perTask, frames, isObserved, dataDir }) {
  const crowds = [];
  for (const sessions of [few, many]) {
    const crowd = await openSessions(subject, { sessions, perTask, dataDir: `${dataDir}-${sessions}` });
    const told = { count: 0 };
    if (isObserved)
      crowd.engine.onEvent((event) => {
        if (event.type === 'session.activity_changed') told.count += 1;
      });
    await promptAll(crowd);
    await spread(crowd);
    crowds.push({ ...crowd, next: 0, expected: 0, isObserved, told });
  }
  // Until everything is compiled.
  for (const crowd of crowds) await speak(crowd, WARM_UP);
  const tenths = crowds.map(() => []);
  for (const { told } of crowds) told.count = 0;
  for (const crowd of crowds) crowd.expected = 0;
  for (let tenth = 0; tenth < 10; tenth += 1)
    for (const [index, crowd] of crowds.entries()) tenths[index].push(await speak(crowd, frames / 10));
  for (const crowd of crowds) await check(crowd);
  for (const { engine } of crowds) await engine.close();
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  return {
    fewUs: mean(tenths[0]),
    manyUs: mean(tenths[1]),
    growth: mean(tenths[1]) / mean(tenths[0]),
    drift: tenths[1].at(-1) / tenths[1][0],
  };
}

async function heapUsed() {
  for (let pass = 0; pass < 4; pass += 1) {
    await nextTurn();
    globalThis.gc();
  }
  return process.memoryUsage().heapUsed;
}

/** Bytes of heap per session (needs `--expose-gc`): merely made, with an idle agent, in a turn, in a turn with a subagent; agents taken off. */
export async function sessionMemory(subject, { sessions, perTask, dataDir }) {
  const warm = await openSessions(subject, { sessions: 500, perTask, dataDir: `${dataDir}-warm` });
  await promptAll(warm);
  for (const agent of warm.agents) agent.endTurn();
  await warm.engine.close();
  const alone = [];
  const empty = await heapUsed();
  for (let index = 0; index < sessions; index += 1) {
    const agent = new BenchAgent();
    void agent.next();
    void agent.prompt(null, { generation: index }).catch(() => {});
    void agent.next();
    alone.push(agent);
  }
  const agentBytes = ((await heapUsed()) - empty) / sessions;
  alone.length = 0;
  const before = await heapUsed();
  const crowd = await openSessions(subject, { sessions, perTask, dataDir });
  const made = await heapUsed();
  await promptAll(crowd);
  const running = await heapUsed();
  for (const agent of crowd.agents)
    agent.emit({ type: 'workload.started', generation: agent.generation, kind: 'subagent', workloadId: 'w', toolCallId: 'l' });
  const working = await heapUsed();
  for (const agent of crowd.agents) agent.emit({ type: 'workload.ended', generation: agent.generation, workloadId: 'w' });
  for (const agent of crowd.agents) agent.endTurn();
  for (let turn = 0; turn < 500; turn += 1) await nextTurn();
  const idle = await heapUsed();
  await crowd.engine.close();
  const per = (bytes) => bytes / sessions;
  return {
    agentBytes,
    madeBytes: per(made - before),
    idleBytes: per(idle - before) - agentBytes,
    runningBytes: per(running - before) - agentBytes,
    workingBytes: per(working - before) - agentBytes,
  };
}
