/**
 * Load of the server: many subscribers over WebSocket, many changes of jobs per second. Build first.
 *
 *   node bench/load-server.mjs [--subscribers 1000] [--rates 500,1000,2000] [--seconds 15] [--types job_created,job_status | all]
 *     [--store memory | process | full] [--json file]
 */
import { fork } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { serve } from '../dist/doors/server/index.js';
import { memoryStore, open } from '../dist/index.js';

const { values } = parseArgs({
  options: {
    subscribers: { type: 'string', default: '1000' },
    rates: { type: 'string', default: '500,1000,2000' },
    seconds: { type: 'string', default: '15' },
    types: { type: 'string', default: 'job_created,job_status' },
    children: { type: 'string', default: '2' },
    store: { type: 'string', default: 'memory' },
    json: { type: 'string' },
  },
});
const subscribers = Number(values.subscribers);
const seconds = Number(values.seconds);
const children = Number(values.children);
const types = values.types === 'all' ? undefined : values.types.split(',');
/** Changes per job: created, queued, running, completed. */
const CHANGES_PER_JOB = 4;
const TICK_MS = 10;
/** Of each process, those that look at every frame. */
const READERS = 3;

const quantile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
const answerOf = (child, type) =>
  new Promise((resolve) => {
    const take = (message) => {
      if (message.type !== type) return;
      child.off('message', take);
      resolve(message);
    };
    child.on('message', take);
  });

async function measure(rate) {
  const dataDir = await mkdtemp(join(tmpdir(), 'offstage-load-'));
  const where = values.store === 'memory' ? { store: memoryStore() } : { dataDir, durability: values.store };
  const offstage = await open({ ...where, workers: 16, retention: null, executors: { noop: async () => null } });
  const server = await serve(offstage, { heartbeatMs: 600_000 });
  /** When each change was published. */
  const published = new Map();
  offstage.onEvent((event) => {
    if (event.type === 'job.created' || event.type === 'job.status')
      published.set(event.seq, performance.timeOrigin + performance.now());
  });
  const clients = Array.from({ length: children }, () =>
    fork(new URL('./load-client.mjs', import.meta.url), [
      JSON.stringify({
        host: server.host,
        port: server.port,
        token: server.token,
        count: subscribers / children,
        readers: READERS,
        request: { brief: true, ...(types === undefined ? {} : { types }) },
      }),
    ]),
  );
  await Promise.all(clients.map((child) => answerOf(child, 'ready')));
  globalThis.gc?.();
  const rssBefore = process.memoryUsage().rss;
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const cpuBefore = process.cpuUsage();
  const startedAt = performance.now();
  let spawned = 0;
  let refused = 0;
  let rssMost = rssBefore;
  while (performance.now() - startedAt < seconds * 1_000) {
    const due = Math.floor(((performance.now() - startedAt) / 1_000) * (rate / CHANGES_PER_JOB));
    for (; spawned < due; spawned++) {
      offstage.spawn({ kind: 'noop' }).catch(() => {
        refused += 1;
      });
    }
    rssMost = Math.max(rssMost, process.memoryUsage.rss());
    await pause(TICK_MS);
  }
  while (offstage.jobsModel.get().live.size > 0) await pause(TICK_MS);
  const tookMs = performance.now() - startedAt;
  const cpu = process.cpuUsage(cpuBefore);
  // Until everybody has everything.
  let still = 0;
  const patienceUntil = performance.now() + 60_000;
  for (let last = ''; still < 5 && performance.now() < patienceUntil; ) {
    const counts = await Promise.all(
      clients.map((child) => {
        child.send({ type: 'count' });
        return answerOf(child, 'count');
      }),
    );
    const now = JSON.stringify(counts);
    still = now === last ? still + 1 : 0;
    last = now;
    rssMost = Math.max(rssMost, process.memoryUsage.rss());
    await pause(200);
  }
  const drainedMs = performance.now() - startedAt - still * 200;
  const metrics = await (await fetch(`${server.url}metrics`, { headers: { authorization: `Bearer ${server.token}` } })).text();
  const results = await Promise.all(
    clients.map((child) => {
      child.send({ type: 'end' });
      return answerOf(child, 'result');
    }),
  );
  const { seq } = await offstage.snapshot();
  await offstage.close();
  await rm(dataDir, { recursive: true });
  const readers = results.flatMap((result) => result.readers);
  const sums = results.flatMap((result) => result.sums);
  const known = new Set(readers.map(({ is }) => is));
  const seen = results.flatMap((result) => result.seen);
  const ages = seen.map(([number, at]) => at - published.get(number)).sort((a, b) => a - b);
  const sinceChange = seen.map(([, at, changedAt]) => at - changedAt).sort((a, b) => a - b);
  return {
    rate,
    subscribers,
    changesPerSecond: Math.round(((spawned - refused) * CHANGES_PER_JOB * 1_000) / tookMs),
    framesEach: readers[0].frames,
    sameAsAReader: sums.filter((sum) => known.has(sum)).length,
    streams: new Set(sums).size,
    disorders: readers.reduce((sum, one) => sum + one.disorders, 0),
    resyncs: Number(/^offstage_resyncs_total (\d+)/m.exec(metrics)?.[1] ?? Number.NaN),
    p50: quantile(ages, 0.5),
    p90: quantile(ages, 0.9),
    p99: quantile(ages, 0.99),
    max: ages.at(-1),
    sinceChangeP50: quantile(sinceChange, 0.5),
    sinceChangeP99: quantile(sinceChange, 0.99),
    lagMs: Math.round(drainedMs - tookMs),
    serverCpu: (cpu.user + cpu.system) / 1_000 / tookMs,
    clientCpu: results.reduce((sum, one) => sum + one.cpuMs, 0) / tookMs,
    loopP99: delay.percentile(99) / 1e6,
    rssBefore: Math.round(rssBefore / 1e6),
    rssMost: Math.round(rssMost / 1e6),
    seq,
    load: loadavg()[0],
  };
}

const ms = (value) => value.toFixed(value < 10 ? 1 : 0);

const rows = [];
for (const rate of values.rates.split(',').map(Number)) {
  const row = await measure(rate);
  rows.push(row);
  console.log(
    `asked ${rate}/s: ${row.changesPerSecond} changes/s to ${subscribers}; ${row.framesEach} frames each, ${row.sameAsAReader} of ${subscribers} the same as a reader that checked ` +
      `(${row.streams} different streams, ${row.disorders} out of order, ${row.resyncs} resyncs); from publication to client ms p50 ${ms(row.p50)}, p90 ${ms(row.p90)}, p99 ${ms(row.p99)}, max ${ms(row.max)} (from the change: p50 ${ms(row.sinceChangeP50)}, p99 ${ms(row.sinceChangeP99)}); ` +
      `last one ${row.lagMs} ms after the end; CPU server ${row.serverCpu.toFixed(2)}, clients ${row.clientCpu.toFixed(2)} cores; loop p99 ${row.loopP99.toFixed(0)} ms; ` +
      `memory ${row.rssBefore} -> ${row.rssMost} MB; load average ${row.load.toFixed(1)} on ${cpus().length} cores`,
  );
}
if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(rows, null, 2));
