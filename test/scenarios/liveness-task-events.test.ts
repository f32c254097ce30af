/**
 * Liveness and stop, rows L96–L111: what is told of a task, and in which order whoever listens hears it (liveness 7).
 *
 * Delivery to each subscriber is the door's (`subscribe`, on connections that can be held up) and the reader's (`events`). A task cannot be
 * removed yet, so L108 and L109 are told by its chart, which decides what is told, and by the bus.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startActorSystem } from '../../src/actors/supervisor-actor.ts';
import { startTaskActor } from '../../src/actors/task-actor.ts';
import { LOCAL_CALLER } from '../../src/doors/requests/caller-identity.ts';
import type { Connection, Frame } from '../../src/doors/requests/connection.ts';
import { handle } from '../../src/doors/requests/handler.ts';
import { EventBus } from '../../src/engine/event-bus.ts';
import type { ActivityValue } from '../../src/model/activity.ts';
import type { OffstageEvent } from '../../src/model/events.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import type { Store } from '../../src/persistence/store.ts';
import { recordingConnection } from '../doors/recording-connection.ts';
import { type SessionLab, sessionLab } from '../support/sessions.ts';

const flush = async (): Promise<void> => {
  for (let turn = 0; turn < 24; turn++) await new Promise((resolve) => setImmediate(resolve));
};

/** What is told of tasks; `title` tells an ordinary update from one of activity alone. */
const taskFrames = (frames: readonly Frame[]) =>
  frames
    .filter(({ type }) => type === 'task.updated')
    .map((frame) => [frame.task_id, frame.title === undefined ? 'activity' : frame.state, frame.foreground_activity]);

async function subscribed(lab: SessionLab, after?: number) {
  const connection = recordingConnection();
  await handle(lab.offstage, { action: 'subscribe', request_id: 'r', ...(after === undefined ? {} : { after }) }, connection);
  await connection.frameOf(({ type }) => type === 'snapshot');
  return connection;
}

async function twoTasks() {
  const lab = await sessionLab();
  await lab.offstage.tasks.create({ taskId: 'task-1' });
  await lab.offstage.tasks.create({ taskId: 'task-2' });
  return { lab, one: await lab.running('one', 'task-1'), two: await lab.running('two', 'task-2') };
}

describe('what is told', () => {
  it('L96: a flip is told once, in both directions; the same again is not', async () => {
    await using lab = await sessionLab();
    const session = await lab.create();
    const { taskId } = session;
    await session.ask();
    await lab.settled();
    expect(lab.taskUpdates(taskId)).toEqual([['generating', 0]]);
    await session.out();
    await session.reg('shell', 'shell');
    expect(lab.taskUpdates(taskId)).toEqual([['generating', 0]]);
    await session.idle();
    expect(lab.taskUpdates(taskId)).toEqual([
      ['generating', 0],
      ['background', 0],
    ]);
    await session.idle();
    await session.reg('another', 'shell');
    expect(lab.taskUpdates(taskId)).toHaveLength(2);
    await session.out();
    expect(lab.taskUpdates(taskId)).toHaveLength(3);
    // Another session of the task flips, and the aggregate does not.
    await lab.running('another', taskId);
    await session.idle();
    expect(lab.publications('another')).toEqual([['generating', 0]]);
    expect(lab.taskUpdates(taskId)).toHaveLength(3);
  });

  it('L97: a count that changes under the same tier is told once', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    await session.reg('one');
    await session.idle();
    const since = lab.engine.events.length;
    await session.reg('two');
    await session.reg('two');
    expect(lab.taskUpdates(session.taskId, since)).toEqual([['background', 2]]);
  });

  it('L99: the end of the work is told as an explicit null and 0', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    await session.reg('one');
    await session.done();
    const since = lab.engine.events.length;
    await session.bgc({ workloadId: 'one' });
    const told = lab.engine.events.slice(since).find(({ type }) => type === 'task.updated');
    expect(Object.entries(told ?? {})).toEqual(
      expect.arrayContaining([
        ['foregroundActivity', null],
        ['activeSubagentCount', 0],
      ]),
    );
    expect(await lab.offstage.tasks.get(session.taskId)).toMatchObject({ foregroundActivity: null, activeSubagentCount: 0 });
  });

  it('has one order per task, also where nothing lives of it in between', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    const { taskId } = session;
    const numbers = () => lab.engine.events.flatMap((event) => (event.type === 'task.updated' ? [event.taskSeq ?? 0] : []));
    for (let cycle = 0; cycle < 3; cycle++) {
      await session.done();
      expect(await lab.offstage.tasks.get(taskId)).toMatchObject({ foregroundActivity: null, taskSeq: numbers().at(-1) });
      await lab.offstage.tasks.setState(taskId, cycle % 2 === 0 ? 'review' : 'in_progress');
      expect(await session.attempt()).toBe('accepted');
    }
    expect(lab.taskUpdates(taskId)).toHaveLength(7);
    expect(numbers()).toHaveLength(10);
    expect(numbers()).toEqual([...new Set(numbers())].sort((a, b) => a - b));
  });

  it('L100: no list of sessions can be read: the aggregate keeps its baseline, and what is replayed leaves it out', async () => {
    const inner = memoryStore();
    let isReadable = true;
    const store: Store = {
      get: (key) => inner.get(key),
      getMany: (keys) => inner.getMany(keys),
      range(options) {
        if (!isReadable) throw new Error('the list cannot be read');
        return inner.range(options);
      },
      batch: (operations, options) => inner.batch(operations, options),
      close: () => inner.close(),
    };
    await using lab = await sessionLab({ store });
    const session = await lab.running();
    const { taskId } = session;
    await session.reg('one');
    await session.idle();
    isReadable = false;
    await expect(lab.offstage.tasks.get(taskId)).rejects.toThrow();
    const since = lab.engine.events.length;
    // An ordinary update tells what was told last; a refresh that changes nothing tells nothing.
    // (Its caller is shown the task, which needs the list.)
    await expect(lab.offstage.tasks.setState(taskId, 'in_progress')).rejects.toThrow();
    await session.idle();
    expect(lab.engine.events.slice(since).filter(({ type }) => type === 'task.updated')).toEqual([
      expect.objectContaining({ state: 'in_progress', foregroundActivity: 'background', activeSubagentCount: 1 }),
    ]);
    await session.out();
    expect(lab.taskUpdates(taskId, since)).toEqual([['generating', 1]]);
    isReadable = true;
    const replayed: OffstageEvent[] = [];
    const { seq } = await lab.offstage.snapshot();
    for await (const event of lab.offstage.events({ after: 0 })) {
      if (event.type === 'task.updated' || event.type === 'session.state_changed') replayed.push(event);
      if (event.seq >= seq) break;
    }
    expect(replayed.length).toBeGreaterThan(2);
    for (const event of replayed) {
      expect(event).not.toHaveProperty('foregroundActivity');
      expect(event).not.toHaveProperty('activeSubagentCount');
    }
  });
});

describe('each subscriber', () => {
  it('L102: a change of activity never overtakes an ordinary update that is blocked', async () => {
    const { lab, one } = await twoTasks();
    await using _ = lab;
    const connection = await subscribed(lab);
    connection.hold();
    await lab.offstage.tasks.setState('task-1', 'in_progress');
    await one.reg('work', 'shell');
    await one.idle();
    await one.out();
    expect(taskFrames(connection.frames)).toEqual([['task-1', 'in_progress', 'generating']]);
    connection.resume();
    await flush();
    expect(taskFrames(connection.frames)).toEqual([
      ['task-1', 'in_progress', 'generating'],
      ['task-1', 'activity', 'background'],
      ['task-1', 'activity', 'generating'],
    ]);
  });

  it('L105: one that is blocked on task-1 keeps nobody from task-2; within one the order is the global one', async () => {
    const { lab, one, two } = await twoTasks();
    await using _ = lab;
    const blocked = await subscribed(lab);
    const free = await subscribed(lab);
    blocked.hold();
    await lab.offstage.tasks.setState('task-1', 'in_progress');
    await two.done();
    await lab.offstage.tasks.setState('task-2', 'done');
    await one.done();
    await flush();
    const inOrder = [
      ['task-1', 'in_progress', 'generating'],
      ['task-2', 'activity', null],
      ['task-2', 'done', null],
      ['task-1', 'activity', null],
    ];
    expect(taskFrames(free.frames)).toEqual(inOrder);
    expect(taskFrames(blocked.frames)).toEqual(inOrder.slice(0, 1));
    blocked.resume();
    await flush();
    expect(taskFrames(blocked.frames)).toEqual(inOrder);
    const seqs = (frames: readonly Frame[]) => frames.flatMap(({ seq }) => (typeof seq === 'number' ? [seq] : []));
    expect(seqs(blocked.frames)).toEqual(seqs(free.frames));
    expect(seqs(free.frames)).toEqual(seqs(free.frames).sort((a, b) => a - b));
  });

  it('L106: a delivery that fails moves no cursor: asked for again it comes once; the others are not affected', async () => {
    const { lab } = await twoTasks();
    await using _ = lab;
    const other = await subscribed(lab);
    const received: Frame[] = [];
    const failing: Connection = {
      caller: LOCAL_CALLER,
      send(frame) {
        if (frame.type === 'task.updated') return Promise.reject(new Error('it is gone'));
        received.push(frame);
        return Promise.resolve();
      },
      onClose: () => () => {},
    };
    await handle(lab.offstage, { action: 'subscribe', request_id: 'r' }, failing);
    await flush();
    const cursor = Math.max(...received.map(({ seq }) => seq as number));
    await lab.offstage.tasks.setState('task-1', 'in_progress');
    await lab.offstage.tasks.setState('task-2', 'in_progress');
    await flush();
    expect(received.filter(({ type }) => type === 'task.updated')).toEqual([]);
    const retried = await subscribed(lab, cursor);
    // What is replayed tells of no activity; that is in the snapshot.
    expect(taskFrames(retried.frames)).toEqual([
      ['task-1', 'in_progress', undefined],
      ['task-2', 'in_progress', undefined],
    ]);
    expect(taskFrames(other.frames)).toEqual([
      ['task-1', 'in_progress', 'generating'],
      ['task-2', 'in_progress', 'generating'],
    ]);
  });

  it('L106: a callback in this process that throws is logged, and not called again for that event', async () => {
    const { lab } = await twoTasks();
    await using _ = lab;
    const states: string[] = [];
    lab.offstage.onEvent((event) => {
      if (event.type !== 'task.updated' || !('state' in event)) return;
      states.push(event.state);
      throw new Error('a callback that throws');
    });
    await lab.offstage.tasks.setState('task-1', 'in_progress');
    await lab.offstage.tasks.setState('task-1', 'review');
    expect(states).toEqual(['in_progress', 'review']);
    expect(lab.engine.log.filter(({ event }) => event === 'observer.failed')).toHaveLength(2);
  });

  it('L111: subscribers that panic do not wedge the queue', async () => {
    const { lab, one } = await twoTasks();
    await using _ = lab;
    lab.offstage.onEvent(() => {
      throw new Error('panic');
    });
    lab.offstage.events$.subscribe(() => {
      throw new Error('panic');
    });
    const panicking: Connection = {
      caller: LOCAL_CALLER,
      send() {
        throw new Error('panic');
      },
      onClose: () => () => {},
    };
    await handle(lab.offstage, { action: 'subscribe', request_id: 'r' }, panicking);
    const connection = await subscribed(lab);
    await one.reg('work');
    await one.idle();
    await one.out();
    await flush();
    const told = ['generating', 'background', 'generating'];
    expect(taskFrames(connection.frames).map(([, , tier]) => tier)).toEqual(told);
    expect(lab.taskUpdates('task-1').map(([tier]) => tier)).toEqual(['generating', ...told]);
  });
});

describe('a task that was removed', () => {
  // XState's development build warns about events to actors that have ended; here that is the point.
  beforeEach(() => void vi.spyOn(console, 'warn').mockReturnValue(undefined));
  afterEach(() => void vi.restoreAllMocks());

  const generating: ActivityValue = { foregroundActivity: 'generating', activeSubagentCount: 0 };
  const background: ActivityValue = { foregroundActivity: 'background', activeSubagentCount: 1 };

  /** As the engine does: told if and only if the chart took it, through the bus. */
  function toldTask() {
    const { tasks } = startActorSystem({ workers: 1, perSessionLimit: null, onInspectError: () => {} });
    const actor = startTaskActor(tasks, 'open', { taskSeq: 0, stopEpoch: 0 });
    const bus = new EventBus(() => {});
    const told: string[] = [];
    bus.subscribe((event) => told.push(event.type));
    const head = { seq: 0, epoch: 'epoch', at: 0, taskId: 'task' };
    return {
      told,
      bus,
      update(value: ActivityValue) {
        const before = actor.getSnapshot();
        actor.send({ type: 'activity.aggregated', value });
        const { taskSeq } = actor.getSnapshot().context;
        if (actor.getSnapshot() !== before) bus.publish({ type: 'task.updated', ...head, ...value, taskSeq, isVolatile: true });
      },
      remove() {
        const before = actor.getSnapshot();
        actor.send({ type: 'task.remove' });
        if (actor.getSnapshot() !== before) bus.publish({ type: 'task.removed', ...head, title: '', state: 'open' });
      },
    };
  }

  it('L108: an update, the removal, a stale update: two events', () => {
    const task = toldTask();
    task.update(generating);
    task.remove();
    task.update(background);
    task.remove();
    expect(task.told).toEqual(['task.updated', 'task.removed']);
  });

  it('L109: no activity after the removal; what came before stays in order, also for one who causes more while listening', () => {
    const task = toldTask();
    const late: string[] = [];
    task.bus.subscribe((event) => {
      if (event.type !== 'task.updated') return;
      task.remove();
      task.update(background);
    });
    task.bus.subscribe((event) => late.push(event.type));
    task.update(generating);
    task.update(background);
    expect(task.told).toEqual(['task.updated', 'task.removed']);
    expect(late).toEqual(task.told);
  });
});
