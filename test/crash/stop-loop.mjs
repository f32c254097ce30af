/**
 * Kills a host that stops tasks and sessions, again and again on one folder, and looks after each kill at what the next owner finds.
 *
 * SLP1  No process of the dead host lives, wherever it has forked to, and no record of one is left.
 * SLP2  Every accepted job has ended, every session is settled, and nothing is left to stop.
 * SLP3  Of a task whose stop had settled nothing was live when the host died, nor when a later one did: nobody asked for anything more.
 * SLP4  A session that was stopped stays stopped, and its agent's process record said that it is to be ended.
 * SLP5  A second look changes nothing.
 */
import { existsSync, readFileSync } from 'node:fs';
import { readProcessTable } from '../../dist/executors/process-table.js';
import { open } from '../../dist/index.js';
import { KillLoop, runLoop } from './kill-loop.mjs';

const TERMINAL = ['completed', 'cancelled', 'errored'];
const UNSETTLED = ['starting', 'running'];

class StopLoop extends KillLoop {
  #runLog = this.file('runs.log');
  /** Of the last host: jobs, and tasks whose stop was asked for. */
  #acknowledged = [];
  #stopping = new Set();
  /** Of all hosts: tasks whose stop had settled. */
  #settled = new Set();

  constructor(seed) {
    const found = { processes: 0, killed: 0, finished: 0, cutOff: 0, abandoned: 0, left: 0 };
    super('stops', seed, { acknowledged: 0, stops: 0, settled: 0, ...found });
  }

  /** Starts a host and kills it some time after it was ready. */
  async kill(number) {
    this.#acknowledged = [];
    this.#stopping = new Set();
    const settledBefore = this.#settled.size;
    await this.killHost('stop-churn.mjs', [this.data, this.#runLog, this.seedOf(number)], {
      onLine: (what, rest) => {
        if (what === 'ack') this.#acknowledged.push(rest.join(' '));
        else if (what === 'stopping') this.#stopping.add(rest[0]);
        else if (what === 'settled') this.#settled.add(rest[0]);
      },
      until: async (ready) => {
        await ready;
        await this.pause(this.random.below(1_500));
      },
    });
    this.summary.acknowledged += this.#acknowledged.length;
    this.summary.stops += this.#stopping.size;
    this.summary.settled += this.#settled.size - settledBefore;
  }

  /** The next owner. */
  async check() {
    const settings = { dataDir: this.data, killAfterMs: 300, log: () => {} };
    const offstage = await open(settings);
    try {
      const { recovery } = offstage;
      await this.#checkProcesses(offstage);
      await this.#checkJobs(offstage);
      await this.#checkSessions(offstage);
      await this.#checkSettled(offstage);
      this.summary.abandoned += recovery.abandoned.length;
      this.summary.cutOff += recovery.sessions.length;
      for (const taskId of this.#stopping) await this.#checkNothingRuns(offstage, taskId);
    } finally {
      await offstage.close();
    }
    const { seq } = await this.#secondLook(settings);
    const again = await this.#secondLook(settings);
    if (again.seq !== seq) this.problem('a second look wrote events');
  }

  /** SLP1. */
  async #checkProcesses(offstage) {
    const { processes } = offstage.recovery;
    const executions = new Set(processes.map(({ executionId }) => executionId));
    const lines = existsSync(this.#runLog) ? readFileSync(this.#runLog, 'utf8').split('\n') : [];
    for (const line of lines) if (/^(agent|command) /.test(line)) executions.add(line.split(' ').at(-1));
    const table = await readProcessTable();
    for (const { pid, name, isDead } of table.rows.values()) {
      const token = table.tokenOf(pid);
      if (isDead || token.is !== 'token' || !executions.has(token.value)) continue;
      this.summary.left += 1;
      this.problem(`process ${pid} (${name}) of ${token.value} is left`);
      process.kill(pid, 'SIGKILL');
    }
    for (const { verdict, detail } of processes) if (verdict === 'unverified') this.problem(`unverified: ${detail}`);
    const kept = await offstage.processes();
    if (kept.length > 0) this.problem(`${kept.length} process records are kept`);
    this.summary.processes = executions.size;
    this.summary.killed += processes.filter(({ verdict }) => verdict === 'killed').length;
    this.summary.finished += processes.filter(({ verdict, teardownAt }) => verdict === 'killed' && teardownAt !== null).length;
  }

  /** SLP2. */
  async #checkJobs(offstage) {
    const found = new Map((await offstage.list({ limit: 1_000 })).map((view) => [view.jobId, view]));
    for (const { jobId, status } of found.values()) {
      if (!TERMINAL.includes(status)) this.problem(`${jobId} is ${status} after a recovery`);
    }
    for (const jobId of this.#acknowledged) if (!found.has(jobId)) this.problem(`${jobId} was acknowledged and is lost`);
  }

  /** SLP2, SLP4. */
  async #checkSessions(offstage) {
    const { sessions, processes } = offstage.recovery;
    for (const view of await offstage.sessions.list({ limit: 1_000 })) {
      const { sessionId, state, foregroundActivity } = view;
      if (UNSETTLED.includes(state)) this.problem(`${sessionId} is ${state} after a recovery`);
      if (foregroundActivity !== null) this.problem(`${sessionId} is told to be ${foregroundActivity} after a recovery`);
      if (state !== 'cancelled') continue;
      if (sessions.includes(sessionId)) this.problem(`${sessionId} was stopped, and told to be cut off`);
      const wanted = processes.filter((one) => one.sessionId === sessionId && one.teardownAt === null);
      if (wanted.length > 0) this.problem(`${sessionId} was stopped, and its process was not to be ended`);
    }
  }

  /** SLP3. */
  async #checkSettled(offstage) {
    const { abandoned, sessions, processes } = offstage.recovery;
    const taskOf = async (jobId) => (await offstage.get(jobId)).taskId;
    for (const jobId of abandoned) {
      if (this.#settled.has(await taskOf(jobId))) this.problem(`${jobId} was not ended, and the stop of its task had settled`);
    }
    for (const sessionId of sessions) {
      if (this.#settled.has((await offstage.sessions.get(sessionId)).taskId))
        this.problem(`${sessionId} was at work, and the stop of its task had settled`);
    }
    for (const { verdict, sessionId, jobId } of processes) {
      if (verdict !== 'killed') continue;
      const taskId = jobId === null ? (await offstage.sessions.get(sessionId)).taskId : await taskOf(jobId);
      if (this.#settled.has(taskId))
        this.problem(`a process of ${jobId ?? sessionId} lived, and the stop of its task had settled`);
    }
  }

  /** SLP2. */
  async #checkNothingRuns(offstage, taskId) {
    const { seq } = await offstage.snapshot();
    const code = await offstage.tasks.stop(taskId).then(
      () => 'something',
      (error) => error.code,
    );
    if (code !== 'stop.nothing_running') this.problem(`after a recovery there is ${code} to stop in ${taskId}`);
    if ((await offstage.snapshot()).seq !== seq) this.problem(`a stop of ${taskId}, where nothing runs, wrote events`);
  }

  /** SLP5. */
  async #secondLook(settings) {
    const offstage = await open(settings);
    const { abandoned, sessions, lostTickets, processes } = offstage.recovery;
    if (abandoned.length + sessions.length + lostTickets.length + processes.length > 0)
      this.problem('a second recovery found something');
    const { seq } = await offstage.snapshot();
    await offstage.close();
    return { seq };
  }
}

/** Answers `{summary, problems}`; `problems` is empty when all is well. */
export const stopLoop = ({ seed, ...options }) => runLoop(new StopLoop(seed), options);
