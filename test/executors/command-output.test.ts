import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/actors/clock.ts';
import { CommandOutput } from '../../src/executors/command-output.ts';
import { formatBytes, TailText } from '../../src/executors/tail-text.ts';

function streams() {
  const texts: string[] = [];
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const output = new CommandOutput({ stdout, stderr, clock: systemClock, onText: (text) => texts.push(text) });
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

describe('a reader that is slower than the command', () => {
  it('holds the command back, and gets the rest when it has room again', async () => {
    const stdout = new PassThrough({ highWaterMark: 16 });
    const stderr = new PassThrough();
    const texts: string[] = [];
    let makeRoom = (): void => {};
    let room: Promise<void> | null = null;
    const output = new CommandOutput({
      stdout,
      stderr,
      clock: systemClock,
      onText: (text) => texts.push(text),
      pace: () => room,
    });
    room = new Promise((resolve) => {
      makeRoom = resolve;
    });
    stdout.write('x'.repeat(16));
    await new Promise((resolve) => setImmediate(resolve));
    stdout.write('y'.repeat(16));
    stderr.write('z');
    await new Promise((resolve) => setImmediate(resolve));
    expect(texts.join('')).toBe('x'.repeat(16));
    room = null;
    makeRoom();
    await new Promise((resolve) => setImmediate(resolve));
    expect(texts.join('')).toBe(`${'x'.repeat(16)}${'y'.repeat(16)}z`);
    await output.drain();
    output.close();
  });

  it('does not hold up the end: what is left in the pipes is read at once', async () => {
    const stdout = new PassThrough();
    const texts: string[] = [];
    const never = new Promise<void>(() => {});
    const output = new CommandOutput({
      stdout,
      stderr: new PassThrough(),
      clock: systemClock,
      onText: (text) => texts.push(text),
      pace: () => never,
    });
    stdout.write('first');
    await new Promise((resolve) => setImmediate(resolve));
    stdout.write('second');
    await output.drain();
    expect(texts.join('')).toBe('firstsecond');
    output.close();
  });
});
