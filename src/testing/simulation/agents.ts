/**
 * The agents of a simulation: providers with faults, on the port of real ones, under a few names.
 *
 * SAG1  A start fails, hangs or takes its time by the seed, its session or job, and which start of it this is.
 * SAG2  Every start is noted, as one that succeeded or one that did not.
 */
import type { Agent, AgentContext, AgentFactory, Agents, Attestation } from '../../model/agent.ts';
import type { WorkloadKind } from '../../model/executor.ts';
import { Provider, type ProviderHost, type Temper } from './provider.ts';
import { anyThrown } from './provider-frames.ts';
import { spanMs } from './provider-plan.ts';
import { type Random, random } from './random.ts';
import type { Life } from './stage.ts';

/** The names under which agents are registered. */
export const AGENT_NAMES = ['default', 'coarse', 'conservative', 'bare', 'wild'] as const;

const ALL: Attestation = { workloads: ['subagent', 'shell', 'monitor'], yield: true, handoff: true, snapshot: true };
const NOTHING: Attestation = { workloads: [], yield: false, handoff: false, snapshot: false };

/** By the name of the agent, and for a wild one by chance. */
function temperBy(name: string, chance: Random): Temper {
  switch (name) {
    case 'bare':
      return { attests: NOTHING, meddles: 0.03, trouble: 1, listens: false };
    case 'wild': {
      const kinds: readonly WorkloadKind[] = ['subagent', 'shell', 'monitor'];
      const attests = {
        workloads: kinds.filter(() => chance.chance(0.6)),
        shown: kinds.filter(() => chance.chance(0.4)),
        yield: chance.chance(0.7),
        handoff: chance.chance(0.7),
        snapshot: chance.chance(0.7),
      };
      return { attests, meddles: 0.25, trouble: 4, listens: chance.chance(0.8) };
    }
    default:
      return { attests: ALL, meddles: 0.02, trouble: 1, listens: true };
  }
}

type StartWay = 'at once' | 'soon' | 'hops' | 'pause' | 'deaf' | 'hangs' | 'throws' | 'rejects' | 'odd';

const startBy = (chance: Random, trouble: number): StartWay =>
  chance.weighted<StartWay>([
    [14, 'at once'],
    [8, 'soon'],
    [10, 'hops'],
    [3 * trouble, 'pause'],
    [trouble, 'deaf'],
    [trouble, 'hangs'],
    [trouble, 'throws'],
    [2 * trouble, 'rejects'],
    [0.5 * trouble, 'odd'],
  ]);

/** For the option `agents` of the engine of this life. */
export function simulatedAgents(life: Life): Agents {
  const asked = new Map<string, number>();
  const countUp = (name: string): number => {
    const count = (asked.get(name) ?? 0) + 1;
    asked.set(name, count);
    return count;
  };
  let isGiven = false;
  const given = new Promise<void>((resolve) =>
    life.onLetGo(() => {
      isGiven = true;
      resolve();
    }),
  );
  const letGo = {
    given,
    get isGiven() {
      return isGiven;
    },
  };
  const host: ProviderHost = { life, letGo, countAsked: (text) => countUp(`asked ${text}`) };
  const start: AgentFactory = (context) => {
    const whose = context.jobId ?? context.sessionId;
    return begin(host, context, `${life.number}/${whose}/${countUp(`started ${whose}`)}`);
  };
  return {
    default: start,
    coarse: { start, display: 'coarse' },
    conservative: { start, admission: 'conservative' },
    bare: start,
    wild: start,
  } satisfies Record<(typeof AGENT_NAMES)[number], Agents[string]>;
}

function begin(host: ProviderHost, context: AgentContext, key: string): Agent | Promise<Agent> {
  const { life, letGo } = host;
  const { sessionId, jobId, agentId, signal, execution } = context;
  const number = life.nextNumber('agent');
  const chance = random(life.seed, 'agent', key);
  const temper = temperBy(agentId, chance);
  const way = letGo.isGiven ? 'at once' : startBy(chance, temper.trouble);
  const notStarted = (): void => life.note({ type: 'agent.not-started', agent: number, sessionId, jobId });
  const fail = (error: unknown): never => {
    notStarted();
    throw error;
  };
  const finish = (): Agent => {
    const { executionId } = execution;
    life.note({ type: 'agent.started', agent: number, executionId, sessionId, jobId });
    const provider = new Provider(host, context, temper, { number, key });
    if (signal.aborted) provider.toldToEnd();
    else signal.addEventListener('abort', () => provider.toldToEnd(), { once: true });
    return provider.agent;
  };
  if (way === 'at once') return finish();
  if (way === 'throws') return fail(anyThrown(chance));
  return startSlowly(host, { way, number, signal, chance, finish, fail, notStarted });
}

interface SlowStart {
  readonly way: StartWay;
  readonly number: number;
  readonly signal: AbortSignal;
  readonly chance: Random;
  readonly finish: () => Agent;
  readonly fail: (error: unknown) => never;
  readonly notStarted: () => void;
}

async function startSlowly({ life, letGo }: ProviderHost, start: SlowStart): Promise<Agent> {
  const { way, number, signal, chance, finish, fail } = start;
  const told = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
  const hop = (): Promise<void> => life.hop(`agent ${number} starts`);
  if (way === 'hops') for (let left = 1 + chance.integer(3); left > 0; left--) await Promise.race([hop(), told]);
  else if (way === 'pause') await Promise.race([life.pause(spanMs(chance)), told, letGo.given]);
  else if (way === 'deaf') await Promise.race([chance.chance(0.3) ? letGo.given : life.pause(spanMs(chance)), letGo.given]);
  else if (way === 'hangs') await Promise.race([told, letGo.given]);
  else if (way === 'rejects' || way === 'odd') await hop();
  if (way === 'rejects' || way === 'hangs') return fail(way === 'hangs' && signal.aborted ? signal.reason : anyThrown(chance));
  if (way === 'odd') {
    start.notStarted();
    life.note({ type: 'did', what: `agent ${number}: what has started is no agent` });
    return oddAgent(chance);
  }
  // Most give up when nobody wants them any more; the deaf do not hear of it.
  if (way !== 'deaf' && signal.aborted && chance.chance(0.8)) return fail(signal.reason);
  return finish();
}

const nothing = (): void => {};

/** Something that is no agent, though some of it can be closed. */
const oddAgent = (chance: Random): Agent =>
  chance.pick<unknown>([
    undefined,
    null,
    5,
    {},
    { close: nothing },
    { attests: NOTHING, close: nothing, prompt: nothing },
  ]) as Agent;
