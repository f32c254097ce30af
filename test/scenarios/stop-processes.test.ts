/**
 * Stop with real process trees (seed 004; liveness 9 and 11): what the records say is over is found and killed, a replacement lives on, and
 * nothing of a stopped task is left, wherever it has forked to.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { acpAgent } from '../../src/acp-agent.ts';
import { systemClock } from '../../src/actors/clock.ts';
import { startAgentProcess } from '../../src/executors/agent-process.ts';
import { type ProcessTable, readProcessTable } from '../../src/executors/process-table.ts';
import { threadExecutor } from '../../src/executors/thread.ts';
import type { Agent, AgentContext } from '../../src/model/agent.ts';
import type { JobContext } from '../../src/model/executor.ts';
import { endLeftBehind, killIfThere, sh, tokenHolders } from '../executors/processes.ts';
import {
  DEAF,
  EXAMPLE,
  FOREVER_MS,
  living,
  type RealHost,
  realHost,
  told,
  type UnwillingAgent,
  unwillingAgents,
} from '../support/real-host.ts';

/** Neither ends by itself. */
const PATIENT = { cancelGraceMs: 4 * FOREVER_MS, killAfterMs: FOREVER_MS };
/** A command that is told to end, says so, and goes on. */
const DEAF_COMMAND = sh("trap 'echo told' TERM; echo ready; while :; do sleep 0.1; done");

afterEach(endLeftBehind);

const turnEnded = (host: RealHost, sessionId: string) =>
  host.eventOf((event) => event.type === 'session.turn_ended' && event.sessionId === sessionId);

const isNow = (host: RealHost, sessionId: string, state: string) =>
  host.eventOf((event) => event.type === 'session.state_changed' && event.sessionId === sessionId && event.newState === state);

/** Everything that was submitted before is stored. */
const stored = async ({ offstage }: RealHost) => void (await offstage.tasks.create());

describe.runIf(process.platform === 'linux')('a session whose record says that it is over', () => {
  it('failed, and its process lives: it is found and killed, and its row stays as it is', async () => {
    const { factory, agents } = unwillingAgents();
    await using host = await realHost({ agents: { default: factory }, stallFailMs: 1_000, killAfterMs: 200 });
    const { offstage, events, log } = host;
    await offstage.tasks.create({ taskId: 't' });
    const executionId = await host.session('s', 't', ['/ignore-cancel', '/spawn', '/spawn setsid'], ['/hang']);
    await isNow(host, 's', 'failed');
    const agent = agents[0] as UnwillingAgent;
    expect(await living(executionId)).toEqual([4]);
    const row = await host.row('s');
    const count = events.length;
    // The engine itself tries again, each time later; the stop comes between two of its tries.
    await agent.nextClose();
    agent.relent();
    const { settled, ...report } = await offstage.tasks.stop('t');
    expect(told(report)).toEqual({ recovered: ['s'] });
    expect(report.recovered).toEqual([{ sessionId: 's', executionId }]);
    expect(told(await settled)).toEqual({ recovered: ['s'] });
    expect(await living(executionId)).toEqual([0]);
    expect(log.filter(({ event }) => event === 'stop').map(({ fields }) => fields)).toMatchObject([
      { taskId: 't', sessionId: 's', executionId, source: 'registry', outcome: 'recovered' },
    ]);
    await expect(offstage.tasks.stop('t')).rejects.toMatchObject({ code: 'stop.nothing_running' });
    expect(events.length).toBe(count);
    expect(await host.row('s')).toBe(row);
    expect(JSON.parse(row as string)).toMatchObject({ state: 'failed' });
    await stored(host);
    expect(await offstage.processes()).toEqual([]);
  });
});

describe.runIf(process.platform === 'linux')('a replacement', () => {
  /** A session whose agent has gone and whose process has not; it is being ended, or, `unwilling`, it could not be. */
  async function replaced(
    how: 'unwilling' | 'deaf',
    options: { readonly killAfterMs?: number; readonly cancelGraceMs?: number },
  ) {
    const unwilling = unwillingAgents();
    const host = await realHost({ agents: { default: unwilling.factory }, ...options });
    await host.offstage.tasks.create({ taskId: 't' });
    const old = await host.session('s', 't', ['/spawn']);
    await turnEnded(host, 's');
    const agent = unwilling.agents[0] as UnwillingAgent;
    if (how === 'deaf') agent.relent();
    const closed = agent.nextClose();
    agent.hangUp();
    await isNow(host, 's', 'idle');
    await closed;
    return { host, old, agent };
  }

  /** It answers, from a process of its own; answers its execution. */
  async function answers({ offstage, heard }: RealHost, old: string, text: string): Promise<string> {
    // The turn before may not have ended yet: what was heard of it comes first.
    await offstage.sessions.prompt('s', { content: `say ${text}`, whenBusy: 'queue' });
    await heard('s', text);
    const { executionId } = await offstage.sessions.get('s');
    expect(executionId).not.toBe(old);
    expect(await living(executionId as string)).toEqual([2]);
    return executionId as string;
  }

  it('lives on when the end of the old agent is tried again and works', async () => {
    const { host, old, agent } = await replaced('unwilling', { killAfterMs: 200 });
    await using _host = host;
    const fresh = await answers(host, old, 'second');
    expect(await living(old)).not.toEqual([0]);
    expect(await host.offstage.sessions.get('s')).toMatchObject({ endingAgents: 1 });
    agent.relent();
    await agent.ended;
    expect(await living(old)).toEqual([0]);
    expect(await answers(host, old, 'third')).toBe(fresh);
    expect((await host.offstage.processes()).map(({ executionId }) => executionId)).toEqual([fresh]);
  });

  it('lives on when the old agent, which was being ended all the while, dies at last', async () => {
    const { host, old, agent } = await replaced('deaf', PATIENT);
    await using _host = host;
    const fresh = await answers(host, old, 'second');
    const pids = await tokenHolders(old);
    expect(pids).not.toEqual([]);
    for (const pid of pids) killIfThere(pid);
    await agent.ended;
    expect(await answers(host, old, 'third')).toBe(fresh);
    expect((await host.offstage.processes()).map(({ executionId }) => executionId)).toEqual([fresh]);
  });

  it('that starts while what a stop has decided is still being stored is not touched by it, not even by force', async () => {
    const { host, old } = await replaced('deaf', PATIENT);
    await using _host = host;
    const { offstage, store } = host;
    await offstage.spawn({ kind: 'command', input: DEAF_COMMAND, sessionId: 's', jobId: 'j' });
    await host.heard('j', 'ready');
    const job = await host.executionOf('j');
    await stored(host);
    store.hold();
    const stopping = offstage.tasks.stop('t', { force: true });
    await store.whenInFlight(1);
    const prompting = answers(host, old, 'second');
    store.release();
    const { settled, ...report } = await stopping;
    expect(report).toMatchObject({ stopped: [{ jobId: 'j', executionId: job }], alreadyStopping: [{ executionId: old }] });
    expect(told(await settled)).toEqual({ stopped: ['j'], alreadyStopping: ['s'] });
    expect(await living(old, job)).toEqual([0, 0]);
    const fresh = await prompting;
    expect(await answers(host, old, 'third')).toBe(fresh);
  });
});

describe.runIf(process.platform === 'linux')('what has left its group and its session', () => {
  it('ends with the agent or the command that it comes from', async () => {
    const program = sh('(setsid sleep 600 &); (sleep 600 &); exec "$@"', EXAMPLE.command, ...(EXAMPLE.args ?? []));
    await using host = await realHost({ agents: { default: acpAgent({ ...program, protocol: 'v2' }) }, killAfterMs: 500 });
    const { offstage } = host;
    await offstage.tasks.create({ taskId: 't' });
    const agent = await host.session('s', 't', ['/spawn setsid', '/spawn', '/ignore-term']);
    const input = sh(`
      (setsid sh -c "trap '' TERM; (setsid sh -c 'echo deep; exec sleep 600' &); while :; do sleep 0.1; done" &)
      (setsid sleep 600 &)
      echo ready
      exec sleep 600`);
    await offstage.spawn({ kind: 'command', input, sessionId: 's', jobId: 'j' });
    await host.heard('j', 'ready');
    await host.heard('j', 'deep');
    const job = await host.executionOf('j');
    expect(await living(agent)).toEqual([5]);
    expect((await tokenHolders(job)).length).toBeGreaterThanOrEqual(4);
    const { settled } = await offstage.tasks.stop('t');
    expect(told(await settled)).toEqual({ stopped: ['j', 's'] });
    expect(await living(agent, job)).toEqual([0, 0]);
    expect(await offstage.get('j')).toMatchObject({ status: 'cancelled', reasonCode: 'cancel.stop', detached: false });
  });

  it('and cannot be ended is named, with its pid, in the report and in the record, until it is gone', async () => {
    const stuck = new StuckProcesses();
    await using host = await realHost({ agents: { default: stuck.agent }, cancelGraceMs: 500 });
    const { offstage, log } = host;
    await offstage.tasks.create({ taskId: 't' });
    await offstage.sessions.create({ sessionId: 's', taskId: 't' });
    const refused = expect(offstage.sessions.prompt('s', { content: 'go' })).rejects.toMatchObject({ code: 'session.stopped' });
    await isNow(host, 's', 'running');
    await offstage.spawn({ kind: 'agent', input: { prompt: 'go' }, sessionId: 's', jobId: 'j' });
    await host.eventOf((event) => event.type === 'job.output' && event.jobId === 'j');
    const executions = (await offstage.processes()).map(({ executionId }) => executionId);
    const first = await offstage.tasks.stop('t');
    expect(told(first)).toEqual({ stopped: ['j', 's'] });
    const last = await first.settled;
    await refused;
    expect(told(last)).toEqual({ detached: ['j', 's'] });
    const name = `process ${StuckProcesses.pid} (stuck)`;
    for (const { error } of last.detached) {
      expect(error).toMatchObject({ code: 'execution.detached', message: expect.stringContaining(name) });
    }
    // What could be ended is gone all the same.
    expect(await living(...executions)).toEqual([0, 0]);
    expect(await offstage.get('j')).toMatchObject({
      status: 'cancelled',
      detached: true,
      error: { message: expect.stringContaining(name) },
    });
    expect(log.find(({ event }) => event === 'agent.detached')?.fields).toMatchObject({ survivors: name });
    expect(await offstage.processes()).toMatchObject([{ teardownAt: expect.any(Number) }, { teardownAt: expect.any(Number) }]);
    const again = offstage.tasks.stop('t');
    await expect(again).rejects.toMatchObject({ code: 'stop.nothing_running', details: { detached: last.detached } });
    await stuck.end();
    await stored(host);
    expect(await offstage.processes()).toEqual([]);
    await expect(offstage.tasks.stop('t')).rejects.toMatchObject({ code: 'stop.nothing_running', details: { detached: [] } });
  });
});

/** A session's agent, a command and an agent of a job, which do not end when asked; answers their executions. */
async function deaf(host: RealHost): Promise<readonly string[]> {
  const { offstage } = host;
  await offstage.tasks.create({ taskId: 't' });
  const agent = await host.session('s', 't', ['/ignore-cancel'], ['/hang']);
  await offstage.spawn({ kind: 'command', input: DEAF_COMMAND, sessionId: 's', jobId: 'command' });
  const prompt = '/ignore-cancel\nsay ready\n/hang';
  await offstage.spawn({ kind: 'agent', input: { prompt }, sessionId: 's', jobId: 'agent' });
  await Promise.all(['command', 'agent'].map((jobId) => host.heard(jobId, 'ready')));
  return [agent, await host.executionOf('command'), await host.executionOf('agent')];
}

describe.runIf(process.platform === 'linux')('force', () => {
  /** A host with agents that tell when they were asked to end. */
  async function attentive() {
    const asked: string[] = [];
    let hasAsked = (): void => {};
    const firstAsked = new Promise<void>((settle) => {
      hasAsked = settle;
    });
    const onStderr = (text: string, { sessionId, jobId }: AgentContext): void => {
      if (!text.includes('told')) return;
      asked.push(jobId ?? sessionId);
      hasAsked();
    };
    return { host: await realHost({ ...PATIENT, agents: { default: acpAgent({ ...DEAF, onStderr }) } }), asked, firstAsked };
  }

  it('kills at once, long before it would be time to, and asks nobody', async () => {
    const { host, asked } = await attentive();
    await using _host = host;
    const executions = await deaf(host);
    const { settled } = await host.offstage.tasks.stop('t', { force: true });
    expect(told(await settled)).toEqual({ stopped: ['command', 'agent', 's'] });
    expect(await living(...executions)).toEqual([0, 0, 0]);
    expect(await host.offstage.get('command')).toMatchObject({ status: 'cancelled', detached: false });
    expect(await host.offstage.output('command')).not.toContain('told');
    expect(asked).toEqual([]);
  });

  it('takes the rest of the time from what is being stopped already', async () => {
    const { host, asked, firstAsked } = await attentive();
    await using _host = host;
    const executions = await deaf(host);
    const first = await host.offstage.tasks.stop('t');
    expect(told(first)).toEqual({ stopped: ['command', 'agent', 's'] });
    await host.heard('command', 'told');
    await firstAsked;
    expect(await living(...executions)).not.toContain(0);
    const second = await host.offstage.tasks.stop('t', { force: true });
    expect(told(second)).toEqual({ alreadyStopping: ['command', 'agent', 's'] });
    expect(told(await second.settled)).toEqual({ alreadyStopping: ['command', 'agent', 's'] });
    expect(told(await first.settled)).toEqual({ stopped: ['command', 'agent', 's'] });
    expect(await living(...executions)).toEqual([0, 0, 0]);
    // The agent of the job was still being asked to end its turn.
    expect(asked).toEqual(['s']);
  });
});

describe.runIf(process.platform === 'linux')('a shutdown', () => {
  it('leaves nothing of what a stop had given more time', async () => {
    await using host = await realHost({ ...PATIENT, agents: { default: acpAgent(DEAF) } });
    const executions = await deaf(host);
    const { settled } = await host.offstage.tasks.stop('t');
    await host.heard('command', 'told');
    await host.offstage.close();
    expect(told(await settled)).toEqual({ stopped: ['command', 'agent', 's'] });
    expect(await living(...executions)).toEqual([0, 0, 0]);
  });
});

describe.runIf(process.platform === 'linux')('a task of three sessions, with jobs of every kind', () => {
  it('is gone altogether, and nothing of another task is touched', async () => {
    const module = new URL('../executors/thread-bodies.mjs', import.meta.url);
    const inline = (_: unknown, context: JobContext) =>
      new Promise<void>((_resolve, reject) => {
        context.signal.addEventListener('abort', () => reject(context.signal.reason));
        context.output('ready');
      });
    const thread = threadExecutor<unknown>({ module, export: 'stubborn' });
    await using host = await realHost({ executors: { inline, thread }, workers: 8, killAfterMs: 300 });
    const { offstage } = host;
    for (const taskId of ['t', 'other']) await offstage.tasks.create({ taskId });
    const agents = [
      await host.session('running', 't', ['/spawn'], ['/hang']),
      await host.session('background', 't', ['/background 10m subagent', '/spawn setsid']),
      await host.session('elsewhere', 'other', ['/spawn']),
    ];
    await offstage.sessions.create({ sessionId: 'jobs only', taskId: 't' });
    const command = sh('sleep 600 & echo ready; wait');
    const agent = { prompt: '/spawn\nsay ready\n/hang' };
    const jobs = [
      { kind: 'command', input: command, sessionId: 'running', jobId: 'command' },
      { kind: 'thread', input: null, sessionId: 'jobs only', jobId: 'thread' },
      { kind: 'inline', input: null, sessionId: 'background', jobId: 'inline' },
      { kind: 'agent', input: agent, sessionId: 'jobs only', jobId: 'agent' },
      { kind: 'command', input: command, sessionId: 'elsewhere', jobId: 'neighbour' },
    ];
    for (const job of jobs) await offstage.spawn(job);
    await Promise.all(jobs.map(({ jobId }) => host.heard(jobId, jobId === 'thread' ? 'started' : 'ready')));
    const [running, background, elsewhere] = agents as [string, string, string];
    const [spawned, prompted, neighbour] = await Promise.all(['command', 'agent', 'neighbour'].map(host.executionOf));
    const others = await living(elsewhere, neighbour as string);
    expect(others).not.toContain(0);

    const { settled } = await offstage.tasks.stop('t');
    const report = told(await settled);
    expect(Object.keys(report)).toEqual(['stopped']);
    expect(report.stopped?.toSorted()).toEqual(['agent', 'background', 'command', 'inline', 'running', 'thread']);

    expect(await living(running, background, spawned as string, prompted as string)).toEqual([0, 0, 0, 0]);
    for (const { jobId } of jobs.slice(0, 4)) {
      expect(await offstage.get(jobId)).toMatchObject({ status: 'cancelled', reasonCode: 'cancel.stop', detached: false });
    }
    expect(offstage.health().pool.running).toBe(1);
    expect(await offstage.tasks.get('t')).toMatchObject({ foregroundActivity: null, activeSubagentCount: 0, runningJobs: 0 });

    expect(await living(elsewhere, neighbour as string)).toEqual(others);
    expect(await offstage.get('neighbour')).toMatchObject({ status: 'running' });
    await offstage.sessions.prompt('elsewhere', { content: 'say still here' });
    await host.heard('elsewhere', 'still here');
  });
});

/** Agents that start a real program, and whose trees seem to hold a process that no signal ends: one that is only in the readings. */
class StuckProcesses {
  static readonly pid = 4_194_301;
  #isStuck = true;
  readonly #endings: (() => Promise<void>)[] = [];

  /** Says that it has begun, and answers no prompt. */
  readonly agent = async ({ execution, signal }: AgentContext): Promise<Agent> => {
    const readTable = async (): Promise<ProcessTable> => {
      const table = await readProcessTable();
      return this.#isStuck ? withStuck(table, execution.executionId) : table;
    };
    const program = await startAgentProcess(sh('exec sleep 600'), { clock: systemClock, execution, signal, readTable });
    this.#endings.push(() => program.end());
    return {
      attests: { workloads: [], yield: false, handoff: false, snapshot: false },
      frames: (async function* () {
        yield { type: 'output', text: 'begun', generation: 0 } as const;
        await program.exited;
      })(),
      prompt: () => new Promise(() => {}),
      close: () => program.end(),
    };
  };

  /** They end; resolves when that was seen. */
  async end(): Promise<void> {
    this.#isStuck = false;
    await Promise.all(this.#endings.map((end) => end()));
  }
}

/** Its number names no process that started then, so nothing is ever signalled. */
function withStuck(table: ProcessTable, executionId: string): ProcessTable {
  const { pid } = StuckProcesses;
  const row = {
    pid,
    ppid: 1,
    pgid: pid,
    session: pid,
    name: 'stuck',
    isDead: false,
    startTime: '1',
    order: Number.MAX_SAFE_INTEGER,
  };
  return {
    rows: new Map([...table.rows, [pid, row]]),
    isReadable: table.isReadable,
    tokenOf: (one) => (one === pid ? { is: 'token', value: executionId } : table.tokenOf(one)),
    isSameUser: (one) => one === pid || table.isSameUser(one),
  };
}
