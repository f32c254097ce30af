/** Background work that a host itself tells of (liveness 6, api): the same rules as for frames, and what is refused. */
import { describe, expect, it } from 'vitest';
import { LIMITS } from '../../src/model/limits.ts';
import { FULL, sessionLab } from '../support/sessions.ts';

describe('registering', () => {
  it('WKV1: needs an execution that is current on that session', async () => {
    await using lab = await sessionLab();
    const [one, two] = [await lab.running('one'), await lab.running('two')];
    const entry = { sessionId: 'one', kind: 'shell', workloadId: 'w' } as const;
    const of = (executionId: string) => lab.offstage.workloads.register({ ...entry, executionId });
    await expect(of('nobody')).rejects.toMatchObject({ code: 'execution.not_found' });
    await expect(of(two.executionId)).rejects.toMatchObject({ code: 'execution.not_found' });
    const gone = one.executionId;
    lab.mock.agents[0]?.exit();
    await lab.settled();
    await expect(of(gone)).rejects.toMatchObject({ code: 'execution.not_found' });
    await expect(lab.offstage.workloads.snapshot({ sessionId: 'one', executionId: gone, workloads: [] })).rejects.toMatchObject({
      code: 'execution.not_found',
    });
    expect([await one.tier(), await two.works()]).toEqual([null, []]);
  });

  it('WKV1: needs attestation of the kind, also in a list', async () => {
    await using lab = await sessionLab({ script: { attests: { ...FULL, workloads: ['subagent'] } } });
    const session = await lab.running();
    const { executionId } = session;
    await expect(session.hostReg('w', 'shell')).rejects.toMatchObject({ code: 'workload.not_attested' });
    const workloads = [{ workloadId: 'a', kind: 'subagent' as const }, { workloadId: 'b' }];
    await expect(lab.offstage.workloads.snapshot({ sessionId: 's', executionId, workloads })).rejects.toMatchObject({
      code: 'workload.not_attested',
    });
    expect(await session.works()).toEqual([]);
  });

  it('of more than is kept is refused', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    const workloads = Array.from({ length: LIMITS.workloadsPerSession }, (_, index) => ({ workloadId: `w${index}` }));
    await lab.offstage.workloads.snapshot({ sessionId: 's', executionId: session.executionId, workloads });
    await expect(session.hostReg('one more')).rejects.toMatchObject({ code: 'limit.workloads' });
    // What is there already may be told again.
    expect(await session.hostReg('w5', 'shell')).toEqual({ changed: false });
    await session.bgc({ workloadId: 'w5' });
    expect(await session.hostReg('one more')).toEqual({ changed: true });
  });

  it.each([
    ['kind', { kind: 'robot' }],
    ['workloadId', { workloadId: '' }],
    ['workloadId', { workloadId: 7 }],
    ['toolCallId', { toolCallId: '' }],
    ['sessionId', { sessionId: '' }],
    ['executionId', { executionId: null }],
    ['name', { name: 'x' }],
  ])('refuses %s: %j', async (argument, wrong) => {
    await using lab = await sessionLab();
    const session = await lab.running();
    const given = { sessionId: 's', executionId: session.executionId, kind: 'shell', workloadId: 'w', ...wrong };
    await expect(lab.offstage.workloads.register(given as never)).rejects.toMatchObject({
      code: 'input.invalid',
      message: expect.stringContaining(argument),
    });
  });
});

describe('completing', () => {
  it('by id is exact and says so once; without an id it takes the oldest and leaves doubt', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    const { executionId } = session;
    const { workloads } = lab.offstage;
    for (const id of ['a', 'b', 'c', 'd']) await session.hostReg(id);
    const byId = { sessionId: 's', executionId, workloadId: 'b' };
    expect([await workloads.complete(byId), await workloads.complete(byId)]).toEqual([{ changed: true }, { changed: false }]);
    const delivery = { sessionId: 's', eventId: 'd1' };
    expect([await workloads.complete(delivery), await workloads.complete(delivery)]).toEqual([
      { changed: true },
      { changed: false },
    ]);
    expect([await session.works(), (await session.view()).uncertainCount]).toEqual([['c', 'd'], 2]);
    expect((await workloads.list('s')).map(({ uncertain }) => uncertain)).toEqual([true, true]);
    expect(lab.publications('s').at(-1)).toEqual(['generating', 2]);
  });

  it('needs the execution with an id, and a session that exists; what nobody runs has nothing to complete', async () => {
    await using lab = await sessionLab();
    await lab.create();
    const { workloads } = lab.offstage;
    await expect(workloads.complete({ sessionId: 's', workloadId: 'w' })).rejects.toMatchObject({ code: 'input.invalid' });
    await expect(workloads.complete({ sessionId: 'none' })).rejects.toMatchObject({ code: 'session.not_found' });
    await expect(workloads.complete({ sessionId: 's', kind: 'robot' as never })).rejects.toMatchObject({ code: 'input.invalid' });
    const late = { sessionId: 's', executionId: 'long gone', workloadId: 'w' };
    expect(await workloads.complete(late)).toEqual({ changed: false });
    expect(await workloads.complete({ sessionId: 's' })).toEqual({ changed: false });
    expect(lab.publications('s')).toEqual([]);
  });
});

describe('a snapshot', () => {
  it('replaces what is known of its execution', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    const { executionId } = session;
    const of = (...ids: readonly string[]) =>
      lab.offstage.workloads.snapshot({ sessionId: 's', executionId, workloads: ids.map((workloadId) => ({ workloadId })) });
    await session.hostReg('a');
    await session.hostReg('b');
    expect(await of('a', 'b')).toEqual({ changed: false });
    expect(await of('b', 'new')).toEqual({ changed: true });
    expect(await lab.offstage.workloads.list('s')).toMatchObject([
      { workloadId: 'b', kind: 'subagent', uncertain: false },
      { workloadId: 'new', kind: 'shell', uncertain: true },
    ]);
    expect(await of()).toEqual({ changed: true });
    expect(await session.works()).toEqual([]);
  });

  it.each([
    ['no list', { workloads: 'all' }],
    ['an entry that is none', { workloads: [7] }],
    ['an entry without an id', { workloads: [{ kind: 'shell' }] }],
    ['an entry of an unknown kind', { workloads: [{ workloadId: 'w', kind: 'robot' }] }],
  ])('refuses %s, and changes nothing', async (_, wrong) => {
    await using lab = await sessionLab();
    const session = await lab.running();
    await session.hostReg('a');
    const given = { sessionId: 's', executionId: session.executionId, ...wrong };
    await expect(lab.offstage.workloads.snapshot(given as never)).rejects.toMatchObject({ code: 'input.invalid' });
    expect(await session.works()).toEqual(['a']);
  });
});

describe('a dismissal', () => {
  it('takes one registration away for good, and is noted', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    await session.hostReg('stuck');
    await session.idle();
    expect(await lab.offstage.workloads.dismiss('s', 'stuck')).toEqual({ changed: true });
    expect([await session.tier(), lab.publications('s').at(-1)]).toEqual([null, [null, 0]]);
    expect(lab.engine.log).toContainEqual({
      level: 'info',
      event: 'workload.dismissed',
      fields: { sessionId: 's', workloadId: 'stuck' },
    });
    await session.reg('stuck');
    expect(await session.works()).toEqual([]);
    await expect(lab.offstage.workloads.dismiss('s', 'stuck')).rejects.toMatchObject({ code: 'workload.not_found' });
    await expect(lab.offstage.workloads.dismiss('none', 'stuck')).rejects.toMatchObject({ code: 'session.not_found' });
  });
});
