/** The tree-list of the dashboard as data: order, filters, and the hold under the pointer. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SessionView, TaskView } from '../../src/model/activity.ts';
import type { JobStatus } from '../../src/model/records.ts';
import { holdRows } from '../../web/src/later/hold.ts';
import type { JobRow } from '../../web/src/model/client.ts';
import {
  buildRows,
  type Content,
  filterCounts,
  type Row,
  type RowQuery,
  sessionTitle,
  shortId,
} from '../../web/src/model/rows.ts';

const ALL: RowQuery = { search: '', show: [], toggled: new Set(), held: null };

const task = (taskId: string, more: Partial<TaskView> = {}): TaskView =>
  ({
    taskId,
    title: taskId,
    state: 'open',
    createdAt: 1,
    sessions: [],
    runningJobs: 0,
    pending: null,
    foregroundActivity: null,
    ...more,
  }) as TaskView;
const session = (sessionId: string, taskId: string, more: Partial<SessionView> = {}): SessionView =>
  ({
    sessionId,
    taskId,
    agentId: null,
    state: 'waiting_for_input',
    pending: null,
    createdAt: 1,
    foregroundActivity: null,
    ...more,
  }) as SessionView;
const job = (jobId: string, sessionId: string, status: JobStatus, more: Partial<JobRow> = {}): JobRow =>
  ({
    jobId,
    subject: jobId,
    kind: 'command',
    agentId: null,
    sessionId,
    taskId: 't',
    parentJobId: null,
    status,
    createdAt: 1,
    cancelRequestedAt: null,
    ...more,
  }) as JobRow;

const contentOf = (tasks: readonly TaskView[], sessions: readonly SessionView[], jobs: readonly JobRow[]): Content => ({
  tasks: new Map(tasks.map((row) => [row.taskId, row])),
  sessions: new Map(sessions.map((row) => [row.sessionId, row])),
  jobs: new Map(jobs.map((row) => [row.jobId, row])),
});

const keys = (rows: readonly Row[]): readonly string[] => rows.map(({ key }) => key);

describe('what is listed', () => {
  it('leaves out what was archived, with all that is in it, as soon as nothing of it is at work', () => {
    const sessions = [session('s', 'put-away'), session('r', 'at-work')];
    const jobs = [job('j', 's', 'completed', { taskId: 'put-away' }), job('k', 'r', 'running', { taskId: 'at-work' })];
    const away = task('put-away', { state: 'archived', runningJobs: 0 });
    const working = task('at-work', { state: 'archived', runningJobs: 1 });
    const { rows } = buildRows(contentOf([away, working], sessions, jobs), { ...ALL, toggled: new Set(['task:at-work']) });
    expect(keys(rows)).toEqual(['task:at-work', 'session:r', 'job:k']);
  });

  it('names sessions by their agent, unless they have a name of their own', () => {
    const id = 'session_0000000001152D4484V9G4CY3V';
    expect(sessionTitle({ sessionId: id, agentId: 'reviewer' })).toBe('reviewer …G4CY3V');
    expect(sessionTitle({ sessionId: id, agentId: null })).toBe('session …G4CY3V');
    expect(sessionTitle({ sessionId: 'investigate', agentId: 'reviewer' })).toBe('investigate');
  });
});

describe('DSH6: the order', () => {
  it('is that of attention, then the newest first', () => {
    const jobs = [
      job('done', 's', 'completed'),
      job('old', 's', 'queued', { createdAt: 1 }),
      job('new', 's', 'queued', { createdAt: 2 }),
      job('no', 's', 'errored'),
      job('off', 's', 'cancelled'),
      job('on', 's', 'running'),
    ];
    const { rows } = buildRows(contentOf([task('t')], [session('s', 't')], jobs), ALL);
    expect(keys(rows)).toEqual(['task:t', 'session:s', 'job:on', 'job:new', 'job:old', 'job:no', 'job:off', 'job:done']);
  });

  it('puts tasks that need somebody first, then those that generate, then those with background work', () => {
    const tasks = [
      task('none'),
      task('back', { foregroundActivity: 'background' }),
      task('asks', { pending: 'clarification', foregroundActivity: 'generating' }),
      task('talks', { foregroundActivity: 'generating' }),
      task('may', { pending: 'permission', foregroundActivity: 'generating' }),
    ];
    const { rows } = buildRows(contentOf(tasks, [], []), ALL);
    expect(keys(rows)).toEqual(['task:may', 'task:asks', 'task:talks', 'task:back', 'task:none']);
  });

  it('a child lies in its parent where both run on one session, and in its session otherwise', () => {
    const jobs = [
      job('parent', 's', 'running'),
      job('child', 's', 'running', { parentJobId: 'parent' }),
      job('abroad', 'other', 'running', { parentJobId: 'parent' }),
    ];
    const { rows } = buildRows(contentOf([task('t')], [session('s', 't'), session('other', 't', { createdAt: 0 })], jobs), ALL);
    expect(rows.map(({ key, level }) => [key, level])).toEqual([
      ['task:t', 1],
      ['session:s', 2],
      ['job:parent', 3],
      ['job:child', 4],
      ['session:other', 2],
      ['job:abroad', 3],
    ]);
  });
});

describe('DSH8: a filter', () => {
  const content = contentOf(
    [task('t'), task('u')],
    [session('s', 't'), session('v', 'u')],
    [job('build', 's', 'running'), job('test', 's', 'errored'), job('lint', 'v', 'completed')],
  );

  it('shows what matches and what it lies in, also in closed rows', () => {
    const { rows, matching } = buildRows(content, { ...ALL, show: ['errored'], toggled: new Set(['task:t']) });
    expect(keys(rows)).toEqual(['task:t', 'session:s', 'job:test']);
    expect(matching.map(({ jobId }) => jobId)).toEqual(['test']);
  });

  it('and a search are both to be met; every word counts', () => {
    expect(keys(buildRows(content, { ...ALL, show: ['running', 'errored'], search: ' BUI ld' }).rows)).toEqual([
      'task:t',
      'session:s',
      'job:build',
    ]);
    expect(buildRows(content, { ...ALL, search: 'nothing like this' }).rows).toEqual([]);
  });
});

describe('DSH2, DSH3: chips', () => {
  it('count sessions by what they show: pending only where somebody can answer, unknown as generating', () => {
    const pending = { kind: 'permission', requestId: 'r', options: [] } as const;
    const sessions = [
      session('asks', 't', { state: 'running', pending }),
      session('over', 't', { state: 'failed', pending }),
      session('unknown', 't', { state: 'running', foregroundActivity: undefined as never }),
      session('works', 't', { foregroundActivity: 'background' }),
    ];
    const counts = filterCounts(contentOf([], sessions, []), { running: 2, pending: 1, queued: 3 });
    expect(counts).toMatchObject({ 'needs-you': 1, generating: 1, background: 1, running: 2, queued: 4, errored: 0 });
  });
});

describe('DSH9: the hold', () => {
  const STATUSES: readonly JobStatus[] = ['queued', 'running', 'completed', 'errored'];
  const jobsOf = (list: readonly (readonly [number, number])[]): JobRow[] =>
    list.map(([id, status]) => job(`j${id}`, `s${id % 3}`, STATUSES[status] as JobStatus, { createdAt: id }));
  const rowsOf = (jobs: readonly JobRow[], held: RowQuery['held']): readonly Row[] =>
    buildRows(
      contentOf(
        [task('t')],
        [0, 1, 2].map((n) => session(`s${n}`, 't')),
        jobs,
      ),
      { ...ALL, held },
    ).rows;
  const states = fc.uniqueArray(fc.tuple(fc.nat(30), fc.nat(3)), { selector: ([id]) => id, maxLength: 20 });

  it('whatever happens, what is at the anchor and above it stays where it is, and nothing is shown twice or lost below', () => {
    fc.assert(
      fc.property(states, states, fc.nat(100), (before, after, pick) => {
        const shown = rowsOf(jobsOf(before), null);
        const anchor = shown[pick % shown.length] as Row;
        const places = new Map(shown.map(({ key }, index) => [key, index]));
        const next = rowsOf(jobsOf(after), places);
        const { rows, waiting } = holdRows(shown, next, anchor.key);
        const index = shown.indexOf(anchor);
        expect(keys(rows).slice(0, index + 1)).toEqual(keys(shown).slice(0, index + 1));
        expect(new Set(keys(rows)).size).toBe(rows.length);
        const missing = keys(next).filter((key) => !keys(rows).includes(key));
        expect(missing.length).toBe(waiting);
        expect(missing.filter((key) => places.has(key))).toEqual([]);
        // Only what belongs above waits.
        const from = keys(next).indexOf(anchor.key);
        expect(missing.filter((key) => keys(next).indexOf(key) > from)).toEqual([]);
        // Siblings that were shown keep their order.
        for (const parent of ['s0', 's1', 's2']) {
          const siblings = rows.filter((row) => row.kind === 'job' && row.item.sessionId === parent && places.has(row.key));
          const order = siblings.map(({ key }) => places.get(key) as number);
          expect(order).toEqual([...order].sort((a, b) => a - b));
        }
      }),
    );
  });
});

describe('ids', () => {
  it('that were made up are shortened, all others are shown as they are', () => {
    expect(shortId('job_0000000001152D4484V9G4CY3V')).toBe('job …G4CY3V');
    for (const id of ['main', 'session_1', 'x'.repeat(40), '../../etc', '']) expect(shortId(id)).toBe(id);
  });
});
