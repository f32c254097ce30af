/**
 * A live scene: three tasks on which agents and jobs do everything that there is to watch, again and again, for as long as it is played.
 * `npm start -- --demo` plays it in a server with the dashboard; by itself it is watched from other terminals:
 *
 *   node examples/scene.mjs
 *   offstage serve --config examples/scene.mjs
 *
 * The agent is examples/agent.mjs, which needs no model; commands are real ones. No network. What it leaves stays bounded: tasks and
 * sessions are used again, and old jobs are pruned.
 */
import { setMaxListeners } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { acpAgent } from 'offstage/agents';

const program = fileURLToPath(new URL('agent.mjs', import.meta.url));
const SECOND = 1_000;
/** Finished jobs that are kept. */
const KEPT_JOBS = 150;

/** What has a scene's bodies end at once when the scene is over. */
const over = new EventTarget();

/** For `open`. The pool is too small on purpose. */
export const options = {
  workers: 6,
  cancelGraceMs: 3 * SECOND,
  killAfterMs: 1.5 * SECOND,
  // The agents would be told of the end of every job, and answer.
  notices: false,
  agents: { default: acpAgent({ command: process.execPath, args: [program], protocol: 'v2' }) },
  executors: {
    /** Says how far it is, prints, and has parts of its work done by jobs of its own. */
    async research(job, ctx) {
      const { steps } = job.input;
      for (let done = 0; done < steps; done += 1) {
        ctx.progress({ done, total: steps, note: `source ${done + 1}` });
        ctx.output(`source ${done + 1} of ${steps}: read\n`);
        ctx.partial(`${done} of ${steps} sources read`);
        if (done === 1) {
          await Promise.all([
            ctx.run({ kind: 'command', subject: 'count the references', input: sh('sleep 6; echo 42 references') }),
            ctx.run({ kind: 'digest', subject: 'digest of the first two sources', input: { parts: 2 } }),
          ]);
        }
        await pause(3 * SECOND, ctx.signal);
      }
      return `read ${steps} sources: the pool of connections was exhausted`;
    },
    /** A job within a job, and one more within itself. */
    async digest(job, ctx) {
      const { parts } = job.input;
      if (parts > 0) await ctx.run({ kind: 'digest', subject: `part ${parts}`, input: { parts: parts - 1 } });
      await pause(3 * SECOND, ctx.signal);
      return `${parts + 1} parts digested`;
    },
    /** Does not look at its signal: it comes to its end long after the job was given up. */
    deaf: () =>
      new Promise((resolve) => {
        const timer = setTimeout(end, 40 * SECOND).unref();
        over.addEventListener('over', end, { once: true });
        function end() {
          clearTimeout(timer);
          over.removeEventListener('over', end);
          resolve('finished, and nobody waited for it');
        }
      }),
  },
};

/** Called by `offstage serve --config` once it serves; what it returns is stopped before the engine closes. */
export const onServe = (offstage) => playScene(offstage);

/** Titles of the tasks, and which sessions belong to them. */
const CAST = {
  'Checkout times out under load': ['analyst', 'load tester', 'researcher'],
  'Release 2.4': ['release manager', 'writer', 'pipeline'],
  'Nightly checks': ['checks'],
};

/**
 * Plays the scene on an engine that was opened with `options`. `ready` resolves when everything that it promises is on stage at once, or
 * the scene is over.
 * @returns {{ ready: Promise<void>, stop(): Promise<void> }}
 */
export function playScene(offstage) {
  const stage = new Stage(offstage);
  const rounds = stage.play();
  const ready = stage.until(async () => (await missing(offstage)).length === 0).catch(() => {});
  const stop = () => stage.end(rounds);
  return { ready, stop, [Symbol.asyncDispose]: stop };
}

/** Where the acts of a round are played, all of them at once. */
class Stage {
  offstage;
  /** Their sessions, by name. */
  sessions = new Map();
  #tasks = new Map();
  #ended = new AbortController();

  constructor(offstage) {
    this.offstage = offstage;
    // Every pause and every wait listens.
    setMaxListeners(0, this.signal);
  }

  get signal() {
    return this.#ended.signal;
  }

  async play() {
    await this.#clear();
    while (!this.signal.aborted) {
      try {
        await this.#set();
        const acts = await Promise.allSettled(ACTS.map((act) => act(this)));
        if (acts.some(({ reason }) => reason?.code === 'engine.closing')) return;
        await this.offstage.prune({ maxJobs: KEPT_JOBS });
      } catch (error) {
        if (error.code === 'engine.closing') return;
      }
      await this.pause(4 * SECOND).catch(() => {});
    }
  }

  /** What an earlier scene has left in this folder. */
  async #clear() {
    const { tasks } = this.offstage;
    const left = await tasks.list({ limit: 1_000 }).catch(() => []);
    for (const { taskId, title } of left) {
      if (title in CAST) await tasks.remove(taskId, { confirm: true }).catch(() => {});
    }
  }

  async end(rounds) {
    this.#ended.abort();
    over.dispatchEvent(new Event('over'));
    await rounds;
  }

  /** Tasks and sessions are made once, and again where somebody has stopped or removed them. */
  async #set() {
    const { sessions, tasks } = this.offstage;
    const isUsable = (row) =>
      row.then(
        ({ state }) => !['failed', 'cancelled', 'archived'].includes(state),
        () => false,
      );
    for (const [title, names] of Object.entries(CAST)) {
      let taskId = this.#tasks.get(title);
      if (taskId === undefined || !(await isUsable(tasks.get(taskId)))) {
        ({ taskId } = await tasks.create({ title }));
        await tasks.setState(taskId, 'in_progress');
        this.#tasks.set(title, taskId);
      }
      for (const name of names) {
        const sessionId = this.sessions.get(name);
        if (sessionId !== undefined && (await isUsable(sessions.get(sessionId)))) continue;
        this.sessions.set(name, (await sessions.create({ taskId })).sessionId);
      }
    }
  }

  pause(ms) {
    return pause(ms, this.signal);
  }

  /** Looks again and again. */
  async until(isSo) {
    while (!(await isSo())) await this.pause(SECOND / 4);
  }

  look(name) {
    return this.offstage.sessions.get(this.sessions.get(name));
  }

  /** Gives the agent of a session something to do, now or in its turn. */
  prompt(name, ...lines) {
    return this.offstage.sessions.prompt(this.sessions.get(name), { content: lines.join('\n'), whenBusy: 'queue' });
  }

  /** Resolves when nothing is left of what the session was asked for. */
  isQuiet(name) {
    return this.until(async () => {
      const { foregroundActivity, queuedPrompts } = await this.look(name);
      return foregroundActivity === null && queuedPrompts === 0;
    });
  }

  async spawn(name, spec) {
    return (await this.offstage.spawn({ sessionId: this.sessions.get(name), ...spec })).jobId;
  }

  async hasStarted(...jobIds) {
    await this.until(async () => {
      const jobs = await this.offstage.waitMany(jobIds, { timeoutMs: 0 });
      return jobs.every(({ startedAt }) => startedAt !== null);
    });
  }

  haveEnded(...jobIds) {
    return this.offstage.waitMany(jobIds, { timeoutMs: null, signal: this.signal });
  }
}

const pause = (ms, signal) => wait(ms, undefined, { signal });
const sh = (script) => ({ command: 'sh', args: ['-c', script] });

const ACTS = [
  /** Talks for a long time; a second prompt waits for its turn. */
  async function generating(stage) {
    await stage.prompt(
      'analyst',
      'think Where does the time go?',
      'say The traces say:',
      '/tool 3s',
      '/slow 45s',
      'say That is all.',
    );
    await stage.pause(2 * SECOND);
    await stage.prompt('analyst', 'say And this is what I would do about it.');
    await stage.isQuiet('analyst');
  },

  /** Free for the next prompt while its work goes on behind it. */
  async function background(stage) {
    const work = ['45s subagent', '40s subagent', '45s shell', '50s monitor'].map((what) => `/background ${what}`);
    await stage.prompt('load tester', ...work, 'say Watching.');
    await stage.isQuiet('load tester');
  },

  /** Asks whether it may; after a while it gets its answer, if nobody has given one. */
  async function permission(stage) {
    await stage.prompt('release manager', 'say The release is ready.', '/permission Push the tag v2.4.0', 'say Done.');
    await stage.until(async () => (await stage.look('release manager')).pending !== null);
    const { sessionId, pending } = await stage.look('release manager');
    await stage.pause(40 * SECOND);
    await stage.offstage.sessions.answer(sessionId, pending.requestId, 'allow').catch(() => {});
    await stage.isQuiet('release manager');
  },

  /** Has asked something, and waits for what a person says. */
  async function waiting(stage) {
    if ((await stage.look('writer')).state === 'waiting_for_input') return;
    await stage.prompt('writer', 'say Here is the announcement. Shall I mention the migration as well?');
  },

  /** Does not listen at all: shown as being cancelled, then as detached. */
  async function stuck(stage) {
    const jobId = await stage.spawn('checks', { kind: 'deaf', subject: 'a check that hangs' });
    await stage.hasStarted(jobId);
    await stage.pause(SECOND);
    await stage.offstage.cancel(jobId, { reason: 'it hangs' });
    await stage.haveEnded(jobId);
  },

  async function failures(stage) {
    const jobs = [
      { subject: 'migration test', input: sh('sleep 2; echo "1 of 214 migrations failed: 0193_add_index" >&2; exit 3') },
      { subject: 'dependency audit', input: { command: 'sleep', args: ['600'] }, timeoutMs: 3 * SECOND },
      { subject: 'restore the backup', input: sh('sleep 1; echo "restored 1,204 rows"') },
    ];
    await stage.haveEnded(...(await Promise.all(jobs.map((job) => stage.spawn('checks', { kind: 'command', ...job })))));
  },

  /** Nobody has a use for them any more: one listens, one has to be killed. */
  async function cancelled(stage) {
    const scripts = {
      'follow the log': 'while :; do echo still here; sleep 0.5; done',
      'a server that ignores TERM': "trap '' TERM; while :; do sleep 0.2; done",
    };
    const ids = await Promise.all(
      Object.entries(scripts).map(([subject, script]) => stage.spawn('checks', { kind: 'command', subject, input: sh(script) })),
    );
    await stage.hasStarted(...ids);
    await stage.pause(2 * SECOND);
    await stage.offstage.cancelMany({ ids }, { reason: 'not needed any more' });
    await stage.haveEnded(...ids);
  },

  /** More output than anybody reads. */
  async function output(stage) {
    const requests = 'i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo "$i  GET /checkout  200  $((i % 97)) ms"; done';
    const input = sh(`${requests}; sleep 40; echo "3000 requests, slowest 96 ms"`);
    await stage.haveEnded(await stage.spawn('checks', { kind: 'command', subject: 'load test', input }));
  },

  /** Shows how far it is; its jobs have jobs. */
  async function progress(stage) {
    const subject = 'what is known about the pool of connections';
    await stage.haveEnded(await stage.spawn('researcher', { kind: 'research', subject, input: { steps: 10 } }));
  },

  /** A job that is an agent. */
  async function subagent(stage) {
    await stage.pause(4 * SECOND);
    const input = { prompt: 'say I read the change log.\n/slow 12s\nsay Nothing in it explains the time-outs.' };
    await stage.haveEnded(await stage.spawn('researcher', { kind: 'agent', subject: 'read the change log', input }));
  },

  /** More steps than the pool has room for. */
  async function plan(stage) {
    await stage.pause(6 * SECOND);
    const steps = ['lint', 'types', 'unit tests', 'build', 'browser tests', 'package', 'size check', 'docs', 'licences', 'sign'];
    const script = (step) => `for part in 1 2 3 4; do echo "${step}: part $part"; sleep 1.5; done; echo ok`;
    const jobs = steps.map((description) => ({ kind: 'command', description, input: sh(script(description)) }));
    await stage.offstage.plan.run(jobs, { sessionId: stage.sessions.get('pipeline'), signal: stage.signal });
  },
];

/** What the scene promises, in words: everything is on stage at once, sooner or later in each round. */
export const PROMISES = {
  'three tasks with titles': ({ tasks }) => Object.keys(CAST).every((title) => tasks.some((task) => task.title === title)),
  'a session that generates': ({ sessions }) => sessions.some(({ turn, pending }) => turn !== null && pending === null),
  'a session with background work only': ({ sessions }) =>
    sessions.some(
      (session) => session.foregroundActivity === 'background' && session.activeSubagentCount > 0 && session.turn === null,
    ),
  'a session that asks for permission': ({ sessions }) => sessions.some(({ pending }) => pending?.kind === 'permission'),
  'a session that waits for input': ({ sessions }) =>
    sessions.some(({ state, pending, turn }) => state === 'waiting_for_input' && pending === null && turn === null),
  'a queued prompt': ({ sessions }) => sessions.some(({ queuedPrompts }) => queuedPrompts > 0),
  'a plan that is larger than the pool': ({ jobs }) => {
    const plan = jobs.filter(({ parentMessageId, status }) => parentMessageId !== null && status !== 'completed');
    return plan.some(({ status }) => status === 'running') && plan.some(({ status }) => status === 'queued');
  },
  'a failure with an exit code': ({ jobs }) =>
    jobs.some(({ reasonCode, error }) => reasonCode === 'failed' && /exit code 3/.test(error.message)),
  'a failure by its time limit': ({ jobs }) => jobs.some(({ reasonCode }) => reasonCode === 'timed_out'),
  'a cancelled job': ({ jobs }) => jobs.some(({ reasonCode, detached }) => reasonCode === 'cancel.user' && !detached),
  'a stuck job': ({ jobs }) => jobs.some(({ detached, bodyLive }) => detached && bodyLive),
  progress: ({ jobs }) => jobs.some(({ status, progress }) => status === 'running' && progress !== null),
  'nested jobs': ({ jobs }) => {
    const byId = new Map(jobs.map((job) => [job.jobId, job]));
    return jobs.some(({ parentJobId }) => (byId.get(parentJobId)?.parentJobId ?? null) !== null);
  },
  'long output': ({ jobs }) => jobs.some(({ subject, status }) => subject === 'load test' && status === 'running'),
};

/** Promises that the stage does not keep at this moment. */
export async function missing(offstage) {
  const [tasks, sessions, jobs] = await Promise.all([
    offstage.tasks.list({ limit: 1_000 }),
    offstage.sessions.list({ limit: 1_000 }),
    offstage.list({ limit: 1_000 }),
  ]);
  return Object.keys(PROMISES).filter((name) => !PROMISES[name]({ tasks, sessions, jobs }));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await watchFromElsewhere();

async function watchFromElsewhere() {
  const { open } = await import('offstage');
  const named = process.env.OFFSTAGE_DATA_DIR;
  const dataDir = named || (await mkdtemp(join(tmpdir(), 'offstage-scene-')));
  const offstage = await open({ ...options, dataDir, control: true });
  const scene = playScene(offstage);
  console.log(`The scene plays until Ctrl-C. Watch it from another terminal:\n`);
  for (const verb of ['sessions list', 'tasks list', 'jobs list'])
    console.log(`  npx offstage ${verb} --watch --data-dir ${dataDir}`);
  scene.ready.then(() => console.log('\nEverything is on stage.'));
  await new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, resolve);
  });
  await scene.stop();
  await offstage.close();
  if (!named) await rm(dataDir, { recursive: true, force: true });
}
