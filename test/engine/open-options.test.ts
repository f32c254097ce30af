/** SET1, CHO1, CHO2, INL1: what `open` cannot understand is refused before anything is touched, by name. */
import { describe, expect, it } from 'vitest';
import { open } from '../../src/open.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';

const revoked = (): object => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};

/** How `open` answers; an engine that came up after all is closed. */
async function answerTo(options: unknown): Promise<unknown> {
  try {
    await (await open(options as never)).close();
    return 'it was accepted';
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    return code === undefined ? message : `${code}: ${message}`;
  }
}

describe('open', () => {
  it('refuses what is no object of options', async () => {
    for (const options of [null, 5, 'x', [], () => {}, revoked()]) {
      expect(await answerTo(options)).toMatch(/^config\.invalid: The option options /);
    }
  });

  const run = () => null;
  const bad: Readonly<Record<string, readonly unknown[]>> = {
    retention: [5, [], 'x', { maxAge: 5 }, { maxJobs: -1 }, revoked()],
    inspect: [5, {}, null],
    log: [5, {}, null],
    handleSignals: ['no', 1, null],
    control: ['yes', 1, null],
    clock: [{}, 5, 'x', { now: run, monotonic: run }, revoked()],
    ids: [{}, 5, { id: run }, revoked()],
    executors: [[run], 5, 'x', null, revoked(), { a: 5 }, { a: revoked() }, { a: { run, capabilities: 5 } }],
    store: [5, {}, null, revoked()],
    workers: [Object.create(null), Symbol('four'), 4n],
    durability: [Object.create(null), 5],
    agents: [[run], 5, 'x', null, revoked(), { a: 5 }, { a: null }],
    display: ['fine', 5, null, Object.create(null)],
    admission: ['coarse', true, null],
    interruptGraceMs: [-1, Number.NaN, '5', {}],
    outOfTurnIdleMs: [-1, Number.NaN, '5'],
    turnTimeoutMs: [-1, Number.NaN, '5'],
    quietAfterMs: [-1, Number.NEGATIVE_INFINITY, '5'],
    stallFailMs: [-1, Number.NaN, Number.NEGATIVE_INFINITY, '5', {}],
    confirmArchive: ['no', 1, null],
    workerz: [1, undefined],
  };
  for (const [name, values] of Object.entries(bad)) {
    it(`refuses ${name} that is none`, async () => {
      for (const value of values) {
        const answer = await answerTo(name === 'store' ? { store: value } : { store: memoryStore(), [name]: value });
        expect(answer).toMatch(new RegExp(`^config\\.invalid: The option ${name}[ .]`));
      }
    });
  }

  it.each([
    [{ run, capabilities: { abortabel: true } }, 'executors.a.capabilities.abortabel'],
    [{ run, capabilities: { killable: 'yes' } }, 'executors.a.capabilities.killable'],
    [{ run, capabilities: { workload: 'x' } }, 'executors.a.capabilities.workload'],
    [{ run, needsAgent: 'yes' }, 'executors.a.needsAgent'],
    [{ run, input: 5 }, 'executors.a'],
    [{ run, result: { '~standard': {} } }, 'executors.a'],
  ])('refuses the executor %o, naming %s', async (executor, option) => {
    expect(await answerTo({ store: memoryStore(), executors: { a: executor } })).toContain(`The option ${option} is not valid`);
  });

  it('refuses a store that serves an engine already, and leaves it alone', async () => {
    const store = memoryStore();
    await using engine = await open({ store });
    expect(await answerTo({ store })).toMatch(/^store\.locked: This store is in use by process \d+\.$/);
    expect(await engine.list()).toEqual([]);
  });

  it('takes all that is an option', async () => {
    expect(
      await answerTo({
        store: memoryStore(),
        control: false,
        workers: 2,
        perSessionLimit: null,
        executors: { a: { run, capabilities: { killable: true } } },
        durability: 'process',
        cancelGraceMs: null,
        killAfterMs: 5,
        shutdownGraceMs: 5,
        agents: { default: run },
        display: 'coarse',
        admission: 'conservative',
        interruptGraceMs: null,
        outOfTurnIdleMs: 0,
        turnTimeoutMs: Number.POSITIVE_INFINITY,
        quietAfterMs: null,
        stallFailMs: 60_000,
        confirmArchive: false,
        retention: { maxAgeMs: null },
        inspect: () => {},
        handleSignals: false,
        log: () => {},
        clock: undefined,
      }),
    ).toBe('it was accepted');
  });
});
