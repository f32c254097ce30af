/** RMV1, RMB1 to RMB3: what lives is told of first; then a session or a task goes whole, in one batch. */
import { describe, expect, it } from 'vitest';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { EXPIRED, KEYS, RANGES } from '../../src/persistence/row-keys.ts';
import { ticketOperation } from '../../src/persistence/session-rows.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { bareAgent } from '../support/bare-agent.ts';
import { keysUnder } from '../support/left-behind.ts';
import { codeOf, detachedBody, findingsOf, markerOf, removalLab, resting, rowsLeft, tombstones } from '../support/removing.ts';
import { contentOf } from '../support/store-content.ts';

const CONFIRMED = { confirm: true } as const;
const DONE = { done: true } as const;
const NOTHING = { generating: 0, background: 0, activeSubagentCount: 0, jobs: 0 };

describe('live work', () => {
  it('is told of, by session and by task, and nothing is done', async () => {
    await using lab = await removalLab();
    const { sessions, tasks } = lab.offstage;
    const s = await lab.running('s', 't');
    await s.reg('w1');
    await s.reg('w2', 'shell');
    const other = await lab.create('other', 't');
    await lab.offstage.spawn({ kind: 'gate', jobId: 'hosted', sessionId: 'other' });
    await lab.offstage.spawn({ kind: 'gate', jobId: 'asked', sessionId: 'other', callerSessionId: 's' });
    await lab.settled();
    const since = lab.engine.events.length;
    const before = await contentOf(lab.engine.store);
    // The job that `s` asked for is counted there, and runs here.
    expect(await sessions.remove('s')).toEqual({
      done: false,
      warning: { generating: 1, background: 0, activeSubagentCount: 2, jobs: 1 },
    });
    expect(await sessions.remove('other', { confirm: false, force: true, reason: 'enough' })).toEqual({
      done: false,
      warning: { generating: 0, background: 1, activeSubagentCount: 1, jobs: 2 },
    });
    expect(await tasks.remove('t')).toEqual({
      done: false,
      warning: { generating: 1, background: 1, activeSubagentCount: 3, jobs: 2 },
    });
    expect(lab.engine.events.length).toBe(since);
    expect(await contentOf(lab.engine.store)).toEqual(before);
    expect([s.agent.isClosed, (await other.view()).foregroundActivity]).toEqual([false, 'background']);
    // Nothing is kept out.
    expect(await codeOf(lab.offstage.spawn({ kind: 'echo', sessionId: 's' }))).toBe('done');
  });

  it('is also what no number tells of: an agent, or a body, that is still ending', async () => {
    await using lab = await removalLab({ script: { ignoreClose: true } });
    const s = await resting(lab);
    await lab.create('bodies', 't');
    await detachedBody(lab, 'stubborn', 'late', 'bodies');
    expect(await lab.offstage.sessions.remove('bodies')).toEqual({ done: false, warning: NOTHING });
    s.agent.crash();
    await lab.settled();
    expect(await lab.offstage.sessions.remove('s')).toEqual({ done: false, warning: NOTHING });
    expect(await lab.offstage.tasks.remove('t')).toEqual({ done: false, warning: NOTHING });
  });

  it('is not an agent that is loaded and has nothing to do: it is closed', async () => {
    await using lab = await removalLab();
    const s = await resting(lab);
    expect(await lab.offstage.sessions.remove('s')).toEqual(DONE);
    expect(s.agent.isClosed).toBe(true);
    expect(lab.offstage.health().agents).toEqual({ live: 0, ending: 0, detached: 0 });
  });
});

describe('a removal', () => {
  it('stops, removes everything in one batch, tells it in order, and leaves only that the ids are spent', async () => {
    const store = controlledStore(memoryStore());
    const conversational = async () => bareAgent({ conversationId: 'c1' });
    await using lab = await removalLab({ store, agents: { talker: conversational } });
    const { offstage } = lab;
    const s = await lab.running('s', 't');
    await lab.create('talking', 't', 'talker');
    const talking = codeOf(offstage.sessions.prompt('talking', { content: 'go' }));
    await lab.create('empty', 't');
    expect(await s.done().then(() => s.attempt({ promptId: 'p1' }))).toBe('accepted');
    const ticket = await s.ask('and then', { whenBusy: 'queue', promptId: 'p2' });
    await offstage.wait((await offstage.spawn({ kind: 'echo', jobId: 'small', sessionId: 's' })).jobId);
    await offstage.wait(
      (
        await offstage.spawn({
          kind: 'echo',
          jobId: 'large',
          sessionId: 's',
          input: 'x'.repeat(200_000),
          callerSessionId: 'empty',
        })
      ).jobId,
    );
    await offstage.spawn({ kind: 'gate', jobId: 'live', sessionId: 's' });
    await lab.gates.started('live');
    (await lab.gates.started('live')).context.output('printed');
    await lab.settled();
    // What a ticket that nobody knows has left.
    await store.batch([ticketOperation({ ticketId: 'stray', promptId: 'p', sessionId: 's', origin: 'human', createdAt: 1 })], {
      sync: false,
    });
    for (const range of [RANGES.large, RANGES.tickets, { gte: 'c/', lt: 'c/~' }])
      expect(await keysUnder(store, range)).not.toEqual([]);

    const since = lab.engine.events.length;
    const waiting = offstage.wait('live');
    const many = offstage.waitMany(['live', 'small']);
    const removing = offstage.tasks.remove('t', { ...CONFIRMED, reason: 'enough' });
    expect(await removing).toEqual(DONE);
    // Waits that were open have the last record.
    expect(await waiting).toMatchObject({ status: 'cancelled', cancelReason: 'enough', reasonCode: 'cancel.stop' });
    expect(await many).toMatchObject([{ status: 'cancelled' }, { status: 'completed' }]);
    expect(await talking).toBe('session.stopped');

    const removed = lab.engine.events.slice(since).filter(({ type }) => type.endsWith('.removed'));
    const at = lab.clock.now();
    expect(removed).toEqual([
      ...['empty', 's', 'talking'].map((sessionId) =>
        expect.objectContaining({ type: 'session.removed', at, sessionId, taskId: 't' }),
      ),
      expect.objectContaining({ type: 'task.removed', at, taskId: 't', title: 'T', state: 'open' }),
    ]);
    expect(lab.engine.events.at(-1)?.type).toBe('task.removed');
    const batches = store.writes.filter(({ operations }) => operations.some(({ key }) => key === KEYS.task('t')));
    const last = new Set(batches.at(-1)?.operations.map(({ key }) => key));
    for (const key of [
      KEYS.session('s'),
      KEYS.session('empty'),
      KEYS.conversation('talking'),
      KEYS.ticket('stray'),
      KEYS.id('small'),
    ])
      expect(last).toContain(key);

    expect(await rowsLeft(store)).toEqual([]);
    expect(await markerOf(store, { taskId: 't' })).toEqual({ removed: at });
    expect(await tombstones(store)).toBe(3);
    expect(await store.get(KEYS.id('live'))).toBe(EXPIRED);
    expect(await findingsOf(store)).toEqual([]);

    const { sessions, tasks } = offstage;
    for (const jobId of ['small', 'large', 'live']) expect(await codeOf(offstage.get(jobId))).toBe('job.expired');
    expect(await offstage.waitMany(['live'])).toEqual([{ jobId: 'live', error: { code: 'job.expired' } }]);
    expect(await codeOf(offstage.spawn({ kind: 'echo', jobId: 'small' }))).toBe('job.expired');
    expect(await codeOf(offstage.spawn({ kind: 'echo', sessionId: 's' }))).toBe('session.not_found');
    for (const verb of ['get', 'remove', 'stop', 'interrupt', 'tickets'] as const)
      expect(await codeOf(sessions[verb]('s'))).toBe('session.not_found');
    for (const verb of ['get', 'remove', 'stop', 'archive'] as const)
      expect(await codeOf(tasks[verb]('t'))).toBe('task.not_found');
    for (const promptId of ['p1', 'p2'])
      expect(await codeOf(sessions.prompt('s', { content: 'x', promptId }))).toBe('session.not_found');
    expect(await codeOf(offstage.workloads.list('s'))).toBe('session.not_found');
    expect(await codeOf(sessions.cancelTicket('ticketId' in ticket ? ticket.ticketId : ''))).toBe('ticket.not_found');
    expect(await codeOf(sessions.create({ sessionId: 's' }))).toBe('session.expired');
    expect(await codeOf(sessions.create({ sessionId: 'new', taskId: 't' }))).toBe('task.not_found');
    expect(await codeOf(tasks.create({ taskId: 't' }))).toBe('task.expired');
    // Only the built-in ones, made for the job above.
    const { jobs, ...listed } = await offstage.snapshot();
    expect([listed.sessions.map(({ sessionId }) => sessionId), listed.tasks.map(({ taskId }) => taskId), jobs]).toEqual([
      ['default'],
      ['default'],
      [],
    ]);
  });

  it('of a session leaves its task, its neighbours, and what it asked others for', async () => {
    await using lab = await removalLab();
    const { offstage } = lab;
    const s = await resting(lab);
    const other = await resting(lab, 'other');
    for (const [jobId, sessionId, callerSessionId] of [
      ['asked of other', 'other', 's'],
      ['asked of s', 's', 'other'],
      ['own', 's', undefined],
      ['of other', 'other', undefined],
    ] as const)
      await offstage.spawn({ kind: 'gate', jobId, sessionId, ...(callerSessionId === undefined ? {} : { callerSessionId }) });
    await lab.gates.started('of other');
    await offstage.tasks.setState('t', 'in_progress');
    const asked = offstage.wait('asked of s');
    expect(await offstage.sessions.remove('s', CONFIRMED)).toEqual(DONE);
    expect((await asked).status).toBe('cancelled');
    expect(await Promise.all(['own', 'asked of s'].map((jobId) => codeOf(offstage.get(jobId))))).toEqual([
      'job.expired',
      'job.expired',
    ]);
    // It ran with its neighbour, and stays there; whoever asked for it is remembered.
    expect(await offstage.get('asked of other')).toMatchObject({ status: 'cancelled', sessionId: 'other', callerSessionId: 's' });
    expect((await offstage.list({ callerSessionId: 's' })).map(({ jobId }) => jobId)).toEqual(['asked of other']);
    expect((await offstage.list({ sessionId: 'other' })).map(({ jobId }) => jobId)).toEqual(['of other', 'asked of other']);
    expect(await offstage.get('of other')).toMatchObject({ status: 'running' });
    expect(await offstage.tasks.get('t')).toMatchObject({ sessions: ['other'], foregroundActivity: 'background' });
    expect([s.agent.isClosed, other.agent.isClosed, await other.attempt()]).toEqual([true, false, 'accepted']);
    expect(await findingsOf(lab.engine.store)).toEqual([]);
    // Pruned one day, it leaves nothing either.
    await lab.gates.release('of other');
    await lab.settled();
    await offstage.prune({ maxJobs: 0 });
    expect(await offstage.tasks.remove('t', CONFIRMED)).toEqual(DONE);
    expect(await rowsLeft(lab.engine.store)).toEqual([]);
    expect(await findingsOf(lab.engine.store)).toEqual([]);
  });

  it('takes more jobs than are read at once', async () => {
    await using lab = await removalLab();
    await lab.create('s', 't');
    const jobs = Array.from({ length: 600 }, (_, index) => `j${index}`);
    await Promise.all(jobs.map((jobId) => lab.offstage.spawn({ kind: 'echo', jobId, sessionId: 's' })));
    await lab.offstage.waitMany(jobs);
    expect(await lab.offstage.sessions.remove('s')).toEqual(DONE);
    expect(await tombstones(lab.engine.store)).toBe(600);
    expect(await rowsLeft(lab.engine.store)).toEqual([KEYS.task('t')]);
    expect(await findingsOf(lab.engine.store)).toEqual([]);
  });

  it('goes by force where that is asked for', async () => {
    await using lab = await removalLab();
    await lab.create('s', 't');
    await lab.offstage.spawn({ kind: 'stubborn', jobId: 'late', sessionId: 's' });
    await lab.stubborns.started('late');
    const removing = lab.offstage.sessions.remove('s', { ...CONFIRMED, force: true });
    await lab.settled();
    await lab.clock.advance(1);
    expect(await removing).toEqual(DONE);
    await lab.stubborns.release('late');
  });

  it('refuses what makes no sense, and the built-in ones', async () => {
    await using lab = await removalLab();
    await lab.offstage.spawn({ kind: 'echo' });
    const { sessions, tasks } = lab.offstage;
    const bad = { code: 'input.invalid' };
    for (const remove of [sessions.remove, tasks.remove]) {
      await expect(remove('default', CONFIRMED)).rejects.toMatchObject({ ...bad, message: expect.stringContaining('built in') });
      await expect(remove(7 as never)).rejects.toMatchObject(bad);
      await expect(remove('x', { confirm: 'yes' as never })).rejects.toMatchObject({ ...bad, details: { argument: 'confirm' } });
      await expect(remove('x', { force: 1 as never })).rejects.toMatchObject({ ...bad, details: { argument: 'force' } });
      await expect(remove('x', { reason: 1 as never })).rejects.toMatchObject({ ...bad, details: { argument: 'reason' } });
      await expect(remove('x', { confirmed: true } as never)).rejects.toMatchObject({
        ...bad,
        details: { argument: 'confirmed' },
      });
    }
    await expect(tasks.archive('t', { force: true } as never)).rejects.toMatchObject(bad);
    await expect(tasks.archive('t', { confirm: 0 as never })).rejects.toMatchObject(bad);
    expect([await codeOf(sessions.remove('x')), await codeOf(tasks.remove('x')), await codeOf(tasks.archive('x'))]).toEqual([
      'session.not_found',
      'task.not_found',
      'task.not_found',
    ]);
  });
});
