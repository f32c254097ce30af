/**
 * Seed 000, scenario C: N concurrent async tasks (plan mode). The plan agent lists five research tasks, spawns them, and calls
 * `await_tasks(ids, mode="all")`.
 *
 * Row by row of its table. Left out: the rows of D9 and D11 that speak of WebSocket actions and panels (seed-lifecycle-sockets.test.ts, test/browser);
 * branches and thread-locals, which the host and the origin's threads have and this has not. Instead of commits to git there is the
 * history, and instead of `jobs.json` the store.
 */
import { describe, expect, it } from 'vitest';
import { agentTools, plannerTools } from '../../src/doors/tools/index.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { gate, stubborn } from '../support/executors.ts';
import { cardOf, chunkAgent, transitionsOf } from '../support/seed-lifecycle.ts';
import { type SessionLab, type SessionLabOptions, sessionLab } from '../support/sessions.ts';
import { testEngine } from '../support/test-engine.ts';
import { inBackground, toolsOf, watched } from '../support/tools.ts';

const TOPICS = ['history', 'prices', 'rivals', 'risks', 'sources'];

/** A plan agent in its turn `m1`, which has spawned its five tasks. */
async function planned(options: SessionLabOptions, topics: readonly string[] = TOPICS) {
  const lab: SessionLab = await sessionLab({ workers: 4, ...options });
  await lab.running('s');
  const call = toolsOf(lab.offstage, { sessionId: 's', parentMessageId: 'm1' });
  const ids: string[] = [];
  for (const topic of topics) ids.push(await inBackground(call, topic));
  await lab.settled();
  const statuses = async () => {
    const jobs = await Promise.all(ids.map((id) => lab.offstage.get(id)));
    return jobs.map(({ status }) => status);
  };
  return { lab, call, ids, statuses };
}

describe('Scenario C: N concurrent async tasks (plan mode)', () => {
  it('D1 entity: five entities that all point to the turn of the plan agent, so that they can be listed by plan', async () => {
    const held = gate();
    const { lab, ids } = await planned({ executors: { agent: held } });
    await using _ = lab;
    await inBackground(toolsOf(lab.offstage, { sessionId: 's' }), 'of no plan');
    const listed = await lab.offstage.list({ parentMessageId: 'm1' });
    expect(listed.map(({ jobId }) => jobId).reverse()).toEqual(ids);
    expect((await lab.offstage.plan.get('m1')).jobs.map(({ subject }) => subject)).toEqual(TOPICS);
  });

  it('D1 entity: of a plan agent that is a task itself, they are its children too', async () => {
    const agent = gate();
    await using engine = await testEngine({
      executors: {
        agent,
        planner: async (_, { jobId }) => inBackground(toolsOf(engine.offstage, { jobId, parentMessageId: 'm1' }), 'history'),
      },
    });
    const { offstage } = engine;
    const { jobId } = await offstage.spawn({ kind: 'planner' });
    const child = (await offstage.wait(jobId)).resultText as string;
    expect(await offstage.get(child)).toMatchObject({ parentJobId: jobId, parentMessageId: 'm1' });
    await agent.release(child);
  });

  it('D2 state machine: with pool size = 4, four run and one is queued; the first to finish completes, and the queued one starts', async () => {
    const held = gate();
    const { lab, ids, statuses } = await planned({ executors: { agent: held } });
    await using _ = lab;
    expect(await statuses()).toEqual(['running', 'running', 'running', 'running', 'queued']);
    await held.release(ids[2] as string);
    await lab.settled();
    expect(await statuses()).toEqual(['running', 'running', 'completed', 'running', 'running']);
    for (const id of ids) await held.release(id);
  });

  it('D3 worker pool: FIFO-fair; with a full pool spawn returns the id at once, and await_tasks waits', async () => {
    const held = gate();
    const { lab, call, ids } = await planned({ executors: { agent: held }, workers: 1 });
    await using _ = lab;
    const answer = watched(call('await_tasks', { ids, mode: 'all' }));
    for (const [index, id] of ids.entries()) {
      await lab.settled();
      expect(held.calls).toEqual(ids.slice(0, index + 1));
      expect(answer.isSettled).toBe(false);
      await held.release(id, `about ${TOPICS[index]}`);
    }
    expect(await answer.promise).toEqual(
      ids.map((id, index) => ({ job_id: id, status: 'completed', text: `about ${TOPICS[index]}` })),
    );
  });

  it('D4 persistence: each task has its own row, every state transition of it is stored', async () => {
    const store = controlledStore(memoryStore());
    const engine = await testEngine({ executors: { agent: () => 'found' }, store });
    const call = toolsOf(engine.offstage, { parentMessageId: 'm1' });
    const ids: string[] = [];
    for (const topic of TOPICS) ids.push(await inBackground(call, topic));
    await call('await_tasks', { ids });
    const records = await engine.offstage.list();
    await using next = await testEngine({ store: await store.crash(), clock: engine.clock });
    expect(await next.offstage.list()).toEqual(records);
    for (const id of ids) expect(await transitionsOf(next.offstage, id)).toHaveLength(4);
  });

  it('D5 cancel: job_stop(id) cancels one; to cancel the whole plan, the plan agent cancels all children itself', async () => {
    const held = gate();
    const { lab, call, ids, statuses } = await planned({ executors: { agent: held } });
    await using _ = lab;
    await call('job_stop', { job_id: ids[1] });
    await lab.settled();
    expect(await statuses()).toEqual(['running', 'cancelled', 'running', 'running', 'running']);
    for (const id of ids) await call('job_stop', { job_id: id });
    await lab.settled();
    expect(await statuses()).toEqual(Array(5).fill('cancelled'));
  });

  it('D5 cancel: or it is cancelled at once, by its message', async () => {
    const held = gate();
    const { lab, ids, statuses } = await planned({ executors: { agent: held } });
    await using _ = lab;
    const other = await inBackground(toolsOf(lab.offstage, { sessionId: 's' }), 'of no plan');
    const { cancelled, cancelling } = await lab.offstage.plan.cancel('m1');
    expect([...cancelled, ...cancelling].sort()).toEqual(ids.toSorted());
    await lab.settled();
    expect(await statuses()).toEqual(Array(5).fill('cancelled'));
    expect((await lab.offstage.get(other)).status).toBe('running');
    await held.release(other);
  });

  it('D6 session binding: all five run on the same parent_session', async () => {
    const held = gate();
    const { lab, ids } = await planned({ executors: { agent: held } });
    await using _ = lab;
    const jobs = await Promise.all(ids.map((id) => lab.offstage.get(id)));
    expect(jobs.map(({ sessionId }) => sessionId)).toEqual(Array(5).fill('s'));
    expect((await lab.offstage.sessions.get('s')).activeSubagentCount).toBe(4);
  });

  it('D7 sub-agent: concurrent sub-agents do not interfere: each has its own signal, its own words, its own end', async () => {
    const agent = chunkAgent();
    const { lab, call, ids } = await planned({ executors: { agent }, workers: 5 });
    await using _ = lab;
    for (const [index, loop] of agent.loops.entries()) loop.chunk(`${TOPICS[index]}: `);
    await lab.settled();
    await call('job_stop', { job_id: ids[0] });
    await lab.settled();
    expect(agent.loops.map(({ context }) => context.signal.aborted)).toEqual([true, false, false, false, false]);
    for (const loop of agent.loops.slice(1).reverse()) {
      loop.chunk('done');
      loop.end();
    }
    expect(await call('await_tasks', { ids })).toEqual([
      { job_id: ids[0], status: 'cancelled', error: 'cancelled' },
      ...TOPICS.slice(1).map((topic, index) => ({ job_id: ids[index + 1], status: 'completed', text: `${topic}: done` })),
    ]);
  });

  it('D8 ContextCommit: five placeholders; completion order does not matter, each is updated on its own, and expanded later', async () => {
    const held = gate();
    const { lab, ids } = await planned({ executors: { agent: held } });
    await using _ = lab;
    const cards = await Promise.all(ids.map((id) => cardOf(lab.offstage, id)));
    expect(cards.map(({ content }) => content)).toEqual(Array(5).fill('(running)'));
    for (const index of [3, 0]) await held.release(ids[index] as string, `about ${TOPICS[index]}`);
    await lab.settled();
    const shown = async () => (await Promise.all(ids.map((id) => cardOf(lab.offstage, id)))).map(({ content }) => content);
    expect(await shown()).toEqual(['about history', '(running)', '(running)', 'about risks', '(running)']);
    expect(await lab.offstage.context.expand('s', cards)).toMatchObject([{ text: 'about history' }, { text: 'about risks' }]);
    for (const index of [1, 2, 4]) await held.release(ids[index] as string, `about ${TOPICS[index]}`);
    await lab.settled();
    expect(await lab.offstage.context.expand('s', cards)).toMatchObject(TOPICS.map((topic) => ({ text: `about ${topic}` })));
  });

  it('D9, D10: five spawns and one await_tasks: the waiting is done here, the model does not poll', async () => {
    const held = gate();
    const { lab, call, ids } = await planned({ executors: { agent: held } });
    await using _ = lab;
    const answer = call('await_tasks', { ids, mode: 'all', timeout: 600_000 });
    await lab.clock.advance(500_000);
    for (const id of ids) await held.release(id, 'found');
    expect(await answer).toHaveLength(5);
  });

  it('D12 error: partial failure: the list comes once all have ended, each with its own status and error', async () => {
    const held = gate();
    const { lab, call, ids } = await planned({ executors: { agent: held } });
    await using _ = lab;
    const answer = watched(call('await_tasks', { ids }));
    await held.fail(ids[0] as string, new Error('no key'));
    await lab.offstage.cancel(ids[4] as string, { reason: 'too expensive' });
    for (const id of ids.slice(1, 3)) await held.release(id, 'found');
    await lab.settled();
    expect(answer.isSettled).toBe(false);
    await held.release(ids[3] as string, 'found');
    expect(await answer.promise).toEqual([
      { job_id: ids[0], status: 'errored', error: 'Error: no key' },
      ...ids.slice(1, 4).map((id) => ({ job_id: id, status: 'completed', text: 'found' })),
      { job_id: ids[4], status: 'cancelled', error: 'too expensive' },
    ]);
  });

  it('D13 test: pool backpressure: of six tasks with pool = 2, tasks 3 to 6 stay queued until the first two complete', async () => {
    const stuck = stubborn();
    const { lab, ids, statuses } = await planned({ executors: { agent: stuck }, workers: 2 }, [...TOPICS, 'summary']);
    await using _ = lab;
    expect(await statuses()).toEqual(['running', 'running', 'queued', 'queued', 'queued', 'queued']);
    await lab.clock.advance(60 * 60 * 1000);
    expect(await statuses()).toEqual(['running', 'running', 'queued', 'queued', 'queued', 'queued']);
    for (const id of ids.slice(0, 2)) await stuck.release(id);
    await lab.settled();
    expect(await statuses()).toEqual(['completed', 'completed', 'running', 'running', 'queued', 'queued']);
    for (const id of ids) await stuck.release(id);
  });

  it('D14 plan mode: this is it; a host without a model has the same as plan.run', async () => {
    await using engine = await testEngine({
      executors: { agent: ({ description }: { description: string }) => `about ${description}` },
    });
    const entries = await engine.offstage.plan.run(TOPICS.map((topic) => ({ description: topic, prompt: `research ${topic}` })));
    expect(entries).toMatchObject(TOPICS.map((topic) => ({ status: 'completed', resultText: `about research ${topic}` })));
  });

  it('D15 compatibility: ordinary agents do not get await_tasks', async () => {
    await using engine = await testEngine();
    const names = agentTools(engine.offstage).map(({ name }) => name);
    expect(names).not.toContain('await_tasks');
    expect(plannerTools(engine.offstage).map(({ name }) => name)).toEqual([...names, 'await_tasks']);
  });
});
