/** A simulated world without faults of its own: one life, whose hops happen at once and whose time passes when it is told. */
import type { Offstage } from '../../../src/engine/offstage.ts';
import { agentExecutor } from '../../../src/executors/agent.ts';
import { isOffstageError } from '../../../src/model/errors.ts';
import type { Executors } from '../../../src/model/executor.ts';
import { simulatedAgents } from '../../../src/testing/simulation/agents.ts';
import type { Fact, FactBody } from '../../../src/testing/simulation/facts.ts';
import { Known } from '../../../src/testing/simulation/known.ts';
import { random } from '../../../src/testing/simulation/random.ts';
import { sessionActions } from '../../../src/testing/simulation/session-actions.ts';
import type { Action, Life, Names } from '../../../src/testing/simulation/stage.ts';
import { type VirtualClock, virtualClock } from '../../../src/testing/virtual-clock.ts';
import { testEngine } from '../../support/test-engine.ts';

/** Noted when it happens. */
export const LET_GO = 'everything is let go';

export interface SmallLife {
  readonly life: Life;
  readonly clock: VirtualClock;
  readonly facts: readonly Fact[];
  readonly known: Known;
  step: number;
  letGo(): void;
}

export function smallLife(seed: number): SmallLife {
  const clock = virtualClock();
  const facts: Fact[] = [];
  const known = new Known();
  const onLetGo: (() => void)[] = [];
  const numbers = new Map<string, number>();
  let isLetGo = false;
  const note = (body: FactBody): void => {
    const fact: Fact = { step: small.step, at: clock.monotonic(), life: 1, ...body };
    facts.push(fact);
    known.learn(fact);
  };
  const nextNumber = (what: string): number => {
    const number = (numbers.get(what) ?? 0) + 1;
    numbers.set(what, number);
    return number;
  };
  const life: Life = {
    seed,
    number: 1,
    openedAt: 0,
    clock,
    hop: () => Promise.resolve(),
    pause: (ms) => new Promise((resolve) => clock.schedule(ms, () => resolve())),
    note,
    onLetGo: (callback) => (isLetGo ? callback() : void onLetGo.push(callback)),
    nextNumber,
    // Only bodies and observers do, and there are none here.
    cancel: () => Promise.reject(new Error('nobody cancels jobs in a small world')),
    async call(verb, args, act, by = { who: 'person' }) {
      const call = nextNumber('call');
      note({ type: 'asked', call, by, verb, args });
      try {
        const value = await act();
        note({ type: 'answered', call, verb, value });
        return { call, isOk: true, value };
      } catch (error) {
        const code = isOffstageError(error) ? error.code : 'none';
        note({ type: 'refused', call, verb, code, message: String(error) });
        return { call, isOk: false, code, error };
      }
    },
  };
  const small: SmallLife = {
    life,
    clock,
    facts,
    known,
    step: 0,
    letGo() {
      isLetGo = true;
      note({ type: 'did', what: LET_GO });
      for (const callback of onLetGo.splice(0)) callback();
    },
  };
  return small;
}

export function smallNames(): Names {
  const named = new Map<string, string>();
  return {
    add: (key, id) => void named.set(key, id),
    delete(id) {
      for (const [key, one] of [...named]) if (one === id) named.delete(key);
    },
    pick(chance) {
      const key = chance.pickNamed(named.keys());
      return key === undefined ? undefined : named.get(key);
    },
    get ids() {
      return [...named.values()];
    },
  };
}

/** Jobs are another part of the simulation; here there are just enough of them for their cards and their agents. */
const spawning: Action = {
  verb: 'spawn',
  weight: 6,
  act({ life, offstage, random: chance, sessions, jobs, step }) {
    const sessionId = sessions.pick(chance) ?? 'default';
    const options = {
      kind: chance.pick(['agent', 'short']),
      sessionId,
      input: { prompt: `job of step ${step}` },
      wait: chance.chance(0.5),
      agentId: chance.pick(['default', 'bare', 'wild']),
    };
    void life
      .call('spawn', [options], () => offstage.spawn(options))
      .then((answer) => {
        if (answer.isOk) jobs.add(`${step}`, (answer.value as { jobId: string }).jobId);
      });
  },
};

/** So many steps of people, then everything is let go, some time passes, and the engine closes. Answers what happened. */
export async function smallWorld(seed: number, steps: number): Promise<SmallLife> {
  const small = smallLife(seed);
  const { life, clock } = small;
  const agents = simulatedAgents(life);
  let ids = 0;
  await using engine = await testEngine({
    clock,
    agents,
    stallFailMs: random(seed, 'stall').pick([null, 600_000]),
    turnTimeoutMs: random(seed, 'timeout').pick([null, 1_200_000]),
    ids: {
      id: (prefix) => `${prefix}-${++ids}`,
      jobId: (ordinal) => `job-${String(ordinal).padStart(6, '0')}`,
    },
    executors: { agent: agentExecutor({ agents, clock }), short: async () => 'done' },
  });
  const names = { jobs: smallNames(), sessions: smallNames(), tasks: smallNames(), tickets: smallNames() };
  const actions = [...sessionActions, spawning].map((action) => [action.weight, action] as const);
  const offstage: Offstage<Executors> = engine.offstage;
  for (small.step = 1; small.step <= steps; small.step++) {
    const chance = random(seed, 'step', small.step);
    chance.weighted(actions).act({ life, offstage, step: small.step, random: chance, ...names });
    await clock.advance(
      chance.weighted([
        [6, 0],
        [3, 100],
        [2, 6_000],
        [1, 400_000],
        [0.3, 3_600_000],
      ]),
    );
  }
  small.letGo();
  // Longer than anything is tried again after.
  await clock.advance(20 * 60_000);
  return small;
}
