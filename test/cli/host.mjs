/** A program that embeds the engine, for tests. Usage: node host.mjs <task> <dataDir> [argument]. */
import { open } from '../../dist/open.js';

const [task, dataDir, argument] = process.argv.slice(2);

const tasks = {
  /** Owns the folder, with or without a control socket, until it is killed. */
  async hold() {
    await open({ dataDir });
    console.log('ready');
    setInterval(() => {}, 60_000);
  },

  /** Two commands at work and three waiting. */
  async busy() {
    const offstage = await open({ dataDir, workers: 2, control: true });
    for (let number = 0; number < 5; number++) {
      await offstage.spawn({ kind: 'command', jobId: `busy-${number}`, input: { command: 'sleep', args: [process.env.SLEEP] } });
    }
    while ((await offstage.processes()).filter(({ pid }) => pid !== null).length < 2) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    console.log('ready');
  },

  /** Many finished jobs. */
  async many() {
    const offstage = await open({ dataDir, durability: 'process', executors: { echo: async (job) => job.input } });
    const jobs = await Promise.all(
      Array.from({ length: 5_000 }, (_, n) => offstage.spawn({ kind: 'echo', subject: `job ${n}`, input: n })),
    );
    await offstage.waitMany(
      jobs.map(({ jobId }) => jobId),
      { timeoutMs: null },
    );
    await offstage.close();
    console.log('ready');
  },

  /** Any ids. */
  async odd() {
    const offstage = await open({ dataDir, executors: { echo: async () => 'x' } });
    await offstage.tasks.create({ taskId: '../t', title: 'a task' });
    await offstage.sessions.create({ sessionId: '../../s', taskId: '../t' });
    for (const jobId of ['../../x', '/etc/x', '..', 'a b\u001b[31m\nc']) {
      await offstage.spawn({ kind: 'echo', jobId, sessionId: '../../s', subject: `evil \u001b[2J\nsubject ${jobId}` });
      await offstage.wait(jobId);
    }
    await offstage.close();
    console.log('ready');
  },
};

await tasks[task](argument);
