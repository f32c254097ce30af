/**
 * The command line's way in: parses, calls the verb, exits as it says.
 *
 * MAI1  The process ends by itself, when the last byte is written and nothing is left to do (B63, B66); only the second Ctrl-C ends it early.
 */
import { CommanderError } from 'commander';
import { isOffstageError } from '../../model/errors.ts';
import { Cli } from './cli.ts';
import { EXIT, exitCodeOfError } from './exit-codes.ts';
import { buildProgram, type Chosen } from './program.ts';

async function main(argv: readonly string[]): Promise<number> {
  let chosen: Chosen | null = null;
  try {
    await buildProgram((choice) => {
      chosen = choice;
    }).parseAsync(argv);
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  }
  if (chosen === null) return EXIT.usage;
  return perform(chosen);
}

async function perform({ options, verb, goesOnWithoutReader }: Chosen): Promise<number> {
  const cli = new Cli(options);
  cli.interrupts.install();
  let exitCode: number;
  try {
    const work = verb(cli);
    // Whoever loses the race is not listened to any more.
    work.catch(() => {});
    const interrupted = cli.interrupts.unhandled.then(() => EXIT.cancelled);
    const readerGone = cli.out.gone.then(() => EXIT.done);
    exitCode = await Promise.race(goesOnWithoutReader ? [work, interrupted] : [work, interrupted, readerGone]);
  } catch (error) {
    exitCode = exitCodeOfError(error);
    await cli.note(messageOf(error));
  }
  try {
    await cli.finish();
  } catch (error) {
    await cli.note(messageOf(error));
    exitCode = exitCode === EXIT.done ? EXIT.failed : exitCode;
  }
  const { failure } = cli.out;
  if (failure !== null) await cli.note(`The output could not be written: ${failure.message}`);
  return failure !== null && exitCode === EXIT.done ? EXIT.failed : exitCode;
}

function messageOf(error: unknown): string {
  if (isOffstageError(error)) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

process.exitCode = await main(process.argv);
