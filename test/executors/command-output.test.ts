import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/actors/clock.ts';
import { CommandOutput } from '../../src/executors/command-output.ts';
import { SpillFile, spillPath } from '../../src/executors/spill-file.ts';
import { formatBytes, TailText } from '../../src/executors/tail-text.ts';
import { temporaryFolder } from './processes.ts';

function streams() {
  const texts: string[] = [];
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const output = new CommandOutput({ stdout, stderr, clock: systemClock, onText: (text) => texts.push(text), openSpill: null });
  return { stdout, stderr, output, texts };
}

describe('reading the pipes of a command', () => {
  it('OUT3: what is still in the pipes at the end is read, although somebody holds them open', async () => {
    const { stdout, output, texts } = streams();
    setImmediate(() => stdout.write('still there'));
    await output.drain();
    await output.close();
    expect(texts).toEqual(['still there']);
    expect(output.stdoutText).toBe('still there');
  });

  it('OUT3: somebody who never stops writing does not hold up the end', async () => {
    const { stdout, output } = streams();
    const block = Buffer.alloc(64 * 1024, 'x');
    let isOver = false;
    const write = (): void => {
      if (isOver) return;
      stdout.write(block);
      setImmediate(write);
    };
    write();
    await output.drain();
    isOver = true;
    await output.close();
    expect(output.isOpen).toBe(true);
  });

  it('an unfinished character at the end is shown as such', async () => {
    const { stdout, output } = streams();
    stdout.write(Buffer.from('é').subarray(0, 1));
    await output.drain();
    await output.close();
    expect(output.stdoutText).toBe('\ufffd');
  });

  it('the last line of stderr: without colours, clipped', async () => {
    const { stderr, output } = streams();
    expect(output.lastErrorLine).toBeNull();
    stderr.write(`first\n\u001b[31m${'🎈'.repeat(300)}\u001b[0m\n  \n`);
    await output.drain();
    expect([...(output.lastErrorLine ?? '')]).toHaveLength(200);
    expect(output.lastErrorLine).toMatch(/^🎈+…$/u);
    await output.close();
  });
});

describe('TAI: text that keeps its end', () => {
  it('says nothing when all of it fits', () => {
    const tail = new TailText(10);
    for (const text of ['12345', '67890']) tail.append(text);
    expect(tail.text()).toBe('1234567890');
  });

  it('TAI2: stays within its limit, first line included, and cuts no character in two', () => {
    for (const limit of [64, 65, 66, 67, 1000]) {
      const tail = new TailText(limit);
      for (let i = 0; i < 2_000; i += 1) tail.append('é🎭');
      const text = tail.text();
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(limit);
      expect(text).toMatch(/^\[… 1[01]\.\d KiB cut\]\n/);
      expect(text).not.toContain('\ufffd');
      expect(text.endsWith('é🎭')).toBe(true);
    }
  });

  it('names amounts', () => {
    expect([0, 512, 1024, 1_258_291, 5 * 1024 ** 3].map(formatBytes)).toEqual(['0 B', '512 B', '1.0 KiB', '1.2 MiB', '5.0 GiB']);
  });
});

describe('SPL: the spill file', () => {
  it('SPL2: keeps the beginning up to its cap, whole characters only, and says that output is missing', async () => {
    await using folder = await temporaryFolder();
    const spill = new SpillFile({
      directory: folder.path,
      executionId: 'exe',
      memoryBytes: 10,
      fileBytes: 200,
      onReady: () => {},
    });
    spill.write('a');
    expect(spill.path).toBeNull();
    for (let i = 0; i < 100; i += 1) spill.write('🎭');
    await spill.close();
    const file = await readFile(join(folder.path, 'exe.log'), 'utf8');
    expect(Buffer.byteLength(file)).toBeLessThanOrEqual(200);
    expect(file).toMatch(/^a(🎭)+\n\[… output beyond 200 B was not kept\]\n$/u);
  });

  it('SPL4: no id reaches a path unescaped', () => {
    for (const id of ['../../etc/passwd', 'a/b', '', 'x'.repeat(500), 'ü']) {
      expect(spillPath('/spill', id)).toMatch(/^\/spill\/[0-9a-f]{64}\.log$/);
    }
    expect(spillPath('/spill', 'exe_1-A')).toBe('/spill/exe_1-A.log');
  });

  it('SPL3: a file that exists already is not written through', async () => {
    await using folder = await temporaryFolder();
    const options = { directory: folder.path, executionId: 'exe', memoryBytes: 0, fileBytes: 1_000, onReady: () => {} };
    const first = new SpillFile(options);
    first.write('first');
    await first.close();
    const second = new SpillFile(options);
    second.write('second');
    await second.close();
    expect(second.path).toBeNull();
    expect(await readFile(join(folder.path, 'exe.log'), 'utf8')).toBe('first');
  });
});
