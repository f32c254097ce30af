/**
 * Acceptance scenarios of jobs, "Follow-up and cards": J102, J103, J106, J108, J109, J111, J112, J114; and J69, J115, J120 as far as they are about
 * cards and follow-ups.
 */
import { describe, expect, it } from 'vitest';
import type { ContextItem } from '../../src/model/cards.ts';
import { outcome } from '../../src/model/executor.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { KEYS } from '../../src/persistence/row-keys.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { echo, gate, scripted, stubborn } from '../support/executors.ts';
import { type LabSession, type SessionLab, type SessionLabOptions, sessionLab } from '../support/sessions.ts';
import { contentOf } from '../support/store-content.ts';
import { testEngine } from '../support/test-engine.ts';

const lab = (options: SessionLabOptions = {}): Promise<SessionLab> =>
  sessionLab({ ...options, notices: true, executors: { echo, ...options.executors } });

const contents = (session: LabSession): readonly unknown[] => session.prompts.map(({ content }) => content);

/** An executor whose jobs answer with the outcome that their input describes. */
const branch = (job: { readonly input: unknown }): unknown => outcome(job.input as Parameters<typeof outcome>[0]);

describe('follow-ups', () => {
  it('J102: wait=false completed with a card: one follow-up turn on its caller, at its current head; wait=true: none', async () => {
    const held = gate();
    await using it = await lab({ executors: { held } });
    const { offstage } = it;
    const session = await it.running();
    for (const [jobId, wait] of [
      ['background', false],
      ['foreground', true],
    ] as const)
      await offstage.spawn({ kind: 'held', jobId, sessionId: 's', subject: jobId, wait });
    // The conversation goes on meanwhile.
    await session.done();
    await session.ask('and another thing');
    await session.done();
    for (const jobId of ['foreground', 'background']) await held.release(jobId, `${jobId} text`);
    await it.settled();
    expect(contents(session)).toEqual(['begin', 'and another thing', '[task background completed] background\nbackground text']);
    // The same agent, so the same conversation, where it stands now.
    expect(it.mock.agents).toHaveLength(1);
    for (const jobId of ['background', 'foreground']) {
      const { content, attach } = await offstage.cards.get(`card_${jobId}`);
      expect([content, attach.status]).toEqual([`${jobId} text`, 'completed']);
    }
    await session.done();
    await it.clock.advance(60 * 60 * 1_000);
    expect(contents(session)).toHaveLength(3);
  });

  it('J103: two jobs finish together: notice1 → answer1 → notice2 → answer2, never siblings', async () => {
    const story: string[] = [];
    await using it = await lab({ executors: { held: gate(), echo } });
    const { offstage } = it;
    const session = await it.running();
    await session.done();
    await Promise.all(['1', '2'].map((jobId) => offstage.spawn({ kind: 'echo', jobId, sessionId: 's', subject: jobId })));
    await offstage.waitMany(['1', '2']);
    const open = (): number => session.prompts.filter(({ isOpen }) => isOpen).length;
    for (const number of ['1', '2']) {
      await it.settled();
      expect(open()).toBe(1);
      story.push(`notice${number}: ${String(session.prompt.content).split('\n')[0]}`);
      await session.done();
      story.push(`answer${number}`);
    }
    expect(story).toEqual(['notice1: [task 1 completed] 1', 'answer1', 'notice2: [task 2 completed] 2', 'answer2']);
    expect(open()).toBe(0);
    const ends = it.engine.events.flatMap((event) => (event.type === 'session.turn_ended' ? [event.generation] : []));
    expect(ends).toEqual(session.prompts.map(({ generation }) => generation));
  });

  it('J69: a body that returns normally after a cancel is told as cancelled, never as completed; to its own canceller not at all', async () => {
    const stuck = stubborn();
    await using it = await lab({ executors: { stuck } });
    const { offstage } = it;
    const session = await it.create();
    for (const jobId of ['by a person', 'by the agent']) {
      await offstage.spawn({ kind: 'stuck', jobId, sessionId: 's', subject: jobId });
      await stuck.started(jobId);
    }
    await offstage.cancel('by a person');
    // As its tool does.
    offstage.notices.received('s', 'by the agent');
    await offstage.cancel('by the agent');
    for (const jobId of ['by a person', 'by the agent']) {
      await stuck.release(jobId, 'text all the same');
      expect(await offstage.wait(jobId)).toMatchObject({ status: 'cancelled', resultText: 'text all the same' });
    }
    await it.settled();
    await session.done();
    expect(contents(session)).toEqual(['[task by a person cancelled] by a person\ntext all the same\ncancelled']);
  });
});

describe('cards', () => {
  it('J106: a placeholder becomes completed, with job, head h, content T and label; both copies are equal', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held } });
    const { offstage } = engine;
    const { cardId } = await offstage.spawn({ kind: 'held', jobId: 'j', description: 'find out about it' });
    const placeholder = await offstage.cards.get(cardId);
    expect(placeholder).toEqual({
      cardId: 'card_j',
      sessionId: 'default',
      function: 'attach',
      content: '(running)',
      attach: {
        session_id: 'default',
        job_id: 'j',
        status: 'running',
        head_id: null,
        source_commit_id: null,
        label: 'find out about it',
      },
    });
    await held.release('j', outcome({ text: 'T', headId: 'h' }));
    await offstage.wait('j');
    const completed = {
      ...placeholder,
      content: 'T',
      attach: { ...placeholder.attach, status: 'completed', head_id: 'h' },
    };
    expect(await offstage.cards.get(cardId)).toEqual(completed);
    expect(await offstage.cards.list({ sessionId: 'default' })).toEqual([completed]);
  });

  it('J108: of a rejected spawn no card remains running, nor anything else', async () => {
    const store = controlledStore(memoryStore());
    await using it = await lab({ store });
    const { offstage, clock } = it;
    await it.create();
    await it.settled();
    const before = await contentOf(store);
    const told = it.engine.events.length;
    const refused = [
      [{ kind: 'nobody' }, 'executor.unknown'],
      [{ kind: 'echo', agentId: 'nobody', sessionId: 'nobody' }, 'session.not_found'],
      [{ kind: 'echo', sessionId: 's', parentJobId: 'nobody' }, 'job.not_found'],
    ] as const;
    for (const [options, code] of refused)
      await expect(offstage.spawn({ jobId: 'j', ...options })).rejects.toMatchObject({ code });
    expect(await contentOf(store)).toEqual(before);
    store.failNext({ when: 'after' });
    await expect(offstage.spawn({ kind: 'echo', jobId: 'j', sessionId: 's' })).rejects.toMatchObject({ code: 'store.failed' });
    await clock.advance(60_000);
    expect(await offstage.cards.list({ sessionId: 's' })).toEqual([]);
    await expect(offstage.cards.get('card_j')).rejects.toMatchObject({ code: 'card.not_found' });
    const { [KEYS.head]: _, [KEYS.low]: __, ...left } = await contentOf(store);
    const { [KEYS.head]: ___, [KEYS.low]: ____, ...expected } = before;
    expect(left).toEqual(expected);
    expect(it.engine.events.slice(told)).toEqual([]);
    expect(it.mock.starts).toEqual([]);
  });

  it('J109: of a job on another session the card is in the caller session, reaches completed and names the target session', async () => {
    await using it = await lab();
    const { offstage } = it;
    await offstage.tasks.create({ taskId: 't' });
    const [caller, target] = [await it.create('caller', 't'), await it.create('target', 't')];
    await offstage.spawn({ kind: 'echo', jobId: 'j', sessionId: 'target', callerSessionId: 'caller', input: 'T' });
    await it.settled();
    expect(await offstage.cards.list({ sessionId: 'target' })).toEqual([]);
    expect(await offstage.cards.list({ sessionId: 'caller' })).toMatchObject([
      { sessionId: 'caller', content: 'T', attach: { session_id: 'target', job_id: 'j', status: 'completed' } },
    ]);
    expect([contents(caller).length, contents(target).length]).toEqual([1, 0]);
  });
});

describe('contexts', () => {
  const cardsOf = async (jobs: readonly (readonly [string, object])[]) => {
    const held = gate();
    const engine = await testEngine({ executors: { branch, held } });
    const { offstage } = engine;
    const items: ContextItem[] = [];
    for (const [jobId, input] of jobs) {
      await offstage.spawn({ kind: 'branch', jobId, input });
      await offstage.wait(jobId);
      items.push(await offstage.cards.get(`card_${jobId}`));
    }
    return { engine, items, held };
  };

  it('J111: a second card of the same source: 0 new items', async () => {
    const source = { text: 'T', headId: 'h', sourceCommitId: 'c' };
    const { engine, items } = await cardsOf([
      ['1', source],
      ['2', source],
    ]);
    await using _ = engine;
    const { context } = engine.offstage;
    const first = await context.expand('default', items.slice(0, 1));
    expect(first).toMatchObject([{ type: 'attach', jobId: '1', text: 'T', headId: 'h', sourceCommitId: 'c' }]);
    expect(await context.expand('default', items)).toEqual(first);
  });

  it('J112: two sources: two blocks', async () => {
    const { engine, items } = await cardsOf([
      ['1', { text: 'T', sourceCommitId: 'c' }],
      ['2', { text: 'T', sourceCommitId: 'd' }],
    ]);
    await using _ = engine;
    expect(await engine.offstage.context.expand('default', items)).toMatchObject([{ jobId: '1' }, { jobId: '2' }]);
  });

  it('J114: a running card, when the context is built: 0 items', async () => {
    const { engine, items, held } = await cardsOf([['1', { text: 'T' }]]);
    await using _ = engine;
    const { offstage } = engine;
    const { cardId } = await offstage.spawn({ kind: 'held', jobId: 'running' });
    const all = [await offstage.cards.get(cardId), ...items];
    expect(await offstage.context.expand('default', all)).toMatchObject([{ jobId: '1' }]);
    expect(await offstage.context.expand('default', all.slice(0, 1))).toEqual([]);
    await held.release('running');
  });
});

describe('recovery', () => {
  /** A process that dies with a job at work, one completed and told, and one completed and not told; as an older release has written them. */
  async function died() {
    const store = controlledStore(memoryStore());
    const bodies = scripted({ long: () => new Promise(() => {}), short: () => 'done' });
    const first = await lab({ store, executors: { bodies } });
    const session = await first.running();
    for (const [jobId, subject] of [
      ['running', 'long'],
      ['told', 'short'],
      ['untold', 'short'],
    ] as const) {
      await first.offstage.spawn({ kind: 'bodies', jobId, sessionId: 's', subject });
      await first.settled();
    }
    await session.done();
    expect(contents(session)).toEqual(['begin', '[task told completed] short\ndone']);
    const completed = await first.offstage.cards.get('card_told');
    return { store: await store.crash(), executors: { bodies }, completed };
  }

  it('J115: the running one is errored "worker died before completion", and so is its card; the completed one is untouched', async () => {
    const { store, executors, completed } = await died();
    await using it = await lab({ store, executors });
    expect(it.engine.recovery.abandoned).toEqual(['running']);
    const { cards } = it.offstage;
    expect(await cards.get('card_running')).toMatchObject({
      content: '[task error] worker died before completion',
      attach: { status: 'errored' },
    });
    expect(await cards.get('card_told')).toEqual(completed);
    await it.settled();
    expect(it.mock.prompts.map(({ content }) => content)).toEqual([
      '[task running errored] long\nworker died before completion\n\n[task untold completed] short\ndone',
    ]);
  });

  it('J115: a row of a release that knew no cards has one all the same, and nobody is told of its end', async () => {
    const { store, executors } = await died();
    // The release before wrote neither whom to tell nor the rows of notices.
    for await (const { key, value } of store.range({ gte: 'l/', lt: 'l/~' })) {
      const legacy = (JSON.parse(value) as unknown[]).slice(0, 40);
      await store.batch([{ type: 'put', key, value: JSON.stringify(legacy) }], { sync: true });
    }
    await store.batch([{ type: 'del', key: KEYS.notice('s', 3) }], { sync: true });
    await using it = await lab({ store, executors });
    expect(it.engine.recovery.abandoned).toEqual(['running']);
    expect(await it.offstage.get('running')).toMatchObject({ status: 'errored', cardId: 'card_running' });
    expect((await it.offstage.cards.get('card_running')).attach.status).toBe('errored');
    await it.settled();
    expect(it.mock.prompts).toEqual([]);
  });

  it('J120: the second recovery is a no-op: no event, no card, no notice', async () => {
    const { store, executors } = await died();
    const first = controlledStore(store);
    // Dies before it has told anything.
    await lab({ store: first, executors });
    const left = await first.crash();
    const before = await contentOf(left);
    expect(Object.keys(before).filter((key) => key.startsWith('u/'))).toEqual([KEYS.notice('s', 1), KEYS.notice('s', 3)]);
    const second = controlledStore(left);
    const next = await lab({ store: second, executors });
    expect(next.engine.recovery.abandoned).toEqual([]);
    expect(second.writes).toEqual([]);
    await next.settled();
    expect(next.mock.prompts).toHaveLength(1);
    await using third = await lab({ store: await second.crash(), executors });
    await third.settled();
    expect(third.mock.prompts).toEqual([]);
  });
});
