/**
 * A host with agents that is killed. Usage: node notice-host.mjs <dataDir> <takeLog> <number> <seed>. Says on its standard output, one line per
 * fact: `ready`, `ack <jobId> <b|f>` once a spawn was acknowledged (background, foreground), `end <jobId> <status>`, `problem <text>`.
 *
 * Its agents note every notice they take in the take log, one line per prompt (`<number> <sessionId> <jobId>=<status> …`), on the disk before they accept it.
 */
import { writeSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { mockAgent } from '../../dist/agents.js';
import { open } from '../../dist/index.js';
import { cardOf } from './card-of.mjs';
import { randomFrom } from './random.mjs';
import { takeLogOf } from './take-log.mjs';

const [dataDir, takeLog, number, seed] = process.argv.slice(2);
const SESSIONS = ['s1', 's2', 's3'];
const MOST_OPEN = 24;
const MOST_UNTOLD = 60;

function say(line) {
  for (let rest = Buffer.from(`${line}\n`); rest.length > 0; ) {
    try {
      rest = rest.subarray(writeSync(1, rest));
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
    }
  }
}

const random = randomFrom(Number(seed));
const pause = async () => {
  for (let turns = random.below(6); turns > 0; turns -= 1) await turn();
};

const log = takeLogOf(takeLog, number);
/** Ended in this life, and not told yet. */
let untold = 0;
const { factory } = mockAgent({
  acceptAtOnce: false,
  async onPrompt(prompt, agent) {
    await pause();
    // One that goes without having taken what it was told.
    if (random.next() < 0.02) return agent.crash();
    untold -= log.take(agent.context.sessionId, prompt.content);
    await pause();
    prompt.accept();
    await pause();
    prompt.end();
  },
});

const executors = {
  noop: async (job) => job.input,
  slow: async (_, { signal, partial }) => {
    partial('half of it');
    for (let turns = random.below(40); turns > 0 && !signal.aborted; turns -= 1) await turn();
    signal.throwIfAborted();
    return 'slow';
  },
  failing: async () => {
    throw new Error('as it should');
  },
};

const offstage = await open({ dataDir, workers: 8, executors, agents: { default: factory } });

/** G4, from inside of an event: both are answered as of this very tick. */
async function compare(jobId) {
  const [job, card] = await Promise.all([offstage.get(jobId), offstage.cards.get(`card_${jobId}`)]).catch((error) => {
    // Pruned by now; its card is not.
    if (error.code !== 'job.expired') say(`problem ${jobId}: ${error.message}`);
    return [null, null];
  });
  if (job !== null && !isDeepStrictEqual(card, cardOf(job)))
    say(`problem ${jobId} is ${job.status}, its card ${JSON.stringify(card)}`);
}

async function compareAll() {
  const cards = new Map();
  for (const sessionId of SESSIONS) {
    for (let before; ; ) {
      const page = await offstage.cards.list({ sessionId, limit: 1_000, ...(before === undefined ? {} : { before }) });
      for (const card of page) {
        if (card.sessionId !== sessionId || cards.has(card.cardId)) say(`problem ${card.cardId} is listed in ${sessionId}`);
        if (card.attach.status === 'running') say(`problem ${card.cardId} is running after a start`);
        cards.set(card.cardId, card);
      }
      before = page.at(-1)?.cardId;
      if (page.length < 1_000) break;
    }
  }
  for (const job of await offstage.list({ limit: 1_000 })) {
    if (!isDeepStrictEqual(cards.get(job.cardId), cardOf(job))) say(`problem ${job.jobId} and its card disagree after a start`);
  }
}

for (const sessionId of SESSIONS) {
  // The first life makes them; in which task they are is the same to all.
  await offstage.tasks.create({ taskId: 't' }).catch(() => {});
  await offstage.sessions.create({ sessionId, taskId: 't' }).catch(() => {});
}
await compareAll();
offstage.onEvent((event) => {
  if (event.type === 'card.updated' || event.type === 'job.status') void compare(event.jobId);
});
say('ready');

async function follow(spawned, isBackground) {
  const { jobId } = await spawned;
  say(`ack ${jobId} ${isBackground ? 'b' : 'f'}`);
  const { status } = await offstage.wait(jobId, { timeoutMs: null });
  say(`end ${jobId} ${status}`);
  if (isBackground) untold += 1;
}

let working = 0;
for (let count = 0; ; count += 1) {
  while (working >= MOST_OPEN || untold >= MOST_UNTOLD) await turn();
  working += 1;
  const kind = random.pick(['noop', 'noop', 'slow', 'slow', 'failing']);
  const jobId = `${kind}-${number}-${count}`;
  const isBackground = random.next() < 0.85;
  const sessionId = random.pick(SESSIONS);
  const caller = random.next() < 0.3 ? { callerSessionId: random.pick(SESSIONS) } : {};
  const input = 'x'.repeat(random.below(3_000));
  const spawned = offstage.spawn({ kind, jobId, sessionId, ...caller, subject: kind, input, wait: !isBackground });
  if (random.next() < 0.1) void spawned.then(() => offstage.cancel(jobId));
  if (random.next() < 0.05)
    offstage.spawn({ kind: 'noop', jobId: `refused-${number}-${count}`, parentJobId: 'nobody' }).catch(() => {});
  if (random.next() < 0.05) offstage.sessions.prompt(sessionId, { content: 'a person', whenBusy: 'queue' }).catch(() => {});
  if (random.next() < 0.01) void offstage.prune({ maxJobs: 40 });
  void follow(spawned, isBackground).then(() => {
    working -= 1;
  });
  if (random.next() < 0.3) await turn();
}
