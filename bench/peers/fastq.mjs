/** fastq: a callback queue in memory. It keeps nothing, so its figures say what durability costs, not who is better. */
import fastq from 'fastq';

export const fastQueue = {
  name: 'fastq (keeps nothing)',
  missing: async () => null,
  async open({ workers, noop, onEnd }) {
    const queue = fastq.promise(noop, workers);
    let made = 0;
    return {
      async submit() {
        made += 1;
        const jobId = String(made);
        queue.push(jobId).then(() => onEnd(jobId));
        return jobId;
      },
      close: async () => queue.kill(),
    };
  },
};
