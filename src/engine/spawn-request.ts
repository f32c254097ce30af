/**
 * A spawn as asked for, checked and completed with its defaults (spec 2, 13).
 *
 * SPR1  Bad input is refused with `input.invalid` before anything is looked up or stored.
 */
import { offstageError } from '../model/errors.ts';
import { type JsonValue, toJson } from '../model/json.ts';
import { LIMITS } from '../model/limits.ts';
import type { ContextMode } from '../model/records.ts';
import type { SpawnOptions } from '../model/requests.ts';
import type { JobBase } from '../persistence/job-codec.ts';
import { checkNames, invalidInput, namesOf, readable } from './check-options.ts';
import type { RegisteredExecutor } from './core.ts';
import { validateWith } from './standard-schema.ts';

interface CheckedInput {
  readonly input: JsonValue;
  readonly inputCharacters: number;
  /** What the body gets instead of the stored input, where that hides secrets. */
  readonly secretInput: { readonly value: unknown } | null;
}

export interface SpawnContent extends CheckedInput {
  readonly jobId: string | null;
  readonly kind: string;
  readonly subject: string;
  readonly description: string;
  readonly agentId: string | null;
  readonly sessionId: string;
  readonly callerSessionId: string | null;
  readonly parentJobId: string | null;
  readonly parentMessageId: string | null;
  readonly contextMode: ContextMode;
  readonly wait: boolean;
  readonly timeoutMs: number | null;
  readonly idleTimeoutMs: number | null;
  readonly toolCallId: string | null;
  /** The input, where its schema answers later. */
  readonly pendingInput: Promise<CheckedInput> | null;
}

export { invalidInput } from './check-options.ts';

export const DEFAULT_SESSION = 'default';
/** Serves sessions and jobs that name no agent. */
export const DEFAULT_AGENT = 'default';
const SUBJECT_CHARACTERS = 60;
const NO_INPUT_YET: CheckedInput = { input: null, inputCharacters: 0, secretInput: null };

export const SPAWN_NAMES = namesOf<SpawnOptions>({
  kind: true,
  input: true,
  jobId: true,
  subject: true,
  description: true,
  agentId: true,
  sessionId: true,
  callerSessionId: true,
  parentJobId: true,
  parentMessageId: true,
  contextMode: true,
  wait: true,
  timeoutMs: true,
  idleTimeoutMs: true,
  toolCallId: true,
});

/** Any well-formed string of 1 to 512 bytes without NUL. */
export function checkId(argument: string, value: unknown): string {
  if (typeof value !== 'string') throw invalidInput(argument, 'it must be a string');
  if (value.length === 0) throw invalidInput(argument, 'it is empty');
  if (value.length > LIMITS.idBytes || (value.length * 3 > LIMITS.idBytes && Buffer.byteLength(value) > LIMITS.idBytes)) {
    throw invalidInput(argument, `it is longer than ${LIMITS.idBytes} bytes`);
  }
  if (value.includes('\0')) throw invalidInput(argument, 'it contains a NUL character');
  if (!value.isWellFormed()) throw invalidInput(argument, 'it is not well-formed Unicode');
  return value;
}

/** Whether `checkId` would take it; for what is left out instead of refused. */
export function isId(value: unknown): value is string {
  try {
    checkId('id', value);
    return true;
  } catch {
    return false;
  }
}

const optionalId = (argument: string, value: unknown): string | null =>
  value === undefined || value === null ? null : checkId(argument, value);

function text(argument: string, value: unknown, fallback: string): string {
  if (value === undefined) return fallback;
  if (typeof value !== 'string') throw invalidInput(argument, 'it must be a string');
  return value.isWellFormed() ? value : value.toWellFormed();
}

/** A text for a person: a subject, a title, a reason. @throws OffstageError `input.invalid` */
export function checkText(argument: string, value: unknown, fallback: string): string {
  const checked = text(argument, value, fallback);
  if (checked.length * 3 > LIMITS.textBytes && Buffer.byteLength(checked) > LIMITS.textBytes) {
    throw invalidInput(argument, `it is longer than ${LIMITS.textBytes} bytes`);
  }
  return checked;
}

function duration(argument: string, value: unknown): number | null {
  if (value === undefined || value === null || value === Number.POSITIVE_INFINITY) return null;
  if (typeof value !== 'number' || Number.isNaN(value) || value < 0)
    throw invalidInput(argument, 'it must be milliseconds of 0 or more, or null');
  return value;
}

function checkedInput(value: unknown, executor: RegisteredExecutor): CheckedInput {
  let plain: JsonValue;
  let input: JsonValue;
  try {
    plain = toJson(value ?? null);
    input = executor.redact === undefined ? plain : toJson(executor.redact(plain));
  } catch (error) {
    throw offstageError('input.invalid', { argument: 'input', message: (error as Error).message }, { cause: error });
  }
  const encoded = JSON.stringify(input);
  const bytes = encoded.length * 3 > LIMITS.inputBytes ? Buffer.byteLength(encoded) : encoded.length;
  if (bytes > LIMITS.inputBytes) throw offstageError('limit.input_bytes', { bytes, limit: LIMITS.inputBytes });
  return { input, inputCharacters: encoded.length, secretInput: executor.redact === undefined ? null : { value: plain } };
}

/** What a spawn may name. */
export interface Registered {
  readonly executors: ReadonlyMap<string, RegisteredExecutor>;
  readonly settings: { readonly agents: Readonly<Record<string, unknown>> };
}

/** @throws OffstageError `input.invalid`, `executor.unknown`, `agent.unknown`, `limit.input_bytes` */
export const checkSpawn = (options: SpawnOptions, registered: Registered, parent: JobBase | null): SpawnContent =>
  readable('options', () => contentOf(options, registered, parent));

function contentOf(options: SpawnOptions, { executors, settings }: Registered, parent: JobBase | null): SpawnContent {
  checkNames('options', options, SPAWN_NAMES);
  const kind = checkId('kind', options.kind);
  const executor = executors.get(kind);
  if (executor === undefined) throw offstageError('executor.unknown', { kind });
  const agentId = optionalId('agentId', options.agentId);
  if (executor.needsAgent === true && settings.agents[agentId ?? DEFAULT_AGENT] === undefined) {
    throw offstageError('agent.unknown', { agentId: agentId ?? DEFAULT_AGENT });
  }
  const contextMode = options.contextMode ?? 'inherit';
  if (contextMode !== 'inherit' && contextMode !== 'clean') throw invalidInput('contextMode', "it must be 'inherit' or 'clean'");
  const wait = options.wait ?? false;
  if (typeof wait !== 'boolean') throw invalidInput('wait', 'it must be true or false');
  const description = text('description', options.description, '');
  const descriptionBytes = Buffer.byteLength(description);
  if (descriptionBytes > LIMITS.inputBytes)
    throw offstageError('limit.input_bytes', { bytes: descriptionBytes, limit: LIMITS.inputBytes });
  const sessionId = optionalId('sessionId', options.sessionId) ?? parent?.sessionId ?? DEFAULT_SESSION;
  // A child's caller is its parent's session (liveness 5, W6).
  const caller = optionalId('callerSessionId', options.callerSessionId) ?? parent?.sessionId ?? null;
  const validated = executor.input === undefined ? options.input : validateWith(executor.input, options.input, 'input');
  const pendingInput = validated instanceof Promise ? validated.then((value) => checkedInput(value, executor)) : null;
  // Whatever else is refused meanwhile: its answer is then for nobody.
  pendingInput?.catch(() => {});
  const checked = pendingInput === null ? checkedInput(validated, executor) : NO_INPUT_YET;
  // Field by field: a spread here costs as much as everything else in this function.
  return {
    input: checked.input,
    inputCharacters: checked.inputCharacters,
    secretInput: checked.secretInput,
    pendingInput,
    jobId: optionalId('jobId', options.jobId),
    kind,
    subject: checkText('subject', options.subject, defaultSubject(description)),
    description,
    agentId,
    sessionId,
    callerSessionId: caller === sessionId ? null : caller,
    parentJobId: parent?.jobId ?? optionalId('parentJobId', options.parentJobId),
    parentMessageId: optionalId('parentMessageId', options.parentMessageId),
    contextMode,
    wait,
    timeoutMs: duration('timeoutMs', options.timeoutMs),
    idleTimeoutMs: duration('idleTimeoutMs', options.idleTimeoutMs),
    toolCallId: optionalId('toolCallId', options.toolCallId),
  };
}

/** The first 60 characters of the description, never half a character; `job` without one. */
function defaultSubject(description: string): string {
  if (description === '') return 'job';
  if (description.length <= SUBJECT_CHARACTERS) return description;
  return [...description.slice(0, 2 * SUBJECT_CHARACTERS)].slice(0, SUBJECT_CHARACTERS).join('').toWellFormed();
}
