/**
 * One request that may take as long as what it ends, such as a stop.
 *
 * LRQ1  The first Ctrl-C leaves at once; what was asked for goes on without this terminal, and that is said.
 */
import type { WireClient } from '../client/wire-client.ts';
import type { Cli } from './cli.ts';
import { ProgressLine } from './progress-line.ts';
import { durationInWords } from './words.ts';

export interface LongRequest<Answer> {
  readonly ask: (client: WireClient) => Promise<Answer>;
  /** What it is, as a noun: "stop". */
  readonly what: string;
  /** What goes on meanwhile: "stopping". */
  readonly doing: string;
}

/** The answer; null when the wait for it was interrupted. */
export async function askForLong<Answer>(cli: Cli, { ask, what, doing }: LongRequest<Answer>): Promise<Answer | null> {
  const { interrupts } = cli;
  let isAsked = false;
  const begunAt = Date.now();
  const progress = new ProgressLine(cli.err, () => `${doing} for ${durationInWords(Date.now() - begunAt)}`);
  const left = new Promise<null>((leave) => {
    interrupts.ask(() => {
      progress.stop();
      if (!cli.isJson) {
        void cli.note(isAsked ? `the ${what} goes on without this terminal.` : `interrupted before the ${what} was asked for.`);
      }
      leave(null);
    });
  });
  try {
    const answer = cli.persist(({ client }) => {
      isAsked = true;
      return ask(client);
    });
    return await Promise.race([answer, left]);
  } finally {
    progress.stop();
    interrupts.ask(null);
  }
}
