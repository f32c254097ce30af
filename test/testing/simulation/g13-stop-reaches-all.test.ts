/** G13: the checker of stops sees what it is there to see, and nothing else. */
import { describe, expect, it } from 'vitest';
import type { StopEntry, StopReport } from '../../../src/model/stop.ts';
import { stopReachesAll } from '../../../src/testing/simulation/checkers/g13-stop-reaches-all.ts';
import {
  accepted,
  answered,
  ask,
  asked,
  bodyOver,
  bodyTold,
  called,
  endTold,
  gone,
  job,
  judging,
  opened,
  over,
  prompted,
  refused,
  removedSession,
  rested,
  session,
  settled,
  started,
  stopped,
  type Told,
  task,
  ticket,
  told,
} from '../../support/simulation-facts-sessions.ts';

const judge = judging(stopReachesAll);
type Story = readonly (Told | readonly Told[])[];

const OPEN = [opened(), task(), session('s', 't', 'running'), session('o', 'u', 'running')];
const STOP = asked(1, 'tasks.stop', 't');
const ofJob = (jobId: string, sessionId = 's'): StopEntry => ({ sessionId, jobId, executionId: `exec of ${jobId}` });
const ofAgent = (agent: number, sessionId = 's'): StopEntry => ({ sessionId, executionId: `exec ${agent}` });
const done = (report: Partial<StopReport>): Told => stopped(1, 'tasks.stop', report);
const nothing = refused(1, 'tasks.stop', 'stop.nothing_running');

const live = job({ jobId: 'j', state: 'active' });
const ending = job({ jobId: 'j', state: 'ending' });
const cancelled = job({ jobId: 'j', state: 'cancelled', reasonCode: 'cancel.stop' });
const WORKING = [...OPEN, live, called(1, 'j')];
const TOLD = [...WORKING, STOP, ending, bodyTold(1, 'j'), done({ stopped: [ofJob('j')] })];
const LOADED = [...OPEN, started(1)];
const RETIRED = [...LOADED, STOP, endTold(1), done({ stopped: [ofAgent(1)] })];
const stopEnd = (jobId: string): Told =>
  told({ type: 'job.status', jobId, sessionId: 's', taskId: 't', status: 'cancelled', reasonCode: 'cancel.stop' });
const queuedJob = job({ jobId: 'q', state: 'queued' });
const OTHER = [job({ jobId: 'x', state: 'active', sessionId: 'o', taskId: 'u' }), called(2, 'x')];
const failed: Told = { type: 'wrote', operations: [], sync: true, outcome: 'failed' };

describe('stopReachesAll', () => {
  it.each<[string, Story]>([
    ['a job that is stopped', [...TOLD, bodyOver(1, 'j'), cancelled, stopEnd('j'), settled(2, 1, { stopped: [ofJob('j')] })]],
    ['a body that ignores it', [...TOLD, cancelled, settled(2, 1, { detached: [ofJob('j')] })]],
    ['a body that has ended meanwhile', [...WORKING, STOP, bodyOver(1, 'j'), job({ jobId: 'j', state: 'completed' }), nothing]],
    [
      'a detached body',
      [...OPEN, job({ jobId: 'j', state: 'active' }), called(1, 'j'), cancelled, STOP, done({ detached: [ofJob('j')] })],
    ],
    ['a job that waits', [...OPEN, queuedJob, STOP, job({ jobId: 'q', state: 'cancelled' }), done({ stopped: [ofJob('q')] })]],
    ['an agent', [...RETIRED, session('s', 't', 'cancelled'), gone(1), settled(2, 1, { stopped: [ofAgent(1)] }), rested()]],
    ['an agent that does not go', [...RETIRED, settled(2, 1, { failed: [ofAgent(1)] })]],
    ['an agent that has left', [...LOADED, STOP, gone(1), nothing]],
    [
      'a stop of one session',
      [
        ...WORKING,
        asked(1, 'sessions.stop', 's'),
        ending,
        bodyTold(1, 'j'),
        stopped(1, 'sessions.stop', { stopped: [ofJob('j')] }),
      ],
    ],
    [
      'a job that a stopped session has asked for',
      [
        ...OPEN,
        job({ jobId: 'j', state: 'active', sessionId: 'b', callerSessionId: 's' }),
        called(1, 'j'),
        asked(1, 'sessions.stop', 's'),
        bodyTold(1, 'j'),
        job({ jobId: 'j', state: 'ending', sessionId: 'b', callerSessionId: 's' }),
        stopped(1, 'sessions.stop', { stopped: [ofJob('j', 'b')] }),
      ],
    ],
    [
      'what is below a stopped job',
      [
        ...WORKING,
        job({ jobId: 'c', state: 'active', sessionId: 'b', parentJobId: 'j' }),
        called(2, 'c'),
        asked(1, 'sessions.stop', 's'),
        bodyTold(2, 'c'),
        stopEnd('c'),
      ],
    ],
    ['another task', [...WORKING, ...OTHER, STOP, ending, bodyTold(1, 'j'), done({ stopped: [ofJob('j')] })]],
    [
      'what is asked for after it',
      [
        ...TOLD,
        job({ jobId: 'n', state: 'queued' }),
        called(3, 'n'),
        ask(9, 'late'),
        started(2),
        prompted(2, 5, 'late'),
        accepted(9, 5),
      ],
    ],
    [
      'a spawn by name that is repeated after it',
      [
        ...WORKING,
        asked(8, 'spawn', { kind: 'work', jobId: 'n' }),
        STOP,
        ending,
        bodyTold(1, 'j'),
        done({ stopped: [ofJob('j')] }),
        asked(9, 'spawn', { kind: 'work', jobId: 'n' }),
        job({ jobId: 'n', state: 'active' }),
        called(3, 'n'),
      ],
    ],
    [
      'what begins while it is asked for',
      [
        ...OPEN,
        queuedJob,
        STOP,
        called(3, 'q'),
        bodyTold(3, 'q'),
        job({ jobId: 'q', state: 'ending' }),
        done({ stopped: [ofJob('q')] }),
      ],
    ],
    ['a store that refuses', [...WORKING, STOP, failed, bodyTold(1, 'j'), done({ stopped: [ofJob('j')], durable: false })]],
    ['a session that is removed meanwhile', [...LOADED, STOP, removedSession(), done({})]],
    ['a cancel by a person', [...WORKING, asked(5, 'cancel', 'j'), bodyTold(1, 'j')]],
    ['a cancel of many', [...WORKING, asked(5, 'cancelMany', { taskId: 't' }), bodyTold(1, 'j')]],
    [
      'a cancel of its plan',
      [
        ...OPEN,
        job({ jobId: 'p', state: 'active', parentMessageId: 'm' }),
        called(1, 'p'),
        asked(5, 'plan.cancel', 'm'),
        bodyTold(1, 'p'),
      ],
    ],
    [
      'a foreground job whose caller has gone',
      [...OPEN, job({ jobId: 'w', state: 'active', wait: true }), called(1, 'w'), bodyTold(1, 'w')],
    ],
    ['a time-out', [...WORKING, bodyTold(1, 'j', 'job.timed_out')]],
    ['an agent that fails', [...LOADED, ask(1, 'a'), prompted(1, 1, 'a'), over(1, 1, 'threw'), endTold(1)]],
    ['an agent of an engine that closes', [...LOADED, { type: 'closing' }, endTold(1)]],
    ['an agent that was silent too long', [opened({ stallFailMs: 100 }), session(), started(1), { ...endTold(1), at: 100 }]],
    ['an agent of a job', [...OPEN, started(3, 's', 'j'), endTold(3)]],
    [
      'a ticket that is stopped',
      [
        ...LOADED,
        ticket('k', 'p', 'queued'),
        STOP,
        endTold(1),
        ticket('k', 'p', 'stopped'),
        done({ stopped: [ofAgent(1)] }),
        session('s', 't', 'cancelled'),
        rested(),
      ],
    ],
  ])('finds nothing wrong with %s', (_, facts) => {
    expect(judge(facts)).not.toThrow();
  });

  it.each<[string, RegExp, Story]>([
    ['a body that is not told', /was not told to end/, [...WORKING, STOP, ending, done({ stopped: [ofJob('j')] })]],
    ['a body that is not named', /does not tell of j/, [...WORKING, STOP, ending, bodyTold(1, 'j'), done({})]],
    ['an agent that is not told', /agent 1 of s was not told/, [...LOADED, STOP, done({ stopped: [ofAgent(1)] })]],
    ['an agent that is not named', /does not tell of exec 1/, [...LOADED, STOP, endTold(1), done({})]],
    ['a job that goes on waiting', /and q is queued/, [...OPEN, queuedJob, STOP, done({ stopped: [ofJob('q')] })]],
    [
      'a job that a session has asked for elsewhere',
      /does not tell of j/,
      [
        ...OPEN,
        job({ jobId: 'j', state: 'active', sessionId: 'b', callerSessionId: 's' }),
        called(1, 'j'),
        asked(1, 'sessions.stop', 's'),
        bodyTold(1, 'j'),
        stopped(1, 'sessions.stop', {}),
      ],
    ],
    [
      'a thing that is named twice',
      /tells of j twice/,
      [...WORKING, STOP, ending, bodyTold(1, 'j'), done({ stopped: [ofJob('j')], alreadyStopping: [ofJob('j')] })],
    ],
    [
      'a session of another task in its report',
      /tells of o, which is not of it/,
      [...TOLD.slice(0, -1), done({ stopped: [ofJob('j')], absent: [{ sessionId: 'o' }] })],
    ],
    [
      'a job of another task in its report',
      /tells of x, which is not of it/,
      [...WORKING, ...OTHER, STOP, ending, bodyTold(1, 'j'), done({ stopped: [ofJob('j'), ofJob('x', 'o')] })],
    ],
    ['a body that outlives its end', /has settled, and the body of j/, [...TOLD, cancelled, settled(2, 1, {})]],
    [
      'a body that is said to be over',
      /says that j is over/,
      [...TOLD, cancelled, settled(2, 1, { stopped: [ofJob('j')], detached: [ofJob('j')] })],
    ],
    ['an agent that outlives its end', /agent 1 of s has not gone/, [...RETIRED, settled(2, 1, {})]],
    [
      'an agent that is said to be over',
      /says that exec 1 is over/,
      [...RETIRED, settled(2, 1, { stopped: [ofAgent(1)], failed: [ofAgent(1)] })],
    ],
    [
      'a job that has not ended when it has settled',
      /has settled, and j is ending/,
      [...TOLD, bodyOver(1, 'j'), settled(2, 1, { stopped: [ofJob('j')] })],
    ],
    [
      'a body that begins after it',
      /its body is called after/,
      [...OPEN, queuedJob, STOP, job({ jobId: 'q', state: 'cancelled' }), done({ stopped: [ofJob('q')] }), called(3, 'q')],
    ],
    [
      'a spawn that takes effect after it',
      /its body is called after/,
      [
        ...WORKING,
        asked(8, 'spawn', { kind: 'work' }),
        STOP,
        ending,
        bodyTold(1, 'j'),
        done({ stopped: [ofJob('j')] }),
        job({ jobId: 'n', state: 'active' }),
        called(3, 'n'),
        answered(8, 'spawn', { jobId: 'n' }),
      ],
    ],
    [
      'a spawn by name that takes effect after it',
      /its body is called after/,
      [
        ...WORKING,
        asked(8, 'spawn', { kind: 'work', jobId: 'n' }),
        STOP,
        ending,
        bodyTold(1, 'j'),
        done({ stopped: [ofJob('j')] }),
        job({ jobId: 'n', state: 'active' }),
        called(3, 'n'),
      ],
    ],
    [
      'a prompt that takes effect after it',
      /is older than call 1/,
      [
        ...LOADED,
        ask(9, 'early'),
        STOP,
        endTold(1),
        done({ stopped: [ofAgent(1)] }),
        started(2),
        prompted(2, 5, 'early'),
        accepted(9, 5),
      ],
    ],
    [
      'a ticket that is served after it',
      /ticket k of s is older than call 1/,
      [
        ...LOADED,
        ticket('k', 'p', 'queued'),
        STOP,
        endTold(1),
        done({ stopped: [ofAgent(1)] }),
        started(2),
        prompted(2, 5, 'early'),
        ticket('k', 'p', 'accepted', 5),
      ],
    ],
    [
      'a ticket that goes on waiting',
      /still waits/,
      [
        ...LOADED,
        ticket('k', 'p', 'queued'),
        STOP,
        endTold(1),
        session('s', 't', 'cancelled'),
        done({ stopped: [ofAgent(1)] }),
        rested(),
      ],
    ],
    [
      'a notice of what had ended before it',
      /the notice of e/,
      [
        ...WORKING,
        job({ jobId: 'e', state: 'active' }),
        job({ jobId: 'e', state: 'completed' }),
        STOP,
        ending,
        bodyTold(1, 'j'),
        done({ stopped: [ofJob('j')] }),
        started(2),
        prompted(2, 5, '[task e completed] e\nok', { origin: 'synthetic' }),
      ],
    ],
    ['nothing, while a body is at work', /finds nothing, and the body of j/, [...WORKING, STOP, nothing]],
    ['nothing, while a job waits', /finds nothing, and q is queued/, [...OPEN, queuedJob, STOP, nothing]],
    ['nothing, while an agent is loaded', /finds nothing, and agent 1/, [...LOADED, STOP, nothing]],
    ['a session that goes on', /has ended exec 1, and s is running/, [...RETIRED, gone(1), rested()]],
    ['a second signal', /is told to end twice/, [...TOLD, bodyTold(1, 'j')]],
    ['a body of another task', /nobody has asked for that/, [...WORKING, ...OTHER, STOP, bodyTold(2, 'x')]],
    ['a body of a task of which nobody has stopped anything', /nobody has asked for that/, [...WORKING, bodyTold(1, 'j')]],
    ['a body of another session', /nobody has asked for that/, [...WORKING, asked(1, 'sessions.stop', 'b'), bodyTold(1, 'j')]],
    ['an agent of another task', /agent 2 of o is told to end/, [...LOADED, started(2, 'o'), STOP, endTold(2, 'o')]],
    ['an agent that nobody wants to end', /agent 1 of s is told to end/, [...LOADED, endTold(1)]],
    ['a job of another that is told to be stopped', /x is told to be stopped/, [...WORKING, ...OTHER, STOP, stopEnd('x')]],
  ])('G13 is broken by %s', (_, message, facts) => {
    expect(judge(facts)).toThrow(/^G13/);
    expect(judge(facts)).toThrow(message);
  });
});
