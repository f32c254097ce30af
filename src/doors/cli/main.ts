/**
 * The command line's way in: parses, calls the verb, exits as it says.
 *
 * MAI1  The process ends by itself, when the last byte is written and nothing is left to do (B63, B66); only the second Ctrl-C ends it early.
 */
import { CommanderError } from 'commander';
import { OffstageError } from '../../model/errors.ts';
import { Cli } from './cli.ts';
import { EXIT, exitCodeOfError } from './exit-codes.ts';
import { failureRecord } from './failure-line.ts';
import { buildProgram, type Chosen } from './program.ts';

async function main(argv: readonly string[]): Promise<number> {
  let chosen: Chosen | null = null;
  const isJson = asksForJson(argv.slice(2));
  try {
    await buildProgram(
      (choice) => {
        chosen = choice;
      },
      { isQuiet: isJson },
    ).parseAsync(argv);
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return EXIT.done;
    if (isJson) {
      const failure = failureRecord({ code: 'input.invalid', message: usageSentence(error), details: {} });
      process.stderr.write(`${failure}\n`);
    }
    return EXIT.usage;
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
    await cli.fail(error);
  }
  try {
    await cli.finish();
  } catch (error) {
    await cli.fail(error);
    exitCode = exitCode === EXIT.done ? EXIT.failed : exitCode;
  }
  const { failure } = cli.out;
  if (failure !== null)
    await cli.fail(new OffstageError('control.failed', `The output could not be written: ${failure.message}`, {}));
  return failure !== null && exitCode === EXIT.done ? EXIT.failed : exitCode;
}

/** Asked of words that may be none of the options: it only decides how a wrong usage is told. */
function asksForJson(words: readonly string[]): boolean {
  const end = words.indexOf('--');
  return words.slice(0, end === -1 ? words.length : end).includes('--json');
}

/** A wrong usage in one sentence; commander's own begins with a word that the record says already. */
function usageSentence({ code, message }: CommanderError): string {
  if (code === 'commander.help') return 'The verb is missing or incomplete: offstage --help shows them all.';
  return message.replace(/^error: /, '');
}

process.exitCode = await main(process.argv);
