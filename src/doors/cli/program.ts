/**
 * The verbs of the command line, their arguments and options (spec 15).
 */
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import type { Cli, CommonOptions } from './cli.ts';
import { type DoctorOptions, doctor } from './doctor.ts';
import { type InspectOptions, inspect } from './inspect.ts';
import { type CancelOptions, jobsCancel, jobsGet, jobsHistory, jobsOutput, type OutputOptions } from './job-verbs.ts';
import { type JobsListOptions, jobsList } from './jobs-list.ts';
import { jobsTail, type TailOptions } from './jobs-tail.ts';
import { jobsWait, type WaitOptions } from './jobs-wait.ts';
import { type RowsOptions, rowsGet, rowsList, SESSIONS, TASKS } from './rows.ts';
import { type ConfirmVerbOptions, rowsRemove, rowsStop, type StopVerbOptions, tasksArchive } from './rows-stop.ts';
import { type RunOptions, run } from './run.ts';
import { type ServeVerbOptions, serve } from './serve.ts';
import { sessionsInterrupt } from './sessions-interrupt.ts';
import { type SessionPromptOptions, sessionsPrompt } from './sessions-prompt.ts';
import { printableLines } from './terminal.ts';

/** A verb that was asked for: to be called once everything is parsed. */
export interface Chosen {
  readonly options: CommonOptions;
  readonly verb: (cli: Cli) => Promise<number>;
  /** What it does matters, also if nobody reads what it says. */
  readonly goesOnWithoutReader: boolean;
}

const ACTING: readonly string[] = ['run', 'wait', 'cancel', 'doctor', 'prompt', 'interrupt', 'stop', 'rm', 'archive', 'serve'];

const version = (): string => {
  const file = new URL('../../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
};

/** What is wrong with the words names them, and they may hold anything. */
const writeUsage = (text: string): void => void process.stderr.write(printableLines(text));

/**
 * @param choose is told which verb it is
 * @param options.isQuiet whoever parses says what is wrong, rather than the parser
 */
export function buildProgram(choose: (chosen: Chosen) => void, options: { readonly isQuiet: boolean }): Command {
  const program = withCommonOptions(new Command('offstage'))
    .configureOutput({ writeErr: options.isQuiet ? () => {} : writeUsage })
    .description(
      'Durable background jobs: run commands as jobs; see, await, cancel and explain them; serve them with a dashboard.',
    )
    .version(version())
    .enablePositionalOptions()
    .showSuggestionAfterError()
    .addHelpText(
      'after',
      `\nExit codes of run and jobs wait: 0 completed, 1 failed, 130 cancelled, 3 timed out. Of all verbs: 1 failed,
2 wrong usage or unknown id, 4 the store is locked or damaged.
Data: --data-dir, else OFFSTAGE_DATA_DIR, else ./.offstage`,
    );
  const verb = <Options extends CommonOptions>(
    parent: Command,
    nameAndArguments: string,
    description: string,
    work: (cli: Cli, options: Options, ...args: never[]) => Promise<number>,
  ): Command =>
    withCommonOptions(parent.command(nameAndArguments))
      .description(description)
      .action((...parsed: unknown[]) => {
        const command = parsed.at(-1) as Command;
        const options = command.optsWithGlobals() as Options;
        const args = parsed.slice(0, -2) as never[];
        const goesOnWithoutReader = ACTING.includes(command.name());
        choose({ options, verb: (cli) => work(cli, options, ...args), goesOnWithoutReader });
      });

  verb(
    program,
    'run <command...>',
    'run a command as a job, show its output, exit as it ends',
    (cli, options: RunOptions & CommonOptions, command: readonly string[]) => run(cli, command, options),
  )
    .usage('[options] -- <command...>')
    .passThroughOptions()
    .option('--subject <text>', 'what it is, in one line; default: the command')
    .option('--session <id>', 'the session it runs on; default: the built-in one')
    .option('--timeout <duration>', 'end it after so long: 500ms, 30s, 5m, 1h30m; a plain number is seconds')
    .option('--cwd <folder>', 'where it runs; default: here')
    .option('--stdin', 'read standard input to its end, and hand it to the command')
    .addHelpText(
      'after',
      '\nThe first Ctrl-C cancels the job, the second kills it. The command gets a minimal environment: no secrets of this one.',
    );

  const jobs = program.command('jobs').description('look at jobs, await and cancel them');
  verb(jobs, 'list', 'newest first', (cli, options: JobsListOptions & CommonOptions) => jobsList(cli, options))
    .option('--status <status...>', 'only jobs in these states')
    .option('--session <id>', 'only jobs that run on this session')
    .option('--task <id>', 'only jobs of this task')
    .option('--parent <id>', 'only jobs that this job has started')
    .option('--kind <kind>', 'only jobs of this kind')
    .option('--limit <number>', 'how many (default: 50)')
    .option('--all', 'all of them')
    .option('--watch', 'follow what happens');
  verb(jobs, 'get <id>', 'everything about one job', (cli, _: CommonOptions, id: string) => jobsGet(cli, id));
  verb(jobs, 'output <id>', 'what it has printed', (cli, options: OutputOptions & CommonOptions, id: string) =>
    jobsOutput(cli, id, options),
  ).option('--tail <lines>', 'only the last lines');
  verb(
    jobs,
    'wait <ids...>',
    'until they have ended; exits as they did',
    (cli, options: WaitOptions & CommonOptions, ids: readonly string[]) => jobsWait(cli, ids, options),
  ).option('--timeout <duration>', 'give up after so long: 500ms, 30s, 5m; a plain number is seconds');
  verb(
    jobs,
    'cancel <ids...>',
    'end them, and all that they have started',
    (cli, options: CancelOptions & CommonOptions, ids: readonly string[]) => jobsCancel(cli, ids, options),
  ).option('--reason <text>', 'kept in the record');
  verb(jobs, 'history <id>', 'why it is where it is', (cli, _: CommonOptions, id: string) => jobsHistory(cli, id));
  verb(
    jobs,
    'tail [id]',
    'what it prints, as it prints it; without an id, what happens to all',
    (cli, options: TailOptions & CommonOptions, id?: string) => jobsTail(cli, id, options),
  ).option('--lines <number>', 'how many earlier lines to begin with (default: 10)');

  const sessions = program.command('sessions').description('look at sessions, ask their agents, stop and remove them');
  const tasks = program.command('tasks').description('look at tasks, stop, archive and remove them');
  for (const [rows, kind] of [
    [sessions, SESSIONS],
    [tasks, TASKS],
  ] as const) {
    const list = verb(rows, 'list', 'newest first', (cli, options: RowsOptions & CommonOptions) =>
      rowsList<never>(cli, kind as never, options),
    )
      .option('--limit <number>', 'how many (default: 50)')
      .option('--watch', 'follow what happens');
    if (kind === TASKS) list.option('--archived', 'archived ones as well');
    verb(rows, 'get <id>', 'everything about one', (cli, _: CommonOptions, id: string) => rowsGet<never>(cli, kind as never, id));
    verb(
      rows,
      'stop <id>',
      'end all of it that runs: agents and jobs',
      (cli, options: StopVerbOptions & CommonOptions, id: string) => rowsStop(cli, kind, id, options),
    )
      .option('--reason <text>', 'kept in the records of the jobs')
      .option('--force', 'without grace: processes are killed at once')
      .option('--no-wait', 'only tell everything to end')
      .addHelpText(
        'after',
        `\nWaits until everything has ended, or its grace is over, and says what came of it. Ctrl-C leaves at once; the stop goes on.
Exit codes: 0 done, also when nothing was running; 1 something could not be stopped.`,
      );
    verb(
      rows,
      'rm <id>',
      'remove it for good, with its jobs; what runs is stopped first',
      (cli, options: ConfirmVerbOptions & CommonOptions, id: string) => rowsRemove(cli, kind, id, options),
    )
      .option('--yes', 'also when something of it runs')
      .option('--force', 'stop it without grace: processes are killed at once')
      .addHelpText('after', '\nWithout --yes, where something runs, it says what, removes nothing, and exits 1.');
  }
  verb(
    tasks,
    'archive <id>',
    'put it away: it is listed only with --archived, and while something of it runs',
    (cli, options: ConfirmVerbOptions & CommonOptions, id: string) => tasksArchive(cli, TASKS, id, options),
  )
    .option('--yes', 'also when something of it runs; that goes on')
    .addHelpText('after', '\nWithout --yes, where something runs, it says what, archives nothing, and exits 1.');

  verb(
    sessions,
    'prompt <id> <text...>',
    'ask the agent, and show what it says until its turn ends; - reads the text from standard input',
    (cli, options: SessionPromptOptions & CommonOptions, id: string, words: readonly string[]) =>
      sessionsPrompt(cli, id, words, options),
  )
    .option('--no-wait', 'only send it, or get in line')
    .addHelpText(
      'after',
      `\nA session that is busy takes the prompt in its turn. The first Ctrl-C ends the turn of this prompt, or takes it out of the line.
Exit codes: 0 the turn has ended, 1 it was refused or cut off, 130 it was cancelled. A text that begins with - comes after --.
The agent runs in the program that has the data folder open with the option agents.`,
    );
  verb(
    sessions,
    'interrupt <id>',
    'end the open turn; what runs in the background goes on',
    (cli, _: CommonOptions, id: string) => sessionsInterrupt(cli, id),
  );

  verb(
    program,
    'serve',
    'serve the folder: a dashboard for people, HTTP and WebSocket for programs',
    (cli, options: ServeVerbOptions & CommonOptions) => serve(cli, options),
  )
    .option('--host <address>', 'where to listen (default: 127.0.0.1); beyond this machine it needs --token-file')
    .option('--port <number>', 'default: a free one')
    .option('--token-file <file>', 'the token that clients need; made where it is missing (default: token in the data folder)')
    .option('--config <module>', 'an ES module that exports options of open, such as executors, agents and workers')
    .addHelpText(
      'after',
      `\nThe first line is the address, the second a URL that signs one browser in. Other terminals go on using the folder as ever.
The first Ctrl-C ends what runs, within a few seconds, and exits 0; the second exits at once.
Requests that change something are noted, without their texts, in audit.ndjson in the data folder.
Exit codes: 4 the folder is in use or damaged, 2 the module or an option is not valid.`,
    );

  verb(
    program,
    'inspect',
    'follow the statecharts of what runs, and say where an inspector can look at them',
    (cli, options: InspectOptions & CommonOptions) => inspect(cli, options),
  )
    .option('--job <id>', 'only this job; ends with it')
    .option('--session <id>', 'only this session and its jobs')
    .option('--task <id>', 'only this task, its sessions and their jobs')
    .option('--token-file <file>', 'where the token of the server is; default: in the data folder')
    .addHelpText(
      'after',
      `\nNeeds a program that serves the folder, such as offstage serve. The addresses that it prints let others look, and nothing else.
With --json it prints the frames of @statelyai/inspect, one per line. Ends on Ctrl-C, and when the server goes.`,
    );

  verb(program, 'doctor', 'look the data over', (cli, options: DoctorOptions & CommonOptions) => doctor(cli, options)).option(
    '--repair',
    'keep what is intact of a damaged store; the damaged one is set aside',
  );
  return program;
}

const withCommonOptions = (command: Command): Command =>
  command.option('--json', 'print data for programs').option('--data-dir <folder>', 'where the data lies').exitOverride();
