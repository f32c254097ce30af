/** What is within reach of whoever calls a tool (spec 10), with the acceptance rows J90, J91 and J93 of "Cross-session and ownership". */
import { describe, expect, it } from 'vitest';
import type { Offstage } from '../../src/engine/offstage.ts';
import { offstageError } from '../../src/model/errors.ts';
import { echo, gate, scripted, stubborn } from '../support/executors.ts';
import { type TestEngine, testEngine } from '../support/test-engine.ts';
import { inBackground, toolsOf } from '../support/tools.ts';

const unknown = (jobId: string) => ({
  job_output: `[job_output error] unknown job_id='${jobId}'`,
  job_stop: { ok: false, status: 'unknown' },
  await_tasks: [{ job_id: jobId, status: 'unknown' }],
});

/** What the three tools that take an id come to. */
async function asked(offstage: Offstage, sessionId: string | null, jobId: string): Promise<ReturnType<typeof unknown>> {
  const call = toolsOf(offstage, sessionId === null ? {} : { sessionId });
  return {
    job_output: (await call('job_output', { job_id: jobId, block: false })) as string,
    await_tasks: (await call('await_tasks', { ids: [jobId], timeout: 0 })) as never,
    job_stop: (await call('job_stop', { job_id: jobId })) as never,
  };
}

/** Sessions p1, p2 and p3 of one task. */
async function sessions({ offstage }: TestEngine): Promise<void> {
  await offstage.tasks.create({ taskId: 't' });
  for (const sessionId of ['p1', 'p2', 'p3']) await offstage.sessions.create({ sessionId, taskId: 't' });
}

describe('a session', () => {
  it('J90: reaches the jobs it asked for, and those it hosts; any other session finds them unknown', async () => {
    const stuck = stubborn();
    await using engine = await testEngine({ executors: { agent: stuck } });
    const { offstage } = engine;
    await sessions(engine);
    const { jobId } = await offstage.spawn({ kind: 'agent', subject: 'a', sessionId: 'p2', callerSessionId: 'p1' });
    await stuck.started(jobId);
    await engine.clock.settle();
    const running = {
      job_output: `[task ${jobId} status=running, not finished]`,
      await_tasks: [{ job_id: jobId, status: 'running' }],
      job_stop: { ok: true, status: 'running' },
    };
    expect(await asked(offstage, 'p3', jobId)).toEqual(unknown(jobId));
    expect((await offstage.get(jobId)).cancelRequestedAt).toBe(null);
    expect(await asked(offstage, 'no such session', jobId)).toEqual(unknown(jobId));
    expect(await asked(offstage, 'p1', jobId)).toEqual(running);
    expect(await asked(offstage, 'p2', jobId)).toEqual(running);
    await stuck.release(jobId);
  });

  it('J91: reaches what its jobs started, whichever session that runs on, also when the job between them has ended', async () => {
    const held = gate();
    const bodies = scripted({
      middle: async (context) => {
        const child = await context.spawn({ kind: 'held', sessionId: 'p3', subject: 'grandchild' });
        return child.jobId;
      },
    });
    await using engine = await testEngine({ executors: { bodies, held } });
    const { offstage } = engine;
    await sessions(engine);
    const middle = await offstage.spawn({ kind: 'bodies', subject: 'middle', sessionId: 'p2', callerSessionId: 'p1' });
    const child = (await offstage.wait(middle.jobId)).resultText as string;
    expect(await offstage.get(child)).toMatchObject({ sessionId: 'p3', callerSessionId: 'p2', parentJobId: middle.jobId });
    const answer = `[task ${child} status=running, not finished]`;
    await held.started(child);
    await engine.clock.settle();
    for (const sessionId of ['p1', 'p2', 'p3']) {
      expect(await toolsOf(offstage, { sessionId })('job_output', { job_id: child, block: false }), sessionId).toBe(answer);
    }
    await offstage.tasks.create({ taskId: 'elsewhere' });
    await offstage.sessions.create({ sessionId: 'stranger', taskId: 'elsewhere' });
    expect(await asked(offstage, 'stranger', child)).toEqual(unknown(child));
    await held.release(child);
  });

  it('cannot tell a job of others that was pruned from one that never was; its own are expired', async () => {
    await using engine = await testEngine({ executors: { agent: echo } });
    const { offstage } = engine;
    await sessions(engine);
    const { jobId } = await offstage.spawn({ kind: 'agent', sessionId: 'p2', callerSessionId: 'p1' });
    await offstage.wait(jobId);
    await offstage.prune({ maxJobs: 0 });
    expect(await asked(offstage, 'p3', jobId)).toEqual(unknown(jobId));
    for (const sessionId of ['p1', 'p2', null]) {
      expect(await asked(offstage, sessionId, jobId)).toEqual({
        job_output: `[job_output error] job_id='${jobId}' ended long ago, and its result is gone`,
        await_tasks: [{ job_id: jobId, status: 'expired' }],
        job_stop: { ok: false, status: 'expired' },
      });
    }
  });

  it('finds a pruned job unknown of which not even a card is left', async () => {
    const gone = (code: 'job.expired' | 'card.not_found') => async () => {
      throw code === 'job.expired' ? offstageError(code, { jobId: 'j' }) : offstageError(code, { cardId: 'card_j' });
    };
    const offstage = { get: gone('job.expired'), cards: { get: gone('card.not_found') }, waitMany: async () => [] } as never;
    expect(await asked(offstage, 'p1', 'j')).toEqual(unknown('j'));
    expect((await asked(offstage, null, 'j')).job_stop).toEqual({ ok: false, status: 'expired' });
  });

  it('lists the jobs it hosts and those it asked for, each once, and no others', async () => {
    await using engine = await testEngine({ executors: { agent: echo } });
    const { offstage, clock } = engine;
    await sessions(engine);
    const ids: string[] = [];
    for (const more of [
      { sessionId: 'p1' },
      { sessionId: 'p2', callerSessionId: 'p1' },
      { sessionId: 'p1', callerSessionId: 'p2' },
      { sessionId: 'p3' },
      {},
    ]) {
      ids.push((await offstage.spawn({ kind: 'agent', ...more })).jobId);
      await clock.advance(1);
    }
    const listed = async (sessionId?: string) =>
      ((await toolsOf(offstage, sessionId === undefined ? {} : { sessionId })('list_jobs')) as readonly { id: string }[]).map(
        ({ id }) => ids.indexOf(id),
      );
    expect(await listed('p1')).toEqual([2, 1, 0]);
    expect(await listed('p2')).toEqual([2, 1]);
    expect(await listed('p3')).toEqual([3]);
    expect(await listed()).toEqual([4, 3, 2, 1, 0]);
  });
});

describe('a session with more jobs than a list shows', () => {
  it('lists the 50 newest of those it hosts and those it asked for, together', async () => {
    await using engine = await testEngine({ executors: { agent: echo } });
    const { offstage, clock } = engine;
    await sessions(engine);
    for (let index = 0; index < 40; index += 1) {
      await offstage.spawn({ kind: 'agent', subject: `hosted ${index}`, sessionId: 'p1' });
      await offstage.spawn({ kind: 'agent', subject: `asked ${index}`, sessionId: 'p2', callerSessionId: 'p1' });
      await clock.advance(1);
    }
    const listed = (await toolsOf(offstage, { sessionId: 'p1' })('list_jobs')) as readonly { readonly subject: string }[];
    expect(listed).toHaveLength(50);
    expect(listed.map(({ subject }) => Number(subject.split(' ')[1])).sort((a, b) => a - b)[0]).toBe(15);
  });
});

describe('a person, without a session', () => {
  it('reaches all jobs', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { agent: held } });
    const { offstage } = engine;
    await sessions(engine);
    const jobId = await inBackground(toolsOf(offstage, { sessionId: 'p1' }), 'a');
    await held.started(jobId);
    await engine.clock.settle();
    expect(await asked(offstage, null, jobId)).toMatchObject({ job_stop: { ok: true } });
  });
});

describe('the walk upwards', () => {
  /** Chains of records that no engine would make, by their ids. */
  const chainOf = (parents: (jobId: string) => string | null, ownerOf: (jobId: string) => string) => {
    let looks = 0;
    const offstage = {
      get: async (jobId: string) => {
        looks += 1;
        if (jobId === 'none') throw offstageError('job.not_found', { jobId });
        const record = {
          jobId,
          status: 'running',
          sessionId: ownerOf(jobId),
          callerSessionId: null,
          parentJobId: parents(jobId),
        };
        return record;
      },
    };
    return {
      async reaches(jobId: string) {
        looks = 0;
        const call = toolsOf(offstage as never, { sessionId: 'p1' });
        const answer = await call('job_output', { job_id: jobId, block: false });
        return { isReached: answer === `[task ${jobId} status=running, not finished]`, looks };
      },
    };
  };
  const above = (jobId: string): string | null => (jobId === '0' ? null : String(Number(jobId) - 1));

  it('J93: reaches as deep as a tree may be, 64 levels below an own job, and refuses what is deeper', async () => {
    const chain = chainOf(above, (jobId) => (jobId === '0' ? 'p1' : 'p2'));
    expect(await chain.reaches('64')).toEqual({ isReached: true, looks: 65 });
    expect(await chain.reaches('65')).toEqual({ isReached: false, looks: 66 });
    expect(await chain.reaches('100000')).toEqual({ isReached: false, looks: 66 });
  });

  it('RCH2: ends on a cycle, on one that is its own parent, and on one whose parent is not there', async () => {
    const others = (): string => 'p2';
    const cycle = chainOf((jobId) => (jobId === 'a' ? 'b' : 'a'), others);
    expect((await cycle.reaches('a')).isReached).toBe(false);
    expect((await chainOf((jobId) => jobId, others).reaches('a')).isReached).toBe(false);
    expect(await chainOf(() => 'none', others).reaches('a')).toEqual({ isReached: false, looks: 2 });
  });
});
