/** p-queue: promises in memory. It keeps nothing, so its figures say what durability costs, not who is better. */
import PQueue from 'p-queue';

export const pQueue = {
  name: 'p-queue (keeps nothing)',
  missing: async () => null,
  async open({ workers, noop, onEnd }) {
    const queue = new PQueue({ concurrency: workers });
    let made = 0;
    return {
      async submit() {
        made += 1;
        const jobId = String(made);
        queue.add(noop).then(() => onEnd(jobId));
        return jobId;
      },
      close: async () => queue.clear(),
    };
  },
};
