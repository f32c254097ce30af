/**
 * What every tool is: a name, a description for the model, a JSON Schema, and a function (spec 10).
 *
 * TOL1  A tool answers; it rejects only when the engine itself fails. What a model did wrong is told to the model, as text.
 * TOL2  One definition serves every way of offering it: plain objects, the AI SDK, and what comes later.
 */
import type { JsonValue } from '../../model/json.ts';

/** On whose behalf a tool is called. Without either, a person's: everything is within reach. */
export interface ToolContext {
  /** Ends the waiting; foreground jobs of the call are cancelled, background jobs are not. */
  readonly signal?: AbortSignal;
  /** The conversation that calls: only its jobs, and what they started, are within reach. */
  readonly sessionId?: string;
  /** The running job whose body calls: what it starts are its children, and its waits give up its slot. */
  readonly jobId?: string;
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
  /** Anything may be handed in: what is wrong with it is answered. */
  execute(args: unknown, context?: ToolContext): Promise<JsonValue>;
}

/** Reads the arguments of one call; a problem is a sentence for the model. */
export class ToolArguments {
  readonly #given: Readonly<Record<string, unknown>>;
  problem: string | null = null;

  constructor(given: unknown, parameters: ToolParameters) {
    const isObject = typeof given === 'object' && given !== null && !Array.isArray(given);
    this.#given = isObject ? (given as Record<string, unknown>) : {};
    if (given !== undefined && !isObject) this.#fail('the arguments must be an object');
    const unknown = Object.keys(this.#given).find((name) => !Object.hasOwn(parameters.properties, name));
    if (unknown !== undefined) this.#fail(`there is no argument ${JSON.stringify(unknown)}`);
  }

  text(name: string): string {
    const value = this.#given[name];
    if (typeof value === 'string' && value !== '') return value;
    this.#fail(value === undefined || value === null || value === '' ? `${name} required` : `${name} must be a string`);
    return '';
  }

  optionalText(name: string): string | null {
    const value = this.#given[name];
    if (value === undefined || value === null || value === '') return null;
    if (typeof value === 'string') return value;
    this.#fail(`${name} must be a string`);
    return null;
  }

  flag(name: string, otherwise: boolean): boolean {
    const value = this.#given[name];
    if (value === undefined || value === null) return otherwise;
    if (typeof value !== 'boolean') this.#fail(`${name} must be true or false`);
    return value === true;
  }

  oneOf<Word extends string>(name: string, words: readonly [Word, ...Word[]]): Word {
    const value = this.#given[name];
    if (value === undefined || value === null) return words[0];
    if (!words.includes(value as Word)) this.#fail(`${name} must be one of ${words.join(', ')}`);
    return value as Word;
  }

  /** Milliseconds, at most `longestMs`. */
  milliseconds(name: string, otherwise: number, longestMs: number): number {
    const value = this.#given[name];
    if (value === undefined || value === null) return otherwise;
    if (typeof value === 'number' && value >= 0) return Math.min(value, longestMs);
    this.#fail(`${name} must be milliseconds of 0 or more`);
    return otherwise;
  }

  texts(name: string): readonly string[] {
    const value = this.#given[name];
    if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value;
    this.#fail(value === undefined || value === null ? `${name} required` : `${name} must be a list of strings`);
    return [];
  }

  #fail(problem: string): void {
    this.problem ??= problem;
  }
}
