/**
 * Kills a host with agents again and again on one folder, and looks after each kill at what is stored, and at what the agents have taken.
 *
 * NTL1  A background job that has ended was told, or its notice is stored: none is lost. What has not ended, was refused, or is waited for, has none.
 * NTL2  None is told twice in one life; in a later one only where the notice was still stored when the earlier one ended, and of each session
 *       that is so only of what was told last.
 * NTL3  A notice says the end that the record has.
 * NTL4  Every acknowledged job has a card, also when it was pruned; a refused one has nothing. At every event the card is what the job is (the host looks).
 */
import { setTimeout as delay } from 'node:timers/promises';
import { mockAgent } from '../../dist/agents.js';
import { levelStore, open } from '../../dist/index.js';
import { KillLoop, runLoop } from './kill-loop.mjs';
import { noticesIn, takeLogOf, takesIn } from './take-log.mjs';

/** For the last owner's next notice. */
const LONGEST_WAIT_MS = 20_000;

class NoticeLoop extends KillLoop {
  #takeLog = this.file('taken.log');
  /** jobId → whether it is a background job; acknowledged ones. */
  #acknowledged = new Map();
  /** jobId → the end as told by a wait. */
  #ends = new Map();
  /** jobId → the life in which it was told last. */
  #told = new Map();
  /** Told, and nothing of it is stored any more. */
  #over = new Set();
  #takes = 0;

  constructor(seed) {
    const notices = { told: 0, repeated: 0, waiting: 0, abandoned: 0, pruned: 0, lost: 0, doubled: 0 };
    super('notices', seed, { acknowledged: 0, ended: 0, ...notices });
  }

  /** Starts a host, and kills it some time after it is ready, or while it opens. */
  async kill(number) {
    await this.killHost('notice-host.mjs', [this.data, this.#takeLog, String(number), this.seedOf(number)], {
      onLine: (what, rest) => {
        const [jobId, fact] = rest;
        if (what === 'ack') this.#acknowledged.set(jobId, fact === 'b');
        else if (what === 'end') this.#ends.set(jobId, fact);
        else if (what !== 'ready') this.problem([what, ...rest].join(' '));
      },
      until: async (ready) => {
        if (this.random.next() < 0.85) await ready;
        await this.pause(this.random.below(900));
      },
    });
    this.summary.acknowledged = this.#acknowledged.size;
  }

  /** The store as it was left, and the log of the agents. */
  async check() {
    const rows = await this.#rows();
    const waiting = new Map();
    for (const [key, value] of rows) {
      if (!key.startsWith('u/')) continue;
      const [jobId, status] = JSON.parse(value);
      waiting.set(jobId, status);
      if (endOf(rows, jobId) === null) this.problem(`${jobId} has a notice (${status}) and has not ended`);
      if (this.#acknowledged.get(jobId) === false) this.problem(`${jobId} is waited for and has a notice`);
    }
    this.#checkTakes(rows, waiting);
    let ended = 0;
    for (const [jobId, isBackground] of this.#acknowledged) {
      const end = endOf(rows, jobId);
      if (end === undefined) this.problem(`${jobId} was acknowledged and is lost`);
      if (end === null || end === undefined) continue;
      ended += 1;
      if (!isBackground || this.#told.has(jobId) || waiting.has(jobId)) continue;
      this.summary.lost += 1;
      this.problem(`${jobId} has ended, was not told, and will not be`);
    }
    for (const [jobId, status] of this.#ends) {
      const end = endOf(rows, jobId);
      if (end !== 'pruned' && end !== status) this.problem(`${jobId} was told to be ${status} and is ${end}`);
    }
    for (const key of rows.keys()) if (key.includes('refused')) this.problem(`a refused spawn has left ${key}`);
    // What was taken, and is stored no more, is over; what is stored still may be told once more.
    for (const jobId of this.#told.keys()) if (!waiting.has(jobId)) this.#over.add(jobId);
    Object.assign(this.summary, { ended, told: this.#told.size, waiting: waiting.size });
  }

  #checkTakes(rows, waiting) {
    const takes = takesIn(this.#takeLog);
    const fresh = takes.slice(this.#takes);
    this.#takes = takes.length;
    for (const [index, { life, sessionId, notices }] of fresh.entries()) {
      const isLast = !fresh.slice(index + 1).some((later) => later.sessionId === sessionId);
      for (const { jobId, status } of notices) {
        const end = endOf(rows, jobId);
        if (end !== 'pruned' && end !== status) this.problem(`${jobId} was told as ${status} and is ${end}`);
        if (this.#acknowledged.get(jobId) === false) this.problem(`${jobId} was waited for and told`);
        if (waiting.has(jobId) && !isLast) this.problem(`${jobId} was told, others after it, and its notice is still stored`);
        this.#checkFirst(jobId, life);
      }
    }
  }

  #checkFirst(jobId, life) {
    const before = this.#told.get(jobId);
    this.#told.set(jobId, life);
    if (before === undefined) return;
    this.summary.repeated += 1;
    if (before !== life && !this.#over.has(jobId)) return;
    this.summary.doubled += 1;
    this.problem(`${jobId} was told in life ${before}, and again in life ${life}`);
  }

  async #rows() {
    const store = await levelStore(this.data);
    const rows = new Map();
    for await (const { key, value } of store.range({})) if (/^[fikltuw]\//.test(key)) rows.set(key, value);
    await store.close();
    return rows;
  }

  /** The last owner tells all that is left; then nothing is left, and every job has its card. */
  async finish() {
    const before = await this.#rows();
    const pending = new Set();
    for (const [key, value] of before) {
      if (key.startsWith('u/')) pending.add(JSON.parse(value)[0]);
      // An unfinished background job: it is errored, and that is told.
      if (key.startsWith('l/0') && JSON.parse(value)[40] === 1) pending.add(JSON.parse(value)[2]);
    }
    const log = takeLogOf(this.#takeLog, 'last');
    const mock = mockAgent({ acceptAtOnce: false });
    const offstage = await open({ dataDir: this.data, agents: { default: mock.factory } });
    this.summary.abandoned = offstage.recovery.abandoned.length;
    const over = new AbortController();
    while (pending.size > 0) {
      const prompt = await Promise.race([
        mock.nextPrompt(),
        delay(LONGEST_WAIT_MS, null, { signal: over.signal }).catch(() => null),
      ]);
      if (prompt === null) {
        this.problem(`${pending.size} notices are never told: ${[...pending].slice(0, 3)}`);
        break;
      }
      log.take(prompt.agent.context.sessionId, prompt.content);
      for (const { jobId } of noticesIn(prompt.content))
        if (!pending.delete(jobId)) this.problem(`${jobId} is told by the last owner, and was not pending`);
      prompt.accept();
      prompt.end();
    }
    over.abort();
    for (const jobId of this.#acknowledged.keys()) {
      const card = await offstage.cards.get(`card_${jobId}`).catch(() => null);
      const told = this.#ends.get(jobId);
      if (card === null || card.attach.status === 'running') this.problem(`the card of ${jobId} is ${card?.attach.status}`);
      else if (told !== undefined && card.attach.status !== told)
        this.problem(`${jobId} was ${told}, its card is ${card.attach.status}`);
    }
    this.summary.pruned = [...before].filter(([key, value]) => key.startsWith('i/') && value === '-').length;
    await offstage.close();
    await this.check();
    if (this.summary.waiting > 0) this.problem(`${this.summary.waiting} notices are left`);
  }
}

/** Null: it has not ended. Undefined: there is no such job. */
function endOf(rows, jobId) {
  const pointer = rows.get(`i/${jobId}`);
  if (pointer === undefined) return undefined;
  if (pointer === '-') return 'pruned';
  const row = rows.get(`f/${pointer.split(' ')[0].padStart(16, '0')}`);
  return row === undefined ? null : ['completed', 'cancelled', 'errored'][JSON.parse(row)[22] - 4];
}

/** Answers `{summary, problems}`; `problems` is empty when all is well. */
export const noticeLoop = ({ seed, ...options }) => runLoop(new NoticeLoop(seed), options);
