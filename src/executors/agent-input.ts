/**
 * What a job of kind `agent` is given, and what of it the agent hears.
 *
 * AIN1  Without a context the prompt reaches the agent unchanged, whatever JSON it is.
 * AIN2  The words of a context mode are no context: a job that a tool has started says its mode here too (spec 10).
 */
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { PromptContent } from '../model/agent.ts';
import type { JsonValue } from '../model/json.ts';
import type { ContextMode } from '../model/records.ts';

/**
 * The input of kind `agent`.
 * @example
 * { prompt: 'Why does the build fail?', context: { log: '…' } }
 */
export interface AgentInput {
  /** A text, content blocks, or whatever the agent understands. */
  readonly prompt: unknown;
  /** What the agent has to know besides; told before the prompt, as content of its own. `inherit` and `clean` are not told: see `contextMode`. */
  readonly context?: unknown;
}

const FIELDS = ['prompt', 'context'];
const MODES: readonly unknown[] = ['inherit', 'clean'] satisfies readonly ContextMode[];

/** Checks the input of an agent at spawn. */
export const agentInput: StandardSchemaV1<AgentInput, AgentInput> = {
  '~standard': {
    version: 1,
    vendor: 'offstage',
    validate(value) {
      const issues = [...issuesOf(value)];
      return issues.length > 0 ? { issues } : { value: value as AgentInput };
    },
  },
};

function* issuesOf(value: unknown): Generator<StandardSchemaV1.Issue> {
  if (!isObject(value)) {
    yield { message: 'must be an object with a prompt' };
    return;
  }
  for (const key of Object.keys(value)) {
    if (!FIELDS.includes(key)) yield { message: `is unknown; known are ${FIELDS.join(', ')}`, path: [key] };
  }
  const { prompt } = value;
  if (prompt === undefined || prompt === null || prompt === '') yield { message: 'must be given', path: ['prompt'] };
}

/** The content of the one prompt of a job. Both parts are JSON by now. */
export function contentOf(input: AgentInput): PromptContent {
  const { prompt, context } = input as { readonly prompt: JsonValue; readonly context?: JsonValue };
  if (context === undefined || context === null || context === '' || MODES.includes(context)) return prompt;
  return [...blocksOf(context), ...blocksOf(prompt)];
}

/** Content blocks as they are; any other value as a block of text. */
function blocksOf(value: JsonValue): readonly JsonValue[] {
  if (Array.isArray(value) && value.every(isBlock)) return value;
  if (isBlock(value)) return [value];
  return [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }];
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isBlock = (value: JsonValue): boolean => isObject(value) && typeof value.type === 'string';
