/** SWD1: what a stop found and did, in words. */
import { describe, expect, it } from 'vitest';
import { jobsShown, liveWorkInWords, stopLines, stopTally } from '../../src/doors/cli/stop-words.ts';
import type { StopEntry, StopReport } from '../../src/model/stop.ts';

const error = (message: string) => ({ code: 'x', message });
const REPORT: StopReport = {
  stopped: [
    { sessionId: 's', executionId: 'exec_1' },
    { sessionId: 'second', executionId: 'exec_of_a_job', jobId: 'job_1' },
    { sessionId: 'starting' },
  ],
  recovered: [{ sessionId: 'over', executionId: 'exec_2' }],
  alreadyStopping: [{ sessionId: 's', executionId: 'exec_3' }],
  detached: [{ sessionId: 's', jobId: 'job_2', error: error('the processes 7 and 8 are still there') }],
  absent: [{ sessionId: 'quiet' }],
  failed: [{ sessionId: 's', executionId: 'exec_4', error: error('nobody can say') }],
  loadErrors: [{ sessionId: 'lost', error: error('the row is damaged') }],
  sourceError: null,
  durable: true,
};
const subjects = new Map([
  ['job_1', 'npm test'],
  ['job_2', 'sleep 600'],
]);

describe('the lines of a report', () => {
  it('say what came of each, with all that is known', () => {
    expect(stopLines(REPORT, { isSettled: true, subjects })).toEqual([
      'Stopped:',
      '  s         agent exec_1',
      '  second    job job_1     npm test',
      '  starting  session',
      'Recovered: stopped, although by the record they were over:',
      '  over      agent exec_2',
      'Stopping already, by an earlier request; they have ended:',
      '  s         agent exec_3',
      'May still be running: told to end, and not seen to:',
      '  s         job job_2     sleep 600: the processes 7 and 8 are still there',
      'Nothing was running here, and nothing was changed:',
      '  quiet     session',
      'Failed: could not be stopped, or nobody can say whether they run:',
      '  s         agent exec_4  nobody can say',
      'Their records could not be read; what was known to run was told to end all the same:',
      '  lost      session       the row is damaged',
    ]);
    expect(stopTally(REPORT, { isSettled: true })).toBe(
      '3 stopped, 1 recovered, 1 stopped by an earlier request, 1 may still be running, 1 with nothing running, 1 failed, 1 record could not be read.',
    );
    expect(jobsShown(REPORT)).toEqual(['job_1', 'job_2']);
  });

  it('as of the scheduling nothing is said to have ended', () => {
    const { stopped, recovered, alreadyStopping } = REPORT;
    const early = { stopped, recovered, alreadyStopping };
    expect(stopLines(early, { isSettled: false }).filter((line) => !line.startsWith(' '))).toEqual([
      'Told to end:',
      'Recovered: told to end, although by the record they are over:',
      'Stopping already, by an earlier request:',
    ]);
    expect(stopTally(early, { isSettled: false })).toBe('3 told to end, 1 recovered, 1 stopping already.');
  });

  it('long lists are cut where all went well, and nowhere else; the tally counts all', () => {
    const many = (name: string): readonly StopEntry[] =>
      Array.from({ length: 300 }, (_, number) => ({ sessionId: 's', jobId: `${name}${number}` }));
    const lists = { stopped: many('a'), detached: many('b'), failed: many('c'), loadErrors: many('d') };
    const lines = stopLines(lists, { isSettled: true });
    expect(lines.filter((line) => line.startsWith('  s'))).toHaveLength(20 + 3 * 300);
    expect(lines[21]).toBe('  and 280 more');
    expect(jobsShown(lists)).toHaveLength(20 + 3 * 300);
    expect(stopTally(lists, { isSettled: true })).toBe(
      '300 stopped, 300 may still be running, 300 failed, 300 records could not be read.',
    );
  });

  it('nothing that is shown can move the cursor, and long ids are shortened', () => {
    const lines = stopLines(
      { failed: [{ sessionId: `\u001b[2J${'s'.repeat(500)}`, jobId: 'a\nb', error: error('x\u001b[31m\ny') }] },
      { isSettled: true, subjects: new Map([['a\nb', 'evil\u001b[0m']]) },
    );
    expect(lines[1]).toBe(`  ${'s'.repeat(39)}…  job a b  evil: x y`);
  });
});

describe('what lives', () => {
  it.each([
    [
      { generating: 2, background: 1, activeSubagentCount: 0, jobs: 3 },
      '2 agents are generating, 1 session works in the background, 3 jobs have not ended.',
    ],
    [
      { generating: 1, background: 2, activeSubagentCount: 1, jobs: 1 },
      '1 agent is generating, 2 sessions work in the background, 1 subagent is at work, 1 job has not ended.',
    ],
    [{ generating: 0, background: 0, activeSubagentCount: 0, jobs: 0 }, 'Something of it still lives.'],
  ])('%j', (work, words) => {
    expect(liveWorkInWords(work)).toBe(words);
  });
});
