/** G11: the checker of activity sees what is wrong with works, with tasks, and with what was told of them. */
import { describe, expect, it } from 'vitest';
import { activityFromFacts } from '../../../src/testing/simulation/checkers/g11-activity-from-facts.ts';
import {
  background,
  LAUNCHED,
  live,
  loaded,
  OPEN,
  oneRuns,
  provided,
  RUNNING,
  running,
  type Story,
  shows,
  tell,
  WORKING,
} from '../../support/simulation-facts-activity.ts';
import {
  activity,
  answered,
  asked,
  endTold,
  job,
  judging,
  moved,
  rested,
  said,
  sessionView,
  started,
  told,
  waiting,
  work,
} from '../../support/simulation-facts-sessions.ts';

const judge = judging(activityFromFacts);

describe('activityFromFacts', () => {
  it.each<[string, RegExp, Story]>([
    ['a job that is not shown', /shows the jobs none/, [...OPEN, live, shows({ task: oneRuns })]],
    [
      'a job that has ended and is shown',
      /stored are none/,
      [...WORKING, job({ jobId: 'j', state: 'completed' }), shows({ session: background, works: [work('j')] })],
    ],
    [
      'a job in another phase',
      /shows the jobs j queued, and stored are j live/,
      [
        ...OPEN,
        live,
        ...tell(1, 'background'),
        shows({ session: { foregroundActivity: 'background' }, works: [work('j', { phase: 'queued' })], task: oneRuns }),
      ],
    ],
    [
      'a job that is counted where it merely runs',
      /stored are j live hosted/,
      [
        ...OPEN,
        job({ jobId: 'j', state: 'active', callerSessionId: 'o' }),
        ...tell(1, 'background', 1),
        shows({ session: background, works: [work('j')], task: oneRuns }),
      ],
    ],
    [
      'a job that an agent owns',
      /j live of exec 1/,
      [
        ...WORKING,
        started(1),
        shows({ session: { ...loaded, ...background }, works: [work('j', { executionId: 'exec 1' })], task: oneRuns }),
      ],
    ],
    [
      'jobs of one kind that count differently',
      /counts as shell/,
      [
        ...WORKING,
        job({ jobId: 'k', state: 'active' }),
        shows({ session: background, works: [work('j'), work('k', { kind: 'shell' })], task: { runningJobs: 2 } }),
      ],
    ],
    [
      'work that is shown twice',
      /shows the work .* twice/,
      [
        ...LAUNCHED,
        shows({ session: { ...loaded, ...background, activeSubagentCount: 2 }, works: [provided('w'), provided('w')] }),
      ],
    ],
    [
      'work of an agent that has gone',
      /has gone, or was told to/,
      [...LAUNCHED, endTold(1), shows({ session: background, works: [provided('w')] })],
    ],
    [
      'work of nobody',
      /belongs to no agent/,
      [...OPEN, shows({ session: background, works: [provided('w', { executionId: null })] })],
    ],
    [
      'work that nobody has named',
      /was named by nobody/,
      [...LAUNCHED, shows({ session: { ...loaded, ...background }, works: [provided('v')] })],
    ],
    [
      'work that has ended',
      /was said to have ended/,
      [
        ...LAUNCHED,
        said(1, 'workload.ended', 0, { workloadId: 'w' }),
        shows({ session: { ...loaded, ...background }, works: [provided('w')] }),
      ],
    ],
    [
      'work that has ended by a delivery',
      /was said to have ended/,
      [
        ...LAUNCHED,
        said(1, 'workload.ended', 0, { workloadId: 'w', eventId: 'e' }),
        shows({ session: { ...loaded, ...background }, works: [provided('w')] }),
      ],
    ],
    [
      'work that a host has ended',
      /was said to have ended/,
      [
        ...LAUNCHED,
        asked(1, 'workloads.complete', { sessionId: 's', executionId: 'exec 1', workloadId: 'w' }),
        answered(1, 'workloads.complete', { changed: true }),
        shows({ session: { ...loaded, ...background }, works: [provided('w')] }),
      ],
    ],
    [
      'uncertain work that is not counted',
      /counts 0 uncertain works/,
      [...LAUNCHED, shows({ session: { ...loaded, ...background }, works: [provided('w', { uncertain: true })] })],
    ],
    [
      'quiet work that is not counted',
      /counts 0 quiet works/,
      [...LAUNCHED, shows({ session: { ...loaded, ...background }, works: [provided('w', { quiet: true })] })],
    ],
    [
      'prompts that are not counted',
      /counts 0 queued prompts/,
      [...OPEN, rested({ sessions: [sessionView()], tickets: new Map([['s', [waiting('k', 'p')]]]) })],
    ],
    [
      'a task that shows less than its sessions',
      /its sessions come to generating/,
      [...RUNNING, shows({ session: running, task: { foregroundActivity: null } })],
    ],
    ['a task that waits for nothing', /waits for null/, [...RUNNING, shows({ session: running, task: { pending: null } })]],
    ['a task that lists a session of another', /lists the sessions/, [...OPEN, shows({ task: { sessions: ['s', 'o'] } })]],
    [
      'a task that counts another number of jobs',
      /counts 2 running jobs/,
      [...WORKING, shows({ session: background, works: [work('j')], task: { runningJobs: 2 } })],
    ],
    [
      'a value that was not told',
      /was told to be nothing with 0 subagents last/,
      [...OPEN, live, shows({ session: background, works: [work('j')], task: oneRuns })],
    ],
    [
      'a value that was told of the session alone',
      /the task t shows .* last/,
      [...OPEN, live, told(activity(1, 'background', 1)), shows({ session: background, works: [work('j')], task: oneRuns })],
    ],
    ['a state that was not told', /was told to be starting last/, [...OPEN, told(moved('created', 'starting', 1)), shows({})]],
  ])('G11 is broken by %s', (_, message, facts) => {
    expect(judge(facts)).toThrow(/^G11/);
    expect(judge(facts)).toThrow(message);
  });
});
