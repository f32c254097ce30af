/**
 * What every tool is: a name, a description for the model, a JSON Schema, and a function (spec 10).
 *
 * TOL1  A tool answers: what a model did wrong, and what the engine refuses, is told to the model. It rejects only when the engine itself
 *       fails, or when the job on whose behalf it is called is told to end, so that its body unwinds.
 * TOL2  One definition serves every way of offering it: plain objects, the AI SDK, and what comes later.
 */
import type { Offstage } from '../../engine/offstage.ts';
import { isOffstageError } from '../../model/errors.ts';
import type { JsonValue } from '../../model/json.ts';
import { BadArgument, ToolArguments } from './arguments.ts';
import { Caller } from './caller.ts';

/** On whose behalf a tool is called. Without session and job it is a person's call: everything is within reach. */
export interface ToolContext {
  /** Ends the waiting. A foreground job of the call is cancelled then; jobs in the background go on. */
  readonly signal?: AbortSignal;
  /** The conversation that calls: only its jobs, and what they started, are within reach. Default: the one that `jobId` runs on. */
  readonly sessionId?: string;
  /** The running job whose body calls: what it starts are its children, and its waits give up its slot. */
  readonly jobId?: string;
  /** The message that the call belongs to: the jobs it starts carry it, so that they can be listed and cancelled together. */
  readonly parentMessageId?: string;
}

/** A JSON Schema of an object. */
export interface ToolParameters {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, Readonly<Record<string, JsonValue>>>>;
  readonly required: readonly string[];
  readonly additionalProperties: false;
}

/** A tool for a model, as a plain object. */
export interface AgentTool {
  readonly name: string;
  /** For the model. */
  readonly description: string;
  readonly parameters: ToolParameters;
  /**
   * Anything may be handed in: what is wrong with it is answered.
   * @throws OffstageError `job.cancelled`, `job.not_found` when the job of the context was told to end, or is not running
   */
  execute(args: unknown, context?: ToolContext): Promise<JsonValue>;
}

interface ToolDefinition extends Omit<AgentTool, 'execute'> {
  call(args: ToolArguments, caller: Caller): Promise<JsonValue>;
  /** How the model is told that it cannot have what it asked for; default `[name error] message`. */
  refused?(message: string): JsonValue;
}

export function defineTool(offstage: Offstage, definition: ToolDefinition): AgentTool {
  const { name, description, parameters, call, refused = (message) => `[${name} error] ${message}` } = definition;
  return {
    name,
    description,
    parameters,
    async execute(given, context) {
      const caller = new Caller(offstage, context ?? {});
      try {
        return await call(new ToolArguments(given, parameters), caller);
      } catch (error) {
        caller.throwIfEnding();
        if (error instanceof BadArgument || isOffstageError(error)) return refused(error.message);
        throw error;
      }
    },
  };
}
