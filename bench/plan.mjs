/**
 * What is measured, of whom, and what is to be reached. One entry per benchmark:
 * `measure(lab, key, round)` answers one flat object of figures; a target compares ours with a peer's in the same round (`ours / peer`),
 * or is absolute where it names no peer.
 */

const OURS = 'offstage';
const AT_PROCESS = 'offstage-process';
const WORKERS = 4;

export const SIZES = {
  full: {
    rounds: 5,
    warmUp: 500,
    jobs: 10_000,
    latencyJobs: 300,
    held: 100,
    unfinished: 1_000,
    small: { warmUp: 0, waves: 1, waveJobs: 1_000 },
    large: { warmUp: 5_000, waves: 10, waveJobs: 10_000 },
    live: [100, 10_000],
    queued: [1_000, 99_000],
    probes: 500,
    memoryJobs: { finished: 40_000, live: 5_000, queued: 20_000 },
    sessions: { few: 1_000, many: 10_000, frames: 1_000_000 },
  },
  quick: {
    rounds: 2,
    warmUp: 500,
    jobs: 3_000,
    latencyJobs: 100,
    held: 100,
    unfinished: 300,
    small: { warmUp: 0, waves: 1, waveJobs: 500 },
    large: { warmUp: 2_000, waves: 5, waveJobs: 2_000 },
    live: [100, 2_000],
    queued: [1_000, 10_000],
    probes: 300,
    memoryJobs: { finished: 10_000, live: 2_000, queued: 5_000 },
    sessions: { few: 200, many: 2_000, frames: 200_000 },
  },
};

const count = (number) => number.toLocaleString('en-US');
const total = ({ waves, waveJobs }) => waves * waveJobs;
const GC = { execArgv: ['--expose-gc'] };

async function measureRecovery(lab, key, size) {
  const { place } = await lab.stored(key, size);
  const held = await lab.crash(key, { ...place, workers: WORKERS, unfinished: lab.sizes.unfinished });
  const raw = place.redis === undefined ? await lab.run('openRaw', key, place) : { rawOpenMs: null };
  const { openMs, totalMs } = await lab.run('recover', key, { ...place, workers: WORKERS, ...held });
  return { openMs, totalMs, rawOpenMs: raw.rawOpenMs, ownMs: raw.rawOpenMs === null ? null : openMs - raw.rawOpenMs };
}

async function measureReads(lab, key, size) {
  const { place, filled } = await lab.stored(key, size);
  return lab.run('read', key, { ...place, workers: WORKERS, ids: filled.ids, gets: 200, lists: 50 });
}

const measureThroughput = async (lab, key, more = {}) => {
  const { warmUp, jobs } = lab.sizes;
  return lab.run('throughput', key, { ...(await lab.place(key)), workers: WORKERS, warmUp, jobs, ...more });
};

export const PLAN = [
  {
    id: 'H1',
    title: (sizes) =>
      `throughput: ${sizes.warmUp} warm-up + ${count(sizes.jobs)} no-op jobs, ${WORKERS} workers, until all ended and stored`,
    subjects: [OURS, AT_PROCESS, 'bullmq', 'floor', 'floor-sync', 'p-queue', 'fastq'],
    measure: (lab, key) => measureThroughput(lab, key),
    figures: [
      { key: 'jobsPerSecond', head: 'jobs/s' },
      { key: 'cpuUsPerJob', head: 'CPU of this process, µs/job' },
    ],
    targets: [
      { text: 'BullMQ', figure: 'jobsPerSecond', peer: 'bullmq', atLeast: 1.7, aim: 2.5 },
      { text: 'the floor without fsync', figure: 'jobsPerSecond', peer: 'floor', atLeast: 0.85, aim: 1.1 },
      { text: 'the floor with fsync', figure: 'jobsPerSecond', peer: 'floor-sync' },
      { text: 'the floor without fsync', figure: 'jobsPerSecond', ours: AT_PROCESS, peer: 'floor' },
    ],
  },
  {
    id: 'H2',
    title: (sizes) => `latency: 30 + ${sizes.latencyJobs} jobs, one at a time, from submission to stored end`,
    subjects: [OURS, AT_PROCESS, 'bullmq', 'floor', 'floor-sync', 'p-queue', 'fastq'],
    measure: async (lab, key) =>
      lab.run('latency', key, { ...(await lab.place(key)), workers: WORKERS, warmUp: 30, jobs: lab.sizes.latencyJobs }),
    figures: [
      { key: 'p50Ms', head: 'p50 ms', digits: 3 },
      { key: 'p95Ms', head: 'p95 ms', digits: 3 },
    ],
    targets: [
      { text: 'BullMQ, p50', figure: 'p50Ms', peer: 'bullmq', atMost: 0.6, aim: 0.35 },
      { text: 'BullMQ, p50', figure: 'p50Ms', ours: AT_PROCESS, peer: 'bullmq' },
      { text: 'the floor with fsync, p50', figure: 'p50Ms', peer: 'floor-sync' },
    ],
  },
  {
    id: 'H3',
    title: (sizes) =>
      `cancel: 30 warm-up + ${sizes.held} running jobs, one by one, from the call to the stored end; then as many in one turn`,
    subjects: [OURS, AT_PROCESS, 'bullmq'],
    measure: async (lab, key) => lab.run('cancel', key, { ...(await lab.place(key)), warmUp: 30, held: lab.sizes.held }),
    figures: [
      { key: 'p50Ms', head: 'p50 ms', digits: 3 },
      { key: 'p95Ms', head: 'p95 ms', digits: 3 },
      { key: 'burstMs', head: 'all in one turn, ms', digits: 1 },
    ],
    targets: [
      { text: 'BullMQ, p50', figure: 'p50Ms', peer: 'bullmq', atMost: 1.5, aim: 1 },
      { text: 'BullMQ, p50', figure: 'p50Ms', ours: AT_PROCESS, peer: 'bullmq', atMost: 1 },
    ],
  },
  {
    id: 'H4',
    title: (sizes) =>
      `recover: ${count(total(sizes.large))} finished, ${count(sizes.unfinished)} unfinished, host killed; a new process opens and settles`,
    subjects: [OURS, 'bullmq'],
    async measure(lab, key) {
      const large = await measureRecovery(lab, key, 'large');
      if (key !== OURS) return large;
      const small = await measureRecovery(lab, key, 'small');
      return { ...large, smallOwnMs: small.ownMs, ownGrowth: large.ownMs / small.ownMs };
    },
    figures: [
      { key: 'totalMs', head: 'open + settle, ms', digits: 1 },
      { key: 'openMs', head: 'open, ms', digits: 1 },
      { key: 'rawOpenMs', head: 'of it LevelDB alone', digits: 1 },
      { key: 'ownMs', head: 'ours', digits: 1 },
      { key: 'smallOwnMs', head: 'ours, few finished', digits: 1 },
    ],
    targets: [
      { text: 'BullMQ, open + settle', figure: 'totalMs', peer: 'bullmq', atMost: 0.4, aim: 0.15 },
      { text: 'our part of open, many finished against few', figure: 'ownGrowth', atMost: 1.5, aim: 1.1 },
    ],
  },
  {
    id: 'H5',
    title: (sizes) =>
      `read: get x200 and list(50 newest) x50, at ${count(total(sizes.small))} and at ${count(total(sizes.large))} stored`,
    subjects: [OURS, 'bullmq'],
    async measure(lab, key) {
      const small = await measureReads(lab, key, 'small');
      const large = await measureReads(lab, key, 'large');
      const growth = Math.max(large.getUs / small.getUs, large.listUs / small.listUs);
      return { ...large, smallGetUs: small.getUs, smallListUs: small.listUs, growth };
    },
    figures: [
      { key: 'smallGetUs', head: 'get, few: p50 µs' },
      { key: 'getUs', head: 'get, many: p50 µs' },
      { key: 'smallListUs', head: 'list, few: p50 µs' },
      { key: 'listUs', head: 'list, many: p50 µs' },
    ],
    targets: [
      { text: 'BullMQ, get', figure: 'getUs', peer: 'bullmq', atMost: 0.7 },
      { text: 'BullMQ, list', figure: 'listUs', peer: 'bullmq', atMost: 0.2 },
      { text: 'many stored against few, the worse of get and list', figure: 'growth', atMost: 2 },
    ],
  },
  {
    id: 'H6',
    rounds: 1,
    title: (sizes) =>
      `flat: ${sizes.large.waves} waves of ${count(sizes.large.waveJobs)}; cost beside ${sizes.live.map(count).join(' and ')} live jobs, beside ${sizes.queued.map(count).join(' and ')} queued`,
    subjects: [OURS, 'bullmq'],
    async measure(lab, key) {
      const { filled } = await lab.stored(key, 'large');
      const { medianRate, slowestShare, rates } = filled;
      const figures = { medianRate, slowestShare, rates };
      if (key !== OURS) return figures;
      const params = { probes: lab.sizes.probes, workers: WORKERS };
      const live = await lab.run('besideLive', key, { ...params, ...(await lab.place(key)), levels: lab.sizes.live });
      const queued = await lab.run('besideQueued', key, { ...params, ...(await lab.place(key)), levels: lab.sizes.queued });
      return {
        ...figures,
        ...flatCosts('live', live),
        ...flatCosts('queued', queued),
        liveGrowth: live.growth,
        queuedGrowth: queued.growth,
      };
    },
    figures: [
      { key: 'medianRate', head: 'median wave, jobs/s' },
      { key: 'slowestShare', head: 'slowest / median', digits: 2 },
      { key: 'liveCosts', head: 'spawn+start / cancel / end, µs: few live → many' },
      { key: 'queuedCosts', head: 'spawn / cancel / end, µs: few queued → many' },
    ],
    targets: [
      { text: 'slowest wave against the median', figure: 'slowestShare', atLeast: 0.7 },
      { text: 'the worst of spawn, cancel, end: many live against few', figure: 'liveGrowth', atMost: 1.5 },
      { text: 'the worst of spawn, cancel, end: many queued against few', figure: 'queuedGrowth', atMost: 1.5 },
    ],
  },
  {
    id: 'H7',
    rounds: 1,
    title: ({ memoryJobs: { finished, live, queued } }) =>
      `memory: heap per job after collection; ${count(finished)} finished, ${count(live)} live, ${count(queued)} queued`,
    subjects: [OURS],
    async measure(lab, key) {
      const { finished, live, queued } = lab.sizes.memoryJobs;
      const run = async (work, params) => lab.run(work, key, { ...(await lab.place(key)), ...params }, GC);
      const ended = await run('finishedMemory', { warmUp: 5_000, jobs: finished, workers: WORKERS });
      const lively = await run('heldMemory', { warmUp: 500, jobs: live, isQueued: false });
      const waiting = await run('heldMemory', { warmUp: 500, jobs: queued, isQueued: true });
      return {
        finishedBytes: ended.bytesPerJob,
        liveBytes: lively.bytesPerJob,
        queuedBytes: waiting.bytesPerJob,
        bodyBytes: lively.ownBytes,
      };
    },
    figures: [
      { key: 'finishedBytes', head: 'B per finished job' },
      { key: 'liveBytes', head: 'B per live job' },
      { key: 'bodyBytes', head: '(its body, taken off)' },
      { key: 'queuedBytes', head: 'B per queued job' },
    ],
    targets: [
      { text: 'bytes per finished job', figure: 'finishedBytes', atMost: 200 },
      { text: 'bytes per live job', figure: 'liveBytes', atMost: 4_000, aim: 2_500 },
      { text: 'bytes per queued job', figure: 'queuedBytes', atMost: 1_000 },
    ],
  },
  {
    id: 'H8',
    title: (sizes) =>
      `responsive: delay of the event loop during H1; cancel of a running job while ${count(sizes.jobs)} no-op jobs go through`,
    subjects: [OURS, 'bullmq', 'floor'],
    async measure(lab, key, round) {
      const { loopP50Ms, loopP99Ms, loopMaxMs } = round?.H1?.[key] ?? (await measureThroughput(lab, key));
      const loop = { loopP50Ms, loopP99Ms, loopMaxMs };
      if (key === 'floor') return loop;
      const { held, jobs } = lab.sizes;
      const cancelled = await lab.run('cancelUnderLoad', key, { ...(await lab.place(key)), workers: WORKERS, held, jobs });
      return { ...loop, cancels: cancelled.cancels, cancelP50Ms: cancelled.p50Ms, cancelP99Ms: cancelled.p99Ms };
    },
    figures: [
      { key: 'loopP50Ms', head: 'loop p50 ms', digits: 1 },
      { key: 'loopP99Ms', head: 'loop p99 ms', digits: 1 },
      { key: 'loopMaxMs', head: 'loop max ms', digits: 1 },
      { key: 'cancelP50Ms', head: 'cancel p50 ms', digits: 1 },
      { key: 'cancelP99Ms', head: 'cancel p99 ms', digits: 1 },
      { key: 'cancels', head: 'cancels' },
    ],
    targets: [
      { text: 'loop delay, p99 ms', figure: 'loopP99Ms', atMost: 20 },
      { text: 'loop delay, max ms', figure: 'loopMaxMs', atMost: 50 },
    ],
  },
  {
    id: 'H9',
    title: (sizes) =>
      `watched: H1 (${count(sizes.jobs)} jobs) unwatched, then with 100 event subscribers, after an inspector, with one`,
    subjects: [OURS],
    async measure(lab, key) {
      const rates = [];
      const cpus = [];
      // Unwatched before and after: the machine may change its mind meanwhile.
      for (const watch of [null, 'subscribers', 'left', 'inspector', null]) {
        const { jobsPerSecond, cpuUsPerJob } = await measureThroughput(lab, key, { watch });
        rates.push(jobsPerSecond);
        cpus.push(cpuUsPerJob);
      }
      const [before, subscribed, off, on, after] = rates;
      const plain = (before + after) / 2;
      const shares = { subscribedShare: subscribed / plain, offShare: off / plain, onShare: on / plain };
      const plainCpu = (cpus[0] + cpus[4]) / 2;
      return { plain, subscribed, off, on, ...shares, plainCpu, subscribedCpu: cpus[1], offCpu: cpus[2], onCpu: cpus[3] };
    },
    figures: [
      { key: 'plain', head: 'jobs/s, unwatched' },
      { key: 'subscribed', head: '100 subscribers' },
      { key: 'off', head: 'inspector gone' },
      { key: 'on', head: 'inspector connected' },
      { key: 'plainCpu', head: 'CPU µs/job, unwatched' },
      { key: 'subscribedCpu', head: 'subscribers' },
      { key: 'offCpu', head: 'gone' },
      { key: 'onCpu', head: 'connected' },
    ],
    targets: [
      { text: '100 subscribers against none', figure: 'subscribedShare', atLeast: 0.85 },
      { text: 'an inspector that has gone against none', figure: 'offShare', atLeast: 0.95 },
      { text: 'an inspector that is connected against none', figure: 'onShare', atLeast: 0.7 },
    ],
  },
  {
    id: 'H10',
    rounds: 1,
    title: ({ sessions: { few, many, frames } }) =>
      `sessions: ${count(frames)} frames of agents over ${count(many)} sessions beside the same over ${count(few)}; heap per session`,
    subjects: [OURS],
    async measure(lab, key) {
      const { few, many, frames } = lab.sizes.sessions;
      const cost = async (perTask, isObserved, share) =>
        lab.run('frameCost', key, { ...(await lab.place(key)), few, many, perTask, isObserved, frames: frames / share });
      const main = await cost(10, false, 1);
      const observed = await cost(10, true, 4);
      const alone = await cost(1, false, 4);
      const memory = await lab.run('sessionMemory', key, { ...(await lab.place(key)), sessions: many, perTask: 10 }, GC);
      return { ...main, ...memory, observedUs: observed.manyUs, aloneUs: alone.manyUs };
    },
    figures: [
      { key: 'fewUs', head: 'CPU µs/frame, few', digits: 1 },
      { key: 'manyUs', head: 'many', digits: 1 },
      { key: 'observedUs', head: 'with an observer', digits: 1 },
      { key: 'aloneUs', head: 'one per task', digits: 1 },
      { key: 'madeBytes', head: 'B/session: made' },
      { key: 'idleBytes', head: 'agent idle' },
      { key: 'runningBytes', head: 'in a turn' },
      { key: 'workingBytes', head: 'with a subagent' },
    ],
    targets: [
      { text: 'CPU µs per frame, many', figure: 'manyUs', atMost: 20 },
      { text: 'the same with an observer', figure: 'observedUs', atMost: 20 },
      { text: 'the same with one session per task', figure: 'aloneUs', atMost: 20 },
      { text: 'many sessions against few', figure: 'growth', atMost: 1.5 },
      { text: 'the last tenth against the first', figure: 'drift', atMost: 1.2 },
      { text: 'bytes per session whose agent is idle', figure: 'idleBytes', atMost: 4_000 },
    ],
  },
];

const flatCosts = (name, { few, many }) => {
  const text = ['spawnUs', 'cancelUs', 'endUs'].map((key) => `${few[key].toFixed(0)} → ${many[key].toFixed(0)}`).join(' / ');
  return { [`${name}Costs`]: text };
};
