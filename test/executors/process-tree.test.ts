import { spawn } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/actors/clock.ts';
import {
  orderOfInstant,
  type ProcessRow,
  type ProcessTable,
  parsePs,
  parseStat,
  type Token,
  tokenInEnvironment,
} from '../../src/executors/process-table.ts';
import {
  bootId,
  describeTree,
  findSession,
  findTree,
  isAlive,
  processStartTime,
  readProcessTable,
  sharedTableReader,
  signalGroup,
  signalProcess,
  treeMemory,
} from '../../src/executors/process-tree.ts';

interface Row {
  pid: number;
  ppid?: number;
  pgid?: number;
  session?: number;
  at?: number;
  name?: string;
  dead?: boolean;
  token?: string | Token['is'];
  otherUser?: boolean;
}

/** A reading made by hand; always with init, a user's systemd (50) and this process. */
function tableOf(...rows: Row[]): ProcessTable {
  const all: Row[] = [
    { pid: 1, ppid: 0, at: 0, name: 'init' },
    { pid: 50, at: 1, name: 'systemd' },
    { pid: process.pid, ppid: 40, pgid: 40, session: 40, at: 5, name: 'node' },
    ...rows,
  ];
  const byPid = new Map(all.map((row) => [row.pid, row]));
  const toRow = ({
    pid,
    ppid = 1,
    pgid = pid,
    session = pgid,
    at = 10,
    name = 'sh',
    dead = false,
  }: Row): [number, ProcessRow] => [pid, { pid, ppid, pgid, session, name, isDead: dead, startTime: String(at), order: at }];
  return {
    rows: new Map(all.map(toRow)),
    isReadable: true,
    tokenOf(pid) {
      const token = byPid.get(pid)?.token ?? 'none';
      return token === 'none' || token === 'unreadable' || token === 'starting' ? { is: token } : { is: 'token', value: token };
    },
    isSameUser: (pid) => byPid.get(pid)?.otherUser !== true,
  };
}

const ROOT = { pid: 100, startTime: '10', executionId: 'exe_1' };
const pidsOf = (rows: readonly ProcessRow[]) => rows.map((row) => row.pid).sort((a, b) => a - b);
const find = (...rows: Row[]) => {
  const { members, unknown } = findTree(tableOf(...rows), ROOT, treeMemory());
  return { members: pidsOf(members), unknown: pidsOf(unknown) };
};

describe('which processes belong to an execution', () => {
  it('the root, its descendants, its group, its session, and holders of its token', () => {
    const found = find(
      { pid: 100 },
      { pid: 101, ppid: 100, pgid: 101, session: 101 },
      { pid: 102, ppid: 101, pgid: 102, session: 102 },
      { pid: 103, pgid: 100 },
      { pid: 104, session: 100 },
      { pid: 105, token: 'exe_1' },
      { pid: 106, ppid: 105 },
      { pid: 107, session: 105 },
      { pid: 200 },
      { pid: 201, token: 'exe_2' },
    );
    expect(found).toEqual({ members: [100, 101, 102, 103, 104, 105, 106, 107], unknown: [] });
  });

  it('TRE1: a reused pid brings in neither itself nor its group nor its children', () => {
    const found = find({ pid: 100, at: 99 }, { pid: 101, ppid: 100, at: 99 }, { pid: 102, pgid: 100, at: 99 });
    expect(found.members).toEqual([]);
  });

  it('a token proves also next to a reused pid', () => {
    expect(find({ pid: 100, at: 99 }, { pid: 101, at: 20, token: 'exe_1' }).members).toEqual([101]);
  });

  it('TRE2: init, this process and its group are never members; ours with the token are unknown', () => {
    const found = find({ pid: 100 }, { pid: 101, ppid: 100, pgid: 40, session: 40 });
    expect(found).toEqual({ members: [100], unknown: [101] });
  });

  it('TRE4: zombies are gone', () => {
    expect(find({ pid: 100, dead: true }, { pid: 101, token: 'exe_1', dead: true })).toEqual({ members: [], unknown: [] });
  });

  it('TRE3: an orphan of this user that started since and cannot be read may belong; others do not', () => {
    const found = find(
      { pid: 300, token: 'unreadable', at: 20 },
      { pid: 301, token: 'unreadable', at: 20, ppid: 50 },
      { pid: 302, token: 'starting', at: 20 },
      { pid: 303, token: 'unreadable', at: 3 },
      { pid: 304, token: 'unreadable', at: 20, otherUser: true },
      { pid: 305, token: 'unreadable', at: 20, ppid: 306 },
      { pid: 306, at: 20 },
    );
    expect(found).toEqual({ members: [], unknown: [300, 301, 302] });
  });

  it('TRE3: where no process was noted, none that was started before the note of the launch may belong', () => {
    const root = { pid: null, startTime: null, executionId: 'exe_1', notBefore: 15 };
    const table = tableOf({ pid: 300, token: 'unreadable', at: 20 }, { pid: 303, token: 'unreadable', at: 3 });
    expect(pidsOf(findTree(table, root, treeMemory()).unknown)).toEqual([300]);
  });

  it.runIf(process.platform === 'linux')('an instant is placed among the starts of processes', async () => {
    const table = await readProcessTable();
    const own = table.rows.get(process.pid) as ProcessRow;
    const startedAt = Date.now() - process.uptime() * 1_000;
    expect(orderOfInstant(startedAt - 60_000)).toBeLessThan(own.order);
    expect(orderOfInstant(startedAt + 60_000)).toBeGreaterThan(own.order);
  });

  it('memory keeps members whose parents have died, unless their pid was reused', () => {
    const memory = treeMemory();
    const first = tableOf({ pid: 100 }, { pid: 101, ppid: 100, pgid: 101, session: 101, at: 11 });
    expect(pidsOf(findTree(first, ROOT, memory).members)).toEqual([100, 101]);
    const second = tableOf({ pid: 101, pgid: 101, session: 101, at: 11 }, { pid: 102, pgid: 101, session: 101 });
    expect(pidsOf(findTree(second, ROOT, memory).members)).toEqual([101, 102]);
    const third = tableOf({ pid: 101, pgid: 500, session: 500, at: 77 });
    expect(findTree(third, ROOT, memory).members).toEqual([]);
  });

  it('what a command that ended by itself leaves: its session and group, not what left them', () => {
    const table = tableOf(
      { pid: 101, pgid: 100, session: 100 },
      { pid: 102, pgid: 102, session: 100 },
      { pid: 103, pgid: 103, session: 103, token: 'exe_1' },
    );
    expect(pidsOf(findSession(table, ROOT).members)).toEqual([101, 102]);
    expect(findSession(tableOf({ pid: 100, at: 99 }), ROOT).members).toEqual([]);
  });

  it('names what is left', () => {
    const table = tableOf({ pid: 100, name: 'sleep' }, { pid: 300, token: 'unreadable', at: 20, name: 'agent' });
    const found = findTree(table, ROOT, treeMemory());
    expect(describeTree(found)).toBe('process 100 (sleep); process 300 (agent), which cannot be judged from here');
  });
});

describe('reading the kernel', () => {
  it('a name with spaces and parentheses does not shift the fields', () => {
    const fields = Array.from({ length: 50 }, (_, index) => String(index + 3));
    fields[0] = 'S';
    fields[6] = '4194304';
    const row = parseStat(`77 (a) b (c)) ${fields.join(' ')}`);
    expect(row).toEqual({ pid: 77, ppid: 4, pgid: 5, session: 6, name: 'a) b (c)', isDead: false, startTime: '22', order: 22 });
  });

  it('a zombie leader with living threads lives; kernel threads are none of ours', () => {
    const line = (state: string, flags: string, threads: string) => {
      const fields = Array.from({ length: 50 }, () => '1');
      fields[0] = state;
      fields[6] = flags;
      fields[17] = threads;
      return parseStat(`77 (x) ${fields.join(' ')}`);
    };
    expect(line('Z', '0', '1')?.isDead).toBe(true);
    expect(line('Z', '0', '3')?.isDead).toBe(false);
    expect(line('S', String(0x0020_0000), '1')).toBeNull();
    expect(parseStat('')).toBeNull();
  });

  it('the token is a whole entry of the environment', () => {
    expect(tokenInEnvironment('A=1\0OFFSTAGE_EXECUTION=exe_1\0B=2\0')).toEqual({ is: 'token', value: 'exe_1' });
    expect(tokenInEnvironment('A=OFFSTAGE_EXECUTION=exe_1\0XOFFSTAGE_EXECUTION=exe_2\0')).toEqual({ is: 'none' });
  });

  it('the output of ps on macOS', () => {
    const table = parsePs(
      [
        `  ${process.pid}   1  ${process.pid}   501 S    Mon Nov  3 10:00:00 2025 node x`,
        '  101   1   100   501 Ss   Mon Nov  3 10:00:05 2025 sleep 600 PATH=/bin OFFSTAGE_EXECUTION=exe_1 A=b',
        '  102   1   100   501 Z    Mon Nov  3 10:00:05 2025 (sh)',
        'no line at all',
      ].join('\n'),
    );
    expect(table.tokenOf(101)).toEqual({ is: 'token', value: 'exe_1' });
    expect(table.rows.get(101)).toMatchObject({ ppid: 1, pgid: 100, startTime: 'Mon Nov 3 10:00:05 2025', isDead: false });
    expect(table.rows.get(102)?.isDead).toBe(true);
    expect(table.rows.get(101)?.order).toBeGreaterThan(table.rows.get(process.pid)?.order ?? Number.POSITIVE_INFINITY);
    expect(parsePs('').isReadable).toBe(false);
  });

  it('finds this process, with a start time that stays', async () => {
    const table = await readProcessTable();
    expect(table.rows.get(process.pid)?.startTime).toBe(processStartTime(process.pid));
    expect(isAlive(table, process.pid, processStartTime(process.pid))).toBe(true);
    expect(isAlive(table, process.pid, 'other')).toBe(false);
    expect(isAlive(table, process.pid, null)).toBe(false);
    expect(processStartTime(2 ** 30)).toBeNull();
    expect(bootId()).toMatch(/^[0-9a-f-]{36}\/pid:\[\d+\]$/);
  });

  it('all who ask within one turn share one reading, begun after they asked', async () => {
    const read = sharedTableReader(systemClock);
    const [first, second] = [read(), read()];
    expect(first).toBe(second);
    const table = await first;
    expect(read()).not.toBe(first);
    expect(table.isReadable).toBe(true);
  });
});

describe('TRE1: signals reach the very process that was read', () => {
  it('a pid with another start time is not touched, a group neither', async () => {
    const child = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
    const ended = new Promise((resolve) => child.once('exit', (_, signal) => resolve(signal)));
    const pid = child.pid ?? 0;
    const row = (await readProcessTable()).rows.get(pid) as ProcessRow;
    expect(signalProcess({ ...row, startTime: '1' }, 'SIGKILL')).toBe(false);
    expect(signalGroup({ pid, startTime: '1' }, 'SIGKILL')).toBe(false);
    expect(processStartTime(pid)).toBe(row.startTime);
    expect(signalProcess(row, 'SIGTERM')).toBe(true);
    // Had one of the first two arrived, it would have been KILL.
    expect(await ended).toBe('SIGTERM');
  });

  it('TRE2: neither init nor this process', async () => {
    const table = await readProcessTable();
    for (const pid of [1, process.pid]) {
      const row = table.rows.get(pid) as ProcessRow;
      expect(signalProcess(row, 'SIGCONT')).toBe(false);
      expect(signalGroup(row, 'SIGCONT')).toBe(false);
    }
  });
});
