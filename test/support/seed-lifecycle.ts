/** What the scenarios of seed 000 speak of: sub-agents that talk in chunks, transitions, cards. */
import type { Offstage } from '../../src/engine/offstage.ts';
import { type Card, cardIdOf } from '../../src/model/cards.ts';
import type { Executor, JobContext, JobOf } from '../../src/model/executor.ts';
import type { TestEngine } from './test-engine.ts';

/** The steps of the job's state machine that its history tells, in order: `pending → queued`. */
export async function transitionsOf(offstage: Offstage, jobId: string): Promise<readonly string[]> {
  const history = await offstage.history(jobId);
  return history.flatMap(({ type, from, to }) => (type === 'transition' ? [`${from ?? '-'} → ${to}`] : []));
}

export const cardOf = (offstage: Offstage, jobId: string): Promise<Card> => offstage.cards.get(cardIdOf(jobId));

/** A run of a loop over chunks of a model's stream. */
export interface ChunkLoop {
  readonly job: JobOf;
  readonly context: JobContext;
  /** The stream gives one more chunk. */
  chunk(text: string): void;
  /** The stream ends, and the loop returns all it has said. */
  end(): void;
  /** The loop took the chunks up to here. */
  readonly said: string;
}

export interface ChunkAgent extends Executor {
  /** In the order of their starts. */
  readonly loops: readonly ChunkLoop[];
}

/** Sub-agents whose model streams what the test says. They look at their signal between two chunks, and keep what they have said so far. */
export function chunkAgent(): ChunkAgent {
  const loops: ChunkLoop[] = [];
  return {
    loops,
    capabilities: { abortable: true, killable: false, workload: 'subagent', strictStart: false },
    async run(job, context) {
      const chunks: (string | null)[] = [];
      let wake = (): void => {};
      let said = '';
      const push = (chunk: string | null): void => {
        chunks.push(chunk);
        wake();
      };
      loops.push({
        job,
        context,
        chunk: push,
        end: () => push(null),
        get said() {
          return said;
        },
      });
      context.signal.addEventListener('abort', () => wake(), { once: true });
      for (;;) {
        context.signal.throwIfAborted();
        const chunk = chunks.shift();
        if (chunk === null) return said;
        if (chunk === undefined) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
          continue;
        }
        said += chunk;
        context.partial(said);
      }
    },
  };
}

/** The job_status events of one job, as `status`, and `running (cancel requested)`. */
export const statusEvents = ({ events }: TestEngine, jobId: string): readonly string[] =>
  events.flatMap((event) =>
    event.type === 'job.status' && event.jobId === jobId
      ? [event.status === 'running' && event.cancelRequestedAt !== null ? 'running (cancel requested)' : event.status]
      : [],
  );
