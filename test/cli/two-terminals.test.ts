/** Two terminals on one folder (spec 6, 15): one owns it, the other talks to it. */

import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { OffstageEvent } from '../../src/model/events.ts';
import type { JobView } from '../../src/model/records.ts';
import { json, listed, newFolder, offstage, onlyJob, processesWith, script, start, uniqueSleep, until } from './offstage.ts';

/** A folder, and a command that goes on until its flag is set. */
async function stage() {
  const folder = await newFolder();
  const data = join(folder, 'data');
  const flag = join(folder, 'flag');
  const at = ['--data-dir', data] as const;
  const runUntilFlag = (before = 'echo ready', after = 'echo done', name = flag) =>
    start(['run', ...at, '--', 'sh', '-c', `${before}; while [ ! -e ${name} ]; do sleep 0.02; done; ${after}`]);
  return { folder, data, flag, at, runUntilFlag, raise: (name = flag) => writeFile(name, '') };
}

describe('a job of another terminal', () => {
  it('is listed, shown and awaited; its end is the end of the wait', async () => {
    const { data, at, runUntilFlag, raise } = await stage();
    const running = runUntilFlag('echo ready', 'exit 4');
    await running.saw('ready');
    const job = await onlyJob(data);
    expect(job).toMatchObject({ status: 'running', bodyLive: true });
    expect((await offstage(['jobs', 'list', ...at])).stdout).toMatch(
      /^ID +STATUS +CREATED +TOOK +SUBJECT\njob_\w+ +running +.+ sh -c /,
    );
    expect(await offstage(['jobs', 'wait', job.jobId, '--timeout', '100ms', ...at])).toMatchObject({
      code: 3,
      stdout: expect.stringContaining('is still running'),
    });
    const waiting = start(['jobs', 'wait', job.jobId, '--json', ...at]);
    await raise();
    const { code, stdout } = await waiting.ended;
    expect([code, (JSON.parse(stdout) as JobView).reasonCode]).toEqual([1, 'failed']);
    expect(await running.ended).toMatchObject({ code: 1 });
  });

  it('is cancelled from here, and ends over there', async () => {
    const { data, at } = await stage();
    const sleep = uniqueSleep();
    const running = start(['run', ...at, '--', 'sh', '-c', `echo ready; sleep ${sleep} & wait`]);
    await running.saw('ready');
    const { jobId } = await onlyJob(data);
    expect(await offstage(['jobs', 'cancel', jobId, '--reason', 'no longer needed', ...at])).toMatchObject({
      code: 0,
      stdout: `${jobId} is cancelling.\n`,
      stderr: '',
    });
    expect(await running.ended).toMatchObject({ code: 130 });
    expect(await processesWith(sleep)).toEqual([]);
    expect(await onlyJob(data)).toMatchObject({ status: 'cancelled', cancelReason: 'no longer needed' });
    expect(await offstage(['jobs', 'cancel', jobId, ...at])).toMatchObject({
      code: 0,
      stdout: `${jobId} had ended already: cancelled.\n`,
    });
  });

  it('is followed with tail: what it has printed, what it prints, until it ends', async () => {
    const { data, at, runUntilFlag, raise } = await stage();
    const running = runUntilFlag(
      'for n in 1 2 3 4 5 6 7 8 9 10 11 12; do echo line $n; done; echo ready',
      'echo later; echo last >&2',
    );
    await running.saw('ready');
    const { jobId } = await onlyJob(data);
    const all = start(['jobs', 'tail', jobId, '--lines', '100', ...at]);
    const some = start(['jobs', 'tail', jobId, ...at]);
    const events = start(['jobs', 'tail', jobId, '--json', ...at]);
    await Promise.all([all.saw('ready'), some.saw('ready')]);
    await until(async () => (events.child.exitCode === null ? true : null));
    await raise();
    const { stdout: output } = await running.ended;
    const end = await all.ended;
    expect(end).toMatchObject({ code: 0, stderr: '' });
    expect(end.stdout.replace('last\n', '')).toBe(output);
    expect(end.stdout).toContain('last\n');
    expect((await some.ended).stdout).toMatch(/^line 4\n(.+\n)+later\n/);
    expect((await events.ended).code).toBe(0);
    expect(await offstage(['jobs', 'tail', jobId, '--lines', '1', ...at])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^(later|last)\n$/),
    });
  });

  it('tail --json begins with the last lines, in the shape of the events that follow, and nothing comes twice', async () => {
    const { data, at, runUntilFlag, raise } = await stage();
    const running = runUntilFlag('for n in 1 2 3 4 5 6 7 8 9 10 11 12; do echo line $n; done; echo ready', 'echo later');
    await running.saw('ready');
    const { jobId, sessionId } = await onlyJob(data);
    const following = start(['jobs', 'tail', jobId, '--json', '--lines', '2', ...at]);
    await following.saw('ready');
    await raise();
    await running.ended;
    const all = [...Array.from({ length: 12 }, (_, n) => `line ${n + 1}`), 'ready', 'later', ''].join('\n');
    const eventsOf = (text: string): readonly OffstageEvent[] =>
      text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as OffstageEvent);
    const live = eventsOf((await following.ended).stdout);
    expect(live.at(-1)).toMatchObject({ type: 'job.status', status: 'completed' });
    const printed = live.flatMap((event) => (event.type === 'job.output' ? [event] : []));
    expect(printed.map(({ text }) => text).join('')).toBe('line 12\nready\nlater\n');
    for (const { offset, text } of printed) expect(all.slice(offset).startsWith(text)).toBe(true);

    for (const [lines, wanted] of [
      [[], all.slice(all.indexOf('line 5\n'))],
      [['--lines', '1'], 'later\n'],
    ] as const) {
      const { code, stdout, stderr } = await offstage(['jobs', 'tail', jobId, '--json', ...lines, ...at]);
      expect([code, stderr]).toEqual([0, '']);
      expect(eventsOf(stdout)).toEqual([
        {
          type: 'job.output',
          jobId,
          sessionId,
          text: wanted,
          stream: null,
          offset: all.length - wanted.length,
          seq: expect.any(Number),
          epoch: expect.any(String),
          at: expect.any(Number),
        },
      ]);
    }
    expect(await offstage(['jobs', 'tail', jobId, '--json', '--lines', '0', ...at])).toMatchObject({ code: 0, stdout: '' });
  });

  it('tail without an id tells what happens to all, one event per line with --json', async () => {
    const { at, runUntilFlag, raise } = await stage();
    const running = runUntilFlag();
    await running.saw('ready');
    const following = start(['jobs', 'tail', '--json', ...at]);
    const lines = start(['jobs', 'tail', ...at]);
    const other = async (): Promise<unknown> => offstage(['run', ...at, '--', 'echo', 'other']);
    // Until both have begun to listen.
    while (!following.stdout.includes('"completed"') || !lines.stdout.includes('completed')) await other();
    following.child.kill('SIGINT');
    lines.child.kill('SIGTERM');
    expect([(await following.ended).code, (await lines.ended).code]).toEqual([130, 130]);
    const events = following.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as OffstageEvent);
    expect(events.some((event) => event.type === 'job.output' && event.text === 'other\n' && event.stream === 'stdout')).toBe(
      true,
    );
    expect(lines.stdout).toMatch(/\d\d:\d\d:\d\d {2}job_\w+ {2}completed {2}echo other\n/);
    await raise();
    await running.ended;
  });
});

describe('a second run', () => {
  it('is done by the owner, which stays until it has ended, and says so', async () => {
    const { folder, at, runUntilFlag, raise } = await stage();
    const first = runUntilFlag('echo ready', 'exit 0');
    await first.saw('ready');
    const secondFlag = join(folder, 'second');
    const second = runUntilFlag('echo two; echo warning >&2', 'pwd; exit 9', secondFlag);
    await second.saw('two');
    await raise();
    await first.saw('1 job that was started from elsewhere still runs in this process', 'stderr');
    expect(first.child.exitCode).toBeNull();
    await raise(secondFlag);
    expect(await second.ended).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^two\n\//),
      stderr: expect.stringContaining('warning\n'),
    });
    expect(await first.ended).toMatchObject({ code: 0, stdout: 'ready\n' });
    expect((await listed(join(folder, 'data'))).map(({ status }) => status)).toEqual(['errored', 'completed']);
    expect(await offstage(['jobs', 'list', ...at])).toMatchObject({ stderr: '' });
  });

  it("is cancelled by its own Ctrl-C, and by nobody else's", async () => {
    const { data, runUntilFlag, raise } = await stage();
    const first = runUntilFlag();
    await first.saw('ready');
    const second = runUntilFlag('echo two');
    await second.saw('two');
    second.child.kill('SIGINT');
    expect(await second.ended).toMatchObject({ code: 130 });
    await raise();
    expect(await first.ended).toMatchObject({ code: 0, stdout: 'ready\ndone\n' });
    expect((await listed(data)).map(({ status }) => status)).toEqual(['cancelled', 'completed']);
  });

  it('Ctrl-C in an owner that only waits for others cancels theirs', async () => {
    const { runUntilFlag, raise } = await stage();
    const first = runUntilFlag();
    await first.saw('ready');
    const sleep = uniqueSleep();
    const second = runUntilFlag('echo two', `sleep ${sleep}`);
    await second.saw('two');
    await raise();
    await first.saw('Ctrl-C cancels them', 'stderr');
    first.child.kill('SIGINT');
    expect(await second.ended).toMatchObject({ code: 130 });
    expect(await first.ended).toMatchObject({ code: 0 });
    expect(await processesWith(sleep)).toEqual([]);
  });
});

describe('an owner that is killed', () => {
  it('those who wait go on through the folder, and hear of the end', async () => {
    const { data, at } = await stage();
    const sleep = uniqueSleep();
    const owner = start(['run', ...at, '--', 'sh', '-c', `echo ready; sleep ${sleep}`]);
    await owner.saw('ready');
    const { jobId } = await onlyJob(data);
    const waiting = start(['jobs', 'wait', jobId, ...at]);
    const second = start(['run', ...at, '--', 'sh', '-c', `echo two; sleep ${sleep}`]);
    await second.saw('two');
    await until(async () => (await listed(data)).length === 2 || null);
    owner.child.kill('SIGKILL');
    const [waited, ran] = await Promise.all([waiting.ended, second.ended]);
    expect([waited.code, ran.code]).toEqual([1, 1]);
    expect(ran.stderr + waited.stderr).toContain('2 jobs were abandoned by an earlier process.\n');
    expect(ran.stderr).toContain('worker died before completion');
    expect(await processesWith(sleep)).toEqual([]);
    expect((await listed(data)).map(({ reasonCode }) => reasonCode)).toEqual(['abandoned.crash', 'abandoned.crash']);
  });

  it('many terminals at once on a folder without an owner: one becomes it, all are served', async () => {
    const { data, at } = await stage();
    const all = Array.from({ length: 6 }, (_, number) => start(['run', ...at, '--', 'echo', `n${number}`]));
    const ends = await Promise.all(all.map(({ ended }) => ended));
    expect(ends.map(({ code, stdout }) => [code, stdout])).toEqual(ends.map((_, number) => [0, `n${number}\n`]));
    expect((await listed(data)).map(({ status }) => status)).toEqual(Array(6).fill('completed'));
  });
});

describe('--watch', () => {
  it('follows what another terminal does, from before there is a folder on, and does not keep it', async () => {
    const { data, at, runUntilFlag, raise } = await stage();
    const watching = start(['jobs', 'list', '--watch', ...at]);
    await watching.saw('No jobs.\n');
    expect(existsSync(data)).toBe(false);
    const running = runUntilFlag();
    await running.saw('ready');
    await watching.saw(/^ID +STATUS.*\njob_\w+ +running /m);
    const records = start(['jobs', 'list', '--watch', '--json', ...at]);
    await records.saw('"status":"running"');
    await raise();
    expect(await running.ended).toMatchObject({ code: 0, stderr: '' });
    await watching.saw(/^job_\w+ +completed /m);
    await records.saw('"status":"completed"');
    for (const line of records.stdout.trimEnd().split('\n')) expect(JSON.parse(line)).toMatchObject({ jobId: /^job_/ });
    watching.child.kill('SIGINT');
    records.child.kill('SIGINT');
    expect([(await watching.ended).code, (await records.ended).code]).toEqual([130, 130]);
    expect((await watching.ended).stderr).toBe(`offstage: there is no data in ${data}\n`);
  });

  it('sessions and tasks are watched in the same way', async () => {
    const { at } = await stage();
    const watching = ['sessions', 'tasks'].map((noun) => start([noun, 'list', '--watch', ...at]));
    await watching[0]?.saw('No sessions.\n');
    await watching[1]?.saw('No tasks.\n');
    // Shorter than anybody looks.
    await offstage(['run', ...at, '--', 'true']);
    for (const { saw, child, ended } of watching) {
      await saw(/default/);
      child.kill('SIGINT');
      expect((await ended).code).toBe(130);
    }
  });

  it('B63: ends quietly when its reader goes', async () => {
    const { at } = await stage();
    await offstage(['run', ...at, '--', 'true']);
    const { code, stdout, stderr } = await script(
      `$OFFSTAGE jobs list --watch ${at.join(' ')} | head -1 & sleep 0.3; $OFFSTAGE run ${at.join(' ')} -- true; $OFFSTAGE run ${at.join(' ')} -- true; wait`,
    );
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^ID +STATUS/);
  });
});

it('json keeps the shape of the API, through an owner and without one', async () => {
  const { data, at, runUntilFlag, raise } = await stage();
  const running = runUntilFlag();
  await running.saw('ready');
  const { jobId } = await onlyJob(data);
  const through = await json<JobView>(['jobs', 'get', jobId, ...at]);
  await raise();
  await running.ended;
  const direct = await json<JobView>(['jobs', 'get', jobId, ...at]);
  expect(Object.keys(through).sort()).toEqual(Object.keys(direct).sort());
  expect(through).toMatchObject({ jobId, sessionId: 'default', partialText: 'ready\n', error: null, input: { command: 'sh' } });
});
