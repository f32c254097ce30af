/** FPU1 to FPU4: the one reader of an agent's frames, alone and behind a session. */
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/actors/clock.ts';
import { FrameQueue } from '../../src/adapters/frame-queue.ts';
import { type FramePace, pumpFrames, whenHeard } from '../../src/engine/frame-pump.ts';
import type { Frame } from '../../src/model/agent.ts';
import { LIMITS } from '../../src/model/limits.ts';
import { bareAgent } from '../support/bare-agent.ts';
import { sessionLab } from '../support/sessions.ts';

const word: Frame = { type: 'output', generation: 1, text: 'x' };

async function* endless(): AsyncGenerator<Frame> {
  for (;;) yield word;
}

function pump(frames: AsyncIterable<Frame>, take: (frame: Frame) => void = () => {}) {
  const pace: FramePace = { isResting: false };
  const errors: unknown[] = [];
  const state = { isOver: false, taken: 0 };
  const ended = pumpFrames(frames, {
    clock: systemClock,
    pace,
    isOver: () => state.isOver,
    take(frame) {
      state.taken += 1;
      take(frame);
    },
    unreadable: (error) => void errors.push(error),
  });
  const heard = (): Promise<void> => new Promise((resolve) => whenHeard(pace, systemClock, resolve));
  return { ended, errors, state, heard };
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('the reader of frames', () => {
  it('FPU1: takes its share of a turn of the event loop, and no more', async () => {
    const { ended, state } = pump(endless());
    for (let turn = 1; turn < 4; turn += 1) {
      await nextTurn();
      expect(state.taken).toBeLessThanOrEqual(turn * LIMITS.framesPerTurn);
    }
    state.isOver = true;
    await ended;
  });

  it('FPU2: a frame that cannot be taken is reported, and the next is read', async () => {
    const queue = new FrameQueue();
    for (const frame of [word, null as unknown as Frame, word]) queue.push(frame);
    queue.end();
    const types: string[] = [];
    const { ended, errors } = pump(queue, (frame) => void types.push(frame.type));
    await ended;
    expect(types).toEqual(['output', 'output']);
    expect(errors).toEqual([expect.any(TypeError)]);
  });

  it('FPU2: a report that throws harms nothing', async () => {
    let taken = 0;
    const queue = new FrameQueue();
    queue.push(word);
    queue.push(word);
    queue.end();
    await pumpFrames(queue, {
      clock: systemClock,
      pace: { isResting: false },
      isOver: () => false,
      take() {
        taken += 1;
        throw new Error('no');
      },
      unreadable() {
        throw new Error('no');
      },
    });
    expect(taken).toBe(2);
  });

  it('rejects with what the stream throws, and with a TypeError when it is none', async () => {
    const queue = new FrameQueue();
    queue.fail('crash');
    await expect(pump(queue).ended).rejects.toBe('crash');
    const none = { [Symbol.asyncIterator]: () => ({ next: () => 42 }) } as unknown as AsyncIterable<Frame>;
    await expect(pump(none).ended).rejects.toThrow(TypeError);
  });

  it.each<[string, () => unknown]>([
    ['never resolves', () => new Promise(() => {})],
    ['rejects', () => Promise.reject(new Error('no'))],
    [
      'throws',
      () => {
        throw new Error('no');
      },
    ],
  ])('FPU4: leaves a stream whose return %s', async (_, answer) => {
    let returns = 0;
    const frames = {
      [Symbol.asyncIterator]: () => ({
        next: async () => ({ done: false, value: word }),
        return() {
          returns += 1;
          return answer();
        },
      }),
    } as unknown as AsyncIterable<Frame>;
    const { ended, state } = pump(frames, () => {
      state.isOver = true;
    });
    await ended;
    expect([state.taken, returns]).toEqual([1, 1]);
  });

  it.each([LIMITS.framesPerTurn - 1, LIMITS.framesPerTurn, 4 * LIMITS.framesPerTurn + 3])(
    'FPU3: %d frames that were told before an answer are heard before it, wherever in its share the reader was',
    async (count) => {
      for (const before of [0, 1, LIMITS.framesPerTurn - 1]) {
        const queue = new FrameQueue();
        const { state, heard, ended } = pump(queue);
        for (let index = 0; index < before; index += 1) queue.push(word);
        while (state.taken < before) await Promise.resolve();
        for (let index = 0; index < count; index += 1) queue.push(word);
        while (count > 1 && state.taken < before + 1) await Promise.resolve();
        await heard();
        expect(state.taken).toBe(before + count);
        queue.end();
        await ended;
      }
    },
  );

  it('FPU3: an answer waits for no flood that goes on behind it', async () => {
    const { state, heard, ended } = pump(endless());
    await heard();
    state.isOver = true;
    await ended;
  });
});

describe('a session', () => {
  it('hears all that was told before the answer', async () => {
    for (const count of [LIMITS.framesPerTurn, 4 * LIMITS.framesPerTurn + 3]) {
      await using lab = await sessionLab({
        script: {
          onPrompt(prompt, agent) {
            for (let index = 0; index < count; index += 1) agent.emit({ ...word, generation: prompt.generation });
            prompt.end();
          },
        },
      });
      await lab.running();
      const types = lab.engine.events
        .map(({ type }) => type)
        .filter((type) => type === 'session.output' || type === 'session.turn_ended');
      expect(types).toEqual([...Array<string>(count).fill('session.output'), 'session.turn_ended']);
    }
  });

  it('G16: a flood keeps no turn open for ever, and no engine from its end', async () => {
    let begin = (): void => {};
    const prompted = new Promise<void>((resolve) => {
      begin = resolve;
    });
    let closes = 0;
    const agent = bareAgent({
      frames: (async function* () {
        await prompted;
        yield* endless();
      })(),
      async prompt() {
        begin();
        return { stopReason: 'end_turn' };
      },
      close() {
        closes += 1;
      },
    });
    {
      await using lab = await sessionLab({ agents: { default: () => agent } });
      const session = await lab.create();
      await session.ask();
      const ended = await lab.engine.eventOf(({ type }) => type === 'session.turn_ended');
      expect(ended).toMatchObject({ stopReason: 'end_turn' });
    }
    expect(closes).toBe(1);
  });
});
