/**
 * What a job of kind `command` is given, how it is checked at spawn, and what of it may be shown.
 *
 * CIN1  The values of `env` may be secrets: no message of this file holds one, and `redactCommandInput` hides them (B74).
 * CIN2  A long `stdin` is not stored: nothing is ever run again, so the record needs no more than its length.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { JsonValue } from '../model/json.ts';
import { LIMITS } from '../model/limits.ts';
import { TOKEN_NAME } from './process-table.ts';
import { formatBytes } from './tail-text.ts';

/**
 * The input of kind `command` (spec 17).
 * @example
 * { command: 'git', args: ['log', '-1'], cwd: '/srv/app' }
 * @example
 * { command: 'npm test | tail -20', shell: true, env: { CI: '1' } }
 */
export interface CommandInput {
  /** A name looked up on the child's PATH, or a path (relative ones from `cwd`); with `shell`, a script. */
  readonly command: string;
  /** Handed over as they are, never parsed by a shell; with `shell` they are `$1`, `$2` and so on. */
  readonly args?: readonly string[];
  /** Default: the working directory of this process. */
  readonly cwd?: string;
  /** Added to the minimal environment. Values are hidden in the record and everywhere it is shown. */
  readonly env?: Readonly<Record<string, string>>;
  /** Written to standard input, which is then closed; absent: standard input is empty. */
  readonly stdin?: string;
  /** True: `command` is a script for `/bin/sh -c`. A string names another shell that knows `-c`. Default false. */
  readonly shell?: boolean | string;
}

const HIDDEN = '(hidden)';
const FIELDS = ['command', 'args', 'cwd', 'env', 'stdin', 'shell'];
/** What plans add to every input (spec 7). A command has no use for it, and takes part in plans all the same. */
const PROMPT = 'prompt';

/** Checks the input of a command at spawn; hand-written, so that the package needs no schema library. */
export const commandInput: StandardSchemaV1<unknown, CommandInput> = {
  '~standard': {
    version: 1,
    vendor: 'offstage',
    validate(given) {
      const value = isObject(given) && PROMPT in given ? withoutPrompt(given) : given;
      const issues = [...issuesOf(value)];
      return issues.length > 0 ? { issues } : { value: value as CommandInput };
    },
  },
};

function withoutPrompt({ [PROMPT]: _, ...input }: Readonly<Record<string, unknown>>): unknown {
  return input;
}

function* issuesOf(value: unknown): Generator<StandardSchemaV1.Issue> {
  if (!isObject(value)) {
    yield { message: 'must be an object with a command' };
    return;
  }
  for (const key of Object.keys(value)) {
    if (!FIELDS.includes(key)) yield { message: `is unknown; known are ${FIELDS.join(', ')}`, path: [key] };
  }
  const { command, args, cwd, env, stdin, shell } = value;
  if (!isText(command) || command === '') yield { message: 'must be a non-empty string without zero bytes', path: ['command'] };
  if (cwd !== undefined && (!isText(cwd) || cwd === '')) {
    yield { message: 'must be a non-empty string without zero bytes', path: ['cwd'] };
  }
  if (args !== undefined && !(Array.isArray(args) && args.every(isText))) {
    yield { message: 'must be an array of strings without zero bytes', path: ['args'] };
  }
  if (stdin !== undefined && typeof stdin !== 'string') yield { message: 'must be a string', path: ['stdin'] };
  else if (stdin !== undefined && Buffer.byteLength(stdin) > LIMITS.stdinBytes) {
    yield { message: `must not be longer than ${formatBytes(LIMITS.stdinBytes)}`, path: ['stdin'] };
  }
  if (shell !== undefined && typeof shell !== 'boolean' && !(isText(shell) && shell !== '')) {
    yield { message: 'must be true, false, or the name of a shell', path: ['shell'] };
  }
  if (env !== undefined) yield* environmentIssues(env);
}

function* environmentIssues(env: unknown): Generator<StandardSchemaV1.Issue> {
  if (!isObject(env)) {
    yield { message: 'must be an object of strings', path: ['env'] };
    return;
  }
  for (const [name, text] of Object.entries(env)) {
    const path = ['env', name];
    if (name === '' || name.includes('=') || name.includes('\0')) yield { message: 'is not the name of a variable', path };
    else if (name === TOKEN_NAME) yield { message: 'is reserved', path };
    else if (!isText(text)) yield { message: 'must be a string without zero bytes', path };
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value: unknown): value is string => typeof value === 'string' && !value.includes('\0');

/** The input as the record shows it: names of variables, not their values (CIN1); a long `stdin` by its length (CIN2). */
export function redactCommandInput(input: JsonValue): JsonValue {
  if (!isObject(input)) return input;
  const shown = { ...(input as { [key: string]: JsonValue }) };
  if (isObject(input.env)) shown.env = Object.fromEntries(Object.keys(input.env).map((name) => [name, HIDDEN]));
  const stdinBytes = typeof input.stdin === 'string' ? Buffer.byteLength(input.stdin) : 0;
  if (stdinBytes > LIMITS.stdinShownBytes) shown.stdin = `(${formatBytes(stdinBytes)}, not kept)`;
  return shown;
}
