/**
 * What people do to jobs: spawn, cancel, wait, look, prune, and all of it wrongly now and then.
 *
 * JBA1  An action begins its calls and does not wait for them; what it makes is named by its step.
 */

import { JOB_STATUSES } from '../../model/records.ts';
import type { ListQuery, SpawnOptions } from '../../model/requests.ts';
import { type BodyPlan, bodyPlan, someMs } from './body-plan.ts';
import { atOnce } from './check-simulation.ts';
import { attachObserver } from './observers.ts';
import type { Random } from './random.ts';
import type { Action, Stage } from './stage.ts';

/** Makes inputs of a host's own kinds. Null: people do not spawn it. Kinds that are left out are spawned without an input. */
export type OwnInputs = Readonly<Record<string, ((dice: Random) => unknown) | null>>;

/** Kinds of a host, which are known once its first engine is opened, and their inputs. */
export interface OwnKinds {
  readonly inputs: OwnInputs;
  ofHost(): readonly string[];
}

const NOBODY = 'job_of_nobody';
const someJob = ({ jobs, random }: Stage): string => (random.chance(0.03) ? NOBODY : (jobs.pick(random) ?? NOBODY));
const someSession = ({ sessions, random }: Stage): string | undefined => (random.chance(0.3) ? undefined : sessions.pick(random));
const given = <Value>(name: string, value: Value | undefined): object => (value === undefined ? {} : { [name]: value });

/** The waits of people: with and without limits, some of them given up. */
function howLong(stage: Stage): {
  readonly options: { timeoutMs?: number | null; signal?: AbortSignal };
  giveUpOf(call: number): void;
} {
  const { random: dice, life } = stage;
  const timeoutMs = dice.weighted<number | null | undefined>([
    [3, undefined],
    [3, null],
    [2, 0],
    [2, someMs(dice)],
  ]);
  const options = timeoutMs === undefined ? {} : { timeoutMs };
  if (!dice.chance(0.25)) return { options, giveUpOf: () => {} };
  const controller = new AbortController();
  const afterMs = someMs(dice);
  return {
    options: { ...options, signal: controller.signal },
    giveUpOf: (call) =>
      void life.pause(afterMs).then(() => {
        life.note({ type: 'gave-up', call });
        controller.abort(new Error('nobody waits any more'));
      }),
  };
}

/** Actions on jobs; `kinds` follow plans. Most jobs are of the host's own kinds, where there are any. */
export function jobActions(kinds: readonly string[], own: OwnKinds): readonly Action[] {
  const kindBy = (dice: Random): string => {
    const spawned = own.ofHost().filter((kind) => own.inputs[kind] !== null);
    if (spawned.length > 0 && dice.chance(0.8)) return dice.pick(spawned);
    return dice.chance(0.08) && !own.ofHost().includes('agent') ? 'agent' : dice.pick(kinds);
  };
  const content = (stage: Stage, kind: string): { readonly input?: unknown } => {
    if (own.ofHost().includes(kind)) return given('input', atOnce(`inputs.${kind}`, own.inputs[kind]?.(stage.random)));
    if (kind === 'agent') return { input: { prompt: `job of step ${stage.step}` } };
    // What is large lies in a row of its own.
    const padding = stage.random.chance(0.05) ? { padding: 'x'.repeat(2_000) } : {};
    return { input: { plan: bodyPlan(stage.random, kinds), ...padding } };
  };
  const optionsOf = (stage: Stage): SpawnOptions => {
    const { random: dice } = stage;
    const kind = kindBy(dice);
    return {
      kind,
      subject: `s${stage.step}`,
      ...content(stage, kind),
      ...given('sessionId', someSession(stage)),
      ...(dice.chance(0.2) ? given('callerSessionId', stage.sessions.pick(dice)) : {}),
      ...(dice.chance(0.15) ? given('parentJobId', stage.jobs.pick(dice)) : {}),
      ...(dice.chance(0.15) ? { wait: true } : {}),
      // As providers name theirs: what they tell of that call is then this job.
      ...(dice.chance(0.25) ? { toolCallId: `c${dice.integer(3)}` } : {}),
      ...(dice.chance(0.15) ? { parentMessageId: `m${stage.step % 5}` } : {}),
      ...(dice.chance(0.2) ? { timeoutMs: someMs(dice) } : {}),
      ...(dice.chance(0.1) ? { idleTimeoutMs: someMs(dice) } : {}),
    };
  };
  const spawn = (stage: Stage, options: SpawnOptions) =>
    stage.life.call('spawn', [options], () => stage.offstage.spawn(options as never));

  return [
    { verb: 'spawn', weight: 30, act: (stage) => void spawn(stage, optionsOf(stage)) },
    {
      // A body that does not end when it is told to, is told several times, for several reasons, and has children.
      verb: 'cancel',
      weight: 4,
      act: (stage) => {
        const { random: dice, life, step } = stage;
        const jobId = `deaf_${step}`;
        const child: BodyPlan = { steps: [{ do: 'hang' }], end: 'text', whenTold: dice.pick(['obey', 'ignore']) };
        const parent: BodyPlan = {
          steps: [{ do: 'spawn', kind: dice.pick(kinds), plan: child }, ...(dice.chance(0.7) ? [{ do: 'hang' } as const] : [])],
          end: 'text',
          whenTold: dice.pick(['ignore', 'slow']),
        };
        const timeoutMs = dice.chance(0.5) ? { timeoutMs: 1 + dice.integer(3_000) } : {};
        void spawn(stage, { kind: dice.pick(kinds), jobId, subject: `s${step}`, input: { plan: parent }, ...timeoutMs });
        for (let times = 1 + dice.integer(3); times > 0; times--) {
          void life.pause(dice.integer(2_000)).then(() => life.cancel(jobId, { who: 'person' }));
        }
      },
    },
    {
      // The same request twice, with the host's own id; cancelled in the same tick now and then.
      verb: 'spawn',
      weight: 5,
      act: (stage) => {
        const { random: dice } = stage;
        const jobId = dice.chance(0.3) ? someJob(stage) : `own_${stage.step}`;
        const options = { ...optionsOf(stage), jobId };
        void spawn(stage, options);
        if (dice.chance(0.5)) void spawn(stage, dice.chance(0.7) ? options : { ...options, subject: 'another' });
        if (dice.chance(0.4)) void stage.life.cancel(jobId, { who: 'person' });
        // Whoever chose the id may look before the answer is there.
        if (dice.chance(0.4)) void stage.life.call('get', [jobId], () => stage.offstage.get(jobId));
        if (dice.chance(0.2)) void stage.life.call('list', [{}], () => stage.offstage.list({}));
        if (dice.chance(0.3)) {
          const one = { timeoutMs: null };
          const any = { mode: 'any', timeoutMs: null } as const;
          if (dice.chance(0.5)) void stage.life.call('wait', [jobId, one], () => stage.offstage.wait(jobId, one));
          else void stage.life.call('waitMany', [[jobId], any], () => stage.offstage.waitMany([jobId], any));
        }
      },
    },
    {
      verb: 'spawn',
      weight: 2,
      act: (stage) => {
        const bad = stage.random.pick<unknown>([
          { kind: 'nobody knows it' },
          { kind: 'sim.plain', sessionId: 'nowhere' },
          { kind: 'sim.plain', input: () => {} },
          { kind: 'sim.plain', jobId: '' },
          { kind: 'sim.plain', timeoutMs: Number.NaN },
          { kind: 'sim.plain', parentJobId: NOBODY },
          { kind: 'agent', agentId: 'nobody', input: { prompt: 'x' } },
          { kind: 'sim.plain', sesionId: 'a typing error' },
          null,
        ]);
        void spawn(stage, bad as SpawnOptions);
      },
    },
    {
      verb: 'run',
      weight: 3,
      act: (stage) => {
        const options = optionsOf(stage);
        const { options: more, giveUpOf } = howLong(stage);
        const { signal } = more;
        void stage.life.call(
          'run',
          [options],
          () => stage.offstage.run(options as never, signal === undefined ? {} : { signal }),
          { who: 'person' },
          { begun: giveUpOf },
        );
      },
    },
    {
      verb: 'cancel',
      weight: 12,
      act: (stage) => {
        const jobId = someJob(stage);
        const options = stage.random.chance(0.3) ? { reason: `step ${stage.step}` } : {};
        void stage.life.call('cancel', [jobId, options], () => stage.offstage.cancel(jobId, options));
      },
    },
    {
      verb: 'cancelMany',
      weight: 2,
      act: (stage) => {
        const { random: dice } = stage;
        const selector = dice.pick<() => object>([
          () => ({ ids: [someJob(stage), someJob(stage), NOBODY] }),
          () => ({ sessionId: stage.sessions.pick(dice) ?? 'nowhere' }),
          () => ({ parentMessageId: `m${dice.integer(5)}` }),
          () => ({ parentJobId: someJob(stage) }),
          () => ({ taskId: stage.tasks.pick(dice) ?? 'nothing' }),
        ])();
        void stage.life.call('cancelMany', [selector], () => stage.offstage.cancelMany(selector));
      },
    },
    {
      verb: 'wait',
      weight: 9,
      act: (stage) => {
        const jobId = someJob(stage);
        const { options, giveUpOf } = howLong(stage);
        const { signal: _, ...told } = options;
        void stage.life.call(
          'wait',
          [jobId, told],
          () => stage.offstage.wait(jobId, options),
          { who: 'person' },
          { begun: giveUpOf },
        );
      },
    },
    {
      // Several at once for one job, from its birth on: most others have ended by the time that somebody waits for them.
      verb: 'wait',
      weight: 3,
      act: (stage) => {
        const { life, offstage, random: dice } = stage;
        const jobId = `awaited_${stage.step}`;
        void spawn(stage, { jobId, ...optionsOf(stage) });
        const forEver = { timeoutMs: null };
        for (let count = 1 + dice.integer(3); count > 0; count--)
          void life.call('wait', [jobId, forEver], () => offstage.wait(jobId, forEver));
        const ids = [jobId, dice.chance(0.5) ? `${jobId}_too` : someJob(stage)];
        void spawn(stage, { jobId: `${jobId}_too`, ...optionsOf(stage) });
        const many = { mode: dice.pick(['all', 'any'] as const), ...forEver };
        void life.call('waitMany', [ids, many], () => offstage.waitMany(ids, many));
      },
    },
    {
      verb: 'waitMany',
      weight: 4,
      act: (stage) => {
        const { random: dice } = stage;
        const ids = Array.from({ length: dice.integer(5) }, () => someJob(stage));
        const { options, giveUpOf } = howLong(stage);
        const mode = dice.pick(['all', 'any'] as const);
        const { signal: _, ...told } = options;
        void stage.life.call(
          'waitMany',
          [ids, { mode, ...told }],
          () => stage.offstage.waitMany(ids, { mode, ...options }),
          { who: 'person' },
          { begun: giveUpOf },
        );
      },
    },
    {
      verb: 'plan.run',
      weight: 2,
      act: (stage) => {
        const { random: dice } = stage;
        const specs = Array.from({ length: 1 + dice.integer(4) }, (_, index) => {
          const kind = own.ofHost().length > 0 ? kindBy(dice) : dice.pick(kinds);
          return { description: `s${stage.step}/${index}`, kind, ...content(stage, kind) };
        });
        const options = { ...given('sessionId', someSession(stage)), parentMessageId: `p${stage.step}` };
        void stage.life.call('plan.run', [specs, options], () => stage.offstage.plan.run(specs, options));
        if (dice.chance(0.2)) {
          const name = `p${stage.step}`;
          void stage.life.call('plan.cancel', [name], () => stage.offstage.plan.cancel(name));
        }
      },
    },
    {
      verb: 'get',
      weight: 6,
      act: (stage) => {
        const jobId = someJob(stage);
        void stage.life.call('get', [jobId], () => stage.offstage.get(jobId));
      },
    },
    {
      verb: 'list',
      weight: 3,
      act: (stage) => {
        const { random: dice } = stage;
        const query: ListQuery = {
          ...(dice.chance(0.4) ? given('sessionId', stage.sessions.pick(dice)) : {}),
          ...(dice.chance(0.4) ? { status: dice.pick(JOB_STATUSES) } : {}),
          ...(dice.chance(0.3) ? { limit: 1 + dice.integer(20) } : {}),
        };
        void stage.life.call('list', [query], () => stage.offstage.list(query));
      },
    },
    {
      verb: 'history',
      weight: 2,
      act: (stage) => {
        const jobId = someJob(stage);
        const verb = stage.random.pick(['history', 'output'] as const);
        void stage.life.call(verb, [jobId], () => stage.offstage[verb](jobId));
      },
    },
    {
      verb: 'snapshot',
      weight: 1,
      act: (stage) => void stage.life.call('snapshot', [], () => stage.offstage.snapshot()),
    },
    {
      verb: 'prune',
      weight: 0.5,
      act: (stage) => {
        const limits = stage.random.pick([{}, { maxJobs: 10 }, { maxAgeMs: 600_000 }, { maxAgeMs: -1 }]);
        void stage.life.call('prune', [limits], () => stage.offstage.prune(limits));
      },
    },
    {
      verb: 'events',
      weight: 2,
      act: ({ life, offstage, jobs, random }) => attachObserver({ life, offstage, jobs, random }),
    },
  ];
}
