/** `offstage run` (spec 15): output, exit codes, signals. */
import { access, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { JobView } from '../../src/model/records.ts';
import {
  host,
  json,
  listed,
  newFolder,
  offstage,
  onlyJob,
  processesWith,
  script,
  start,
  uniqueSleep,
  until,
} from './offstage.ts';

async function dataFolder() {
  const folder = await newFolder();
  return { folder, data: join(folder, 'data') };
}

const run = (data: string, ...rest: readonly string[]): readonly string[] => ['run', '--data-dir', data, ...rest];

describe('the end of a command', () => {
  it('prints what it prints, exits 1 when it fails, and the record tells the exit code', async () => {
    const { data } = await dataFolder();
    expect(await offstage(run(data, '--', 'sh', '-c', 'echo hi; exit 3'))).toMatchObject({
      code: 1,
      stdout: 'hi\n',
      stderr: expect.stringMatching(/^offstage: job_\w+ failed\. The command ended with exit code 3\.\n$/),
    });
    const job = await onlyJob(data);
    expect(job).toMatchObject({
      status: 'errored',
      reasonCode: 'failed',
      subject: "sh -c 'echo hi; exit 3'",
      error: { code: 'command.failed', message: expect.stringContaining('exit code 3') },
    });
    expect((await offstage(['jobs', 'get', job.jobId, '--data-dir', data])).stdout).toMatch(
      /error +The command ended with exit code 3/,
    );
    expect(await offstage(['jobs', 'wait', job.jobId, '--data-dir', data])).toMatchObject({ code: 1 });
  });

  it('B66: exits 0 as soon as the command is done, however long it might have taken', async () => {
    const { data } = await dataFolder();
    expect(await offstage(run(data, '--timeout', '600s', '--', 'true'))).toEqual({
      code: 0,
      signal: null,
      stdout: '',
      stderr: '',
    });
    const { jobId } = await onlyJob(data);
    expect(await offstage(['jobs', 'wait', jobId, '--timeout', '10m', '--data-dir', data])).toMatchObject({ code: 0 });
  });

  it('exits 3 when its time is over, and leaves nothing behind', async () => {
    const { data } = await dataFolder();
    const sleep = uniqueSleep();
    expect(await offstage(run(data, '--timeout', '300ms', '--', 'sleep', sleep))).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('ran longer than its limit of 300 ms'),
    });
    expect(await processesWith(sleep)).toEqual([]);
    const { jobId } = await onlyJob(data);
    expect(await offstage(['jobs', 'wait', jobId, '--data-dir', data])).toMatchObject({ code: 3 });
  });

  it('a missing program and a missing folder are told apart', async () => {
    const { data } = await dataFolder();
    expect(await offstage(run(data, '--', 'no-such-program'))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('There is no command "no-such-program"'),
    });
    expect(await offstage(run(data, '--cwd', '/no/such/folder', '--', 'ls'))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('The working directory "/no/such/folder" does not exist'),
    });
    expect((await listed(data)).map(({ error }) => error?.code)).toEqual(['command.cwd_missing', 'command.not_found']);
  });

  it('wrong usage exits 2 and makes no job', async () => {
    const { folder, data } = await dataFolder();
    for (const args of [
      ['run'],
      ['run', '--no-such-option', '--', 'ls'],
      run(data, '--timeout', 'soon', '--', 'ls'),
      run(data, '--session', 'unknown', '--', 'ls'),
      run(data, '--session', '../../x', '--', 'ls'),
      run(join(folder, 'no', 'parent'), '--', 'ls'),
    ]) {
      expect(await offstage(args, { cwd: folder }), args.join(' ')).toMatchObject({
        code: 2,
        stdout: '',
        stderr: expect.stringMatching(/\S/),
      });
    }
    expect(await listed(data)).toEqual([]);
  });
});

describe('what it is given', () => {
  it("runs here, or where it is told; options behind the command are the command's", async () => {
    const { folder, data } = await dataFolder();
    expect((await offstage(run(data, '--', 'pwd'), { cwd: folder })).stdout).toBe(`${folder}\n`);
    expect((await offstage(run(data, '--cwd', '/', '--', 'pwd'), { cwd: folder })).stdout).toBe('/\n');
    expect((await offstage(run(data, 'echo', '--json', '--timeout', '-x'))).stdout).toBe('--json --timeout -x\n');
  });

  it('--stdin hands standard input over; without it the command gets none', async () => {
    const { data } = await dataFolder();
    const input = 'zwölf Boxkämpfer 😀\n';
    expect((await offstage(run(data, '--stdin', '--', 'cat'), { input })).stdout).toBe(input);
    expect((await offstage(run(data, '--', 'cat'), { input })).stdout).toBe('');
  });

  it('--subject names it; --json prints the record on stdout, and the output on stderr', async () => {
    const { data } = await dataFolder();
    const { code, stdout, stderr } = await offstage(
      run(data, '--subject', 'greet', '--json', '--', 'sh', '-c', 'echo out; echo err >&2'),
    );
    const job = JSON.parse(stdout) as JobView;
    expect([code, job.subject, job.resultText, job.status]).toEqual([0, 'greet', 'out\n', 'completed']);
    expect(stderr.split('\n').sort()).toEqual(['', 'err', 'out']);
    expect(await json(['jobs', 'get', job.jobId, '--data-dir', data])).toEqual(job);
  });

  it('OFFSTAGE_DATA_DIR names the folder, an option beats it, and ./.offstage is the default', async () => {
    const { folder, data } = await dataFolder();
    const env = { OFFSTAGE_DATA_DIR: data };
    await offstage(['run', '--', 'echo', 'one'], { env, cwd: folder });
    await offstage(['run', '--', 'echo', 'two'], { cwd: folder });
    expect((await onlyJob(data)).description).toBe('echo one');
    expect((await onlyJob(join(folder, '.offstage'))).description).toBe('echo two');
    await offstage(['run', '--data-dir', join(folder, 'third'), '--', 'echo', 'three'], { env });
    expect((await onlyJob(join(folder, 'third'))).description).toBe('echo three');
  });
});

describe('its output', () => {
  it('comes as it is printed, each stream on its own', async () => {
    const { folder, data } = await dataFolder();
    const flag = join(folder, 'flag');
    const running = start(
      run(data, '--', 'sh', '-c', `echo one; echo problem >&2; while [ ! -e ${flag} ]; do sleep 0.02; done; echo two`),
    );
    await running.saw('one\n');
    await running.saw('problem\n', 'stderr');
    expect(running.stdout).toBe('one\n');
    await writeFile(flag, '');
    expect(await running.ended).toMatchObject({ code: 0, stdout: 'one\ntwo\n', stderr: 'problem\n' });
  });

  it('is complete through a pipe whose reader comes late, to the last character; the job does not wait for it', async () => {
    const { data } = await dataFolder();
    const lines = 50_000;
    const running = start(run(data, '--', 'node', '-e', `for (let n = 0; n < ${lines}; n++) console.log('line ' + n + ' é')`), {
      isHeld: true,
    });
    await until(async () => ((await listed(data))[0]?.status === 'completed' ? true : null));
    let text = '';
    running.child.stdout?.on('data', (chunk: string) => {
      text += chunk;
    });
    expect((await running.ended).code).toBe(0);
    expect(text).toBe(Array.from({ length: lines }, (_, n) => `line ${n} é\n`).join(''));
  });

  it('of more than anybody keeps is held back for a slow reader, and is complete', async () => {
    const { data } = await dataFolder();
    const bytes = 80 * 1024 * 1024;
    const command = `$OFFSTAGE run --data-dir ${data} -- sh -c 'yes 0123456789 | head -c ${bytes}' | (sleep 1; cksum)`;
    const { stdout, stderr } = await script(`yes 0123456789 | head -c ${bytes} | cksum; ${command}`);
    expect(stderr).toBe('');
    const [wanted, shown] = stdout.trimEnd().split('\n');
    expect(shown).toBe(wanted);
  });

  it('B63: a reader that goes away ends neither the job nor the exit code, and nothing is said', async () => {
    const { folder, data } = await dataFolder();
    const done = join(folder, 'done');
    const command = `for n in 1 2 3 4 5 6 7 8 9; do echo line $n; sleep 0.02; done; touch ${done}; exit 7`;
    const { stdout, stderr } = await script(
      `{ $OFFSTAGE run --data-dir ${data} -- sh -c '${command}'; echo "exit $?" >&2; } | head -1`,
    );
    expect(stdout).toBe('line 1\n');
    expect(stderr).toMatch(/^offstage: job_\w+ failed\. The command ended with exit code 7\.\nexit 1\n$/);
    await access(done);
  });
});

/** Whether the process has come as far as to listen to signals. */
async function catchesHangup(pid: number | undefined): Promise<boolean> {
  const [, caught = '0'] = /^SigCgt:\s*(\w+)$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? [];
  return (BigInt(`0x${caught}`) & 1n) === 1n;
}

describe('Ctrl-C', () => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    it(`B65: ${signal} cancels, exits 130 after the end, and leaves nothing behind`, async () => {
      const { data } = await dataFolder();
      const sleep = uniqueSleep();
      const running = start(run(data, '--', 'sh', '-c', `echo ready; sleep ${sleep} & sleep ${sleep}; echo never`));
      await running.saw('ready');
      running.child.kill(signal);
      expect(await running.ended).toMatchObject({ code: 130, signal: null, stdout: 'ready\n' });
      expect(await processesWith(sleep)).toEqual([]);
      const job = await onlyJob(data);
      expect(job).toMatchObject({ status: 'cancelled', reasonCode: 'cancel.user', cancelReason: 'interrupted', detached: false });
      expect(await offstage(['jobs', 'wait', job.jobId, '--data-dir', data])).toMatchObject({ code: 130 });
    });
  }

  it('B65: before the command was started it says so, exits 130, and nothing runs', async () => {
    const { data } = await dataFolder();
    const owner = host('starting', data);
    await owner.saw('ready');
    const sleep = uniqueSleep();
    const running = start(run(data, '--', 'sleep', sleep));
    await until(async () => ((await catchesHangup(running.child.pid)) ? true : null));
    running.child.kill('SIGHUP');
    expect(await running.ended).toEqual({
      code: 130,
      signal: null,
      stdout: '',
      stderr: 'offstage: interrupted before the command was started.\n',
    });
    owner.child.kill('SIGKILL');
    await owner.ended;
    expect(await processesWith(sleep)).toEqual([]);
    expect(await listed(data)).toEqual([]);
  });

  it('the command gets time to tidy up', async () => {
    const { folder, data } = await dataFolder();
    const bye = join(folder, 'bye');
    const running = start(
      run(data, '--', 'sh', '-c', `trap 'touch ${bye}; exit 0' TERM; echo ready; while :; do sleep 0.05; done`),
    );
    await running.saw('ready');
    running.child.kill('SIGINT');
    expect(await running.ended).toMatchObject({ code: 130 });
    await access(bye);
  });

  it('B65: a second one kills the tree at once, before the grace is over', async () => {
    const { data } = await dataFolder();
    const sleep = uniqueSleep();
    const running = start(
      run(
        data,
        '--',
        'sh',
        '-c',
        `trap 'echo no' TERM; (trap '' TERM; echo ready; while :; do sleep ${sleep}; done) & while :; do sleep 0.05; done`,
      ),
    );
    await running.saw('ready');
    running.child.kill('SIGINT');
    await running.saw('no\n');
    const begun = Date.now();
    running.child.kill('SIGINT');
    expect(await running.ended).toMatchObject({ code: 130 });
    expect(await processesWith(sleep)).toEqual([]);
    // TERM is followed by KILL after 2.5 s if nobody presses again.
    expect(Date.now() - begun).toBeLessThan(2_000);
    expect(['cancelled', 'errored']).toContain((await onlyJob(data)).status);
  });

  it('B65: after a second one it still tells how the job ended, also as a document', async () => {
    const { data } = await dataFolder();
    const command = ['sh', '-c', `trap '' TERM INT; echo ready; while :; do sleep 0.05; done`];
    for (const isJson of [false, true]) {
      const running = start(run(data, ...(isJson ? ['--json'] : []), '--', ...command));
      await running.saw('ready', isJson ? 'stderr' : 'stdout');
      running.child.kill('SIGINT');
      await running.saw('once more kills it', 'stderr');
      running.child.kill('SIGINT');
      const { code, stdout, stderr } = await running.ended;
      expect([code, stderr]).toEqual([130, expect.stringMatching(/kills it\.\noffstage: job_\w+ was cancelled\..*\n$/)]);
      if (isJson) expect(JSON.parse(stdout)).toMatchObject({ status: 'cancelled', detached: false });
    }
  });
});
