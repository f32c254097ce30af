/** LRW1–LRW6, RTB1–RTB3, JRW1, JRW2: rows, merged by hand. */
import { describe, expect, it } from 'vitest';
import type { Asking } from '../../src/doors/client/asking.ts';
import { LiveRows, type LiveSnapshot } from '../../src/doors/client/live-rows.ts';
import type { JobRecordEvent, OffstageEvent } from '../../src/model/events.ts';
import type { JobStatus } from '../../src/model/records.ts';
import { jobOf, ModelServer } from '../support/model-server.ts';

const row = (jobId: string, status: JobStatus, revision: number) =>
  jobOf({ jobId, sessionId: 's', taskId: 't', createdAt: 1, status, revision });

const told = (status: JobStatus, revision: number, seq: number): JobRecordEvent => ({
  type: 'job.status',
  seq,
  epoch: 'e1',
  at: 5,
  jobId: 'j',
  sessionId: 's',
  callerSessionId: null,
  taskId: 't',
  parentJobId: null,
  status,
  reasonCode: null,
  cancelRequestedAt: null,
  completedAt: null,
  detached: false,
  revision,
});

const snapshot = (given: Partial<LiveSnapshot> = {}): LiveSnapshot => ({
  epoch: 'e1',
  seq: 10,
  tasks: [],
  sessions: [],
  jobs: [row('j', 'running', 3)],
  counts: { pending: 0, queued: 0, running: 1 },
  ...given,
});

const shown = (rows: LiveRows): unknown => {
  const { status, revision } = rows.jobs.rows.get('j') ?? {};
  return [status, revision];
};

describe('LRW2, J138: every order of what is told and read of one job', () => {
  const steps: Record<string, (rows: LiveRows) => void> = {
    'told: running at 3': (rows) => rows.apply(told('running', 3, 11)),
    'told: completed at 4': (rows) => rows.apply(told('completed', 4, 12)),
    'told late: running at 3': (rows) => rows.apply(told('running', 3, 13)),
    'told late: running at 5': (rows) => rows.apply(told('running', 5, 14)),
    'read: running at 3': (rows) => rows.applyJobs([row('j', 'running', 3)]),
    'read: completed at 4': (rows) => rows.applyJobs([row('j', 'completed', 4)]),
    'read: running at 5': (rows) => rows.applyJobs([row('j', 'running', 5)]),
  };
  const names = Object.keys(steps);
  const orders = (rest: readonly string[]): string[][] =>
    rest.length === 0
      ? [[]]
      : rest.flatMap((name) => orders(rest.filter((other) => other !== name)).map((tail) => [name, ...tail]));

  it('it ends once, and stays so', () => {
    for (const order of orders(names)) {
      const rows = new LiveRows(10);
      rows.applySnapshot(snapshot());
      rows.jobs.liveRead();
      let hasEnded = false;
      let highest = 0;
      for (const name of order) {
        steps[name]?.(rows);
        const { status, revision } = rows.jobs.rows.get('j') ?? row('j', 'pending', 0);
        hasEnded ||= status === 'completed';
        if (hasEnded) expect(status, order.join(', ')).toBe('completed');
        expect(revision, order.join(', ')).toBeGreaterThanOrEqual(highest);
        highest = revision;
      }
      const { counts } = rows.jobs;
      expect(counts.running + counts.completed).toBe(1);
    }
  });
});

describe('LRW1, LRW5: snapshots', () => {
  it('that are older than what is shown are not taken, unless record events are missing or the process is another', () => {
    const rows = new LiveRows(10);
    expect(rows.applySnapshot(snapshot())).toBe(true);
    expect(rows.apply(told('completed', 4, 11))).toBe(true);
    expect(rows.apply(told('completed', 4, 11))).toBe(false);
    expect(rows.applySnapshot(snapshot())).toBe(false);
    expect(shown(rows)).toEqual(['completed', 4]);
    expect(rows.seq).toBe(11);
    rows.apply({ type: 'resync', seq: 2, epoch: 'e1', at: 1 });
    expect(rows.applySnapshot(snapshot({ seq: 2, jobs: [row('j', 'queued', 2)] }))).toBe(true);
    expect([rows.seq, shown(rows)]).toEqual([2, ['queued', 2]]);
    expect(rows.applySnapshot(snapshot({ epoch: 'e2', seq: 1, jobs: [row('j', 'pending', 1)] }))).toBe(true);
    expect([rows.seq, rows.epoch, shown(rows)]).toEqual([1, 'e2', ['pending', 1]]);
  });

  it('keep what they do not show until all is read', () => {
    const rows = new LiveRows(10);
    rows.applySnapshot(snapshot());
    rows.applySnapshot(snapshot({ epoch: 'e2', jobs: [] }));
    expect([shown(rows), rows.jobs.counts.running, rows.isComplete]).toEqual([['running', 3], 1, false]);
    for (const table of [rows.tasks, rows.sessions]) table.endReading();
    rows.jobs.endReading(false);
    expect([rows.jobs.rows.size, rows.jobs.counts.running, rows.isComplete]).toEqual([0, 0, true]);
  });

  it('volatile events count only for the process that is shown', () => {
    const rows = new LiveRows(10);
    const progress = (epoch: string): OffstageEvent => ({
      type: 'job.progress',
      seq: 10,
      epoch,
      at: 7,
      jobId: 'j',
      sessionId: 's',
      progress: epoch,
    });
    expect(rows.apply(progress('e1'))).toBe(false);
    rows.applySnapshot(snapshot());
    expect(rows.apply(progress('e0'))).toBe(false);
    expect(rows.apply(progress('e1'))).toBe(true);
    expect(rows.jobs.rows.get('j')).toMatchObject({ progress: 'e1', lastActivityAt: 7 });
    rows.apply(told('completed', 4, 11));
    expect(rows.jobs.rows.get('j')).toMatchObject({ status: 'completed', progress: null, bodyLive: false });
    rows.apply(progress('e1'));
    expect(rows.jobs.rows.get('j')?.progress).toBeNull();
  });
});

/** A question that stays under way. */
function ask(table: LiveRows['jobs' | 'sessions' | 'tasks']): Asking {
  const askings: Asking[] = [];
  void table.ask((asking) => {
    askings.push(asking);
    return new Promise(() => {});
  });
  return askings[0] as Asking;
}

describe('RTB2, RTB3: answers that are overtaken', () => {
  const resync: OffstageEvent = { type: 'resync', seq: 11, epoch: 'e1', at: 1 };
  const model = new ModelServer(() => 1);
  model.addTask('t');
  model.addSession('s', 't');
  const session = { ...(model.sessions.get('s') as NonNullable<ReturnType<typeof model.sessions.get>>), sessionSeq: 7 };

  it('one from before a snapshot puts nothing back, and is asked for again', () => {
    const rows = new LiveRows(10);
    rows.applySnapshot(snapshot());
    const asking = ask(rows.jobs);
    rows.apply(told('completed', 4, 11));
    rows.apply(resync);
    rows.applySnapshot(snapshot({ seq: 12, jobs: [] }));
    rows.applyJobs([row('j', 'running', 3), row('gone', 'running', 2)], asking);
    expect(shown(rows)).toEqual(['completed', 4]);
    expect(rows.jobs.rows.has('gone')).toBe(false);
    expect([...rows.jobs.dirty]).toEqual(['j', 'gone']);
    rows.jobs.endReading(false);
    expect(rows.jobs.rows.size).toBe(0);
  });

  it('a snapshot that an answer has overtaken puts nothing back', () => {
    const rows = new LiveRows(10);
    rows.applySnapshot(snapshot({ sessions: [session] }));
    rows.apply(resync);
    rows.applyJobs([row('j', 'completed', 4)], ask(rows.jobs));
    rows.applySessions([{ ...session, sessionSeq: 8, activeSubagentCount: 2 }], ask(rows.sessions));
    rows.applySnapshot(snapshot({ seq: 12, sessions: [session] }));
    expect(shown(rows)).toEqual(['completed', 4]);
    expect(rows.sessions.rows.get('s')).toMatchObject({ sessionSeq: 8, activeSubagentCount: 2 });
    // They are there, and stay when all is read.
    for (const table of [rows.tasks, rows.sessions]) table.endReading();
    rows.jobs.endReading(false);
    expect([rows.jobs.rows.size, rows.sessions.rows.size]).toEqual([1, 1]);
  });

  it('of two that no counter tells apart, the one that was asked for first and comes last is asked for again', () => {
    const rows = new LiveRows(10);
    rows.applySnapshot(snapshot({ sessions: [session] }));
    const [first, second] = [ask(rows.sessions), ask(rows.sessions)];
    rows.applySessions([{ ...session, queuedPrompts: 1 }], second);
    rows.applySessions([session], first);
    expect(rows.sessions.rows.get('s')?.queuedPrompts).toBe(1);
    expect([...rows.sessions.dirty]).toEqual(['s']);
    rows.applySessions([{ ...session, sessionSeq: 8 }], first);
    expect(rows.sessions.rows.get('s')).toMatchObject({ sessionSeq: 8, queuedPrompts: 0 });
  });

  it('numbers of an earlier process say nothing of what this one tells', () => {
    const rows = new LiveRows(10);
    rows.applySnapshot(snapshot({ sessions: [session] }));
    rows.applySnapshot(snapshot({ epoch: 'e2' }));
    const asking = ask(rows.sessions);
    const base = { type: 'session.state_changed', seq: 11, epoch: 'e2', at: 9, sessionId: 's', taskId: 't' } as const;
    rows.apply({ ...base, oldState: 'created', newState: 'running', sessionSeq: 2 });
    expect([...rows.sessions.dirty]).toEqual(['s']);
    rows.applySessions([{ ...session, sessionSeq: 1 }], asking);
    expect(rows.sessions.rows.get('s')).toMatchObject({ state: 'created', sessionSeq: 1 });
    expect([...rows.sessions.dirty]).toEqual(['s']);
  });
});
