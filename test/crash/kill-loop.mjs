/**
 * The frame of all crash loops: one folder, one host after another on it, each killed by SIGKILL at some instant, and a look after each kill.
 *
 * KLP1  A host that ends by itself is a problem, whatever it had to do.
 * KLP2  One seed decides the instants of all kills, and what the hosts do.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { randomFrom } from './random.mjs';

/** More of them say nothing new. */
const MOST_PROBLEMS = 20;

export class KillLoop {
  #folder;
  #seed;
  random;
  data;
  summary;
  problems = [];

  /** @param name of the folder; `summary` counts what the loop counts, beside `kills` */
  constructor(name, seed, summary) {
    this.#folder = mkdtempSync(join(tmpdir(), `offstage-${name}-`));
    this.#seed = seed;
    this.random = randomFrom(seed);
    this.data = join(this.#folder, 'data');
    this.summary = { kills: 0, ...summary };
  }

  problem(text) {
    this.problems.push(`kill ${this.summary.kills}: ${text}`);
  }

  /** A file beside the data. */
  file(name) {
    return join(this.#folder, name);
  }

  /** What the host of this round draws its own numbers from. */
  seedOf(number) {
    return String(this.#seed * 1_000 + number);
  }

  /**
   * Starts a host of this folder, hands over its lines, and kills it when `until` has resolved, or a line has asked for it.
   * @param onLine gets the first word, the rest, and a function that kills at once
   */
  async killHost(program, args, { onLine, until }) {
    const host = fileURLToPath(new URL(program, import.meta.url));
    const child = spawn(process.execPath, [host, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
    const kill = () => child.kill('SIGKILL');
    const exited = new Promise((resolve) => child.once('exit', resolve));
    const lines = createInterface({ input: child.stdout });
    const heard = new Promise((resolve) => lines.once('close', resolve));
    const ready = new Promise((resolve) => lines.once('line', resolve));
    lines.on('line', (line) => {
      const [what, ...rest] = line.split(' ');
      onLine(what, rest, kill);
    });
    await Promise.race([until(ready), exited]);
    kill();
    await Promise.all([exited, heard]);
    this.summary.kills += 1;
    if (child.exitCode !== null) this.problem(`the host ended by itself with ${child.exitCode}`);
  }

  pause(ms) {
    return delay(ms);
  }

  cleanUp() {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Kills and looks, round after round. Answers `{summary, problems}`; `problems` is empty when all is well. */
export async function runLoop(loop, { kills, onProgress = () => {} }) {
  try {
    for (let number = 1; number <= kills; number += 1) {
      await loop.kill(number);
      await loop.check(number === kills);
      onProgress(loop.summary);
      if (loop.problems.length > MOST_PROBLEMS) break;
    }
    if (loop.problems.length <= MOST_PROBLEMS) await loop.finish?.();
    return { summary: loop.summary, problems: loop.problems };
  } finally {
    loop.cleanUp();
  }
}
