/**
 * The floor: the least our design can do. An XState actor per job in one shared system, four small writes per job, group-committed
 * per macrotask turn as chained LevelDB batches, a FIFO pool. No history, no cards, no cancel, no limits, no recovery.
 *
 * FLR1  A body is called only once its acceptance is stored; its `running` goes with the next batch (the engine's start rule).
 * FLR2  One write in flight, at most 256 writes per batch, at most 32 starts per turn (the engine's own budgets).
 * FLR3  An end is told only after it is stored.
 */
import { Level } from 'level';
import { assign, createActor, setup } from 'xstate';

const WRITES_PER_BATCH = 256;
const STARTS_PER_TURN = 32;

const supervisorChart = setup({}).createMachine({ id: 'supervisor', initial: 'open', states: { open: {} } });

const at = ({ event }) => ({ at: event.at });
const jobChart = setup({
  actions: {
    markQueued: assign({ queuedAt: (_, params) => params.at }),
    markStarted: assign({ startedAt: (_, params) => params.at }),
    markEnded: assign({ completedAt: (_, params) => params.at }),
  },
}).createMachine({
  id: 'job',
  initial: 'pending',
  context: { queuedAt: null, startedAt: null, completedAt: null, resultText: null },
  states: {
    pending: { on: { 'job.queue': { target: 'queued', actions: { type: 'markQueued', params: at } } } },
    queued: { on: { 'job.start': { target: 'running', actions: { type: 'markStarted', params: at } } } },
    running: { on: { 'body.returned': { target: 'completed', actions: { type: 'markEnded', params: at } } } },
    completed: { type: 'final' },
  },
  options: { maxIterations: 100 },
});

class FloorEngine {
  #db;
  #sync;
  #workers;
  #noop;
  #parent = createActor(supervisorChart).start();
  #onEnd;
  #writes = [];
  #isCommitScheduled = false;
  #isWriting = false;
  #ready = [];
  #head = 0;
  #running = 0;
  #budget = STARTS_PER_TURN;
  #isRefillScheduled = false;
  #made = 0;
  #seq = 0;

  constructor({ db, sync, workers, noop, onEnd }) {
    this.#db = db;
    this.#sync = sync;
    this.#workers = workers;
    this.#noop = noop;
    this.#onEnd = onEnd;
  }

  submit() {
    this.#made += 1;
    const jobId = `job_${String(this.#made).padStart(12, '0')}`;
    const actor = createActor(jobChart, { parent: this.#parent, id: 'job' }).start();
    const job = { jobId, actor };
    actor.send({ type: 'job.queue', at: Date.now() });
    return new Promise((resolve) => {
      this.#write(`job!${jobId}`, this.#row(job), () => {
        this.#ready.push(job);
        resolve(jobId);
      });
    });
  }

  #start(job) {
    this.#running += 1;
    job.actor.send({ type: 'job.start', at: Date.now() });
    this.#write(`job!${job.jobId}`, this.#row(job), null);
    this.#noop().then(() => this.#end(job));
  }

  #end(job) {
    const { jobId } = job;
    job.actor.send({ type: 'body.returned', at: Date.now() });
    this.#write(`job!${jobId}`, this.#row(job), null);
    this.#seq += 1;
    const event = { seq: this.#seq, type: 'job.status', jobId, sessionId: 'default', status: 'completed' };
    this.#write(`event!${String(this.#seq).padStart(12, '0')}`, JSON.stringify(event), () => this.#onEnd(jobId));
    this.#running -= 1;
    this.#pump();
  }

  #row({ jobId, actor }) {
    const { value, context } = actor.getSnapshot();
    return JSON.stringify({ jobId, kind: 'noop', sessionId: 'default', status: value, ...context });
  }

  #pump() {
    while (this.#running < this.#workers && this.#head < this.#ready.length && this.#budget > 0) {
      const job = this.#ready[this.#head];
      this.#ready[this.#head] = null;
      this.#head += 1;
      this.#budget -= 1;
      this.#start(job);
    }
    if (this.#head === this.#ready.length) {
      this.#ready.length = 0;
      this.#head = 0;
    }
    if (this.#isRefillScheduled || this.#budget === STARTS_PER_TURN) return;
    this.#isRefillScheduled = true;
    setImmediate(() => {
      this.#isRefillScheduled = false;
      this.#budget = STARTS_PER_TURN;
      this.#pump();
    });
  }

  #write(key, value, reveal) {
    this.#writes.push({ key, value, reveal });
    this.#scheduleCommit();
  }

  #scheduleCommit() {
    if (this.#isCommitScheduled || this.#isWriting || this.#writes.length === 0) return;
    this.#isCommitScheduled = true;
    setImmediate(() => {
      this.#isCommitScheduled = false;
      this.#commit();
    });
  }

  async #commit() {
    const taken = this.#writes.splice(0, WRITES_PER_BATCH);
    const batch = this.#db.batch();
    for (const { key, value } of taken) batch.put(key, value);
    this.#isWriting = true;
    await batch.write({ sync: this.#sync });
    this.#isWriting = false;
    for (const { reveal } of taken) reveal?.();
    this.#scheduleCommit();
    this.#pump();
  }
}

/** See works/session.mjs for what a subject and its session are. `isSynced: false` never fsyncs. */
const floor = (name, isSynced) => ({
  name,
  missing: async () => null,
  async open({ dataDir, workers, noop, onEnd }) {
    const db = new Level(dataDir, { keyEncoding: 'utf8', valueEncoding: 'utf8' });
    await db.open();
    const engine = new FloorEngine({ db, sync: isSynced, workers, noop, onEnd });
    return { submit: () => engine.submit(), close: () => db.close() };
  },
});

export const floorWithSync = floor('floor, with fsync', true);
export const floorWithoutSync = floor('floor, without fsync', false);
