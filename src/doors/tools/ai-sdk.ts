/** The tools as the AI SDK (`ai`, an optional peer) takes them. */
import { createRequire } from 'node:module';
import { offstageError } from '../../model/errors.ts';
import type { JsonValue } from '../../model/json.ts';
import type { AgentTool, ToolContext } from './tool.ts';

/** As `generateText({ tools })` takes it. */
export interface AiSdkTool {
  readonly description: string;
  /** A schema of the AI SDK. */
  // biome-ignore lint/suspicious/noExplicitAny: its type belongs to a package that need not be there.
  readonly inputSchema: any;
  execute(input: unknown, options: { readonly abortSignal?: AbortSignal | undefined }): Promise<JsonValue>;
}

/**
 * Tools by their names. `context` says on whose behalf a model calls them; the signal of each call comes from the AI SDK.
 * @throws OffstageError `package.missing` when `ai` is not installed
 * @example
 * const tools = toAiSdkTools(agentTools(offstage), { sessionId });
 * const { text } = await generateText({ model, prompt: 'Why does the build fail?', tools, stopWhen: stepCountIs(20) });
 */
export function toAiSdkTools(tools: readonly AgentTool[], context: Omit<ToolContext, 'signal'> = {}): Record<string, AiSdkTool> {
  const jsonSchema = schemaMaker();
  const entries = tools.map(({ name, description, parameters, execute }): [string, AiSdkTool] => [
    name,
    {
      description,
      inputSchema: jsonSchema(parameters),
      execute: (input, { abortSignal }) =>
        execute(input, abortSignal === undefined ? context : { ...context, signal: abortSignal }),
    },
  ]);
  return Object.fromEntries(entries);
}

/** Loaded only here: nobody else needs the package. */
function schemaMaker(): (schema: object) => unknown {
  try {
    return (createRequire(import.meta.url)('ai') as { readonly jsonSchema: (schema: object) => unknown }).jsonSchema;
  } catch (error) {
    throw offstageError('package.missing', { package: 'ai' }, { cause: error });
  }
}
