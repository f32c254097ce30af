/** AGJ1, AGJ5: agents of jobs that do not close, that flood, that tell what is no frame, and that ask what cannot be read (G16). */
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/actors/clock.ts';
import { FrameQueue } from '../../src/adapters/frame-queue.ts';
import { agentExecutor } from '../../src/executors/agent.ts';
import type { Agent, Frame } from '../../src/model/agent.ts';
import type { JsonValue } from '../../src/model/json.ts';
import { LIMITS } from '../../src/model/limits.ts';
import { open } from '../../src/open.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { virtualClock } from '../../src/testing/virtual-clock.ts';
import { bareAgent, watched } from '../support/bare-agent.ts';
import { thorny } from '../support/hostile.ts';
import { fakeContext, fakeJob } from './fake-context.ts';

const word: Frame = { type: 'output', generation: 1, text: 'x' };

async function* endless(): AsyncGenerator<Frame> {
  for (;;) yield word;
}

function run(agent: Agent, onUnreadable?: (error: unknown) => void) {
  const fake = fakeContext({ graceMs: 300 });
  const executor = agentExecutor({ agents: { default: () => agent }, clock: systemClock, onUnreadable });
  return { ...fake, done: Promise.resolve(executor.run(fakeJob({ prompt: 'go' }, 'agent'), fake.context)) };
}

describe('a flood of frames', () => {
  it('keeps neither timers nor a cancel out', async () => {
    let closes = 0;
    const agent = bareAgent({
      frames: endless(),
      close() {
        closes += 1;
      },
    });
    const { done, abort, reason } = run(agent);
    setTimeout(abort, 5);
    await expect(done).rejects.toBe(reason);
    expect(closes).toBe(1);
  });

  it('goes on behind an answer for a while, and is left with the job', async () => {
    let returns = 0;
    let taken = 0;
    const frames: AsyncIterable<Frame> = {
      [Symbol.asyncIterator]: () => ({
        async next() {
          taken += 1;
          return { done: false, value: { type: 'prompt.accepted', generation: 1 } };
        },
        return() {
          returns += 1;
          return new Promise(() => {});
        },
      }),
    };
    const { done } = run(bareAgent({ frames, prompt: async () => ({ stopReason: 'end_turn' }) }));
    expect((await done).value).toEqual({ stopReason: 'end_turn' });
    for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate);
    const before = taken;
    await new Promise(setImmediate);
    expect([returns, taken - before]).toEqual([1, 0]);
  });

  it('ends by the verb of the engine like any other job', async () => {
    await using offstage = await open({
      store: memoryStore(),
      agents: { default: () => bareAgent({ frames: endless() }) },
      cancelGraceMs: 300,
    });
    const job = await offstage.spawn({ kind: 'agent', input: { prompt: 'go' } });
    for await (const event of offstage.events()) if (event.type === 'job.output') break;
    await offstage.cancel(job.jobId, { reason: 'enough' });
    expect(await offstage.wait(job.jobId, { timeoutMs: null })).toMatchObject({ status: 'cancelled' });
  });
});

it.each<[string, (frames: FrameQueue) => string | Error]>([
  ['an answer', () => 'end_turn'],
  [
    'an answer and an end of the frames',
    (frames) => {
      frames.end();
      return 'end_turn';
    },
  ],
  ['a failure', () => new Error('no')],
])('what was told before %s is heard before it', async (_, how) => {
  const frames = new FrameQueue();
  const count = 4 * LIMITS.framesPerTurn + 3;
  const { done, outputs } = run(
    bareAgent({
      frames,
      async prompt() {
        for (let index = 0; index < count; index += 1) frames.push(word);
        const end = how(frames);
        if (end instanceof Error) throw end;
        return { stopReason: end };
      },
    }),
  );
  const end = await done.catch((error: unknown) => error);
  expect(outputs).toHaveLength(count);
  expect(end).toMatchObject(how(frames) instanceof Error ? { code: 'agent.failed' } : { value: { stopReason: 'end_turn' } });
});

describe('what is no frame', () => {
  it.each<[string, unknown]>([
    ['null', null],
    ['text that is none', { ...word, text: 42 }],
    ['a title that is none', { type: 'tool.update', generation: 1, toolCallId: 't', title: 42 }],
    ['an unknown type', { type: 'weather', generation: 1 }],
    ['what throws at every touch', thorny()],
  ])('%s is left out, and the job goes on', async (_, frame) => {
    const frames = new FrameQueue();
    const { done } = run(
      bareAgent({
        frames,
        async prompt() {
          frames.push(frame as Frame);
          frames.push({ ...word, text: 'fine' });
          return { stopReason: 'end_turn' };
        },
      }),
    );
    expect(await done).toMatchObject({ text: 'fine', value: { stopReason: 'end_turn' } });
  });

  it('is reported', async () => {
    const errors: unknown[] = [];
    const frames = new FrameQueue();
    const { done } = run(
      bareAgent({
        frames,
        async prompt() {
          frames.push(null as unknown as Frame);
          return { stopReason: 'end_turn' };
        },
      }),
      (error) => errors.push(error),
    );
    await done;
    expect(errors).toEqual([expect.any(TypeError)]);
  });
});

describe('AGJ3: a question', () => {
  const no = { optionId: 'no', kind: 'reject_once' };

  it.each<[string, unknown, JsonValue]>([
    ['without options', undefined, null],
    ['whose options are no list', 42, null],
    ['whose options throw', thorny(), null],
    ['with options that cannot be read', [thorny(), null, [], 'no', no], 'no'],
  ])('%s is declined all the same', async (_, options, choice) => {
    const frames = new FrameQueue();
    const { done } = run(
      bareAgent({
        frames,
        prompt: () =>
          new Promise((resolve) => {
            answered = (given) => resolve({ stopReason: JSON.stringify(given) });
            frames.push({ type: 'permission.request', generation: 1, requestId: 'q', kind: 'permission', options } as Frame);
          }),
        answer: (requestId, given) => answered([requestId, given]),
      }),
    );
    expect((await done).value).toEqual({ stopReason: JSON.stringify(['q', choice]) });
  });
  let answered: (given: JsonValue) => void = () => {};
});

describe('AGJ1: what does not close', () => {
  function runUntil(agent: unknown) {
    const clock = virtualClock();
    const executor = agentExecutor({ agents: { default: () => agent as Agent }, clock });
    const done = Promise.resolve(executor.run(fakeJob({ prompt: 'go' }, 'agent'), fakeContext().context));
    done.catch(() => {});
    return { clock, done, watch: watched(done) };
  }

  function closingAt(last: number) {
    const closes: string[] = [];
    const close = (): Promise<void> => {
      closes.push('call');
      if (closes.length === last) return Promise.resolve();
      if (closes.length % 2 === 0) throw new Error('not yet');
      return Promise.reject(new Error('not yet'));
    };
    return { closes, close };
  }

  it.each<[string, Agent['prompt'], unknown]>([
    ['a turn', async () => ({ stopReason: 'end_turn' }), { value: { stopReason: 'end_turn' } }],
    ['a failure', () => Promise.reject(new Error('no key')), { code: 'agent.failed' }],
  ])('is closed again, each time later; %s is what it was', async (_, prompt, end) => {
    const { closes, close } = closingAt(3);
    const { clock, done, watch } = runUntil(bareAgent({ prompt, close }));
    await clock.advance(LIMITS.firstTeardownRetryMs - 1);
    expect(closes).toHaveLength(1);
    await clock.advance(1);
    expect(closes).toHaveLength(2);
    await clock.advance(2 * LIMITS.firstTeardownRetryMs - 1);
    expect([closes.length, watch.hasSettled]).toEqual([2, false]);
    await clock.advance(1);
    expect(closes).toHaveLength(3);
    expect(await done.catch((error: unknown) => error)).toMatchObject(end as object);
    expect(clock.pending).toBe(0);
  });

  it('is closed also where it is no agent', async () => {
    const { closes, close } = closingAt(2);
    const { clock, done, watch } = runUntil({ close });
    await clock.settle();
    expect([closes.length, watch.hasSettled]).toEqual([1, false]);
    await clock.advance(LIMITS.firstTeardownRetryMs);
    expect(closes).toHaveLength(2);
    await expect(done).rejects.toMatchObject({ code: 'agent.start_failed' });
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['a number', 5],
    ['something whose close is none', { close: 'now' }],
    ['what throws at every touch', thorny()],
  ])('%s is no agent, and is not waited for', async (_, started) => {
    await expect(runUntil(started).done).rejects.toMatchObject({ code: 'agent.start_failed' });
  });
});
