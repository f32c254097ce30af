/** TOU1, TOU2: our turn among everything that a session says. */
import { describe, expect, it } from 'vitest';
import { TurnOutput } from '../../src/doors/cli/turn-output.ts';

const head = { seq: 1, epoch: 'e', at: 1, sessionId: 's' };
const spoken = (generation: number, text: string, channel: 'message' | 'thought' = 'message') =>
  ({ ...head, type: 'session.output', generation, channel, text }) as const;
const ended = (generation: number) =>
  ({ ...head, type: 'session.turn_ended', generation, stopReason: 'end_turn', error: null }) as const;

function listening() {
  const shown: string[] = [];
  /** Resolves each `show` while it is held. */
  const held: (() => void)[] = [];
  let isHeld = false;
  const turn = new TurnOutput({
    show(text) {
      shown.push(text);
      return isHeld ? new Promise((resolve) => held.push(resolve)) : Promise.resolve();
    },
    onEnd: ({ generation }) => shown.push(`end ${generation}`),
  });
  return {
    turn,
    shown,
    hold() {
      isHeld = true;
    },
    release() {
      isHeld = false;
      for (const resume of held.splice(0)) resume();
    },
  };
}

describe('before our turn is known', () => {
  it('its first words are held, also its end; those of the turn before are dropped', async () => {
    const { turn, shown } = listening();
    for (const event of [spoken(1, 'theirs'), ended(1), spoken(2, 'ours, '), spoken(1, 'late'), spoken(2, 'hm', 'thought')]) {
      await turn.take(event);
    }
    await turn.take(ended(2));
    expect(shown).toEqual([]);
    await turn.begin(2);
    expect(shown).toEqual(['ours, ', 'end 2']);
  });

  it('a turn that turns out to be another one is never shown', async () => {
    const { turn, shown } = listening();
    await turn.take(spoken(1, 'theirs'));
    await turn.begin(2);
    await turn.take(spoken(1, 'theirs'));
    await turn.take(ended(1));
    await turn.take(spoken(2, 'ours'));
    expect(shown).toEqual(['ours']);
  });

  it('TOU2: a long turn of another costs bounded memory', async () => {
    const { turn, shown } = listening();
    const text = 'x'.repeat(1024 * 1024);
    for (let number = 0; number < 10; number++) await turn.take(spoken(1, `${number}${text.slice(1)}`));
    await turn.begin(1);
    expect(shown.map(([first]) => first)).toEqual(['9']);
  });
});

it('what comes while the held words are being shown comes after them', async () => {
  const { turn, shown, hold, release } = listening();
  await turn.take(spoken(3, 'a'));
  await turn.take(spoken(3, 'b'));
  hold();
  const begun = turn.begin(3);
  await turn.take(spoken(3, 'c'));
  await turn.take(ended(3));
  expect(shown).toEqual(['a']);
  release();
  await begun;
  expect(shown).toEqual(['a', 'b', 'c', 'end 3']);
  // The second begin, by an event that tells the same, changes nothing.
  await turn.begin(4);
  expect(turn.generation).toBe(3);
});
