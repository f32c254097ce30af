/** HEX1, HEX2, OBD1, SIM1, SIM3: a host's own executors, inputs, options and checkers; and what of them cannot be simulated is told. */
import { readFile } from 'node:fs/promises';
import { setTimeout as realPause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { AnyExecutor, Executors, JobContext } from '../../../src/model/executor.ts';
import {
  CHECKERS,
  type Checker,
  type Fact,
  type FactOf,
  type HostLife,
  lineOf,
  type SimulationOptions,
  type SimulationResult,
  simulate,
  Violation,
} from '../../../src/testing/index.ts';

const STEPS = 300;
const SEEDS = [1, 2, 3, 4];

interface Run extends SimulationResult {
  readonly seen: readonly Fact[];
}

async function run(options: Omit<SimulationOptions, 'seed'> & { readonly seed?: number }): Promise<Run> {
  const facts: Fact[] = [];
  const result = await simulate({ steps: STEPS, seed: 1, ...options, onFact: (fact) => facts.push(fact) });
  return { ...result, seen: facts };
}

/** What is said of one body, of kind `mine`. */
async function complaint(bodyOf: (life: HostLife) => AnyExecutor): Promise<string | undefined> {
  const { violation } = await run({ executors: (life) => ({ mine: bodyOf(life) }), checkers: [] });
  expect(violation?.guarantee ?? 'executors').toBe('executors');
  return violation?.message;
}

const calledOf = (facts: readonly Fact[], kind: string): readonly FactOf<'body.called'>[] =>
  facts.filter((fact): fact is Fact & FactOf<'body.called'> => fact.type === 'body.called' && fact.kind === kind);

const values = (facts: readonly Fact[], what: string): readonly unknown[] =>
  facts.flatMap((fact) => (fact.type === 'own' && fact.what === what ? [fact.value] : []));

describe('good bodies', () => {
  /** One that polls, one that has children and waits for none, one that ignores its signal, one that goes on until it is told. */
  const executors = (life: HostLife): Executors => ({
    async polls(_job, { signal, progress }) {
      for (let count = 0; count < 5; count++) {
        await life.pause(1_000, signal);
        progress({ count });
      }
      return 'polled';
    },
    async begets(job, { spawn }) {
      const { depth } = job.input as { depth: number };
      if (depth > 0) await spawn({ kind: 'begets', input: { depth: depth - 1 } });
      await life.hop('a request');
    },
    ignores: async () => {
      await life.pause(3_600_000);
      return 'late';
    },
    async watches(_job, { signal }) {
      for (;;) await life.pause(600_000, signal);
    },
    checked: {
      input: {
        '~standard': {
          version: 1,
          vendor: 'test',
          validate: (value) => (typeof value === 'number' ? { value } : { issues: [{ message: 'a number' }] }),
        },
      },
      run: (job) => job.input,
    },
  });
  const inputs: SimulationOptions['inputs'] = {
    begets: (dice) => ({ depth: dice.integer(3) }),
    checked: (dice) => (dice.chance(0.5) ? dice.integer(10) : 'none'),
  };

  it.each(SEEDS)('nothing is said of them, and all of them are called (seed %i)', async (seed) => {
    const { violation, seen } = await run({ seed, steps: 1_000, executors, inputs });
    expect(violation).toBeNull();
    for (const kind of ['polls', 'begets', 'ignores', 'watches']) expect(calledOf(seen, kind), kind).not.toHaveLength(0);
    const own = seen.filter(({ type }) => type === 'body.called').length - calledOf(seen, 'agent').length;
    const simulated = calledOf(seen, 'sim.plain').length;
    expect(simulated).toBeLessThan(own / 2);
  });

  it('SIM1: the same seed gives the same facts', async () => {
    const [one, two] = [await run({ seed: 3, executors, inputs }), await run({ seed: 3, executors, inputs })];
    expect(one.seen.map(lineOf)).toEqual(two.seen.map(lineOf));
  });

  it('people spawn none of a kind whose input is null', async () => {
    const made = {
      child: async () => 'seen',
      parent: async (_: unknown, { run }: { run: (options: object) => unknown }) => run({ kind: 'child' }),
    };
    const { seen } = await run({ executors: () => made as unknown as Executors, inputs: { child: null } });
    const byPeople = seen.filter((fact) => fact.type === 'asked' && fact.verb === 'spawn' && fact.by.who === 'person');
    const kinds = byPeople.map((fact) => ((fact as FactOf<'asked'>).args[0] as { kind?: string } | null)?.kind);
    expect(kinds).toContain('parent');
    expect(kinds).not.toContain('child');
    expect(calledOf(seen, 'child')).not.toHaveLength(0);
  });

  it('options are the same in every life', async () => {
    const { seen } = await run({ seed: 2, options: { workers: 3, cancelGraceMs: 77 } });
    const opened = seen.filter((fact): fact is Fact & FactOf<'opened'> => fact.type === 'opened');
    expect(opened.length).toBeGreaterThan(1);
    for (const { settings } of opened) expect(settings).toMatchObject({ workers: 3, cancelGraceMs: 77 });
  });
});

describe('what a life gives', () => {
  it('HEX2: what is shared outlives the process, and no world', async () => {
    const executors = (life: HostLife): Executors => {
      const disk = life.shared('disk', () => ({ lives: 0 }));
      disk.lives += 1;
      return { mine: async () => life.note('lives', [disk.lives, life.number]) };
    };
    for (const seed of [1, 2]) {
      const lives = values((await run({ seed, executors })).seen, 'lives') as readonly [number, number][];
      expect(lives.at(-1)?.[0]).toBeGreaterThan(1);
      for (const [shared, number] of lives) expect(shared).toBe(number);
    }
  });

  it('a pause takes its time, and ends with its signal', async () => {
    const executors = (life: HostLife): Executors => ({
      async mine(_job, { signal }) {
        const began = life.clock.monotonic();
        await life.pause(1_000, signal).then(
          () => life.note('slept', life.clock.monotonic() - began),
          (error) => life.note('woken', error === signal.reason),
        );
      },
    });
    const { seen } = await run({ executors, steps: 600 });
    const slept = values(seen, 'slept') as readonly number[];
    expect(slept).not.toHaveLength(0);
    for (const ms of slept) expect(ms).toBeGreaterThanOrEqual(1_000);
    expect(new Set(values(seen, 'woken'))).toEqual(new Set([true]));
  });

  it('chance depends on the seed and the path alone', async () => {
    const executors = (life: HostLife): Executors => ({
      mine: async () => life.note('drawn', life.random('a', 1).integer(1_000_000)),
    });
    const drawn = async (seed: number): Promise<ReadonlySet<unknown>> =>
      new Set(values((await run({ seed, executors })).seen, 'drawn'));
    const [one, other] = [await drawn(1), await drawn(2)];
    expect([one.size, other.size]).toEqual([1, 1]);
    expect(one).not.toEqual(other);
  });
});

describe('OBD1: bodies that cannot be simulated, or take their process down', () => {
  it('timers and files of the machine, also after other waits', async () => {
    const timer = await complaint((life) => async () => {
      await life.hop('first');
      await realPause(1);
    });
    expect(timer).toMatch(/^executors: the body of \w+ \(kind mine\) uses a timer of the machine/);
    expect(await complaint(() => async () => readFile(import.meta.filename))).toMatch(/uses the machine \(FSREQ\w+\)/);
  });

  it('an error that a body was handed, at once or later', async () => {
    const forgotten = await complaint((life) => async (_job: unknown, context: JobContext) => {
      void context.spawn({ kind: 'nobody knows it' });
      await life.pause(10);
    });
    expect(forgotten).toMatch(/^executors: nobody caught OffstageError: .+; it is of the body of \w+, which was handed it$/);
    const late = await complaint((life) => async (_job: unknown, context: JobContext) => {
      void life.pause(5_000).then(() => context.progress('late'));
    });
    expect(late).toMatch(/has ended, so its context can do nothing any more\.; it is of the body of/);
  });

  it('an error of its own, with the place it comes from', async () => {
    const own = await complaint((life) => async () => void life.pause(5).then(() => JSON.parse('no JSON')));
    expect(own).toMatch(/^executors: nobody caught SyntaxError: .+own-executors\.test\.ts:\d+:\d+$/);
  });

  it('a body that never ends, though it was told to', async () => {
    expect(await complaint(() => () => new Promise(() => {}))).toMatch(/\(kind mine\) is at work, though everything was let go/);
    expect(await complaint((life) => () => new Promise<void>((resolve) => life.onLetGo(resolve)))).toBeUndefined();
  });
});

describe('SIM3: mistakes of the host reject', () => {
  it.each<[string, Partial<SimulationOptions>, string]>([
    ['executors that throw', { executors: () => raise('no executors') }, 'no executors'],
    ['what is no executor', { executors: () => ({ mine: 5 }) as unknown as Executors }, 'executors.mine'],
    [
      'an input for nobody',
      { executors: () => ({ mine: () => 1 }), inputs: { mime: () => 1 } },
      'inputs.mime is not valid: there is no executor',
    ],
    ['an input that throws', { executors: () => ({ mine: () => 1 }), inputs: { mine: () => raise('no input') } }, 'no input'],
    ['options that are wrong', { options: { workers: 0 } }, 'The option workers is not valid'],
  ])('%s', async (_, options, message) => {
    await expect(run(options)).rejects.toThrow(message);
  });
});

describe('a checker of the host', () => {
  const twice: Checker = {
    guarantee: 'once each',
    promise: 'no input is worked on twice',
    begin() {
      const seen = new Map<unknown, string>();
      return (fact) => {
        if (fact.type !== 'own' || fact.what !== 'works on') return;
        const { jobId, thing } = fact.value as { jobId: string; thing: number };
        const before = seen.get(thing);
        if (before !== undefined) throw new Violation('once each', `${jobId} works on ${thing}, as ${before} did`);
        seen.set(thing, jobId);
      };
    },
  };
  const executors = (life: HostLife): Executors => ({
    mine: async ({ jobId, input }) => life.note('works on', { jobId, thing: input }),
  });
  const inputs: SimulationOptions['inputs'] = { mine: (dice) => dice.integer(20) };

  it('judges beside the others, under its own name', async () => {
    const { violation } = await run({ executors, inputs, checkers: [...CHECKERS, twice], steps: 600 });
    expect(violation).toMatchObject({ guarantee: 'once each', promise: 'no input is worked on twice' });
    expect(violation?.message).toMatch(/^once each: \w+ works on \d+, as \w+ did$/);
  });
});

function raise(message: string): never {
  throw new Error(message);
}
