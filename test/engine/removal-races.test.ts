/** RMV2, RMV3: removals, stops and requests at the same time. */
import { describe, expect, it } from 'vitest';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { KEYS } from '../../src/persistence/row-keys.ts';
import { pausePoints } from '../../src/testing/pause-at.ts';
import { held, watched } from '../support/bare-agent.ts';
import { leave, session } from '../support/left-behind.ts';
import { codeOf, findingsOf, heldRemovals, removalLab, resting, rowsLeft } from '../support/removing.ts';
import { slowReads } from '../support/slow-reads.ts';

const CONFIRMED = { confirm: true } as const;
const DONE = { done: true } as const;

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
};

describe('others at the same time', () => {
  it.each([
    ['task', 'task', 'task.not_found'],
    ['session', 'session', 'session.not_found'],
    ['task', 'session', 'session.not_found'],
    ['session', 'task', 'done'],
  ] as const)('%s, then %s: the second one waits for the first: %s', async (first, second, code) => {
    await using lab = await removalLab();
    const s = await lab.running('s', 't');
    const remove = (what: 'task' | 'session') =>
      what === 'task' ? lab.offstage.tasks.remove('t', CONFIRMED) : lab.offstage.sessions.remove('s', CONFIRMED);
    const one = remove(first);
    await turns(1);
    const two = codeOf(remove(second));
    const three = watched(two);
    await turns(1);
    expect(three.hasSettled).toBe(false);
    expect([await one, await two]).toEqual([DONE, code]);
    expect(s.agent.isClosed).toBe(true);
    expect(lab.engine.events.filter(({ type }) => type === 'session.removed')).toHaveLength(1);
  });

  it('removals of two sessions of one task do not wait for each other', async () => {
    await using lab = await removalLab({ script: { ignoreClose: true } });
    await resting(lab, 'slow');
    await lab.create('quick', 't');
    const slow = watched(lab.offstage.sessions.remove('slow'));
    expect(await lab.offstage.sessions.remove('quick')).toEqual(DONE);
    expect(slow.hasSettled).toBe(false);
    await lab.clock.advance(60_000);
    expect(slow.hasSettled).toBe(true);
  });

  it('a second one that warns lets the first one go on', async () => {
    await using lab = await removalLab();
    await lab.running('s', 't');
    const [one, two] = [lab.offstage.tasks.remove('t'), lab.offstage.tasks.remove('t', CONFIRMED)];
    expect([(await one).done, await two]).toEqual([false, DONE]);
  });

  it('a stop that is under way is joined', async () => {
    await using lab = await removalLab();
    const s = await lab.running('s', 't');
    await lab.offstage.spawn({ kind: 'stubborn', jobId: 'late', sessionId: 's' });
    await lab.stubborns.started('late');
    const stop = await lab.offstage.tasks.stop('t', { reason: 'first' });
    const removing = watched(lab.offstage.tasks.remove('t', { ...CONFIRMED, reason: 'second' }));
    const waiting = lab.offstage.wait('late', { timeoutMs: null });
    await lab.settled();
    expect([removing.hasSettled, s.agent.isClosed]).toEqual([false, true]);
    await lab.clock.advance(60_000);
    expect([removing.hasSettled, (await waiting).cancelReason]).toEqual([true, 'first']);
    expect((await stop.settled).detached).toMatchObject([{ jobId: 'late' }]);
    expect(
      lab.engine.events
        .filter(({ type }) => type === 'session.state_changed')
        .map((event) => 'newState' in event && event.newState),
    ).toEqual(['created', 'starting', 'running', 'cancelled']);
    await lab.stubborns.release('late');
  });

  it.each(['snapshot', 'lock'] as const)(
    'a stop that has read before, and decides after (%s), brings nothing back',
    async (point) => {
      const { points, pauseAt } = pausePoints();
      await using lab = await removalLab({ points });
      await resting(lab);
      const held = pauseAt(point);
      const stops = [codeOf(lab.offstage.tasks.stop('t')), codeOf(lab.offstage.sessions.stop('s'))];
      await lab.settled();
      const removing = lab.offstage.tasks.remove('t');
      await lab.settled();
      held.release();
      expect(await removing).toEqual(DONE);
      // Each has stopped it first, or found nothing left, or nothing at all.
      for (const code of await Promise.all(stops))
        expect(['done', 'stop.nothing_running', 'task.not_found', 'session.not_found']).toContain(code);
      await lab.settled();
      expect(await rowsLeft(lab.engine.store)).toEqual([]);
      expect(lab.engine.log.filter(({ level }) => level === 'error')).toEqual([]);
    },
  );

  it('a stop whose reads are that slow decides on what is there by then', async () => {
    const inner = memoryStore();
    await leave(inner, { sessions: [session('old', 'idle')] });
    const slow = held<void>();
    let isNext = false;
    await using lab = await removalLab({
      store: {
        // One row of the task comes late: those that were read with it are old by then.
        async get(key) {
          const value = await inner.get(key);
          if (isNext && key === KEYS.session('old')) {
            isNext = false;
            await slow.promise;
          }
          return value;
        },
        getMany: (keys) => inner.getMany(keys),
        range: (options) => inner.range(options),
        batch: (operations, options) => inner.batch(operations, options),
        close: () => inner.close(),
      },
    });
    await lab.running('s', 't');
    isNext = true;
    const stopping = codeOf(lab.offstage.tasks.stop('t'));
    await lab.settled();
    expect(isNext).toBe(false);
    expect(await lab.offstage.sessions.remove('s', CONFIRMED)).toEqual(DONE);
    slow.resolve();
    expect(await stopping).toBe('stop.nothing_running');
    await lab.settled();
    expect(await codeOf(lab.offstage.sessions.get('s'))).toBe('session.not_found');
    expect(await findingsOf(inner)).toEqual([]);
  });

  it('a change of its task that has begun is waited for, and writes nothing afterwards', async () => {
    const { store, holdRead } = heldRemovals();
    await using lab = await removalLab({ store });
    const open = holdRead(KEYS.task('t'));
    const changing = codeOf(lab.offstage.tasks.setState('t', 'done'));
    await lab.settled();
    const removing = lab.offstage.tasks.remove('t');
    const watch = watched(removing);
    await lab.settled();
    expect(watch.hasSettled).toBe(false);
    open();
    expect([await changing, await removing]).toEqual(['done', DONE]);
    expect(lab.engine.events.slice(-2)).toMatchObject([{ type: 'task.updated' }, { type: 'task.removed', state: 'done' }]);
    expect(await rowsLeft(store)).toEqual([]);
  });

  it('what has read it before, and goes on after, finds nothing: spawn, prompt, creation', async () => {
    const inner = memoryStore();
    await leave(inner, { sessions: ['a', 'b', 'c'].map((sessionId) => session(sessionId, 'waiting_for_input')) });
    const { store, holdRead } = heldRemovals(inner);
    await using lab = await removalLab({ store });
    const { sessions, tasks } = lab.offstage;
    const spawn = () => lab.offstage.spawn({ kind: 'echo', sessionId: 'a' });
    const late: Promise<string>[] = [];
    const ask = (key: string, verb: () => Promise<unknown>): (() => void) => {
      const open = holdRead(key);
      late.push(codeOf(verb()));
      return open;
    };
    const open = [
      ask(KEYS.session('a'), spawn),
      ask(KEYS.session('b'), () => sessions.prompt('b', { content: 'go' })),
      ask(KEYS.session('new'), () => sessions.create({ sessionId: 'new', taskId: 't' })),
    ];
    await lab.settled();
    expect([await sessions.remove('a'), await sessions.remove('b'), await tasks.remove('t')]).toEqual([DONE, DONE, DONE]);
    for (const go of open) go();
    expect(await Promise.all(late)).toEqual(['session.not_found', 'session.not_found', 'task.not_found']);
    // And it has left nothing behind that would answer the next one.
    expect(await codeOf(spawn())).toBe('session.not_found');
    expect(await codeOf(sessions.prompt('b', { content: 'go' }))).toBe('session.not_found');
    await lab.settled();
    expect([lab.mock.starts.length, await rowsLeft(inner), await findingsOf(inner)]).toEqual([0, [], []]);
  });

  it.each(['session', 'task'] as const)(
    'what is asked for while the %s goes is done before, or refused; nothing of it is left',
    async (what) => {
      const codes = new Map<string, Set<string>>();
      for (let turnsLate = 0; turnsLate < 40; turnsLate++) {
        await using lab = await removalLab({ store: slowReads(memoryStore(), 1 + (turnsLate % 4)) });
        const { offstage } = lab;
        const { sessions, tasks } = offstage;
        await lab.create('s', 't');
        await lab.create('busy', 't');
        await offstage.spawn({ kind: 'gate', jobId: 'live', sessionId: 's' });
        await lab.gates.started('live');
        const removing = what === 'task' ? tasks.remove('t', CONFIRMED) : sessions.remove('s', CONFIRMED);
        await turns(turnsLate);
        const asked = {
          spawn: codeOf(offstage.spawn({ kind: 'gate', sessionId: 's' })),
          'spawn by id': codeOf(offstage.spawn({ kind: 'gate', jobId: 'named', sessionId: 's' })),
          'spawn from there': codeOf(offstage.spawn({ kind: 'gate', jobId: 'there', sessionId: 'busy', callerSessionId: 's' })),
          prompt: codeOf(sessions.prompt('s', { content: 'go' })),
          queue: codeOf(sessions.prompt('s', { content: 'go', whenBusy: 'queue' })),
          create: codeOf(sessions.create({ sessionId: 'new', taskId: 't' })),
        };
        expect(await removing).toEqual(DONE);
        for (const [name, code] of Object.entries(asked)) codes.set(name, (codes.get(name) ?? new Set()).add(await code));
        await lab.settled();
        expect(await codeOf(sessions.get('s'))).toBe('session.not_found');
        expect(await findingsOf(lab.engine.store)).toEqual([]);
        const left = (await rowsLeft(lab.engine.store)).filter((key) => !key.startsWith('x/'));
        if (what === 'task') expect(left).toEqual([]);
        else
          expect(left.filter((key) => key.includes('/s/') || key === KEYS.session('s'))).toEqual(
            left.filter((key) => key.startsWith('s/s/')),
          );
        expect(lab.mock.agents.every(({ isClosed }) => isClosed)).toBe(true);
        expect((await offstage.list({ sessionId: 's' })).length).toBe(0);
        expect(lab.engine.log.filter(({ level }) => level === 'error')).toEqual([]);
      }
      const refusals = [
        'task.stopping',
        'session.not_found',
        'session.stopped',
        'session.not_promptable',
        'prompt.busy',
        'task.not_found',
        'done',
      ];
      for (const [name, seen] of codes) {
        for (const code of seen) expect(refusals, name).toContain(code);
        expect(seen.size, name).toBeGreaterThan(what === 'session' && name === 'create' ? 0 : 1);
      }
    },
  );
});
