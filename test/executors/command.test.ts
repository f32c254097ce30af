import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/actors/clock.ts';
import { commandExecutor } from '../../src/executors/command.ts';
import { fakeContext, fakeJob } from './fake-context.ts';
import { endLeftBehind, isLiving, node, sh, start, temporaryFolder, tokenHolders } from './processes.ts';

afterEach(endLeftBehind);

describe('B01: what is missing is named', () => {
  it('B01: a missing binary is command.not_found and names the binary', async () => {
    const error = await start({ command: '/no/such/bin' }).failure;
    expect(error).toMatchObject({ code: 'command.not_found' });
    expect(error.message).toContain('/no/such/bin');
  });

  it('B01: a missing name on the PATH is command.not_found', async () => {
    expect(await start({ command: 'no-such-program-here' }).failure).toMatchObject({ code: 'command.not_found' });
  });

  it('B01: a missing directory is command.cwd_missing and names the directory, not the shell', async () => {
    const error = await start({ ...sh('true'), cwd: '/no/such/dir' }).failure;
    expect(error).toMatchObject({ code: 'command.cwd_missing' });
    expect(error.message).toContain('/no/such/dir');
  });

  it('B01: with both missing, the directory is named', async () => {
    expect(await start({ command: '/no/such/bin', cwd: '/no/such/dir' }).failure).toMatchObject({ code: 'command.cwd_missing' });
  });

  it('B01: a directory that is a file is command.cwd_missing', async () => {
    expect(await start({ ...sh('true'), cwd: process.execPath }).failure).toMatchObject({ code: 'command.cwd_missing' });
  });

  it('B01: a file that is not executable, and a directory, are command.start_failed', async () => {
    await using folder = await temporaryFolder();
    const file = join(folder.path, 'plain');
    await writeFile(file, 'no program');
    const error = await start({ command: file }).failure;
    expect(error).toMatchObject({ code: 'command.start_failed' });
    expect(error.message).toContain('not executable');
    expect(await start({ command: folder.path }).failure).toMatchObject({ code: 'command.start_failed' });
  });

  it('B01: a script whose interpreter is missing says so', async () => {
    await using folder = await temporaryFolder();
    const file = join(folder.path, 'script');
    await writeFile(file, '#!/no/such/interpreter\n');
    await chmod(file, 0o755);
    const error = await start({ command: file }).failure;
    expect(error).toMatchObject({ code: 'command.start_failed' });
    expect(error.message).toContain('interpreter');
  });

  it('B01: arguments that are too long are command.start_failed', async () => {
    const error = await start({ command: 'true', args: ['x'.repeat(4 * 1024 * 1024)] }).failure;
    expect(error).toMatchObject({ code: 'command.start_failed' });
    expect(error.message).toContain('E2BIG');
    expect(error.message.length).toBeLessThan(300);
  });

  it('B01: names are looked up on the PATH that the child gets, relative paths from its directory', async () => {
    await using folder = await temporaryFolder();
    const file = join(folder.path, 'greet');
    await writeFile(file, '#!/bin/sh\necho "hello from $0"\n');
    await chmod(file, 0o755);
    const byName = await start({ command: 'greet', env: { PATH: `${folder.path}:/bin:/usr/bin` } }).done;
    expect(byName.text).toContain('hello from');
    const byPath = await start({ command: './greet', cwd: folder.path }).done;
    expect(byPath.text).toContain('hello from');
  });

  it('nothing is launched when the job was told to end before', async () => {
    const fake = fakeContext();
    fake.abort();
    const executor = commandExecutor({ clock: systemClock });
    await expect(executor.run(fakeJob(sh('true')), fake.context)).rejects.toBe(fake.reason);
    expect(fake.launches).toEqual([]);
  });

  it('Windows is refused plainly', async () => {
    const platform = Object.getOwnPropertyDescriptor(process, 'platform') as PropertyDescriptor;
    Object.defineProperty(process, 'platform', { ...platform, value: 'win32' });
    try {
      expect(await start(sh('true')).failure).toMatchObject({ code: 'executor.unsupported_platform' });
    } finally {
      Object.defineProperty(process, 'platform', platform);
    }
  });
});

describe('how a command ends', () => {
  it('exit code 0 completes with stdout as text and the code as result', async () => {
    const run = start(sh('echo out; echo err >&2'));
    expect(await run.done).toMatchObject({ text: 'out\n', value: { exitCode: 0, signal: null } });
    expect(run.outputs.join('')).toContain('err\n');
    expect(run.listenerCount()).toBe(0);
  });

  it('another exit code is command.failed with the code, the last line of stderr, and stdout as partial text', async () => {
    const run = start(sh('echo half; echo first >&2; printf "\\033[31mthe reason\\033[0m\\n\\n" >&2; exit 3'));
    const error = await run.failure;
    expect(error).toMatchObject({ code: 'command.failed', details: { exitCode: 3, signal: null } });
    expect(error.message).toBe('The command ended with exit code 3: the reason');
    expect(run.partials.at(-1)).toBe('half\n');
  });

  it('B04: an error thrown late in a child is exit code 1', async () => {
    const error = await start(node("setTimeout(()=>{throw new Error('late')},50)")).failure;
    expect(error).toMatchObject({ code: 'command.failed', details: { exitCode: 1 } });
    expect(error.message).toContain('exit code 1');
  });

  it('B22: a kill from outside is command.killed, not a cancel', async () => {
    const run = start(sh('echo ready; exec sleep 600'));
    await run.untilOutput('ready');
    process.kill(await run.untilLaunched(), 'SIGKILL');
    const error = await run.failure;
    expect(error).toMatchObject({ code: 'command.killed', details: { signal: 'SIGKILL' } });
    expect(run.partials.at(-1)).toBe('ready\n');
  });

  it('an exit code after a cancel does not become command.failed', async () => {
    const run = start(sh("trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done"));
    await run.untilOutput('ready');
    run.abort();
    expect(await run.failure).toBe(run.reason);
  });

  it('exit code 0 after a cancel returns the text', async () => {
    const run = start(sh("trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done"));
    await run.untilOutput('ready');
    run.abort();
    expect(await run.done).toMatchObject({ text: 'ready\nbye\n' });
  });

  it('the process is noted with start time and boot id right after the launch', async () => {
    const run = start(sh('exec sleep 0.05'));
    const pid = await run.untilLaunched();
    expect(run.launches).toEqual([{ pid, startTime: expect.any(String), bootId: expect.any(String) }]);
    await run.done;
  });

  it('a script runs with its arguments, unparsed', async () => {
    const run = start({ command: 'printf "%s|" "$@"', shell: true, args: ['a b', '$HOME', ';'] });
    expect((await run.done).text).toBe('a b|$HOME|;|');
  });
});

describe('CMD2, CMD3: done means that the command is done', () => {
  it('a grandchild in the same session that holds the pipe is not waited for, and is ended', async () => {
    const run = start(sh('sleep 600 & echo "child $!"'));
    const { text } = await run.done;
    expect(text).toMatch(/^child \d+\n$/);
    expect(await isLiving(Number(text?.slice(6)))).toBe(false);
  });

  it('a leftover that ignores TERM is killed', async () => {
    await using folder = await temporaryFolder();
    const script =
      '(trap "" TERM; echo on > "$1"; while :; do sleep 0.1; done) & until [ -s "$1" ]; do sleep 0.02; done; echo done';
    const run = start(sh(script, join(folder.path, 'on')), { killAfterMs: 200 });
    expect((await run.done).text).toBe('done\n');
    expect(await tokenHolders(run.executionId)).toEqual([]);
  });

  it('what left the session on purpose lives on, and its pipe is not waited for', async () => {
    await using folder = await temporaryFolder();
    const script = 'setsid sh -c \'echo $$ > "$1"; exec sleep 600\' sh "$1" & until [ -s "$1" ]; do sleep 0.02; done; cat "$1"';
    const pid = Number((await start(sh(script, join(folder.path, 'pid'))).done).text);
    expect(await isLiving(pid)).toBe(true);
    process.kill(pid, 'SIGKILL');
  });

  it('OUT3: what was written just before the end is all there', async () => {
    for (let round = 0; round < 10; round += 1) {
      const run = start(sh('sleep 600 & head -c 60000 /dev/zero | tr "\\0" x; echo; echo last'));
      const text = (await run.done).text ?? '';
      expect(text.length).toBe(60_000 + '\nlast\n'.length);
      expect(text.endsWith('last\n')).toBe(true);
    }
  });
});

describe('OUT1, OUT2: output', () => {
  it('characters split across chunks stay whole, on both streams at once', async () => {
    const script = `
      const out = Buffer.from('aé漢🎭'.repeat(50)), err = Buffer.from('ß∑🎈'.repeat(50));
      (async () => {
        for (let i = 0; i < Math.max(out.length, err.length); i += 1) {
          if (i < out.length) process.stdout.write(out.subarray(i, i + 1));
          if (i < err.length) process.stderr.write(err.subarray(i, i + 1));
          if (i % 8 === 0) await new Promise(setImmediate);
        }
      })();`;
    const run = start(node(script));
    expect((await run.done).text).toBe('aé漢🎭'.repeat(50));
    const all = run.outputs.join('');
    expect(all).not.toContain('\ufffd');
    expect([...all].filter((character) => character === '🎈')).toHaveLength(50);
    expect([...all].filter((character) => character === '🎭')).toHaveLength(50);
  });

  it('a huge output is bounded in memory, keeps its end, and says what was cut', async () => {
    const before = process.memoryUsage().rss;
    let highest = before;
    const run = start({ command: 'head -c 100000000 /dev/zero | tr "\\0" x; echo; echo the end', shell: true });
    run.outputs.push = (...texts) => {
      highest = Math.max(highest, process.memoryUsage().rss);
      return texts.length;
    };
    const result = await run.done;
    expect(Buffer.byteLength(result.text ?? '')).toBeLessThanOrEqual(256 * 1024);
    expect(result.text).toMatch(/^\[… 95\.\d MiB cut\]\nx/);
    expect(result.text?.endsWith('x\nthe end\n')).toBe(true);
    expect(highest - before).toBeLessThan(80 * 1024 * 1024);
  });
});

describe('B50: standard input', () => {
  const prompt = 'p'.repeat(8 * 1024 * 1024);

  it('B50: a child that exits before it has read an 8 MiB input fails alone', async () => {
    const error = await start({ ...node('process.exit(7)'), stdin: prompt }).failure;
    expect(error).toMatchObject({ code: 'command.failed', details: { exitCode: 7 } });
    expect(error.message).toContain('7');
  });

  it('B50: the same input to a child that ends well completes', async () => {
    await start({ ...node(''), stdin: prompt }).done;
  });

  it('8 MiB arrive whole', async () => {
    expect((await start({ command: 'wc', args: ['-c'], stdin: prompt }).done).text?.trim()).toBe(String(prompt.length));
  });

  it('without input, standard input is empty', async () => {
    expect((await start({ command: 'cat' }).done).text).toBe('');
  });
});
