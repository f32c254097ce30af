/** A program that embeds the engine, for tests. Usage: node host.mjs <task> <dataDir> [argument]. */
import { open } from '../../dist/open.js';
import { levelStore } from '../../dist/persistence/level-store.js';

const [task, dataDir, argument] = process.argv.slice(2);

const tasks = {
  /** Owns the folder, with or without a control socket, until it is killed. */
  async hold() {
    await open({ dataDir });
    console.log('ready');
    setInterval(() => {}, 60_000);
  },

  /** Owns the folder and says that it will serve, but has not come to that yet. */
  async starting() {
    await levelStore(dataDir, { control: `${dataDir}/control.sock` });
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

  /** Finished jobs with inputs that lie in rows of their own. */
  async large() {
    const offstage = await open({ dataDir, durability: 'process', executors: { echo: async () => 'done' } });
    const ids = Array.from({ length: 1_200 }, (_, n) => `large-${n}`);
    const input = (n) => String(n).repeat(3_000).slice(0, 3_000);
    await Promise.all(ids.map((jobId, n) => offstage.spawn({ kind: 'echo', jobId, input: input(n) })));
    await offstage.waitMany(ids, { timeoutMs: null });
    await offstage.close();
    console.log('ready');
  },

  /** Asks for every large job again, with its id: says which are answered how. */
  async again() {
    const answers = {};
    const offstage = await open({ dataDir, executors: { echo: async () => 'again' } });
    for (let n = 0; n < 1_200; n++) {
      const answer = await offstage.spawn({ kind: 'echo', jobId: `large-${n}`, input: 0 }).then(
        () => 'accepted',
        ({ code }) => code,
      );
      answers[answer] = (answers[answer] ?? 0) + 1;
    }
    const { jobs } = await offstage.prune({ maxJobs: 0 });
    await offstage.close();
    console.log(JSON.stringify({ answers, jobs }));
  },

  /** One job that its id does not lead to. */
  async unfit() {
    const offstage = await open({ dataDir, executors: { echo: async () => 'done' } });
    await offstage.spawn({ kind: 'echo', jobId: 'one' });
    await offstage.wait('one');
    await offstage.close();
    const store = await levelStore(dataDir);
    await store.batch([{ type: 'del', key: 'i/one' }], { sync: true });
    await store.close();
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
