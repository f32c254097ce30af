/** The register of the work that agents tell of (liveness 6): what ends it, what leaves it in doubt. */
import { describe, expect, it } from 'vitest';
import { type Completion, type ListedWork, ProviderWorks } from '../../src/engine/provider-works.ts';
import type { WorkloadKind } from '../../src/model/executor.ts';
import { LIMITS } from '../../src/model/limits.ts';

const moment = (time: number) => ({ at: 1_000 + time, heardAt: time });
const work = (workloadId: string, kind: WorkloadKind = 'shell', toolCallId: string | null = null, admits = true) =>
  ({ workloadId, kind, toolCallId, admits }) satisfies ListedWork;
const end = (executionId: string | null, more: Partial<Completion> = {}): Completion => ({
  executionId,
  workloadId: null,
  toolCallId: null,
  kind: null,
  eventId: null,
  ...more,
});
const listed = (workloadId: string, kind: WorkloadKind | null = null, toolCallId: string | null = null): ListedWork => ({
  workloadId,
  kind,
  toolCallId,
  admits: true,
});
const ids = (works: ProviderWorks): readonly string[] => works.list().map(({ workloadId }) => workloadId);
const uncertain = (works: ProviderWorks): readonly string[] =>
  works.list().flatMap(({ workloadId, isUncertain }) => (isUncertain ? [workloadId] : []));

/** `execution:workload` entries, shells, registered one second after the other. */
function worksOf(...entries: readonly string[]): ProviderWorks {
  const works = new ProviderWorks();
  for (const [index, entry] of entries.entries()) {
    const [executionId = '', workloadId = ''] = entry.split(':');
    works.register(executionId, work(workloadId), moment(index));
  }
  return works;
}

describe('registering', () => {
  it('is done once; again it is a sign of life', () => {
    const works = new ProviderWorks();
    expect(works.register('e', work('w', 'subagent', 't'), moment(1))).toBe(true);
    expect(works.register('e', work('w', 'subagent', 't'), moment(5))).toBe(false);
    expect(works.register('e', work('w'), moment(7))).toBe(false);
    expect(works.list()).toMatchObject([{ workloadId: 'w', toolCallId: 't', startedAt: 1_001, lastHeard: 7 }]);
    expect([works.size, works.subagentCount]).toEqual([1, 1]);
  });

  it('PWK1: the same id of another execution is other work', () => {
    const works = worksOf('a:w', 'b:w');
    expect(works.size).toBe(2);
    works.complete(end('b', { workloadId: 'w' }));
    expect(works.list()).toMatchObject([{ executionId: 'a', workloadId: 'w' }]);
  });

  it('PWK2: a start that comes after its end does nothing, by either id', () => {
    const works = new ProviderWorks();
    expect(works.complete(end('e', { workloadId: 'w' }))).toBe(false);
    expect(works.complete(end('e', { toolCallId: 't' }))).toBe(false);
    expect(works.register('e', work('w'), moment(1))).toBe(false);
    expect(works.register('e', work('v', 'shell', 't'), moment(1))).toBe(false);
    // Another execution knows nothing of that.
    expect(works.register('f', work('w', 'shell', 't'), moment(1))).toBe(true);
  });

  it('PWK5: counts are of what is live, of kind subagent', () => {
    const works = new ProviderWorks();
    for (const [index, kind] of (['subagent', 'shell', 'subagent', 'monitor'] as const).entries())
      works.register('e', work(`w${index}`, kind), moment(index));
    expect([works.size, works.subagentCount]).toEqual([4, 2]);
    for (const _ of [1, 2]) works.complete(end('e', { workloadId: 'w0' }));
    expect([works.size, works.subagentCount]).toEqual([3, 1]);
  });

  it('says whether some of it is only shown', () => {
    const works = new ProviderWorks();
    works.register('e', work('admits'), moment(1));
    expect(works.hasUnadmitting).toBe(false);
    works.register('e', work('shown', 'monitor', null, false), moment(1));
    expect(works.hasUnadmitting).toBe(true);
    works.complete(end('e', { workloadId: 'shown' }));
    expect(works.hasUnadmitting).toBe(false);
  });

  it('PWK6: ends at the limit, which is told once, and goes on below it', () => {
    let full = 0;
    const works = new ProviderWorks(() => {
      full += 1;
    });
    for (let index = 0; index < LIMITS.workloadsPerSession; index++) works.register('e', work(`w${index}`), moment(1));
    expect(full).toBe(0);
    expect(works.register('e', work('one more'), moment(1))).toBe(false);
    expect(works.register('e', work('and another'), moment(1))).toBe(false);
    expect(full).toBe(1);
    works.complete(end('e', { workloadId: 'w5' }));
    expect(works.register('e', work('one more'), moment(1))).toBe(true);
    expect(works.size).toBe(LIMITS.workloadsPerSession);
    expect(works.register('e', work('and another'), moment(1))).toBe(false);
    expect(full).toBe(1);
  });
});

describe('PWK2: a completion by id', () => {
  it.each([
    ['work id', { workloadId: 'w' }],
    ['tool-call id', { toolCallId: 't' }],
    ['both', { workloadId: 'w', toolCallId: 't' }],
    ['a work id that is the tool call’s', { workloadId: 't' }],
  ])('is exact and idempotent: %s', (_, by) => {
    const works = worksOf('e:other');
    works.register('e', work('w', 'subagent', 't'), moment(9));
    expect([works.complete(end('e', by)), works.complete(end('e', by))]).toEqual([true, false]);
    expect(ids(works)).toEqual(['other']);
    expect(works.register('e', work('w', 'subagent', 't'), moment(10))).toBe(false);
  });

  it('of an unknown id, or without its execution, ends nothing and leaves nothing in doubt', () => {
    const works = worksOf('e:a', 'e:b');
    expect(works.complete(end('e', { workloadId: 'x' }))).toBe(false);
    expect(works.complete(end('f', { workloadId: 'a' }))).toBe(false);
    expect(works.complete(end(null, { workloadId: 'a' }))).toBe(false);
    expect([ids(works), uncertain(works)]).toEqual([['a', 'b'], []]);
  });

  it('counts by every id that was ever told of the work', () => {
    // The launch is told with its call, the id of the work only later; and the other way round.
    for (const [first, second] of [
      [work('t', 'subagent', 't'), work('w', 'subagent', 't')],
      [work('w', 'subagent'), work('w', 'subagent', 't')],
    ] as const) {
      for (const by of [{ workloadId: 'w' }, { toolCallId: 't' }]) {
        const works = new ProviderWorks();
        works.register('e', first, moment(1));
        expect(works.register('e', second, moment(2))).toBe(false);
        expect([works.size, works.complete(end('e', by)), works.size]).toEqual([1, true, 0]);
        // Under its other name it has ended too.
        expect(works.register('e', first, moment(3))).toBe(false);
        expect(works.register('e', second, moment(3))).toBe(false);
      }
    }
  });

  it('clears the doubt of none but its own', () => {
    const works = worksOf('e:a', 'e:b', 'e:c');
    works.complete(end('e'));
    expect(uncertain(works)).toEqual(['b', 'c']);
    works.complete(end('e', { workloadId: 'b' }));
    expect([ids(works), uncertain(works), works.uncertainCount]).toEqual([['c'], ['c'], 1]);
  });
});

describe('PWK3: a completion without an id', () => {
  it('ends the oldest across executions, and leaves the rest in doubt', () => {
    const works = worksOf('old:a', 'new:b', 'old:c');
    expect(works.complete(end('new'))).toBe(true);
    expect([ids(works), uncertain(works)]).toEqual([
      ['b', 'c'],
      ['b', 'c'],
    ]);
  });

  it('means its kind, where it tells it', () => {
    const works = worksOf('e:shell');
    works.register('e', work('agent 1', 'subagent'), moment(8));
    works.register('e', work('agent 2', 'subagent'), moment(9));
    works.complete(end('e', { kind: 'subagent' }));
    expect([ids(works), uncertain(works)]).toEqual([['shell', 'agent 2'], ['agent 2']]);
    expect(works.complete(end('e', { kind: 'monitor' }))).toBe(false);
  });

  it('with one candidate is exact', () => {
    const works = worksOf('e:a');
    expect([works.complete(end('e')), works.size, works.uncertainCount]).toEqual([true, 0, 0]);
    expect(works.complete(end('e'))).toBe(false);
    expect(works.register('e', work('a'), moment(9))).toBe(false);
  });

  it('counts once per delivery, whoever brings it again', () => {
    const works = worksOf('e:a', 'e:b', 'e:c');
    expect(works.complete(end('e', { eventId: 'd1' }))).toBe(true);
    expect(works.complete(end('e', { eventId: 'd1' }))).toBe(false);
    expect(works.complete(end('f', { eventId: 'd1' }))).toBe(false);
    expect(ids(works)).toEqual(['b', 'c']);
    expect(works.complete(end('e', { eventId: 'd2' }))).toBe(true);
    expect(ids(works)).toEqual(['c']);
  });
});

describe('doubt', () => {
  it('goes with a sign of life, by either id, of the same execution', () => {
    const works = worksOf('e:first', 'e:a');
    works.register('e', work('b', 'shell', 'tb'), moment(5));
    works.complete(end('e'));
    works.heard('f', 'a', moment(20));
    expect(uncertain(works)).toEqual(['a', 'b']);
    works.heard('e', 'a', moment(20));
    works.heard('e', 'tb', moment(21));
    expect([uncertain(works), works.uncertainCount]).toEqual([[], 0]);
    expect(works.list().map(({ lastHeard }) => lastHeard)).toEqual([20, 21]);
  });
});

describe('PWK4: a snapshot', () => {
  it('replaces what is known of its execution, and of no other', () => {
    const works = worksOf('e:a', 'e:b', 'f:c');
    expect(works.replace('e', [listed('b')], moment(9))).toBe(true);
    expect(ids(works)).toEqual(['b', 'c']);
    expect(works.replace('e', [], moment(10))).toBe(true);
    expect(ids(works)).toEqual(['c']);
    expect(works.replace('e', [], moment(11))).toBe(false);
  });

  it('that lists what is known changes nothing but doubt and silence', () => {
    const works = worksOf('e:a', 'e:b', 'e:c');
    works.complete(end('e'));
    expect(works.replace('e', [listed('b'), listed('c')], moment(30))).toBe(false);
    expect([uncertain(works), works.list().map(({ lastHeard }) => lastHeard)]).toEqual([[], [30, 30]]);
  });

  it('makes what was never announced uncertain, of the kind it tells or a shell', () => {
    const works = new ProviderWorks();
    expect(works.replace('e', [listed('x'), listed('y', 'subagent')], moment(1))).toBe(true);
    expect(works.list()).toMatchObject([
      { workloadId: 'x', kind: 'shell', isUncertain: true },
      { workloadId: 'y', kind: 'subagent', isUncertain: true },
    ]);
    expect([works.subagentCount, works.uncertainCount]).toEqual([1, 2]);
  });

  it('knows work by its tool call, and brings nothing back that has ended', () => {
    const works = new ProviderWorks();
    works.register('e', work('w', 'shell', 't'), moment(1));
    expect(works.replace('e', [listed('other name', 'shell', 't')], moment(2))).toBe(false);
    works.complete(end('e', { workloadId: 'w' }));
    expect(works.replace('e', [listed('w')], moment(3))).toBe(false);
    expect(works.size).toBe(0);
  });

  it('that leaves work out does not forbid that it starts', () => {
    const works = worksOf('e:a');
    works.replace('e', [], moment(2));
    expect(works.register('e', work('a'), moment(3))).toBe(true);
  });
});

describe('an execution that is over', () => {
  it('takes what it owned along, and nothing else; again it takes nothing', () => {
    const works = worksOf('e:a', 'f:b', 'e:c');
    works.complete(end('f', { workloadId: 'nobody' }));
    expect([works.retireExecution('e'), works.retireExecution('e'), works.retireExecution('z')]).toEqual([true, false, false]);
    expect([ids(works), works.size]).toEqual([['b'], 1]);
  });

  it('leaves no count and no doubt behind', () => {
    const works = worksOf('f:x');
    works.register('e', work('a', 'subagent', 't'), moment(5));
    works.complete(end('f'));
    expect([works.subagentCount, works.uncertainCount]).toEqual([1, 1]);
    works.retireExecution('e');
    expect([works.size, works.subagentCount, works.uncertainCount]).toEqual([0, 0, 0]);
  });
});

describe('a dismissal', () => {
  it('takes the oldest of that id away, and remembers it', () => {
    const works = worksOf('e:a', 'f:a');
    expect(works.dismiss('a')).toBe(true);
    expect(works.list()).toMatchObject([{ executionId: 'f' }]);
    expect(works.register('e', work('a'), moment(9))).toBe(false);
    expect([works.dismiss('a'), works.dismiss('a')]).toEqual([true, false]);
  });
});
