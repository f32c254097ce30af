/** Questions whose answer the agent does not take, or that come when their turn is over (SRQ1 to SRQ3). */
import { describe, expect, it } from 'vitest';
import type { Agent } from '../../src/model/agent.ts';
import { offstageError } from '../../src/model/errors.ts';
import { type Held, held } from '../support/bare-agent.ts';
import { type LabSession, type SessionLab, sessionLab } from '../support/sessions.ts';

const ask = (s: LabSession, requestId: string, generation = s.generation): Promise<void> =>
  s.tell({ type: 'permission.request', generation, requestId, kind: 'permission', options: ['yes', 'no'] });

const pendingOf = async (s: LabSession): Promise<string | null> => (await s.view()).pending?.requestId ?? null;

/** Answers, and tells what came of it: `taken`, or the code of the refusal. */
const answer = (lab: SessionLab, requestId: string, choice = 'yes'): Promise<string> =>
  lab.offstage.sessions.answer('s', requestId, choice).then(
    () => 'taken',
    ({ code }: { code: string }) => code,
  );

/** The agent's answers are refused with this from now on; the returned function gives it its own back. */
function refusing(s: LabSession, refuse: () => Promise<void> | void): () => void {
  const agent = s.agent as unknown as { answer?: Agent['answer'] };
  agent.answer = refuse;
  return () => delete agent.answer;
}

const fail = (error: unknown) => (): never => {
  throw error;
};

describe('SRQ3: an answer that the agent does not take', () => {
  it.each([
    ['because it throws', fail(new Error('there is no such choice')), 'agent.failed'],
    ['because it rejects', () => Promise.reject(new Error('there is no such choice')), 'agent.failed'],
    ['because it cannot mean this', fail(offstageError('input.invalid', { argument: 'choice', message: 'x' })), 'input.invalid'],
  ])('leaves the question where it was, and it can be answered again; %s', async (_why, refuse, code) => {
    await using lab = await sessionLab();
    const s = await lab.running();
    await ask(s, 'r');
    const takeAgain = refusing(s, refuse);
    for (let attempt = 0; attempt < 2; attempt++) {
      expect(await answer(lab, 'r', 'nonsense')).toBe(code);
      await lab.settled();
      expect(await pendingOf(s)).toBe('r');
    }
    takeAgain();
    expect(await answer(lab, 'r')).toBe('taken');
    await lab.settled();
    expect([await pendingOf(s), s.agent.answers]).toEqual([null, [{ requestId: 'r', choice: 'yes' }]]);
    expect(await answer(lab, 'r')).toBe('request.not_found');
  });

  it('says why, in the words of the adapter', async () => {
    await using lab = await sessionLab();
    const s = await lab.running();
    await ask(s, 'r');
    refusing(s, fail(offstageError('input.invalid', { argument: 'choice', message: 'it must be one of yes, no' })));
    await expect(lab.offstage.sessions.answer('s', 'r', 'maybe')).rejects.toMatchObject({
      code: 'input.invalid',
      details: { argument: 'choice', message: 'it must be one of yes, no' },
    });
  });

  it('keeps its place in the line of those that wait', async () => {
    await using lab = await sessionLab();
    const s = await lab.running();
    for (const requestId of ['r1', 'r2']) await ask(s, requestId);
    const takeAgain = refusing(s, fail(new Error('no')));
    expect(await answer(lab, 'r1')).toBe('agent.failed');
    expect(await answer(lab, 'r2')).toBe('agent.failed');
    takeAgain();
    await lab.settled();
    const shown: (string | null)[] = [];
    for (const requestId of ['r1', 'r2']) {
      shown.push(await pendingOf(s));
      expect(await answer(lab, requestId)).toBe('taken');
      await lab.settled();
    }
    expect([...shown, await pendingOf(s)]).toEqual(['r1', 'r2', null]);
  });

  async function answering(lab: SessionLab): Promise<{ s: LabSession; outcome: Promise<string>; agent: Held<void> }> {
    const s = await lab.running();
    await ask(s, 'r');
    const agent = held();
    const takeAgain = refusing(s, () => agent.promise);
    const outcome = answer(lab, 'r');
    await lab.settled();
    takeAgain();
    return { s, outcome, agent };
  }

  it('is one at a time: who answers meanwhile is told that there is nothing to answer', async () => {
    await using lab = await sessionLab();
    const { s, outcome, agent } = await answering(lab);
    expect(await answer(lab, 'r', 'no')).toBe('request.not_found');
    agent.reject(new Error('not that'));
    expect(await outcome).toBe('agent.failed');
    expect(await answer(lab, 'r', 'no')).toBe('taken');
    expect(s.agent.answers).toEqual([{ requestId: 'r', choice: 'no' }]);
  });

  it.each([
    ['its turn has ended', 'agent.failed', (s: LabSession) => s.done()],
    ['its agent has gone', 'agent.gone', async (s: LabSession) => s.agent.exit()],
  ])('does not bring the question back when %s meanwhile: %s', async (_what, code, happens) => {
    await using lab = await sessionLab();
    const { s, outcome, agent } = await answering(lab);
    await happens(s);
    await lab.settled();
    expect(await pendingOf(s)).toBeNull();
    agent.reject(new Error('too late'));
    expect(await outcome).toBe(code);
    await lab.settled();
    expect([await pendingOf(s), await answer(lab, 'r')]).toEqual([null, 'request.not_found']);
    await s.ask('next');
    await lab.settled();
    expect(await pendingOf(s)).toBeNull();
  });

  it('because nobody waits for it any more, ends the question', async () => {
    await using lab = await sessionLab();
    const s = await lab.running();
    await ask(s, 'r');
    refusing(s, fail(offstageError('request.not_found', { requestId: 'r' })));
    expect(await answer(lab, 'r')).toBe('request.not_found');
    await lab.settled();
    expect(await pendingOf(s)).toBeNull();
  });
});

describe('what a question is about', () => {
  it.each<[string, unknown, string | undefined]>([
    ['is what the agent says', 'Remove build/', 'Remove build/'],
    ['is nothing where the agent says nothing', undefined, undefined],
    ['is nothing where it says something else', { toString: null }, undefined],
    ['is nothing where that is empty', '', undefined],
    ['is no more than 1,000 characters', 'x'.repeat(1_001), 'x'.repeat(1_000)],
    ['is well-formed, also where it was cut', `${'x'.repeat(999)}\u{1F600}`, `${'x'.repeat(999)}\uFFFD`],
  ])('%s', async (_what, title, shown) => {
    await using lab = await sessionLab();
    const s = await lab.running();
    const question = { requestId: 'r', kind: 'permission', options: [], ...(title === undefined ? {} : { title }) } as const;
    await s.tell({ type: 'permission.request', generation: s.generation, ...question } as never);
    const { pending } = await s.view();
    expect(pending).toEqual({
      requestId: 'r',
      kind: 'permission',
      options: [],
      ...(shown === undefined ? {} : { title: shown }),
    });
  });
});

describe('SRQ2: a question of a turn that has ended', () => {
  it('is not shown, and not in the next turn either', async () => {
    await using lab = await sessionLab();
    const s = await lab.running();
    const { generation } = s;
    await s.done();
    await ask(s, 'late', generation);
    expect([await pendingOf(s), await answer(lab, 'late')]).toEqual([null, 'request.not_found']);
    expect(await s.view()).toMatchObject({ state: 'waiting_for_input', foregroundActivity: null });
    await s.ask('next');
    await lab.settled();
    expect(await pendingOf(s)).toBeNull();
    await ask(s, 'later', generation);
    expect([await pendingOf(s), await answer(lab, 'later')]).toEqual([null, 'request.not_found']);
    await ask(s, 'of this turn');
    expect(await pendingOf(s)).toBe('of this turn');
  });

  it('is not shown where the turn was closed without the agent', async () => {
    await using lab = await sessionLab({ script: { ignoreCancel: true }, interruptGraceMs: 1_000 });
    const s = await lab.running();
    await lab.offstage.sessions.interrupt('s');
    await lab.clock.advance(1_000);
    await ask(s, 'late');
    expect([await pendingOf(s), await answer(lab, 'late')]).toEqual([null, 'request.not_found']);
  });
});
