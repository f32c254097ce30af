/**
 * Offstage as a subject: the built package, public API only, default configuration (events, history and cards are on).
 *
 * OFF1  `retention: null` in every work: pruning would make later rounds cheaper to read and dearer to write.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { watches } from './watches.mjs';

const built = new URL('../dist/index.js', import.meta.url);
const load = () => import(built.href);
const TERMINAL = new Set(['completed', 'cancelled', 'errored']);

const subject = (name, durability) => ({
  name,
  isOurs: true,
  missing: async () => (existsSync(fileURLToPath(built)) ? null : 'not built (npm run build)'),
  load,
  async open({ dataDir, workers, noop, hold = null, onEnd, watch = null }) {
    const { open } = await load();
    const executors = { noop: () => noop() };
    if (hold !== null) executors.hold = (job, context) => hold(() => context.signal, job.jobId);
    const engine = await open({ dataDir, workers, executors, durability, retention: null });
    engine.onEvent((event) => {
      if (event.type === 'job.status' && TERMINAL.has(event.status)) onEnd(event.jobId);
    });
    const unwatch = watch === null ? null : await watches[watch](engine);
    return {
      submit: async (kind) => (await engine.spawn({ kind, input: null })).jobId,
      end: (jobId) => engine.wait(jobId, { timeoutMs: null }),
      hasUnfinished: async () => (await engine.list({ status: ['pending', 'queued', 'running'], limit: 1 })).length > 0,
      cancel: (jobId) => engine.cancel(jobId),
      get: (jobId) => engine.get(jobId),
      list: (limit) => engine.list({ limit }),
      async close() {
        await unwatch?.();
        await engine.close();
      },
    };
  },
  /** For works that only we can do. */
  openEngine: async (options) => (await load()).open({ durability, retention: null, ...options }),
});

export const offstageFull = subject("offstage, durability 'full'", 'full');
export const offstageProcess = subject("offstage, durability 'process'", 'process');
