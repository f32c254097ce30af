/** G11: the checker of activity sees what it is there to see, and nothing else. */
import { describe, expect, it } from 'vitest';
import { activityFromFacts } from '../../../src/testing/simulation/checkers/g11-activity-from-facts.ts';
import {
  ASKED,
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
  turn,
  WORKING,
} from '../../support/simulation-facts-activity.ts';
import {
  activity,
  aggregate,
  asked,
  ended,
  gone,
  job,
  judging,
  opened,
  over,
  prompted,
  rested,
  said,
  session,
  sessionView,
  speaks,
  started,
  type Told,
  task,
  taskView,
  told,
  work,
} from '../../support/simulation-facts-sessions.ts';

const judge = judging(activityFromFacts);

describe('activityFromFacts', () => {
  it.each<[string, Story]>([
    ['nothing', [...OPEN, shows({})]],
    ['a turn', [...RUNNING, shows({ session: running })]],
    [
      'a turn that was handed off',
      [...RUNNING, said(1, 'foreground.idle', 1), ...tell(2, null), shows({ session: { ...loaded, state: 'running' } })],
    ],
    ['a turn that is over', [...RUNNING, over(1, 1), ended(1), session(), ...tell(2, null), shows({ session: loaded })]],
    [
      'a turn of the agent itself',
      [
        ...OPEN,
        started(1),
        speaks(1, 0),
        session('s', 't', 'running'),
        ...tell(1, 'generating'),
        shows({ session: { ...running, turn: turn(7, 'provider') } }),
      ],
    ],
    [
      'a prompt on its way',
      [...OPEN, ...tell(1, 'generating'), shows({ session: { foregroundActivity: 'generating', turn: turn(0) } })],
    ],
    [
      'a session that is shown coarse',
      [
        opened({ display: 'coarse' }),
        task(),
        session(),
        ...ASKED,
        said(1, 'foreground.idle', 1),
        ...tell(1, 'generating'),
        shows({ session: { ...running, turn: null } }),
      ],
    ],
    [
      'one whose agent is shown coarse',
      [
        opened(),
        task(),
        session('s', 't', 'running', 'coarse'),
        ...ASKED.slice(1),
        said(1, 'foreground.idle', 1),
        ...tell(1, 'generating'),
        shows({ session: { ...running, agentId: 'coarse', turn: null } }),
      ],
    ],
    ['a job at work', [...WORKING, shows({ session: background, works: [work('j')], task: oneRuns })]],
    [
      'a job that waits',
      [
        ...OPEN,
        job({ jobId: 'j', state: 'queued' }),
        ...tell(1, 'background'),
        shows({ session: { foregroundActivity: 'background' }, works: [work('j', { phase: 'queued' })] }),
      ],
    ],
    [
      'a job of another session that runs here',
      [
        ...OPEN,
        session('o'),
        job({ jobId: 'j', state: 'active', callerSessionId: 'o' }),
        told(activity(1, 'background')),
        told({ ...activity(2, 'background', 1), sessionId: 'o' }),
        told(aggregate(1, 'background', 1)),
        rested({
          sessions: [sessionView({ foregroundActivity: 'background' }), sessionView({ sessionId: 'o', ...background })],
          tasks: [taskView({ ...background, sessions: ['o', 's'], pending: 'work', runningJobs: 1 })],
          workloads: new Map([
            ['s', [work('j', { hosted: true })]],
            ['o', [work('j')]],
          ]),
        }),
      ],
    ],
    [
      'a shell',
      [
        ...OPEN,
        job({ jobId: 'j', state: 'active', kind: 'command' }),
        ...tell(1, 'background'),
        shows({ session: { foregroundActivity: 'background' }, works: [work('j', { kind: 'shell' })], task: oneRuns }),
      ],
    ],
    ['a job that has ended', [...WORKING, job({ jobId: 'j', state: 'completed' }), ...tell(2, null), shows({})]],
    ['work of an agent', [...LAUNCHED, shows({ session: { ...loaded, ...background }, works: [provided('w')] })]],
    [
      'an end that is delivered once more',
      [
        ...OPEN,
        started(1),
        said(1, 'workload.ended', 0, { workloadId: 'v', eventId: 'e' }),
        said(1, 'workload.started', 0, { kind: 'subagent', workloadId: 'w' }),
        said(1, 'workload.ended', 0, { workloadId: 'w', eventId: 'e' }),
        ...tell(1, 'background', 1),
        shows({ session: { ...loaded, ...background }, works: [provided('w')] }),
      ],
    ],
    [
      'work that a host has registered',
      [
        ...OPEN,
        started(1),
        asked(1, 'workloads.register', { sessionId: 's', executionId: 'exec 1', kind: 'subagent', workloadId: 'w' }),
        ...tell(1, 'background', 1),
        shows({ session: { ...loaded, ...background }, works: [provided('w')] }),
      ],
    ],
    [
      'uncertain and quiet work',
      [
        ...LAUNCHED,
        shows({
          session: { ...loaded, ...background, uncertainCount: 1, quietCount: 1 },
          works: [provided('w', { uncertain: true, quiet: true })],
        }),
      ],
    ],
    ['what is not stored yet', [...OPEN, live, shows({ canStore: false })]],
    [
      'what the store still owes',
      [...OPEN, { ...live, outcome: 'failed' } as Told, rested({ sessions: [sessionView({ state: 'running' })] })],
    ],
    ['a new process', [...WORKING, { type: 'closed' }, opened({}, 'second'), job({ jobId: 'j', state: 'errored' }), shows({})]],
  ])('finds nothing wrong with %s', (_, facts) => {
    expect(judge(facts)).not.toThrow();
  });

  it.each<[string, RegExp, Story]>([
    [
      'a count that is too high',
      /counts 2 subagents/,
      [...WORKING, shows({ session: { ...background, activeSubagentCount: 2 }, works: [work('j')], task: oneRuns })],
    ],
    [
      'a count of what waits',
      /counts 1 subagents/,
      [...OPEN, job({ jobId: 'j', state: 'queued' }), shows({ session: background, works: [work('j', { phase: 'queued' })] })],
    ],
    [
      'a count of what is hosted',
      /counts 1 subagents/,
      [...OPEN, shows({ session: background, works: [work('j', { hosted: true })] })],
    ],
    ['a tier without work', /shows background with no turn/, [...OPEN, shows({ session: { foregroundActivity: 'background' } })]],
    [
      'work without a tier',
      /shows null with no turn/,
      [...OPEN, job({ jobId: 'j', state: 'queued' }), shows({ works: [work('j', { phase: 'queued' })] })],
    ],
    [
      'a tier without a turn',
      /shows generating with no turn/,
      [...OPEN, shows({ session: { foregroundActivity: 'generating' } })],
    ],
    [
      'a turn without a tier',
      /shows null with the turn 1/,
      [...RUNNING, shows({ session: { ...running, foregroundActivity: null } })],
    ],
    [
      'a coarse session without the coarse tier',
      /shows null with no turn/,
      [
        opened({ display: 'coarse' }),
        task(),
        session(),
        ...ASKED,
        said(1, 'foreground.idle', 1),
        shows({ session: { ...loaded, state: 'running' } }),
      ],
    ],
    [
      'a tier while nothing can be stored',
      /shows background/,
      [...OPEN, shows({ canStore: false, session: { foregroundActivity: 'background' } })],
    ],
    ['a turn that was answered', /said to be over/, [...RUNNING, over(1, 1), shows({ session: running })]],
    [
      'a turn that the provider has ended',
      /said to be over/,
      [...RUNNING, said(1, 'turn.ended', 1), shows({ session: running })],
    ],
    ['a turn whose end was told', /whose end was told/, [...RUNNING, ended(1), shows({ session: running })]],
    [
      'a turn of an agent that has gone',
      /has gone or was told to/,
      [...RUNNING, gone(1), shows({ session: { ...running, executionId: null } })],
    ],
    [
      'a turn of another session',
      /which is that of s/,
      [
        ...RUNNING,
        session('o'),
        started(2, 'o'),
        ...tell(2, null),
        rested({ sessions: [sessionView({ ...running, sessionId: 'o', executionId: 'exec 2' })] }),
      ],
    ],
    [
      'a turn of its own that somebody has asked for',
      /somebody has asked for it/,
      [...RUNNING, shows({ session: { ...running, turn: turn(1, 'provider') } })],
    ],
    [
      'a turn of its own of an agent that says nothing',
      /has said nothing by itself/,
      [...OPEN, started(1), shows({ session: { ...running, turn: turn(7, 'provider') } })],
    ],
    [
      'a prompt that is not shown',
      /does not show that its agent/,
      [...RUNNING, ...tell(2, null), shows({ session: { ...loaded, state: 'running' } })],
    ],
    [
      'a yield of one who may not',
      /does not show that its agent/,
      [...OPEN, started(1), prompted(1, 1, 'a'), said(1, 'foreground.idle', 1), shows({ session: loaded })],
    ],
    [
      'speech after a yield that is not shown',
      /does not show that its agent/,
      [
        ...RUNNING,
        said(1, 'foreground.idle', 1),
        speaks(1, 1),
        ...tell(2, null),
        shows({ session: { ...loaded, state: 'running' } }),
      ],
    ],
    ['a session that runs without anybody', /nobody was asked/, [...OPEN, shows({ session: { state: 'running' } })]],
    [
      'a session that generates at last',
      /nothing is left that could say anything/,
      [...RUNNING, shows({ session: running, isLast: true })],
    ],
    ['an agent that is not shown', /shows the agent null/, [...OPEN, started(1), shows({})]],
    ['an agent that has gone', /shows the agent exec 1/, [...OPEN, started(1), gone(1), shows({ session: loaded })]],
    [
      'an agent of a cancelled session',
      /is cancelled, and exec 1 is loaded/,
      [...OPEN, started(1), shows({ session: { ...loaded, state: 'cancelled' } })],
    ],
    ['two agents', /has 2 loaded agents/, [...OPEN, started(1), started(2), shows({ session: loaded })]],
  ])('G11 is broken by %s', (_, message, facts) => {
    expect(judge(facts)).toThrow(/^G11/);
    expect(judge(facts)).toThrow(message);
  });
});
