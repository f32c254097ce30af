import { describe, expect, it } from 'vitest';
import { FrameQueue } from '../../src/adapters/frame-queue.ts';
import type { Frame } from '../../src/model/agent.ts';

const output = (text: string): Frame => ({ type: 'output', generation: 1, text });

async function read(frames: AsyncIterable<Frame>): Promise<{ texts: string[]; error?: unknown }> {
  const texts: string[] = [];
  try {
    for await (const frame of frames) if (frame.type === 'output') texts.push(frame.text);
  } catch (error) {
    return { texts, error };
  }
  return { texts };
}

describe('FRQ1: order, and everything before the end', () => {
  it('what was pushed before it was read', async () => {
    const frames = new FrameQueue();
    frames.push(output('a'));
    frames.push(output('b'));
    frames.end();
    expect(await read(frames)).toEqual({ texts: ['a', 'b'] });
  });

  it('what is pushed while it is read', async () => {
    const frames = new FrameQueue();
    const reading = read(frames);
    frames.push(output('a'));
    await Promise.resolve();
    frames.push(output('b'));
    frames.push(output('c'));
    frames.end();
    expect(await reading).toEqual({ texts: ['a', 'b', 'c'] });
  });

  it('a failure comes after the frames before it, once', async () => {
    const frames = new FrameQueue();
    const reader = frames[Symbol.asyncIterator]();
    frames.push(output('a'));
    frames.fail('broken');
    expect(await reader.next()).toEqual({ done: false, value: output('a') });
    await expect(reader.next()).rejects.toBe('broken');
    expect(await reader.next()).toEqual({ done: true, value: undefined });
  });

  it('a failure with several readings open rejects one of them and ends the rest', async () => {
    const frames = new FrameQueue();
    const reader = frames[Symbol.asyncIterator]();
    const readings = [reader.next(), reader.next()];
    frames.fail(undefined);
    expect(await Promise.allSettled(readings)).toEqual([
      { status: 'rejected', reason: undefined },
      { status: 'fulfilled', value: { done: true, value: undefined } },
    ]);
  });
});

describe('FRQ2: the first end decides', () => {
  it('later frames and ends are dropped, and say so', async () => {
    const frames = new FrameQueue();
    expect([frames.push(output('a')), frames.end()]).toEqual([true, true]);
    expect([frames.push(output('b')), frames.end(), frames.fail('late')]).toEqual([false, false, false]);
    expect(await read(frames)).toEqual({ texts: ['a'] });
  });

  it('a reader that leaves closes it', async () => {
    const frames = new FrameQueue();
    frames.push(output('a'));
    frames.push(output('b'));
    for await (const _ of frames) break;
    expect(frames.isClosed).toBe(true);
    expect(frames.push(output('c'))).toBe(false);
  });
});

it('a reading that is open ends when its reader leaves', async () => {
  const frames = new FrameQueue();
  const reader = frames[Symbol.asyncIterator]();
  const open = reader.next();
  await reader.return?.();
  expect(await open).toEqual({ done: true, value: undefined });
});

it('FRQ3: a second reader is refused', () => {
  const frames = new FrameQueue();
  frames[Symbol.asyncIterator]();
  expect(() => frames[Symbol.asyncIterator]()).toThrow(TypeError);
});
