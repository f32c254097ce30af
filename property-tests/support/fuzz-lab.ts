/**
 * A served engine in which everything ends by itself, and somebody in it who wants nothing but to be served.
 * Its end throws when an error came up that nobody caught.
 */
import { mockAgent } from '../../src/adapters/mock-agent.ts';
import type { Scope } from '../../src/doors/requests/caller-identity.ts';
import type { WireFields } from '../../src/doors/wire/rename.ts';
import { type Client, type Lab, serverLab } from '../../test/server/lab.ts';
import { echo } from '../../test/support/executors.ts';
import { strayErrors } from '../../test/support/hostile.ts';

export interface FuzzLab extends Lab {
  /** A new token: what one run uses up of its rate is not missed by the next. */
  tokenOf(scope: Scope): string;
  /** The neighbour gets a job done, and reads it. @throws where he does not */
  neighbourIsServed(): Promise<void>;
}

export async function fuzzLab(): Promise<FuzzLab> {
  const stray = strayErrors();
  const lab = await serverLab({
    executors: { agent: echo, command: echo, echo },
    agents: { default: mockAgent({ onPrompt: (prompt) => prompt.end() }).factory },
  });
  const neighbour: Client = await lab.client();
  await neighbour.ask('create_task', { task_id: 'neighbours' });
  await neighbour.ask('create_session', { session_id: 'neighbour', task_id: 'neighbours' });
  let count = 0;
  return {
    ...lab,
    tokenOf: (scope) => lab.server.issueToken(scope),
    async neighbourIsServed() {
      const input = `neighbour-${++count}`;
      const spawned = await neighbour.ask('spawn_job', { kind: 'echo', session_id: 'neighbour', input });
      const { job_id: jobId } = spawned;
      if (jobId === undefined) throw new Error(`the neighbour got ${JSON.stringify(spawned)}`);
      const answer = await neighbour.ask('await_jobs', { job_ids: [jobId as string], timeout: null });
      const [job] = (answer.tasks ?? []) as readonly WireFields[];
      if (job?.status !== 'completed' || job.result_text !== input)
        throw new Error(`the neighbour got ${JSON.stringify(answer)}`);
      // Lists would grow longer with every run.
      if (count % 20 === 0) await lab.offstage.prune({ maxJobs: 20 });
    },
    async [Symbol.asyncDispose]() {
      await lab[Symbol.asyncDispose]();
      stray[Symbol.dispose]();
      if (stray.count > 0) throw new AggregateError(stray.errors, `${stray.count} errors that nobody caught`);
    },
  };
}
