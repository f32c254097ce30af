/**
 * Where measurements happen: child processes, folders, the Redis. Everything it starts it ends, by pid.
 *
 * LAB1  A measurement runs in a new child process and, unless it reads stored jobs, in a new folder or an emptied Redis database.
 * LAB2  A child that does not exit by itself after its answer is a failure of the subject, and is reported as one.
 */
import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startRedis } from './redis.mjs';
import { subjects } from './subjects.mjs';

const CHILD = fileURLToPath(new URL('./child.mjs', import.meta.url));
const CHILD_TIMEOUT_MS = 240_000;
const EXIT_TIMEOUT_MS = 15_000;
const SCRATCH_DATABASE = 0;

export class Lab {
  #root;
  #redis = null;
  #children = new Set();
  #stored = new Map();
  #places = 0;

  constructor({ parentDir, sizes }) {
    this.#root = mkdtempSync(join(parentDir, 'offstage-bench-'));
    this.sizes = sizes;
  }

  async close() {
    for (const child of this.#children) child.kill('SIGKILL');
    await this.#redis?.then((redis) => redis.stop());
    rmSync(this.#root, { recursive: true, force: true });
  }

  /** An empty place for one measurement. */
  async place(key) {
    this.#places += 1;
    const place = { dataDir: join(this.#root, `data-${this.#places}`), queueName: `bench-${this.#places}` };
    if (!subjects[key].needsRedis) return place;
    const { host, port, flush } = await this.#startedRedis();
    await flush(SCRATCH_DATABASE);
    return { ...place, redis: { host, port, db: SCRATCH_DATABASE } };
  }

  /** A place with finished jobs, filled in waves on first use and then shared. `size`: `small` or `large`. */
  stored(key, size) {
    const name = `${key} ${size}`;
    if (!this.#stored.has(name)) this.#stored.set(name, this.#fill(key, size));
    return this.#stored.get(name);
  }

  async #fill(key, size) {
    const place = await this.place(key);
    if (place.redis !== undefined) place.redis.db = size === 'small' ? 1 : 2;
    const { warmUp, waves, waveJobs } = this.sizes[size];
    const params = { ...place, warmUp, waves, jobs: waveJobs, workers: 4 };
    return { place, filled: await this.run('waves', key, params) };
  }

  async run(work, key, params, { execArgv = [] } = {}) {
    const child = this.#start(work, key, params, execArgv);
    const exited = new Promise((resolve) => child.once('exit', resolve));
    const result = await this.#answer(child, `${work} of ${key}`);
    const late = setTimeout(() => child.kill('SIGKILL'), EXIT_TIMEOUT_MS);
    await exited;
    clearTimeout(late);
    if (child.signalCode !== null) throw new Error(`${work} of ${key}: the process did not exit by itself`);
    return result;
  }

  /** Starts a host that holds unfinished jobs, and kills it. @returns what it held */
  async crash(key, params) {
    const child = this.#start('holdUntilKilled', key, params, []);
    const exited = new Promise((resolve) => child.once('exit', resolve));
    const held = await this.#answer(child, `holdUntilKilled of ${key}`);
    child.kill('SIGKILL');
    await exited;
    return held;
  }

  #start(work, key, params, execArgv) {
    const child = fork(CHILD, [], { execArgv, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    this.#children.add(child);
    child.once('exit', () => this.#children.delete(child));
    child.send({ work, subject: key, params });
    return child;
  }

  #answer(child, name) {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        child.kill('SIGKILL');
        reject(new Error(`${name}: no answer within ${CHILD_TIMEOUT_MS / 1_000} s`));
      }, CHILD_TIMEOUT_MS);
      child.once('exit', (code, signal) => {
        clearTimeout(late);
        reject(new Error(`${name}: the process ended without an answer (${signal ?? code})`));
      });
      child.once('message', ({ result, error }) => {
        clearTimeout(late);
        if (error === undefined) resolve(result);
        else reject(new Error(`${name}: ${error}`));
      });
    });
  }

  #startedRedis() {
    this.#redis ??= startRedis(this.#root);
    return this.#redis;
  }
}
