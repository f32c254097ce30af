/** FLW1–FLW4, LMO1, LMO2, PGR1, PGR2, RRF1–RRF3, OCL1–OCL3; B53, B61, J138, L171: rows that follow a server, whatever happens between. */
import { afterEach, describe, expect, it } from 'vitest';
import { jobFromWire } from '../../src/doors/wire/wire-names.ts';
import { isVolatileEvent } from '../../src/model/events.ts';
import { isTerminal } from '../../src/model/records.ts';
import { FOREIGN_REJECTIONS } from '../support/foreign-rejections.ts';
import { type LiveLab, type LiveLabOptions, liveLab } from '../support/live-client.ts';
import { briefly, type ModelServer } from '../support/model-server.ts';

const labs: LiveLab[] = [];
function lab(options: LiveLabOptions = {}): LiveLab {
  const made = liveLab(options);
  labs.push(made);
  return made;
}
afterEach(() => {
  for (const { client, clock, reported } of labs.splice(0)) {
    client.close();
    expect(clock.pending).toBe(0);
    expect(reported).toEqual([]);
  }
});

const scene = (server: ModelServer): void => {
  server.addTask('t1');
  server.addSession('s1', 't1');
  for (const id of ['j1', 'j2', 'j3', 'j4', 'j5']) server.spawn(id, 's1');
};

/** Until what is told is shown: events, one round of reading, one telling. */
const settled = (made: LiveLab): Promise<void> => made.clock.advance(1_000);

function expectSame({ client, server }: LiveLab): void {
  const { tasks, sessions, jobs, isComplete, counts, connection } = client.live.get();
  expect(new Map(tasks)).toEqual(server.tasks);
  expect(new Map(sessions)).toEqual(server.sessions);
  const rows = [...server.jobs.values()].map((job) => [job.jobId, jobFromWire(briefly(job))] as const);
  expect(new Map(jobs)).toEqual(new Map(rows));
  for (const [status, count] of Object.entries(counts)) {
    expect(count, status).toBe([...server.jobs.values()].filter((job) => job.status === status).length);
  }
  expect(isComplete).toBe(true);
  expect(connection).toMatchObject({ status: 'open', error: null, seq: server.seq, epoch: server.epoch });
}

describe('what is there', () => {
  it('is shown with the first snapshot, and the rest page by page', async () => {
    const made = lab({ prepare: scene });
    expect(made.client.live.get()).toMatchObject({ version: 0, isComplete: false, connection: { status: 'connecting', seq: 0 } });
    await made.client.opened();
    await settled(made);
    expectSame(made);
    expect(made.events).toEqual([]);
  });

  it('PGR1: counts are those of the server before its rows are', async () => {
    const made = lab({ prepare: scene });
    made.server.holdsAnswers = true;
    await settled(made);
    const { counts, jobs, isComplete } = made.client.live.get();
    expect({ counts, shown: jobs.size, isComplete }).toMatchObject({ counts: { pending: 5 }, shown: 3, isComplete: false });
    expect(made.server.asked.map(({ action, status_filter: only }) => [action, only])).toEqual([
      ['subscribe', undefined],
      ['list_jobs', ['running', 'queued', 'pending']],
    ]);
  });

  it('5,000 jobs come in pages of 1,000, without their large parts', async () => {
    const made = lab({
      prepare: (server) => {
        scene(server);
        for (let index = 0; index < 5_000; index += 1) {
          server.spawn(`n${index}`, 's1');
          if (index % 10 > 0) server.advance(`n${index}`, 'completed');
        }
      },
    });
    await settled(made);
    expectSame(made);
    const pages = made.server.asked.filter(({ action }) => action === 'list_jobs');
    expect(pages.map(({ limit, brief, status_filter: only }) => [limit, brief, only !== undefined])).toEqual([
      [1_000, true, true],
      ...Array.from({ length: 6 }, () => [1_000, true, false]),
    ]);
    expect(made.client.live.get().jobs.get('n0')).not.toHaveProperty('input');
  });

  it('JRW2: of more than maxJobs the newest are kept, and those that live', async () => {
    const made = lab({
      maxJobs: 100,
      prepare: (server) => {
        server.addTask('t1');
        server.addSession('s1', 't1');
        server.spawn('old and alive', 's1');
        server.pageRows = 40;
      },
    });
    const { server, client, clock } = made;
    const spawnMany = async (from: number, count: number): Promise<void> => {
      for (let index = from; index < from + count; index += 1) {
        server.spawn(`n${index}`, 's1');
        server.advance(`n${index}`, 'completed');
        await clock.advance(1);
      }
    };
    await settled(made);
    expectSame(made);
    await spawnMany(0, 150);
    await settled(made);
    const { jobs, isComplete } = client.live.get();
    expect(isComplete).toBe(false);
    expect(jobs.size).toBeGreaterThan(90);
    expect(jobs.size).toBeLessThanOrEqual(100);
    expect(jobs.has('old and alive')).toBe(true);
    expect(jobs.has('n149')).toBe(true);
    expect(jobs.has('n0')).toBe(false);
    // The same again for one that comes later.
    const late = lab({ maxJobs: 100 });
    for (const name of ['tasks', 'sessions', 'jobs'] as const)
      for (const [id, row] of server[name]) late.server[name].set(id, row as never);
    await settled(late);
    expect(late.client.live.get().isComplete).toBe(false);
    expect(late.client.live.get().jobs.size).toBeLessThanOrEqual(100);
    expect(late.client.live.get().jobs.has('old and alive')).toBe(true);
    expect(late.client.live.get().jobs.has('n149')).toBe(true);
  });

  it('PGR2: a page that fails is read again; what the token may not list has no rows', async () => {
    const made = lab({
      prepare: (server) => {
        scene(server);
        server.failing.set('list_jobs', { error: 'Too many.', error_code: 'limit.rate', retryable: true });
        server.failing.set('list_tasks', { error: 'No.', error_code: 'access.forbidden', retryable: false });
      },
    });
    await made.clock.advance(500);
    expect(made.client.live.get().isComplete).toBe(false);
    await made.clock.advance(3_000);
    expectSame(made);
    const other = lab({
      prepare: (server) => {
        scene(server);
        server.addSession('s2', 't1');
        server.pageRows = 1;
        server.failing.set('list_sessions', { error: 'Too many.', error_code: 'limit.rate', retryable: true });
      },
    });
    await other.clock.advance(500);
    expect(other.client.live.get().sessions.size).toBe(1);
    await other.clock.advance(3_000);
    expectSame(other);
  });
});

describe('what happens', () => {
  it('is merged at once, and what events do not say is read', async () => {
    const made = lab({ prepare: scene });
    const { server, client } = made;
    await settled(made);
    server.spawn('j6', 's1');
    server.advance('j1');
    server.advance('j1');
    server.progress('j1', { percent: 50 });
    server.addSession('s2', 't1');
    server.setState('s1', 'running');
    server.ticket('s1');
    server.rename('t1', 'Another name');
    await made.clock.settle();
    expect(client.live.get().jobs.get('j1')).toMatchObject({ status: 'running', progress: { percent: 50 }, bodyLive: true });
    expect(client.live.get().tasks.get('t1')?.title).toBe('Another name');
    expect(client.live.get().jobs.has('j6')).toBe(false);
    await settled(made);
    expectSame(made);
  });

  it('RRF1: jobs that are announced together are read together', async () => {
    const made = lab({ prepare: scene });
    await settled(made);
    made.server.asked.length = 0;
    for (let index = 0; index < 700; index += 1) made.server.spawn(`n${index}`, 's1');
    await settled(made);
    expectSame(made);
    const reads = made.server.asked.filter(({ action }) => action === 'await_jobs');
    expect(reads.map(({ job_ids: ids }) => (ids as readonly string[]).length)).toEqual([500, 200]);
    expect(reads[0]).toMatchObject({ timeout: 0, mode: 'any', brief: true });
    expect(made.server.asked.filter(({ action }) => action === 'get_task').length).toBeLessThanOrEqual(2);
  });

  it('RRF2: what could not be read is read later', async () => {
    const made = lab({ prepare: scene });
    await settled(made);
    for (const action of ['await_jobs', 'get_task', 'get_session']) {
      made.server.failing.set(action, { error: 'Not now.', error_code: 'limit.rate', retryable: true });
    }
    made.server.spawn('j6', 's1');
    made.server.ticket('s1');
    await made.clock.advance(700);
    expect(made.client.live.get().jobs.has('j6')).toBe(false);
    await settled(made);
    expectSame(made);
  });

  it('RRF3: many sessions are read as a list', async () => {
    const made = lab({ prepare: scene });
    await settled(made);
    made.server.asked.length = 0;
    for (let index = 0; index < 50; index += 1) made.server.addSession(`n${index}`, 't1');
    await settled(made);
    expectSame(made);
    expect(made.server.asked.filter(({ action }) => action === 'get_session')).toEqual([]);
    expect(made.server.asked.filter(({ action }) => action === 'list_sessions').length).toBeLessThanOrEqual(2);
  });

  it('what is removed takes its jobs along, and comes back by no late answer', async () => {
    const made = lab({ prepare: scene });
    const { server, client, sockets } = made;
    server.addSession('s2', 't1');
    server.spawn('k1', 's2');
    await settled(made);
    server.holdsAnswers = true;
    server.advance('k1');
    server.ticket('s2');
    await settled(made);
    expect(sockets[0]?.answers.length).toBeGreaterThan(1);
    server.removeSession('s2');
    await made.clock.settle();
    expect(client.live.get().sessions.has('s2')).toBe(false);
    while ((sockets[0]?.answers.length ?? 0) > 0) sockets[0]?.letGo(0);
    server.holdsAnswers = false;
    await settled(made);
    expectSame(made);
    server.removeTask('t1');
    await settled(made);
    expectSame(made);
    expect(client.live.get().jobs.size).toBe(0);
  });

  it('RTB3: progress that is told while its job is read is kept, known or not', async () => {
    const made = lab({ prepare: scene });
    const { server, sockets, clock } = made;
    await settled(made);
    server.advance('j1', 'running');
    server.holdsAnswers = true;
    server.spawn('k1', 's1');
    server.advance('k1', 'running');
    // Both rows are asked for, and are answered without progress.
    await clock.advance(100);
    expect(server.asked.at(-1)).toMatchObject({ action: 'await_jobs', job_ids: ['j1', 'k1'] });
    server.progress('j1', 7);
    server.progress('k1', 8);
    await clock.settle();
    server.holdsAnswers = false;
    while ((sockets[0]?.answers.length ?? 0) > 0) sockets[0]?.letGo(0);
    await settled(made);
    expectSame(made);
  });

  it('RTB3, LRW6: tickets of a session whose row is on its way, known or not', async () => {
    const made = lab({ prepare: scene });
    const { server, sockets, clock } = made;
    await settled(made);
    server.holdsAnswers = true;
    server.addSession('s2', 't1');
    server.setState('s1', 'running');
    await clock.advance(300);
    expect(server.asked.filter(({ action }) => action === 'get_session').length).toBe(2);
    server.ticket('s1');
    server.ticket('s2');
    await clock.settle();
    server.holdsAnswers = false;
    while ((sockets[0]?.answers.length ?? 0) > 0) sockets[0]?.letGo(0);
    await settled(made);
    expectSame(made);
  });

  it('J138: a completed job stays completed, whatever comes late', async () => {
    const made = lab({ prepare: scene });
    const { server, client, sockets } = made;
    await settled(made);
    server.holdsAnswers = true;
    server.advance('j1');
    server.advance('j1');
    await settled(made);
    // An answer from when it was running is under way.
    server.advance('j1');
    const late = server.log.filter((event) => event.type === 'job.status');
    await settled(made);
    expect(client.live.get().jobs.get('j1')).toMatchObject({ status: 'completed', revision: 4 });
    while ((sockets[0]?.answers.length ?? 0) > 0) sockets[0]?.letGo(0);
    server.holdsAnswers = false;
    for (const event of late) sockets[0]?.publish(event);
    sockets[0]?.publish({ ...late[1], seq: server.seq + 1 } as never);
    server.seq += 1;
    server.progress('j2', 'none');
    await settled(made);
    expect(client.live.get().jobs.get('j1')).toMatchObject({ status: 'completed', revision: 4 });
    expectSame(made);
  });

  it('L171: null clears, what is not told stays, a count alone applies, a tier changes without a state', async () => {
    const made = lab({ prepare: scene });
    const { server, client } = made;
    await settled(made);
    const shown = () => {
      const { foregroundActivity, activeSubagentCount, state } = client.live.get().sessions.get('s1') ?? {};
      return [foregroundActivity, activeSubagentCount, state];
    };
    const steps = [
      [{ foregroundActivity: 'generating', activeSubagentCount: 0 }, ['generating', 0, 'created']],
      [{ foregroundActivity: 'generating', activeSubagentCount: 2 }, ['generating', 2, 'created']],
      [{ foregroundActivity: 'background', activeSubagentCount: 2 }, ['background', 2, 'created']],
      [{ foregroundActivity: null, activeSubagentCount: 0 }, [null, 0, 'created']],
    ] as const;
    for (const [value, expected] of steps) {
      server.setActivity('s1', value);
      await made.clock.settle();
      expect(shown()).toEqual(expected);
      expect(client.live.get().tasks.get('t1')).toMatchObject(value);
    }
    server.setActivity('s1', { foregroundActivity: 'background', activeSubagentCount: 3 });
    await settled(made);
    // From the log: the state alone is told.
    server.holdsAnswers = true;
    const { seq, epoch } = server;
    made.sockets[0]?.push({
      type: 'session.state_changed',
      seq: seq + 1,
      epoch,
      at: 1,
      session_id: 's1',
      task_id: 't1',
      old_state: 'created',
      new_state: 'idle',
    });
    await made.clock.settle();
    expect(shown()).toEqual(['background', 3, 'idle']);
    server.holdsAnswers = false;
    // What the row knows already is no news.
    server.seq += 1;
    server.setActivity('s1', { foregroundActivity: null, activeSubagentCount: 0 });
    await settled(made);
    const [first] = made.events.filter((event) => event.type === 'session.activity_changed');
    made.sockets[0]?.publish({ ...first, seq: server.seq } as never);
    await settled(made);
    expectSame(made);
  });

  it('LMO1: is told at most every 50 ms, and nothing when nothing has changed', async () => {
    const made = lab({ prepare: scene });
    await settled(made);
    await settled(made);
    const told: number[] = [];
    let version = made.client.live.get().version;
    made.client.live.subscribe((state) => {
      told.push(made.clock.now());
      expect(state).toBe(made.client.live.get());
      expect(state.version).toBe(version + 1);
      version = state.version;
    });
    await settled(made);
    expect(told).toEqual([]);
    for (let index = 0; index < 100; index += 1) {
      made.server.progress('j1', index);
      made.server.advance('j1', 'running');
      await made.clock.advance(4);
    }
    expect(told.length).toBeGreaterThan(6);
    expect(told.length).toBeLessThan(11);
    for (const [index, at] of told.entries()) if (index > 0) expect(at - (told[index - 1] ?? 0)).toBeGreaterThanOrEqual(50);
  });

  it('LMO2, OCL3: a callback that throws or rejects harms nobody, and is reported', async () => {
    const made = lab({ prepare: scene });
    const heard: string[] = [];
    const [, foreign] = FOREIGN_REJECTIONS[0] ?? [];
    const mean = (where: string) => (): Promise<never> | never => {
      heard.push(where);
      if (where.endsWith('!')) throw new Error(where);
      return (where.endsWith('?') ? foreign?.() : Promise.reject(new Error(where))) as Promise<never>;
    };
    const stops = [
      ...['event', 'event!', 'event?'].map((where) => made.client.onEvent(mean(where))),
      ...['live', 'live!', 'live?'].map((where) => made.client.live.subscribe(mean(where))),
    ];
    let isTold = false;
    made.client.live.subscribe(() => {
      isTold = true;
    });
    const stop = made.client.onEvent(() => heard.push('never'));
    stop();
    await settled(made);
    made.server.advance('j1');
    await settled(made);
    expect(isTold).toBe(true);
    expectSame(made);
    expect(new Set(heard)).toEqual(new Set(['event', 'event!', 'event?', 'live', 'live!', 'live?']));
    expect(made.reported.length).toBe(heard.length);
    for (const stopOne of stops) stopOne();
    made.reported.length = 0;
  });

  it('types: only those are told, and the rows follow all the same', async () => {
    const made = lab({ prepare: scene, types: ['task.updated', 'job.output'] });
    await settled(made);
    made.server.advance('j1');
    made.server.rename('t1', 'New');
    await settled(made);
    expectSame(made);
    expect(made.events.map(({ type }) => type)).toEqual(['task.updated']);
    const [subscription] = made.server.asked;
    expect(subscription?.types).toContain('job_status');
    expect(subscription?.types).toContain('job_output');
    expect(subscription?.types).not.toContain('session.output');
  });
});

describe('when the connection goes', () => {
  it('B61: the last state stays and says so; then it is that of the server again', async () => {
    const made = lab({ prepare: scene });
    const { server, client, network, clock } = made;
    server.advance('j1', 'running');
    await settled(made);
    const heardAt = clock.now();
    server.setActivity('s1', { foregroundActivity: 'generating', activeSubagentCount: 1 });
    await clock.settle();
    network.isDown = true;
    server.dropAll();
    await settled(made);
    const { connection, jobs, sessions, isComplete } = client.live.get();
    expect(connection).toMatchObject({ status: 'lost', lastHeardAt: heardAt, error: { code: 'control.lost' } });
    expect(jobs.get('j1')?.status).toBe('running');
    expect(sessions.get('s1')).toMatchObject({ foregroundActivity: 'generating', activeSubagentCount: 1 });
    expect(isComplete).toBe(true);
    server.advance('j1', 'completed');
    server.setActivity('s1', { foregroundActivity: null, activeSubagentCount: 0 });
    server.addTask('t2');
    network.isDown = false;
    await clock.advance(10_000);
    expectSame(made);
  });

  it('B53: ten jobs end meanwhile; three reconnects tell each end once', async () => {
    const made = lab({ prepare: scene });
    const { server, events, clock } = made;
    for (let index = 0; index < 10; index += 1) server.spawn(`n${index}`, 's1');
    await settled(made);
    server.dropAll();
    for (let index = 0; index < 10; index += 1) server.advance(`n${index}`, 'completed');
    for (let round = 0; round < 3; round += 1) {
      await clock.advance(10_000);
      expectSame(made);
      server.dropAll();
    }
    await clock.advance(10_000);
    expectSame(made);
    const ended = events.filter((event) => event.type === 'job.status' && isTerminal(event.status));
    expect(ended.map((event) => 'jobId' in event && event.jobId)).toEqual(Array.from({ length: 10 }, (_, index) => `n${index}`));
    const seqs = events.filter((event) => !isVolatileEvent(event)).map(({ seq }) => seq);
    expect(seqs).toEqual([...new Set(seqs)].sort((a, b) => a - b));
    // The cursor is asked for, and jobs that are known are not read anew.
    expect(server.asked.filter(({ action }) => action === 'subscribe').map(({ after }) => after)).toEqual([
      undefined,
      17,
      27,
      27,
      27,
    ]);
    expect(server.asked.filter(({ action }) => action === 'list_jobs').length).toBe(2);
  });

  it('a log that has forgotten what was missed: one resync, and everything is read anew', async () => {
    const made = lab({ prepare: scene });
    const { server, events, clock } = made;
    await settled(made);
    server.dropAll();
    server.advance('j1', 'completed');
    server.removeSession('s1');
    server.addSession('s3', 't1');
    server.forgetLog();
    await clock.advance(10_000);
    expectSame(made);
    expect(events.filter(({ type }) => type === 'resync').length).toBe(1);
  });

  it('another process, and another folder', async () => {
    const made = lab({ prepare: scene });
    const { server, clock, client } = made;
    server.advance('j1', 'running');
    server.setActivity('s1', { foregroundActivity: 'generating', activeSubagentCount: 1 });
    await settled(made);
    server.restart();
    await clock.advance(10_000);
    expectSame(made);
    expect(client.live.get().jobs.get('j1')?.status).toBe('errored');
    server.dropAll();
    for (const rows of [server.tasks, server.sessions, server.jobs]) rows.clear();
    server.log.length = 0;
    server.seq = 0;
    server.restart();
    server.addTask('other');
    server.addSession('s1', 'other');
    // The same id, for a younger job.
    server.spawn('j1', 's1');
    await clock.advance(10_000);
    expectSame(made);
  });

  it('FLW4: a new connection reads no rows before its snapshot, whose process may be another one', async () => {
    const made = lab({ prepare: scene });
    const { server, network, sockets, clock } = made;
    await settled(made);
    network.holdsFrames = true;
    server.dropAll();
    server.advance('j1', 'running');
    server.setState('s1', 'running');
    await clock.advance(2_000);
    const before = server.asked.length;
    // The two events that were missed.
    sockets[1]?.deliver(2);
    await clock.advance(2_000);
    expect(server.asked.length).toBe(before);
    network.holdsFrames = false;
    for (const socket of sockets) {
      socket.holdsFrames = false;
      socket.deliver();
    }
    await settled(made);
    expectSame(made);
  });

  it('progress that nobody could tell, while the connection was gone', async () => {
    const made = lab({ prepare: scene });
    const { server, clock } = made;
    server.advance('j1', 'running');
    await settled(made);
    server.dropAll();
    server.progress('j1', 3);
    await clock.advance(10_000);
    expectSame(made);
  });

  it('FLW3: a reader that fell behind subscribes anew, not all the time', async () => {
    const made = lab({ prepare: scene });
    const { server, clock } = made;
    await settled(made);
    for (let index = 0; index < 50; index += 1) {
      server.fallBehind();
      server.spawn(`n${index}`, 's1');
      await clock.advance(100);
    }
    await clock.advance(2_000);
    expectSame(made);
    const asked = server.asked.filter(({ action }) => action === 'subscribe').length;
    expect(asked).toBeGreaterThan(3);
    expect(asked).toBeLessThan(9);
  });

  it('in the middle of reading pages: goes on with the next connection', async () => {
    const made = lab({
      prepare: (server) => {
        scene(server);
        for (let index = 0; index < 300; index += 1) server.spawn(`n${index}`, 's1');
        server.pageRows = 50;
        server.holdsAnswers = true;
      },
    });
    const { server, clock, sockets } = made;
    for (let index = 0; index < 4; index += 1) {
      sockets[0]?.letGo(0);
      await clock.settle();
    }
    server.dropAll();
    server.removeSession('s1');
    server.addSession('s2', 't1');
    server.spawn('last', 's2');
    server.holdsAnswers = false;
    await clock.advance(10_000);
    expectSame(made);
  });

  it('what an earlier socket still sends is not heard', async () => {
    const made = lab({ prepare: scene });
    const { server, clock, sockets, events } = made;
    await settled(made);
    server.dropAll();
    await clock.advance(5_000);
    const before = events.length;
    sockets[0]?.emitLate({
      type: 'task.updated',
      seq: server.seq + 1,
      epoch: server.epoch,
      at: 1,
      task_id: 't1',
      title: 'late',
      state: 'open',
    });
    await settled(made);
    expect(events.length).toBe(before);
    expectSame(made);
  });
});
