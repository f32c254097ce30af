import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { mockAgent } from '../../src/adapters/mock-agent.ts';
import type { InspectedChange } from '../../src/engine/inspection.ts';
import type { Offstage } from '../../src/engine/offstage.ts';
import { jobMachine, sessionActivityMachine, supervisorMachine, taskMachine } from '../../src/machines/index.ts';
import { controlledExecutor } from '../../src/testing/controlled-executor.ts';
import { type InspectedFrame, inspectorHost } from '../support/inspector-host.ts';
import { testEngine } from '../support/test-engine.ts';

const PARENTS = ['supervisor', 'jobs', 'sessions', 'tasks'];

/** What the engine's actors do, noted by somebody else than the relay. */
function witness(offstage: Offstage): { readonly changes: string[]; stop(): void } {
  const changes: string[] = [];
  const rosters = new Set<unknown>();
  const stop = offstage.inspect({
    actor: ({ machine, actorRef }) => void (machine === 'roster' && rosters.add(actorRef)),
    change: (change) => void (rosters.has(change.actorRef) || changes.push(lineOf(change))),
  });
  return { changes, stop };
}

const lineOf = (change: InspectedChange): string => {
  const value = change.type === '@xstate.snapshot' ? (change.snapshot as { value?: unknown }).value : undefined;
  return JSON.stringify([change.type, change.actorRef.sessionId, change.event.type, value]);
};
const lineOfFrame = ({ type, sessionId, event, snapshot }: InspectedFrame): string =>
  JSON.stringify([type, sessionId, event?.type, type === '@xstate.snapshot' ? snapshot?.value : undefined]);

const isChange = ({ type }: InspectedFrame): boolean => type !== '@xstate.actor';
const hasSnapshots = (count: number) => (frames: readonly InspectedFrame[]) =>
  frames.filter(({ type }) => type === '@xstate.snapshot').length >= count;
const foregroundOf = (value: unknown): string => (value as { foreground: string }).foreground;

/** As JSON shows it, functions by their names. */
const shownConfig = (config: unknown): unknown =>
  JSON.parse(JSON.stringify(config, (_, value) => (typeof value === 'function' ? { type: value.name } : value)));

describe('IRL2: a receiver that comes late', () => {
  it('gets every live actor and its state, then every change in order', async () => {
    const gate = controlledExecutor();
    await using engine = await testEngine({ executors: { gate }, workers: 60 });
    const { offstage } = engine;
    const jobs = await Promise.all(Array.from({ length: 50 }, (_, n) => offstage.spawn({ kind: 'gate', subject: `probe ${n}` })));
    const ids = jobs.map(({ jobId }) => jobId);
    for (const id of ids) await gate.started(id);
    await using host = await inspectorHost(offstage);

    const viewing = host.receive();
    await viewing.until(hasSnapshots(55));
    expect(viewing.names()).toEqual([...PARENTS, 'task default', ...ids.map((id, n) => `job ${id} "probe ${n}"`)]);
    for (const id of ids) expect(viewing.values(`job ${id}`)).toEqual([{ running: 'active' }]);
    expect(viewing.values('supervisor')).toEqual([{ accepting: 'healthy' }]);

    const before = viewing.frames.length;
    const { changes, stop } = witness(offstage);
    const [cancelled, failed, released, ...rest] = ids as [string, string, string, ...string[]];
    await offstage.cancel(cancelled);
    await gate.fail(failed, new Error('no'));
    await gate.release(released, 'yes');
    const late = await offstage.spawn({ kind: 'gate', subject: 'late' });
    for (const id of rest) await gate.release(id);
    await offstage.waitMany([...ids]);
    await gate.release(late.jobId);
    await offstage.wait(late.jobId);
    // What follows a job's end (its session counts again) comes in frames of its own: the last of them is waited for too.
    const seen = () => viewing.frames.slice(before).filter(isChange).map(lineOfFrame);
    await viewing.until(() => [...ids, late.jobId].every((id) => viewing.isOver(`job ${id}`)) && seen().length >= changes.length);
    stop();

    expect(seen()).toEqual(changes);
    expect(viewing.values(`job ${cancelled}`)).toEqual([{ running: 'active' }, { running: 'ending' }, 'cancelled']);
    expect(viewing.values(`job ${failed}`)).toEqual([{ running: 'active' }, 'errored']);
    expect(viewing.values(`job ${released}`)).toEqual([{ running: 'active' }, 'completed']);
    expect(viewing.values(`job ${late.jobId}`)).toEqual([{ running: 'active' }, 'completed']);
  });

  it('gets the frames of the protocol, with the definition of each chart', async () => {
    const gate = controlledExecutor();
    const mock = mockAgent();
    await using engine = await testEngine({ executors: { gate }, agents: { default: mock.factory } });
    const { offstage } = engine;
    await offstage.sessions.create({ sessionId: 's' });
    const job = await offstage.spawn({ kind: 'gate', sessionId: 's', subject: 'say "hi"' });
    await gate.started(job.jobId);
    await offstage.sessions.prompt('s', { content: 'hello' });
    await using host = await inspectorHost(offstage);
    const viewing = host.receive();
    await viewing.until(hasSnapshots(7));

    const machines = [
      ['supervisor', supervisorMachine],
      [`job ${job.jobId}`, jobMachine],
      ['activity s', sessionActivityMachine],
      [`task ${job.taskId}`, taskMachine],
    ] as const;
    for (const [name, machine] of machines) {
      expect(JSON.parse(viewing.of(name)[0]?.definition ?? ''), name).toEqual(shownConfig(machine.config));
    }
    const rootId = viewing.idOf('supervisor');
    const [actor, snapshot] = viewing.of(`job ${job.jobId}`);
    expect(actor).toEqual({
      type: '@xstate.actor',
      _version: '0.7.2',
      createdAt: expect.stringMatching(/^\d{13}$/),
      id: null,
      name: `job ${job.jobId} "say \\"hi\\""`,
      definition: expect.any(String),
      parentId: viewing.idOf('jobs'),
      rootId,
      sessionId: expect.stringMatching(/^x:\d+$/),
      snapshot: {
        status: 'active',
        value: { running: 'active' },
        context: expect.objectContaining({ startedAt: expect.any(Number), cause: null }),
        children: {},
        historyValue: {},
        tags: ['occupies-slot'],
      },
    });
    expect(snapshot).toEqual({
      type: '@xstate.snapshot',
      _version: '0.7.2',
      createdAt: expect.stringMatching(/^\d{13}$/),
      id: null,
      rootId,
      sessionId: actor?.sessionId,
      event: { type: 'xstate.init' },
      snapshot: actor?.snapshot,
    });
    expect(viewing.of('sessions')[0]).toMatchObject({ parentId: rootId, definition: '{"id":"sessions"}' });
    expect(viewing.of('activity s')[0]).toMatchObject({ name: 'activity s', parentId: viewing.idOf('sessions') });
    expect(viewing.values('activity s')).toEqual([{ foreground: 'generating', background: 'present' }]);

    await gate.release(job.jobId, 'done');
    await viewing.until(() => viewing.isOver(`job ${job.jobId}`));
    expect(viewing.of(`job ${job.jobId}`).find(({ type }) => type === '@xstate.event')).toEqual({
      type: '@xstate.event',
      _version: '0.7.2',
      createdAt: expect.stringMatching(/^\d{13}$/),
      id: null,
      rootId,
      sessionId: actor?.sessionId,
      event: { type: 'body.returned', at: expect.any(Number), result: expect.objectContaining({ text: 'done' }) },
    });
    (await mock.nextPrompt()).end();
  });

  it('gets a session from its first step on, if it is there before', async () => {
    const mock = mockAgent();
    await using engine = await testEngine({ agents: { default: mock.factory } });
    const { offstage } = engine;
    await using host = await inspectorHost(offstage);
    const viewing = await host.view();
    await viewing.until(hasSnapshots(4));
    await offstage.sessions.create({ sessionId: 's' });
    await offstage.sessions.prompt('s', { content: 'hello' });
    (await mock.nextPrompt()).end();
    await viewing.until(() => viewing.has('activity s') && viewing.values('activity s').length >= 4);
    expect(viewing.of('activity s')[0]?.snapshot?.value).toEqual({ foreground: 'idle', background: 'none' });
    expect(viewing.values('activity s').map(foregroundOf)).toEqual(['claimed', 'dispatching', 'generating', 'idle']);
  });
});

describe('filters', () => {
  const engineWithTwoTasks = async () => {
    const gate = controlledExecutor();
    const engine = await testEngine({ executors: { gate }, workers: null });
    const { offstage } = engine;
    await offstage.tasks.create({ taskId: 't1' });
    await offstage.tasks.create({ taskId: 't2' });
    for (const [sessionId, taskId] of [
      ['s1', 't1'],
      ['s2', 't1'],
      ['s3', 't2'],
    ])
      await offstage.sessions.create({ sessionId, taskId } as never);
    const spawn = (jobId: string, sessionId: string, more = {}) =>
      offstage.spawn({ kind: 'gate', jobId, sessionId, subject: jobId, ...more });
    await spawn('one', 's1');
    await spawn('two', 's2');
    await spawn('three', 's3');
    for (const id of ['one', 'two', 'three']) await gate.started(id);
    return { engine, gate, spawn };
  };

  it.each([
    ['?job=two', ['job two "two"'], 1],
    ['?session=s1', ['job one "one"'], 1],
    ['?task=t1', ['task t1', 'job one "one"', 'job two "two"'], 3],
    ['?task=t2&session=s1', [], 0],
    ['?job=nobody', [], 0],
  ])('%s shows what matches, and the parents of all', async (query, expected, count) => {
    const { engine } = await engineWithTwoTasks();
    await using _ = engine;
    await using host = await inspectorHost(engine.offstage);
    const viewing = await host.view(query);
    await viewing.until(hasSnapshots(4 + count));
    expect(viewing.names()).toEqual([...PARENTS, ...expected]);
  });

  it('hold for what comes later', async () => {
    const { engine, gate, spawn } = await engineWithTwoTasks();
    await using _ = engine;
    await using host = await inspectorHost(engine.offstage);
    const viewing = await host.view('?session=s1');
    await viewing.until(hasSnapshots(5));
    await gate.release('two');
    await gate.release('three');
    await spawn('other', 's2');
    await spawn('mine', 's1');
    await gate.started('mine');
    await gate.release('mine');
    await viewing.until(() => viewing.isOver('job mine'));
    expect(viewing.names()).toEqual([...PARENTS, 'job one "one"', 'job mine "mine"']);
    expect(viewing.frames.filter(({ name }) => name?.startsWith('job two'))).toEqual([]);
  });
});

describe('IRL1, IRL4: viewers come and go', () => {
  /** How many observers XState has of this system, from now on. */
  const observersOf = (offstage: Offstage): (() => number) => {
    let count = 0;
    const [system] = (() => {
      const systems: { inspect(observer: never): { unsubscribe(): void } }[] = [];
      offstage.inspect({ actor: ({ actorRef }) => void systems.push(actorRef.system as never), change: () => {} })();
      return systems;
    })();
    if (system === undefined) throw new Error('no system');
    const inspect = system.inspect.bind(system);
    system.inspect = (observer) => {
      count += 1;
      const { unsubscribe } = inspect(observer);
      return {
        unsubscribe: () => {
          count -= 1;
          unsubscribe();
        },
      };
    };
    return () => count;
  };

  it('leaves nothing attached after the last one, and serves a later one', async () => {
    const gate = controlledExecutor();
    await using engine = await testEngine({ executors: { gate } });
    const { offstage } = engine;
    const observers = observersOf(offstage);
    await using host = await inspectorHost(offstage);
    expect([observers(), host.relay.actors, host.relay.viewers]).toEqual([0, 0, 0]);
    const first = await host.view();
    const second = await host.view();
    await first.until(hasSnapshots(4));
    await second.until(hasSnapshots(4));
    expect([observers(), host.relay.viewers]).toEqual([1, 2]);
    const job = await offstage.spawn({ kind: 'gate', jobId: 'shared' });
    await gate.started('shared');
    await Promise.all([first, second].map((viewing) => viewing.until(() => viewing.has('job shared'))));

    const ends = [...host.sockets].map((socket) => once(socket, 'close'));
    first.socket.close();
    second.socket.close();
    await Promise.all(ends);
    expect([observers(), host.relay.actors, host.relay.viewers]).toEqual([0, 0, 0]);

    await gate.release(job.jobId);
    await offstage.wait(job.jobId);
    await offstage.spawn({ kind: 'gate', jobId: 'later', subject: 'gate' });
    await gate.started('later');
    const third = await host.view();
    await third.until(() => third.has('job later'));
    expect(third.names().filter((name) => name.startsWith('job'))).toEqual(['jobs', 'job later "gate"']);
    expect(observers()).toBe(1);
  });

  it('forgets actors that have ended', async () => {
    await using engine = await testEngine({ executors: { noop: () => 'done' } });
    await using host = await inspectorHost(engine.offstage);
    const viewing = await host.view();
    await viewing.until(hasSnapshots(4));
    const jobs = await Promise.all(Array.from({ length: 300 }, () => engine.offstage.spawn({ kind: 'noop' })));
    await engine.offstage.waitMany(jobs.map(({ jobId }) => jobId));
    await viewing.until(() => jobs.every(({ jobId }) => viewing.isOver(`job ${jobId}`)));
    expect(host.relay.actors).toBe(5);
  });

  it('says goodbye when the engine has closed', async () => {
    const engine = await testEngine();
    await using host = await inspectorHost(engine.offstage);
    const viewing = await host.view();
    await viewing.until(hasSnapshots(4));
    const closed = once(viewing.socket, 'close');
    await engine[Symbol.asyncDispose]();
    expect(await closed.then(([code]) => code)).toBe(1001);
    expect(viewing.values('supervisor')).toEqual([{ accepting: 'healthy' }, 'draining', 'closed']);
    const late = await host.view();
    expect(await once(late.socket, 'close').then(([code]) => code)).toBe(1001);
  });

  it('is closed by its host, and serves nobody any more', async () => {
    await using engine = await testEngine();
    await using host = await inspectorHost(engine.offstage);
    const viewing = await host.view();
    await viewing.until(hasSnapshots(4));
    const closed = once(viewing.socket, 'close');
    host.relay.close();
    expect(await closed.then(([code]) => code)).toBe(1001);
    const late = await host.view();
    expect(await once(late.socket, 'close').then(([code]) => code)).toBe(1001);
    expect([host.relay.viewers, host.relay.actors]).toEqual([0, 0]);
  });

  it('drops who gives no sign of life, and nobody else', async () => {
    await using engine = await testEngine();
    await using host = await inspectorHost(engine.offstage);
    const lively = await host.view();
    await lively.until(hasSnapshots(4));
    const [first] = [...host.sockets];
    if (first === undefined) throw new Error('no socket');
    for (let beat = 0; beat < 10; beat++) {
      const answered = once(first, 'pong');
      host.relay.beat();
      await answered;
    }
    lively.socket.pause();
    const gone = once(first, 'close');
    for (let beat = 0; beat < 6; beat++) host.relay.beat();
    expect(host.relay.viewers).toBe(1);
    host.relay.beat();
    await gone;
    expect(host.relay.viewers).toBe(0);
  });

  it('turns away more than it can serve', async () => {
    await using engine = await testEngine();
    await using host = await inspectorHost(engine.offstage);
    const viewings = [];
    for (let n = 0; n < 32; n++) viewings.push(await host.view());
    await Promise.all(viewings.map((viewing) => viewing.until(hasSnapshots(4))));
    const tooMany = await host.view();
    expect(await once(tooMany.socket, 'close').then(([code]) => code)).toBe(1013);
  });
});
