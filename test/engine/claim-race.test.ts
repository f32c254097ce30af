/** G10: of 32 prompts in one tick exactly one is let in, a thousand times over, on one engine. */
import { expect, it } from 'vitest';
import { mockAgent } from '../../src/adapters/mock-agent.ts';
import type { OffstageEvent } from '../../src/model/events.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { controlledExecutor } from '../../src/testing/controlled-executor.ts';
import { FULL } from '../support/sessions.ts';
import { testEngine } from '../support/test-engine.ts';

const CALLERS = 32;
const ROUNDS = 1_000;
const ONE = { accepted: 1, reached: 1, busy: CALLERS - 1 };

async function race() {
  const mock = mockAgent({ attests: FULL });
  const gate = controlledExecutor();
  const engine = await testEngine({ store: memoryStore(), agents: { default: mock.factory }, executors: { gate } });
  const { offstage } = engine;
  await offstage.sessions.create({ sessionId: 's' });
  let onEvent = (_: OffstageEvent): void => {};
  offstage.onEvent((event) => onEvent(event));
  return {
    engine,
    mock,
    /** Resolves with the next event of that type. */
    next: (type: OffstageEvent['type']): Promise<void> =>
      new Promise((resolve) => {
        onEvent = (event) => event.type === type && resolve();
      }),
    /** How many of the callers were let in, how many prompts the agent got, and how many callers were told that it is busy. */
    async round(index: number): Promise<typeof ONE> {
      const before = mock.prompts.length;
      const answers = await Promise.allSettled(
        Array.from({ length: CALLERS }, (_, caller) =>
          offstage.sessions.prompt('s', { content: caller, promptId: `${index} ${caller}` }),
        ),
      );
      const accepted = answers.flatMap((answer) =>
        answer.status === 'fulfilled' && 'accepted' in answer.value ? [answer.value.generation] : [],
      );
      const busy = answers.filter((answer) => answer.status === 'rejected' && answer.reason.code === 'prompt.busy').length;
      const reached = mock.prompts.slice(before).map(({ generation }) => generation);
      expect(reached).toEqual(accepted);
      return { accepted: accepted.length, reached: reached.length, busy };
    },
  };
}

it(`exactly one of ${CALLERS} concurrent prompts, ${ROUNDS} rounds, while a job keeps the session in the background`, async () => {
  const { engine, mock, next, round } = await race();
  await using _ = engine;
  await engine.offstage.spawn({ kind: 'gate', sessionId: 's' });
  let generation = 0;
  for (let index = 0; index < ROUNDS; index += 1) {
    expect(await round(index)).toEqual(ONE);
    const prompt = mock.prompts.at(-1);
    expect(prompt?.generation).toBeGreaterThan(generation);
    generation = prompt?.generation ?? 0;
    const ended = next('session.turn_ended');
    prompt?.end();
    await ended;
  }
});

it(`exactly one of ${CALLERS} concurrent prompts, ${ROUNDS} rounds, at a hand-off each; the earlier one returns late`, async () => {
  const { engine, mock, next, round } = await race();
  await using _ = engine;
  await engine.offstage.sessions.prompt('s', { content: 'the first' });
  mock.emit({ type: 'capability', generation: 0, handoff: true, snapshot: true });
  for (let index = 0; index < ROUNDS; index += 1) {
    const earlier = mock.prompts.at(-1);
    const isFree = next('session.activity_changed');
    mock.emit({ type: 'foreground.idle', generation: earlier?.generation ?? 0 });
    await isFree;
    expect(await round(index)).toEqual(ONE);
    earlier?.end();
  }
});
