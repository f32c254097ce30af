/**
 * BullMQ on a Redis of its own (append-only file, fsync every second), worker and queue in the process that is measured.
 *
 * BMQ1  Jobs are added one by one without awaiting each (the driver pipelines them), as `spawn` is called; never in bulk.
 * BMQ2  Finished jobs are kept (its default). An end is counted when the worker says so, which is after Redis stored it.
 * BMQ3  The processor asks for an abort signal only where a work cancels: BullMQ makes one per job only then.
 */
import { findRedisServer } from '../redis.mjs';

const load = async () => {
  const [bullmq, ioredis] = await Promise.all([import('bullmq'), import('ioredis')]);
  return { ...bullmq, Redis: ioredis.Redis };
};

export const bullmq = {
  name: 'BullMQ (Redis, AOF everysec)',
  needsRedis: true,
  async missing() {
    if (findRedisServer() === null) return 'redis-server not found';
    return load().then(
      () => null,
      (error) =>
        `${error.code === 'ERR_MODULE_NOT_FOUND' ? 'package not installed' : 'not loadable'}: ${error.message.split('\n')[0]}`,
    );
  },
  load,
  async open({ redis, queueName = 'bench', workers, noop, hold = null, onEnd }) {
    const { Queue, Worker, Redis } = await load();
    const connect = () => new Redis({ ...redis, maxRetriesPerRequest: null });
    const connections = [connect(), connect()];
    const queue = new Queue(queueName, { connection: connections[0] });
    const process =
      hold === null ? () => noop() : (job, _token, signal) => (job.name === 'hold' ? hold(() => signal, job.id) : noop());
    const worker = new Worker(queueName, process, { connection: connections[1], concurrency: workers });
    worker.on('completed', (job) => onEnd(job.id));
    worker.on('failed', (job) => onEnd(job.id));
    worker.on('error', (error) => console.error(`BullMQ worker: ${error.message}`));
    await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()]);
    return {
      submit: async (kind) => (await queue.add(kind, null)).id,
      /** A waiting job is removed (BullMQ has no cancelled state), a running one is aborted and ends as failed. */
      async cancel(jobId) {
        if (!worker.cancelJob(jobId)) await (await queue.getJob(jobId))?.remove();
      },
      get: (jobId) => queue.getJob(jobId),
      list: (limit) => queue.getJobs(['completed'], 0, limit - 1, false),
      async close() {
        await worker.close();
        await queue.close();
        for (const connection of connections) connection.disconnect();
      },
    };
  },
};
