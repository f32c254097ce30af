/**
 * What somebody may type: the verbs of the command line with arguments and options spoilt, moved, missing or twice. Whatever it is ends by itself,
 * with one of the documented exit codes and, where that is not 0, a sentence (with `--json` a record with a code that was foreseen) and no stack
 * trace; and the folder can be read afterwards.
 */
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { CommanderError } from 'commander';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { Cli } from '../../src/doors/cli/cli.ts';
import { EXIT, exitCodeOfError } from '../../src/doors/cli/exit-codes.ts';
import { buildProgram, type Chosen } from '../../src/doors/cli/program.ts';
import { open } from '../../src/open.ts';
import { offstage } from '../../test/cli/offstage.ts';
import { echo } from '../../test/support/executors.ts';
import { strayErrors } from '../../test/support/hostile.ts';
import { LIMIT_MS, times } from '../support/how-often.ts';
import { isForeseen, parsed } from '../support/mutated.ts';

let folder = '';
let before = '';
beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'offstage-words-')));
  before = process.cwd();
  // Relative folders that nobody wanted are made here.
  process.chdir(folder);
  await writeFile('file', 'x');
  await using engine = await open({ dataDir: 'data', executors: { echo } });
  await engine.tasks.create({ taskId: 't1' });
  await engine.sessions.create({ sessionId: 's1', taskId: 't1' });
  await engine.spawn({ kind: 'echo', jobId: 'j1', sessionId: 's1', input: 'x' });
  await engine.wait('j1');
});
afterAll(async () => {
  process.chdir(before);
  await rm(folder, { recursive: true, force: true });
});

/** Those that end by themselves; what follows, serves or reads standard input is parsed only. */
const VERBS: readonly (readonly string[])[] = [
  ['run', '--subject', 'one', '--session', 's1', '--timeout', '5s', '--', 'true'],
  ['run', '--cwd', '.', '--', 'false'],
  ['jobs', 'list', '--status', 'completed', 'running', '--session', 's1', '--limit', '5'],
  ['jobs', 'list', '--task', 't1', '--parent', 'j1', '--kind', 'echo', '--all'],
  ['jobs', 'get', 'j1'],
  ['jobs', 'output', 'j1', '--tail', '3'],
  ['jobs', 'wait', 'j1', '--timeout', '1s'],
  ['jobs', 'cancel', 'j1', '--reason', 'why'],
  ['jobs', 'history', 'j1'],
  ['jobs', 'tail', 'j1', '--lines', '3'],
  ['sessions', 'list', '--limit', '5'],
  ['sessions', 'get', 's1'],
  ['sessions', 'stop', 's1', '--reason', 'x', '--force'],
  ['sessions', 'prompt', 's1', 'hello', '--no-wait'],
  ['sessions', 'interrupt', 's1'],
  ['tasks', 'list', '--archived'],
  ['tasks', 'get', 't1'],
  ['tasks', 'archive', 'nobody', '--yes'],
  ['tasks', 'rm', 'nobody', '--yes'],
  ['doctor'],
  ['doctor', '--repair'],
  ['serve', '--host', '127.0.0.1', '--port', '0'],
  ['inspect', '--job', 'j1'],
];
const ODD = [
  ...['', ' ', '-1', '0', '1e9', '1.5', 'NaN', 'Infinity', '99999999999999999999', '5x', '1h-1m', '500ms', '0x10', '١', '1_000'],
  ...[
    'j1',
    's1',
    't1',
    'file',
    'file/x',
    '../data',
    '~',
    '%',
    '__proto__',
    'constructor',
    'completed',
    'all',
    '…',
    '💥',
    '\ud800',
    '\u001b[2J',
  ],
  ...[
    '--json',
    '--',
    '--all',
    '--limit',
    '--limit=-1',
    '--timeout=1e999',
    '--data-dir',
    '--data-dir=data',
    '--help',
    '--version',
    '--nope',
    '-x',
  ],
  ...['--status=xyz', '--no-wait', '--force', '--json=5', 'x'.repeat(600), 'jobs', 'list', 'help'],
];

interface Slip {
  readonly what: 'drop' | 'twice' | 'replace' | 'insert' | 'swap';
  readonly at: number;
  readonly other: number;
  readonly word: string;
}
const slip: fc.Arbitrary<Slip> = fc.record({
  what: fc.constantFrom('drop', 'twice', 'replace', 'replace', 'insert', 'insert', 'swap'),
  at: fc.nat(20),
  other: fc.nat(20),
  word: fc.constantFrom(...ODD),
});

function withSlip(words: readonly string[], { what, at, other, word }: Slip): readonly string[] {
  const index = at % (words.length + 1);
  if (what === 'drop') return words.toSpliced(index, 1);
  if (what === 'twice') return words.toSpliced(index, 0, ...words.slice(index, index + 1));
  if (what === 'replace') return words.toSpliced(index, 1, word);
  if (what === 'insert') return words.toSpliced(index, 0, word);
  const second = other % words.length;
  return words.with(second, words[index] ?? word).with(Math.min(index, words.length - 1), words[second] ?? word);
}

const line = fc
  .tuple(fc.constantFrom(...VERBS), fc.constantFrom([], ['--json']), fc.array(slip, { maxLength: 3 }))
  .map(([verb, json, slips]) => {
    // Before the command of `run` ours ends and its own begins.
    const end = verb.indexOf('--') === -1 ? verb.length : verb.indexOf('--');
    const own = [...verb.slice(0, end), ...json, '--data-dir', 'data'];
    return [...slips.reduce(withSlip, own), ...verb.slice(end)];
  });

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const ENDLESS: readonly string[] = ['serve', 'inspect', '--watch', '--stdin', '-', 'tail'];
const COMMANDS: readonly string[] = ['true', 'false'];
/** Whether it is run, and not only parsed: of commands only such as do nothing. */
const isRun = (words: readonly string[]): boolean =>
  !words.some((word) => ENDLESS.includes(word)) && (!words.includes('run') || COMMANDS.includes(words.at(-1) ?? ''));

/** As `main.ts` does it, with streams of its own. */
async function typed(words: readonly string[]): Promise<Ended> {
  const text = { stdout: '', stderr: '' };
  const stream = (name: 'stdout' | 'stderr') => new PassThrough().on('data', (part: Buffer) => (text[name] += String(part)));
  const [stdout, stderr] = [stream('stdout'), stream('stderr')];
  let chosen: Chosen | null = null;
  const program = buildProgram(
    (choice) => {
      chosen = choice;
    },
    { isQuiet: false },
  );
  const commands = [program, ...program.commands, ...program.commands.flatMap((command) => command.commands)];
  for (const command of commands) command.configureOutput({ writeOut: () => {} });
  using told = vi.spyOn(process.stderr, 'write').mockImplementation(() => true);
  try {
    await program.parseAsync(['node', 'offstage', ...words]);
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return { ...text, code: error.exitCode === 0 ? EXIT.done : EXIT.usage, stderr: `${told.mock.calls.join('')} ` };
  }
  if (chosen === null) return { ...text, code: EXIT.usage, stderr: 'no verb' };
  const { options, verb } = chosen as Chosen;
  if (!isRun(words)) return { ...text, code: EXIT.done };
  const cli = new Cli(options, { stdout, stderr, env: {} } as unknown as NodeJS.Process);
  let code: number;
  try {
    code = await verb(cli);
  } catch (error) {
    code = exitCodeOfError(error);
    await cli.fail(error);
  }
  await cli.finish();
  await new Promise((resolve) => setImmediate(resolve));
  return { ...text, code };
}

const CODES: readonly number[] = Object.values(EXIT);

function check(words: readonly string[], { code, stdout, stderr }: Ended): void {
  const shown = [words, code, stdout.slice(0, 200), stderr.slice(0, 500)];
  expect([shown, CODES.includes(code)]).toEqual([shown, true]);
  expect([shown, /\n\s+at .+:\d+:\d+/.test(stderr)]).toEqual([shown, false]);
  // Names that were typed cannot move the cursor.
  expect([shown, (stdout + stderr).includes('\u001b[2J')]).toEqual([shown, false]);
  if (code === EXIT.usage) expect([shown, stderr === '']).toEqual([shown, false]);
  for (const one of stderr.split('\n')) {
    const record = one.startsWith('{"error"') ? (parsed(one) as { error: { code: unknown } }) : null;
    if (record !== null) expect([shown, isForeseen(record.error.code)]).toEqual([shown, true]);
  }
}

it(
  'whatever is typed ends, as documented, and the folder can be read afterwards',
  async () => {
    using stray = strayErrors();
    let count = 0;
    await fc.assert(
      fc.asyncProperty(line, async (words) => {
        check(words, await typed(words));
        if (++count % 4 !== 0) return;
        const { code, stdout } = await typed(['jobs', 'get', 'j1', '--json', '--data-dir', 'data']);
        expect([words, code, parsed(stdout)]).toMatchObject([words, 0, { jobId: 'j1', status: 'completed' }]);
      }),
      times(40),
    );
    expect(stray.errors).toEqual([]);
  },
  LIMIT_MS,
);

it(
  'so does the program itself',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        line.filter((words) => isRun(words) && words.every((word) => word.isWellFormed())),
        async (words) => {
          const { code, stdout, stderr } = await offstage(words, { cwd: folder });
          check(words, { code: code ?? -1, stdout, stderr });
        },
      ),
      times(2),
    );
  },
  LIMIT_MS,
);
