/** Lists, questions and usage (spec 15), on folders that nobody owns. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { HistoryEntry, JobView, SessionRow, TaskRow } from '../../src/model/records.ts';
import { BIN, host, json, listed, newFolder, offstage, onlyJob, script, start } from './offstage.ts';

const hasScript = spawnSync('script', ['-qec', 'true', '/dev/null'], { stdio: 'ignore' }).status === 0;

async function dataFolder(): Promise<string> {
  return join(await newFolder(), 'data');
}

async function filled(task: string): Promise<string> {
  const data = await dataFolder();
  const made = await host(task, data).ended;
  if (made.stdout !== 'ready\n') throw new Error(made.stderr);
  return data;
}

describe('a folder without data', () => {
  it('J136: has no jobs, and none is made', async () => {
    const data = await dataFolder();
    const at = ['--data-dir', data];
    const nothing = { code: 0, signal: null, stderr: `offstage: there is no data in ${data}\n` };
    expect(await offstage(['jobs', 'list', ...at])).toEqual({ ...nothing, stdout: 'No jobs.\n' });
    expect(await offstage(['jobs', 'list', '--json', ...at])).toEqual({ ...nothing, stdout: '[]\n' });
    const env = { OFFSTAGE_DATA_DIR: data };
    expect(await offstage(['sessions', 'list'], { env })).toEqual({ ...nothing, stdout: 'No sessions.\n' });
    // Where none was named, there is nothing to have mistyped.
    const byDefault = { cwd: dirname(data), env: { OFFSTAGE_DATA_DIR: '' } };
    expect(await offstage(['jobs', 'list'], byDefault)).toEqual({ ...nothing, stdout: 'No jobs.\n', stderr: '' });
    expect((await offstage(['sessions', 'list', ...at])).stdout).toBe('No sessions.\n');
    expect((await offstage(['tasks', 'list', '--json', ...at])).stdout).toBe('[]\n');
    for (const verb of ['get', 'output', 'wait', 'cancel', 'history', 'tail']) {
      expect(await offstage(['jobs', verb, 'unknown', ...at]), verb).toMatchObject({
        code: 2,
        stdout: '',
        stderr: 'offstage: No job has the id "unknown".\n',
      });
    }
    expect(await offstage(['doctor', ...at])).toMatchObject({ code: 2, stderr: expect.stringContaining('there is no data in') });
    expect(existsSync(data)).toBe(false);
    await offstage(['run', ...at, '--', 'true']);
    expect(await offstage(['jobs', 'list', '--status', 'running', ...at])).toEqual({
      ...nothing,
      stdout: 'No jobs.\n',
      stderr: '',
    });
  });

  it('that holds other files is told like a missing one; a name that can be no folder exits 2', async () => {
    const folder = await newFolder();
    await writeFile(join(folder, 'notes.txt'), '');
    expect(await offstage(['jobs', 'list', '--data-dir', folder])).toMatchObject({
      code: 0,
      stdout: 'No jobs.\n',
      stderr: `offstage: there is no data in ${folder}\n`,
    });
    for (const path of [join(folder, 'notes.txt'), join(folder, 'x'.repeat(300))]) {
      expect(await offstage(['jobs', 'list', '--data-dir', path])).toMatchObject({ code: 2, stdout: '' });
    }
    expect(await readdir(folder)).toEqual(['notes.txt']);
  });
});

describe('unknown ids and wrong usage exit 2', () => {
  it('what was typed is named without what could move the cursor', async () => {
    for (const words of [['\u001b[2Jx'], ['jobs', 'list', '--\u001b[2Jx'], ['jobs', 'get', 'a', '\u001b]0;x\u0007']]) {
      const { code, stderr } = await offstage(words);
      expect([code, /[^\P{Cc}\n]/u.test(stderr)]).toEqual([2, false]);
      expect(stderr).toMatch(/^error: .+\n/);
    }
  });

  it('whatever the verb', async () => {
    const data = await dataFolder();
    await offstage(['run', '--data-dir', data, '--', 'true']);
    const { jobId } = await onlyJob(data);
    for (const args of [
      ['jobs', 'get', 'unknown'],
      ['jobs', 'output', 'unknown'],
      ['jobs', 'wait', 'unknown'],
      ['jobs', 'wait', jobId, 'unknown'],
      ['jobs', 'cancel', 'unknown'],
      ['jobs', 'history', '../../etc/passwd'],
      ['jobs', 'tail', 'unknown'],
      ['jobs', 'tail', 'unknown', '--json'],
      ['jobs', 'get', ''],
      ['jobs', 'get', 'x'.repeat(10_000)],
      ['sessions', 'get', 'unknown'],
      ['tasks', 'get', 'unknown'],
      ['jobs', 'get'],
      ['jobs', 'list', '--status', 'done'],
      ['jobs', 'list', '--limit', '0'],
      ['jobs', 'list', '--limit', 'many'],
      ['jobs', 'wait', jobId, '--timeout', 'later'],
      ['jobs', 'output', jobId, '--tail', '-1'],
      ['jobs', 'fly'],
      ['fly'],
      ['jobs'],
      [],
    ]) {
      const end = await offstage([...args, ...(args.length > 1 ? ['--data-dir', data] : [])]);
      expect([end.code, end.stdout], args.join(' ')).toEqual([2, '']);
      expect(end.stderr, args.join(' ')).toMatch(/\S/);
      expect(end.stderr, args.join(' ')).not.toMatch(/\n\s+at /);
    }
    expect(await readdir(dirname(data))).toEqual(['data']);
  });

  it('says what it must be instead', async () => {
    const data = await dataFolder();
    for (const [args, sentence] of [
      [['jobs', 'list', '--limit', 'many'], '--limit is not valid: it must be a number of 1 or more, not "many".'],
      [['jobs', 'output', 'x', '--tail', '1.5'], '--tail is not valid: it must be a number of 0 or more, not "1.5".'],
      [['jobs', 'wait', 'x', '--timeout', 'later'], 'it must be a duration such as 500ms, 30s, 5m or 1h30m, not "later".'],
      [['jobs', 'list', '--status', 'done'], /it must be one of pending, queued, running, .+, not "done"\.$/m],
    ] as const) {
      const end = await offstage([...args, '--data-dir', data]);
      expect(end).toMatchObject({ code: 2, stdout: '' });
      if (typeof sentence === 'string') expect(end.stderr).toContain(sentence);
      else expect(end.stderr).toMatch(sentence);
    }
  });

  it('help and version are no mistakes', async () => {
    for (const args of [['--help'], ['run', '--help'], ['jobs', '--help'], ['jobs', 'list', '--help'], ['--version']]) {
      expect(await offstage(args), args.join(' ')).toMatchObject({ code: 0, stdout: expect.stringMatching(/\S/), stderr: '' });
    }
  });

  it('OFFSTAGE_WORKERS that makes no sense is told, and nothing runs', async () => {
    const data = await dataFolder();
    const end = await offstage(['run', '--data-dir', data, '--', 'true'], { env: { OFFSTAGE_WORKERS: 'many' } });
    expect(end).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('OFFSTAGE_WORKERS') });
  });
});

it('a copy that was not built says so', async () => {
  const folder = await newFolder();
  const { stderr } = await script(
    `mkdir bin && cp ${BIN} bin && echo '{"type":"module"}' > package.json && node bin/offstage.js; echo $? >&2`,
    {
      cwd: folder,
    },
  );
  expect(stderr).toBe('offstage: this copy was not built yet. Run "npm run build" in its folder first.\n1\n');
});

describe('for people', () => {
  it('the list is aligned, without colours where no terminal is; ages and durations are words', async () => {
    const data = await dataFolder();
    for (const name of ['one', 'two']) await offstage(['run', '--data-dir', data, '--subject', name, '--', 'echo', name]);
    const { stdout } = await offstage(['jobs', 'list', '--data-dir', data]);
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(3);
    for (const line of lines.slice(1)) {
      expect(line).toMatch(
        /^job_\w+ {2}completed {2}(just now|\d+ seconds? ago) +\d+(\.\d)? (milliseconds?|seconds?) +(one|two)$/,
      );
      expect(line.indexOf('completed')).toBe(lines[0]?.indexOf('STATUS'));
    }
    expect(stdout).not.toContain('\u001b');
  });

  it.skipIf(!hasScript)('a terminal gets colours unless NO_COLOR says no', async () => {
    const data = await dataFolder();
    await offstage(['run', '--data-dir', data, '--', 'true']);
    // Not every system has a `script` that takes a command.
    const onTerminal = (env = ''): Promise<{ stdout: string }> =>
      script(`script -qec "${env} $OFFSTAGE jobs list --data-dir ${data}" /dev/null < /dev/null`, { env: { TERM: 'xterm' } });
    expect((await onTerminal()).stdout).toContain('\u001b[32mcompleted');
    expect((await onTerminal('NO_COLOR=1')).stdout).not.toContain('\u001b');
  });

  it('B73: odd ids and subjects are shown on one line and cannot move the cursor', async () => {
    const data = await filled('odd');
    const { stdout } = await offstage(['jobs', 'list', '--data-dir', data]);
    expect(stdout.trimEnd().split('\n')).toHaveLength(5);
    expect(stdout).not.toContain('\u001b');
    const ids = (await listed(data)).map(({ jobId }) => jobId);
    expect(ids).toEqual(['a b\u001b[31m\nc', '..', '/etc/x', '../../x']);
    for (const id of ids) expect((await json<JobView>(['jobs', 'get', id, '--data-dir', data])).jobId).toBe(id);
    expect((await json<SessionRow>(['sessions', 'get', '../../s', '--data-dir', data])).taskId).toBe('../t');
    expect((await json<TaskRow>(['tasks', 'get', '../t', '--data-dir', data])).title).toBe('a task');
    expect(await readdir(dirname(data))).toEqual(['data']);
  });
});

describe('for programs', () => {
  it('--json prints one document in the words of the API', async () => {
    const data = await dataFolder();
    const at = ['--data-dir', data];
    await offstage(['run', ...at, '--', 'sh', '-c', 'for n in 1 2 3; do echo line $n; done']);
    const job = await onlyJob(data);
    expect(job).toMatchObject({
      kind: 'command',
      sessionId: 'default',
      error: null,
      progress: null,
      bodyLive: false,
      detached: false,
    });
    expect(await json<JobView>(['jobs', 'get', job.jobId, ...at])).toEqual(job);
    expect(await json<JobView>(['jobs', 'wait', job.jobId, ...at])).toEqual(job);
    expect(await json<JobView[]>(['jobs', 'wait', job.jobId, job.jobId, ...at])).toEqual([job, job]);
    expect(await json<JobView>(['jobs', 'cancel', job.jobId, ...at])).toEqual(job);
    expect(await json(['jobs', 'output', job.jobId, ...at])).toEqual({ jobId: job.jobId, output: 'line 1\nline 2\nline 3\n' });
    expect((await offstage(['jobs', 'output', job.jobId, '--tail', '2', ...at])).stdout).toBe('line 2\nline 3\n');
    const history = await json<HistoryEntry[]>(['jobs', 'history', job.jobId, ...at]);
    expect(history.map(({ to, type }) => to ?? type)).toEqual(['pending', 'queued', 'running', 'process_launched', 'completed']);
    expect((await offstage(['jobs', 'history', job.jobId, ...at])).stdout).toMatch(
      /queued → running\n.*process launched {2}\(pid \d+\)\n/,
    );
    expect(await json<SessionRow[]>(['sessions', 'list', ...at])).toMatchObject([
      { sessionId: 'default', taskId: 'default', pending: null },
    ]);
    expect(await json<TaskRow[]>(['tasks', 'list', ...at])).toMatchObject([{ taskId: 'default', state: 'open' }]);
    expect(await json(['doctor', ...at])).toMatchObject({ dataDir: data, owner: null, store: { damage: [] }, processes: [] });
    expect(await json(['--json', 'jobs', 'list', '--kind', 'command', ...at])).toEqual([job]);
  });
});

describe('for programs that ask wrongly', () => {
  it('--json tells an error as one line on stderr, with the same exit code and nothing on stdout', async () => {
    const data = await dataFolder();
    const at = ['--data-dir', data];
    await offstage(['run', ...at, '--', 'true']);
    for (const [args, code, message] of [
      [['jobs', 'get', 'unknown', '--json', ...at], 'job.not_found', 'No job has the id "unknown".'],
      [['jobs', 'wait', 'unknown', '--json', ...at], 'job.not_found', /unknown/],
      [['jobs', 'tail', 'unknown', '--json', ...at], 'job.not_found', /unknown/],
      [['tasks', 'get', 'unknown', '--json', ...at], 'task.not_found', /unknown/],
      [['jobs', 'list', '--limit', '0', '--json', ...at], 'input.invalid', /^--limit is not valid/],
      [['doctor', '--json', '--data-dir', `${data}-none`], 'config.invalid', /there is no data in/],
      [['run', '--json', '--session', 'unknown', ...at, '--', 'true'], 'session.not_found', /unknown/],
      [['jobs', 'list', '--json', '--fly'], 'input.invalid', /^unknown option '--fly'/],
      [['--json', 'jobs'], 'input.invalid', /verb is missing/],
    ] as const) {
      const end = await offstage(args);
      expect([end.code, end.stdout, end.stderr.split('\n').length], args.join(' ')).toEqual([2, '', 2]);
      expect(JSON.parse(end.stderr), args.join(' ')).toMatchObject({
        error: { code, message: typeof message === 'string' ? message : expect.stringMatching(message) },
      });
    }
    // The command's own words are none of ours.
    expect((await offstage(['run', '--fly', '--', 'echo', '--json'])).stderr).toMatch(/^error: unknown option/);
  });

  it('a damaged store is told in the same way', async () => {
    const data = await dataFolder();
    const at = ['--data-dir', data];
    await offstage(['run', ...at, '--', 'true']);
    await writeFile(join(data, 'store', 'CURRENT'), '');
    const end = await offstage(['jobs', 'list', '--json', ...at]);
    expect([end.code, end.stdout]).toEqual([4, '']);
    expect(JSON.parse(end.stderr)).toMatchObject({ error: { code: 'store.corrupt' } });
  });
});

describe('B63, B66: five thousand jobs', () => {
  it('the list ends quietly when its reader has read enough, and is complete when it reads on', async () => {
    const data = await filled('many');
    const at = `--data-dir ${data}`;
    for (const [command, wanted] of [
      [`$OFFSTAGE jobs list --all ${at} | head -1`, /^ID /],
      [`$OFFSTAGE jobs list --all --json ${at} | head -c 10`, /^\[\n\{"jobId/],
      [`$OFFSTAGE jobs list --limit 5000 ${at} | head -2`, /^ID .*\njob_/],
      [`$OFFSTAGE jobs list --all --json ${at} | true`, /^$/],
    ] as const) {
      const { stdout, stderr } = await script(`{ ${command}; } 2>&1 >/dev/null | cat >&2; ${command}`);
      expect([stderr, command]).toEqual(['', command]);
      expect(stdout).toMatch(wanted);
    }
    const all = await json<JobView[]>(['jobs', 'list', '--all', '--data-dir', data]);
    expect(all.map(({ subject }) => subject)).toEqual(Array.from({ length: 5_000 }, (_, n) => `job ${4_999 - n}`));
    const slow = start(['jobs', 'list', '--all', '--data-dir', data], { isHeld: true });
    let text = '';
    slow.child.stdout?.on('data', (chunk: string) => {
      text += chunk;
    });
    expect((await slow.ended).code).toBe(0);
    expect(text.trimEnd().split('\n')).toHaveLength(5_001);
    expect((await json<JobView[]>(['jobs', 'list', '--data-dir', data])).length).toBe(50);
  });
});
