/** Liveness 1: what a prompt finds in a session of each state, as the exported table says, through `sessions.prompt`. */
import { describe, expect, it } from 'vitest';
import { SESSION_STATES } from '../../src/machines/session.ts';
import type { SessionState } from '../../src/model/records.ts';
import { session as row, storeWith } from '../support/left-behind.ts';
import { FULL, LabSession, type SessionLab, sessionLab } from '../support/sessions.ts';

/** A session that an earlier process left in that state; starting and running ones are settled by the next process. */
async function left(state: SessionState, failStart?: Error): Promise<{ lab: SessionLab; session: LabSession }> {
  const store = await storeWith({ sessions: [row('s', state)] });
  const lab = await sessionLab({ store, script: { attests: FULL, ...(failStart === undefined ? {} : { failStart }) } });
  return { lab, session: new LabSession(lab, await lab.offstage.sessions.get('s')) };
}

const statesOf = ({ engine }: SessionLab) =>
  engine.events.flatMap((event) => (event.type === 'session.state_changed' ? [event.newState] : []));

const all = Object.keys(SESSION_STATES) as SessionState[];
const promptable = all.filter((state) => SESSION_STATES[state].promptable !== 'no');
const launching = promptable.filter((state) => state !== 'starting' && state !== 'running');

describe('a prompt to a session that is', () => {
  it.each(promptable)('%s: is let in, and starts its agent', async (state) => {
    const { lab, session } = await left(state);
    await using _ = lab;
    expect(await session.attempt()).toBe('accepted');
    // Once more as it was, when an earlier interruption is told no more.
    expect([...new Set(statesOf(lab))]).toEqual(['starting', 'running']);
    expect(await session.view()).toMatchObject({ state: 'running', interrupted: false, foregroundActivity: 'generating' });
    expect([lab.mock.starts.length, session.prompts.length]).toEqual([1, 1]);
  });

  it.each(launching)('%s: leaves it so when its agent does not start', async (state) => {
    const { lab, session } = await left(state, new Error('no'));
    await using _ = lab;
    expect(await session.attempt()).toBe('agent.start_failed');
    expect(statesOf(lab)).toEqual(['starting', state]);
    expect(await session.view()).toMatchObject({ state, foregroundActivity: null });
    lab.mock.script.failStart = undefined;
    expect(await session.attempt()).toBe('accepted');
  });

  it.each(all.filter((state) => !promptable.includes(state)))(
    '%s: is refused, also as a ticket, and changes nothing',
    async (state) => {
      const { lab, session } = await left(state);
      await using _ = lab;
      const before = await session.view();
      for (const whenBusy of ['reject', 'queue'] as const) {
        const asking = session.ask('may I?', { whenBusy });
        await expect(asking).rejects.toMatchObject({ code: 'session.not_promptable', details: { sessionId: 's', state } });
      }
      await lab.settled();
      expect(await session.view()).toEqual(before);
      expect([lab.mock.starts, lab.engine.events]).toEqual([[], []]);
    },
  );
});
