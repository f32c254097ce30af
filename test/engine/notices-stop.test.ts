/** NTC4: stops, and the built-in session, start no agent to tell it of an end. */
import { expect, it } from 'vitest';
import { echo, gate } from '../support/executors.ts';
import { sessionLab } from '../support/sessions.ts';

it.each(['sessions', 'tasks'] as const)(
  'NTC4: what a stop of %s has ended is told to nobody, and starts no agent',
  async (scope) => {
    await using lab = await sessionLab({ notices: true, executors: { gate: gate() } });
    const { offstage, mock } = lab;
    const s = await lab.create('s');
    const job = await offstage.spawn({ kind: 'gate', sessionId: 's' });
    await lab.settled();
    const report = await (scope === 'tasks' ? offstage.tasks.stop(s.taskId) : offstage.sessions.stop('s'));
    await report.settled;
    await lab.settled();
    expect((await offstage.get(job.jobId)).reasonCode).toBe('cancel.stop');
    expect([mock.agents.length, (await s.view()).state]).toEqual([0, 'created']);
    // Somebody's cancel is told.
    const other = await offstage.spawn({ kind: 'gate', sessionId: 's' });
    await offstage.cancel(other.jobId);
    await lab.settled();
    expect(s.prompts.map(({ content }) => content)).toEqual([expect.stringContaining(`[task ${other.jobId} cancelled]`)]);
  },
);

it('NTC4: jobs that name no session start no agent, until somebody talks to the built-in one', async () => {
  await using lab = await sessionLab({ notices: true, executors: { echo } });
  const { offstage, mock } = lab;
  await offstage.wait((await offstage.spawn({ kind: 'echo', input: 'a' })).jobId);
  await lab.settled();
  expect(mock.agents).toEqual([]);
  await offstage.sessions.prompt('default', { content: 'hello' });
  await lab.settled();
  mock.prompts[0]?.end();
  await lab.settled();
  await offstage.spawn({ kind: 'echo', input: 'b' });
  await lab.settled();
  expect(mock.prompts.map(({ content }) => content)).toEqual(['hello', expect.stringContaining('b')]);
});
