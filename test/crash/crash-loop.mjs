/**
 * Kills a host again and again on one folder, and looks after each kill at what the next owner finds (G5).
 *
 * CRL1  Nothing acknowledged is lost, no end that was told is another one, no id is run twice, none is revived.
 * CRL2  Whatever was unfinished is errored `abandoned.crash`, once; its processes are gone.
 * CRL3  Every body that ran is stored; nothing runs in the next owner.
 * CRL4  The event log has no gap, and one end per job.
 * CRL5  A second look changes nothing; get, list, history, events and cards agree.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { open } from '../../dist/index.js';
import { bodies } from './bodies.mjs';
import { cardOf } from './card-of.mjs';
import { KillLoop, runLoop } from './kill-loop.mjs';

const TERMINAL = ['completed', 'cancelled', 'errored'];

/** A line of the run log: commands add their pid. */
const runOf = (line) => {
  const [, jobId, pid] = /^(command .*) (\d+)$/.exec(line) ?? [null, line, undefined];
  return { jobId, pid: pid === undefined ? null : Number(pid) };
};
const linesOf = (file) =>
  existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
    : [];

async function withOwner(settings, look) {
  const offstage = await open(settings);
  try {
    await look(offstage);
  } finally {
    await offstage.close();
  }
}

class CrashLoop extends KillLoop {
  #runLog = this.file('runs.log');
  /** jobId → status as told, or null while only the acceptance was. */
  #told = new Map();
  /** jobId → record, as the first owner after its end found it. */
  #records = new Map();
  #ends = new Map();
  #seq = 0;
  #logLines = 0;

  constructor(seed) {
    const counts = { acknowledged: 0, told: 0, bodiesRun: 0, jobs: 0, abandoned: 0, orphans: 0, lost: 0, doubled: 0, revived: 0 };
    super('crash', seed, { killedWhileOpening: 0, ...counts });
  }

  /** Starts a host and kills it some time later, or after some acknowledgements. */
  async kill(number) {
    const afterAcks = this.random.next() < 0.5 ? 1 + this.random.below(250) : Number.POSITIVE_INFINITY;
    const afterMs = this.random.below(700);
    let isReady = false;
    let acks = 0;
    await this.killHost('host.mjs', ['churn', this.data, this.#runLog, this.seedOf(number)], {
      onLine: (what, rest, kill) => {
        if (what === 'ready') isReady = true;
        else if (what === 'ack') {
          const jobId = rest.join(' ');
          if (!this.#told.has(jobId)) this.#told.set(jobId, null);
          acks += 1;
          if (acks === afterAcks) kill();
        } else this.#told.set(rest.slice(0, -1).join(' '), rest.at(-1));
      },
      until: () => this.pause(afterAcks === Number.POSITIVE_INFINITY ? afterMs : 1_500),
    });
    if (!isReady) this.summary.killedWhileOpening += 1;
    this.summary.acknowledged += acks;
  }

  /** The next owner. Every tenth and the last look also at every job of earlier rounds. */
  async check(isLast) {
    const looksAtAll = isLast || this.summary.kills % 10 === 0;
    const called = [];
    const executors = Object.fromEntries(
      Object.keys(bodies(this.#runLog)).map((kind) => [kind, ({ jobId }) => called.push(jobId)]),
    );
    const settings = { dataDir: this.data, executors, killAfterMs: 500 };
    let running = [];
    let abandoned = [];
    await withOwner(settings, async (offstage) => {
      // A command of the dead host may have begun until the recovery ended it.
      running = this.#newLogLines();
      abandoned = offstage.recovery.abandoned;
      this.summary.abandoned += abandoned.length;
      const found = await this.#newJobs(offstage, looksAtAll);
      this.#checkRecords(found, new Set(abandoned), looksAtAll);
      await this.#checkAgreement(offstage, found, abandoned);
      await this.#checkEvents(offstage, abandoned);
      this.#checkLog(running);
    });
    this.#checkOrphans(running.filter(({ pid }) => pid !== null));
    await this.#checkSecondLook(settings, abandoned);
    if (called.length > 0) this.problem(`${called.length} bodies were run by the next owner: ${called.slice(0, 3)}`);
    if (this.#newLogLines(true).length > 0) this.problem('something was run after the recovery');
  }

  /** The lines since the last look. */
  #newLogLines(isPeek = false) {
    const lines = linesOf(this.#runLog);
    const fresh = lines.slice(this.#logLines);
    if (!isPeek) this.#logLines = lines.length;
    return fresh.map(runOf);
  }

  async #newJobs(offstage, all) {
    const found = new Map();
    for (let before; ; ) {
      const page = await offstage.list({ limit: 1_000, ...(before === undefined ? {} : { before }) });
      for (const view of page) found.set(view.jobId, view);
      before = page.at(-1)?.jobId;
      // Newest first: from a page on that holds nothing new, everything is older.
      const isKnown = page.length > 0 && page.every(({ jobId }) => this.#records.has(jobId));
      if (page.length < 1_000 || (isKnown && !all)) return found;
    }
  }

  #checkRecords(found, abandoned, looksAtAll) {
    for (const [jobId, view] of found) {
      const known = this.#records.get(jobId);
      if (known !== undefined && !isDeepStrictEqual(view, known)) {
        this.summary.revived += 1;
        this.problem(`${jobId} has changed after its end: ${known.status} to ${view.status}`);
      }
      if (known === undefined && !TERMINAL.includes(view.status)) this.problem(`${jobId} is ${view.status} after a recovery`);
      const isAbandoned = view.status === 'errored' && view.reasonCode === 'abandoned.crash';
      if (known === undefined && isAbandoned !== abandoned.has(jobId))
        this.problem(`${jobId} is ${view.reasonCode}, and abandoned: ${abandoned.has(jobId)}`);
      this.#records.set(jobId, view);
    }
    for (const jobId of abandoned) if (this.#told.get(jobId) != null) this.problem(`${jobId} had ended and was abandoned`);
    for (const [jobId, status] of this.#told) {
      const view = looksAtAll ? found.get(jobId) : this.#records.get(jobId);
      if (view === undefined) {
        this.summary.lost += 1;
        this.problem(`${jobId} was acknowledged and is lost`);
      } else if (status !== null && view.status !== status)
        this.problem(`${jobId} was told to be ${status} and is ${view.status}`);
    }
    this.summary.told = [...this.#told.values()].filter((status) => status !== null).length;
    this.summary.jobs = this.#records.size;
  }

  #checkLog(lines) {
    for (const { jobId } of lines) {
      if (!this.#records.has(jobId)) this.problem(`${jobId} was run and is not stored`);
    }
    const ids = linesOf(this.#runLog).map((line) => runOf(line).jobId);
    const unique = new Set(ids);
    if (unique.size < ids.length) {
      this.summary.doubled = ids.length - unique.size;
      this.problem(`${ids.length - unique.size} jobs were run twice`);
    }
    for (const [jobId, view] of this.#records) {
      if (view.status === 'completed' && !unique.has(jobId)) this.problem(`${jobId} is completed and was never run`);
    }
    this.summary.bodiesRun = ids.length;
  }

  async #checkAgreement(offstage, found, abandoned) {
    const sample = [...abandoned, ...[...found.keys()].slice(0, 50)];
    for (const jobId of sample) {
      const view = await offstage.get(jobId);
      if (!isDeepStrictEqual(view, found.get(jobId))) this.problem(`get and list disagree about ${jobId}`);
      if (!isDeepStrictEqual(await offstage.cards.get(view.cardId), cardOf(view))) this.problem(`${jobId} and its card disagree`);
      const transitions = (await offstage.history(jobId)).filter(({ type }) => type === 'transition');
      if (transitions.at(-1)?.to !== view.status) this.problem(`the history of ${jobId} ends with ${transitions.at(-1)?.to}`);
      if (transitions.filter(({ to }) => TERMINAL.includes(to)).length !== 1)
        this.problem(`${jobId} has not one end in its history`);
    }
  }

  async #checkEvents(offstage, abandoned) {
    const { seq } = await offstage.snapshot();
    if (seq > this.#seq) {
      for await (const event of offstage.events({ after: this.#seq })) {
        if (event.type === 'resync') this.problem(`the event log has a gap after ${this.#seq}`);
        else if (event.seq !== this.#seq + 1) this.problem(`event ${event.seq} (${event.type}) follows ${this.#seq}`);
        this.#seq = event.seq;
        if (event.type === 'job.status' && TERMINAL.includes(event.status)) {
          if (this.#ends.has(event.jobId)) this.problem(`${event.jobId} has two ends in the event log`);
          this.#ends.set(event.jobId, event.reasonCode);
        }
        if (event.seq >= seq) break;
      }
    }
    for (const jobId of abandoned) {
      if (this.#ends.get(jobId) !== 'abandoned.crash') this.problem(`the end of ${jobId} is not in the event log`);
    }
    for (const [jobId, { reasonCode }] of this.#records) {
      if (this.#ends.get(jobId) !== reasonCode)
        this.problem(`the event log says ${this.#ends.get(jobId)} of ${jobId}, the record ${reasonCode}`);
    }
  }

  /** No command of the dead host is left. */
  #checkOrphans(commands) {
    if (commands.length === 0) return;
    const { stdout } = spawnSync('ps', ['-o', 'pid=,args=', '-p', commands.map(({ pid }) => pid).join()], { encoding: 'utf8' });
    for (const { jobId, pid } of commands) {
      const line = stdout.split('\n').find((one) => one.trim().startsWith(`${pid} `) && one.includes(jobId));
      if (line === undefined) continue;
      this.summary.orphans += 1;
      this.problem(`process ${pid} of ${jobId} is left: ${line}`);
      process.kill(pid, 'SIGKILL');
    }
  }

  async #checkSecondLook(settings, abandoned) {
    await withOwner(settings, async (offstage) => {
      if (offstage.recovery.abandoned.length > 0) this.problem('a second recovery abandoned jobs');
      if ((await offstage.snapshot()).seq !== this.#seq) this.problem('a second recovery wrote events');
      for (const jobId of abandoned) {
        if (!isDeepStrictEqual(await offstage.get(jobId), this.#records.get(jobId)))
          this.problem(`${jobId} is another one at the second look`);
      }
    });
  }
}

/** Answers `{summary, problems}`; `problems` is empty when all is well. */
export const crashLoop = ({ seed, ...options }) => runLoop(new CrashLoop(seed), options);
