/** SAG1, SAG2, PRV1, PRV2, PCH1, PFR1, PSN1, PSN2: the agents of simulations keep the contract of their port, and people and agents do everything. */
import { beforeAll, describe, expect, it } from 'vitest';
import type { Agent, AgentFactory, Agents } from '../../../src/model/agent.ts';
import { AGENT_NAMES, simulatedAgents } from '../../../src/testing/simulation/agents.ts';
import type { Fact, FactOf, FactType } from '../../../src/testing/simulation/facts.ts';
import { planBy } from '../../../src/testing/simulation/provider-plan.ts';
import { random } from '../../../src/testing/simulation/random.ts';
import { sessionActions } from '../../../src/testing/simulation/session-actions.ts';
import { LET_GO, type SmallLife, smallLife, smallWorld } from './small-world.ts';

const HOUR_MS = 3_600_000;

const seedsUpTo = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index + 1);

const only = <Type extends FactType>(facts: readonly Fact[], type: Type): readonly FactOf<Type>[] =>
  facts.filter((fact): fact is Fact & FactOf<Type> => fact.type === type);

function startOf(agents: Agents, name: string): AgentFactory {
  const entry = agents[name] as Agents[string];
  return typeof entry === 'function' ? entry : entry.start;
}

/** Whatever it came to. */
const settled = (act: () => unknown): Promise<unknown> =>
  Promise.resolve()
    .then(act)
    .then(
      () => 'settled',
      () => 'settled',
    );

async function readAll(agent: Agent): Promise<void> {
  try {
    for await (const _ of agent.frames);
  } catch {
    // A crash; it may be anything.
  }
}

/** One agent without an engine: started, asked five things, of which some are interrupted, and closed. Answers what is still to settle. */
async function conversation(small: SmallLife, agents: Agents, name: string): Promise<Promise<unknown>[]> {
  const { life, clock } = small;
  const chance = random(life.seed, 'conversation', name);
  const starting = new AbortController();
  const open: Promise<unknown>[] = [];
  const context = {
    agentId: name,
    sessionId: `session of ${name}`,
    taskId: 'task',
    jobId: null,
    contextMode: null,
    conversationId: null,
    signal: starting.signal,
    execution: { executionId: `execution of ${name}` } as never,
  };
  const started = Promise.resolve()
    .then(() => startOf(agents, name)(context))
    .catch(() => null);
  open.push(settled(() => started));
  await clock.advance(5 * HOUR_MS);
  const agent = await Promise.race([started, clock.settle().then(() => null)]);
  if (typeof agent?.prompt !== 'function' || agent.frames === undefined) {
    starting.abort(new Error('not wanted any more'));
    return open;
  }
  open.push(settled(() => readAll(agent)));
  for (let generation = 1; generation <= 5; generation++) {
    const content = chance.chance(0.8) ? planBy(chance, `${name}.${generation}`) : 'words';
    const turn = new AbortController();
    open.push(settled(() => agent.prompt(content, { generation, origin: 'human', signal: turn.signal })));
    await clock.advance(chance.pick([0, 1_000, HOUR_MS]));
    if (chance.chance(0.3)) {
      turn.abort(new Error('interrupted'));
      open.push(settled(() => agent.cancel?.(generation)));
    }
    if (chance.chance(0.2)) open.push(settled(() => agent.answer?.('q1', 'yes')));
  }
  starting.abort(new Error('the end'));
  open.push(settled(() => agent.close()));
  return open;
}

describe('without an engine', () => {
  it('PRV2: whatever hangs ends when everything is let go, and every prompt settles exactly once', async () => {
    let hung = 0;
    for (const seed of seedsUpTo(60)) {
      const small = smallLife(seed);
      const agents = simulatedAgents(small.life);
      const open: Promise<unknown>[] = [];
      for (const name of AGENT_NAMES) open.push(...(await conversation(small, agents, name)));
      await small.clock.advance(5 * HOUR_MS);
      hung += (await Promise.all(open.map((one) => Promise.race([one, Promise.resolve('hangs')])))).filter(
        (how) => how === 'hangs',
      ).length;
      small.letGo();
      await small.clock.advance(5 * HOUR_MS);
      // The frames of one that was never closed well are not at their end; but nothing comes any more.
      const said = only(small.facts, 'agent.said').length;
      await small.clock.advance(5 * HOUR_MS);
      expect(only(small.facts, 'agent.said')).toHaveLength(said);
      const over = only(small.facts, 'agent.prompt-over').map(({ agent, generation }) => `${agent}/${generation}`);
      expect(over.toSorted()).toEqual(
        only(small.facts, 'agent.prompted')
          .map(({ agent, generation }) => `${agent}/${generation}`)
          .toSorted(),
      );
      expect(new Set(over).size).toBe(over.length);
      const starts = [...only(small.facts, 'agent.started'), ...only(small.facts, 'agent.not-started')];
      expect(starts.map(({ agent }) => agent).toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5]);
    }
    expect(hung).toBeGreaterThan(20);
  });

  it('PRV2: after that nothing begins to hang', async () => {
    for (const seed of seedsUpTo(40)) {
      const small = smallLife(seed);
      const agents = simulatedAgents(small.life);
      small.letGo();
      for (const name of AGENT_NAMES) {
        const context = {
          agentId: name,
          sessionId: name,
          jobId: null,
          conversationId: null,
          signal: new AbortController().signal,
        };
        const agent = await startOf(agents, name)({ ...context, execution: { executionId: 'x' } } as never);
        const plan = { id: '1', say: ['hang'], cancelled: 'ignores' };
        const ended = await agent.prompt(plan, { generation: 1, origin: 'human', signal: context.signal });
        expect(ended).toEqual({ stopReason: 'end_turn' });
        await agent.close();
      }
    }
  });
});

describe('with an engine', () => {
  const worlds: SmallLife[] = [];
  let facts: readonly Fact[] = [];

  beforeAll(async () => {
    for (const seed of seedsUpTo(80)) worlds.push(await smallWorld(seed, 60));
    facts = worlds.flatMap((world) => world.facts);
  });

  it('PRV1, PSN1: the same seed gives the same facts', async () => {
    for (const seed of [3, 17]) {
      const again = await smallWorld(seed, 60);
      expect(JSON.stringify(again.facts)).toBe(JSON.stringify(worlds[seed - 1]?.facts));
    }
  });

  it('every call is settled in the end, and so is every prompt; every agent is gone', () => {
    for (const { known } of worlds) {
      expect([...known.calls.values()].filter((call) => call.settled === null)).toEqual([]);
      expect([...known.agents.values()].filter((agent) => agent.openPrompts.size > 0)).toEqual([]);
      expect([...known.agents.values()].filter((agent) => !agent.isGone)).toEqual([]);
    }
  });

  it('every verb is answered, and refused', () => {
    const verbs = [...sessionActions.map(({ verb }) => verb), 'workloads.list'];
    expect(new Set(verbs).size).toBe(verbs.length - 1);
    const answered = new Set(only(facts, 'answered').map(({ verb }) => verb));
    const refused = new Set(only(facts, 'refused').map(({ verb }) => verb));
    expect(verbs.filter((verb) => !answered.has(verb))).toEqual([]);
    expect(verbs.filter((verb) => !refused.has(verb))).toEqual([]);
    expect(answered).toContain('stop.settled');
  });

  it('prompts are refused for every reason there is', () => {
    const codes = new Set(only(facts, 'refused').flatMap(({ verb, code }) => (verb === 'sessions.prompt' ? [code] : [])));
    const expected = ['agent.failed', 'agent.gone', 'agent.start_failed', 'input.invalid', 'prompt.busy', 'prompt.interrupted'];
    const more = ['session.not_found', 'session.not_promptable', 'session.stopped'];
    expect([...expected, ...more].filter((code) => !codes.has(code))).toEqual([]);
    expect(only(facts, 'refused').filter(({ code }) => code === 'none')).toEqual([]);
  });

  it('agents say everything that a frame can, and things that are none', () => {
    const types = new Set(only(facts, 'agent.said').map(({ frame }) => frame.type));
    expect([...types].toSorted()).toEqual([
      'capability',
      'foreground.idle',
      'garbage',
      'output',
      'permission.request',
      'prompt.accepted',
      'tool.call',
      'tool.update',
      'turn.ended',
      'usage',
      'workload.ended',
      'workload.snapshot',
      'workload.started',
    ]);
  });

  it('agents have every fault', () => {
    const happened = new Map<string, number>();
    const count = (what: string): void => void happened.set(what, (happened.get(what) ?? 0) + 1);
    for (const world of worlds) countFaults(world.facts, count);
    expect(FAULTS.filter((fault) => (happened.get(fault) ?? 0) < 2)).toEqual([]);
  });
});

const FAULTS = [
  'a start failed',
  'a start took time',
  'a session got another agent',
  'a prompt threw',
  'a prompt was never over until it was let go',
  'a prompt took hours',
  'a prompt was over without a word',
  'a frame came after its turn',
  'a frame came after the end was told',
  'a frame was of no turn',
  'a frame was of a wrong turn',
  'a frame is lost',
  'a frame is doubled',
  'a frame is held',
  'a frame is misdirected',
  'the foreground was free twice',
  'work outlived its turn',
  'a wrong foreground was free',
  'it left by itself',
  'its end took time',
  'a cancel was not obeyed',
  'a question was answered',
  'a question was never answered',
];

interface Told {
  readonly started: FactOf<'agent.started'>;
  readonly prompted: Map<number, Fact>;
  readonly over: Map<number, Fact>;
  readonly spoken: Set<number>;
  readonly idle: Set<number>;
  readonly works: Map<unknown, number>;
  readonly asked: Set<unknown>;
  readonly cancelled: Map<number, Fact>;
  toldToEnd: Fact | null;
}

/** Seen from the facts alone, as checkers see them. */
function countFaults(facts: readonly Fact[], count: (what: string) => void): void {
  const agents = new Map<number, Told>();
  const firstCall = new Map<string, Fact>();
  const bySession = new Map<string, number>();
  let isLetGo = false;
  for (const fact of facts) {
    const told = 'agent' in fact ? agents.get(fact.agent) : undefined;
    switch (fact.type) {
      case 'asked':
        if (fact.verb === 'sessions.prompt' && !firstCall.has(String(fact.args[0]))) firstCall.set(String(fact.args[0]), fact);
        break;
      case 'did': {
        if (fact.what === LET_GO) isLetGo = true;
        const fate = /a frame \S+ is (\w+)/.exec(fact.what)?.[1];
        if (fate !== undefined) count(`a frame is ${fate}`);
        const [, agent, requestId] = /agent (\d+): is answered (q\d+)/.exec(fact.what) ?? [];
        if (agents.get(Number(agent))?.asked.delete(requestId) === true) count('a question was answered');
        break;
      }
      case 'agent.not-started':
        count('a start failed');
        break;
      case 'agent.started': {
        const asked = firstCall.get(fact.sessionId);
        const isFirst = fact.jobId === null && !bySession.has(fact.sessionId);
        if (isFirst && asked !== undefined && asked.at < fact.at) count('a start took time');
        if (fact.jobId === null && !isFirst) count('a session got another agent');
        if (fact.jobId === null) bySession.set(fact.sessionId, fact.agent);
        agents.set(fact.agent, {
          started: fact,
          prompted: new Map(),
          over: new Map(),
          spoken: new Set(),
          idle: new Set(),
          works: new Map(),
          asked: new Set(),
          cancelled: new Map(),
          toldToEnd: null,
        });
        break;
      }
      case 'agent.prompted':
        told?.prompted.set(fact.generation, fact);
        break;
      case 'agent.prompt-over': {
        const prompted = told?.prompted.get(fact.generation);
        told?.over.set(fact.generation, fact);
        if (fact.how === 'threw') count('a prompt threw');
        if (prompted !== undefined && fact.at - prompted.at >= HOUR_MS) count('a prompt took hours');
        if (isLetGo) count('a prompt was never over until it was let go');
        if (told?.spoken.has(fact.generation) === false) count('a prompt was over without a word');
        break;
      }
      case 'agent.said': {
        if (told === undefined) break;
        const { type, generation } = fact.frame;
        told.spoken.add(generation);
        if (told.over.has(generation)) count('a frame came after its turn');
        if (told.toldToEnd !== null) count('a frame came after the end was told');
        if (generation === 0) count('a frame was of no turn');
        else if (!told.prompted.has(generation)) count('a frame was of a wrong turn');
        if (type === 'foreground.idle') {
          if (told.idle.has(generation)) count('the foreground was free twice');
          if (!told.prompted.has(generation) || told.over.has(generation)) count('a wrong foreground was free');
          told.idle.add(generation);
        }
        if (type === 'workload.started') told.works.set(fact.frame.workloadId, generation);
        const launched = told.works.get(fact.frame.workloadId);
        if (type === 'workload.ended' && launched !== undefined && told.over.has(launched)) count('work outlived its turn');
        if (type === 'permission.request') told.asked.add(fact.frame.requestId);
        break;
      }
      case 'agent.cancelled':
        told?.cancelled.set(fact.generation, fact);
        break;
      case 'agent.told-to-end':
        if (told !== undefined) told.toldToEnd = fact;
        break;
      case 'agent.gone':
        if (told?.toldToEnd === null) count('it left by itself');
        else if (told !== undefined && fact.at > (told.toldToEnd?.at ?? 0)) count('its end took time');
        break;
      default:
    }
  }
  for (const { cancelled, over, asked } of agents.values()) {
    for (const [generation, fact] of cancelled) {
      const ended = over.get(generation);
      if (ended === undefined || ended.at - fact.at >= 10_000) count('a cancel was not obeyed');
    }
    if (asked.size > 0) count('a question was never answered');
  }
}
