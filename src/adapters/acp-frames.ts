/**
 * What both versions of the Agent Client Protocol have in common: text, tool calls, usage.
 *
 * ACF1  A status that is not known is work still going on, as the protocol has it.
 */
import type { Frame, ToolStatus } from '../model/agent.ts';
import type { JsonValue } from '../model/json.ts';
import { type Fields, fieldsOf, isFields, listOf, numbersOf, textOf } from './read-json.ts';

const STATUSES: Readonly<Record<string, ToolStatus>> = {
  pending: 'pending',
  in_progress: 'running',
  // Started and standing still until something resumes it.
  paused: 'pending',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
};

/** Undefined when nothing is said of it; null stands for the default, which is pending. */
export function toolStatusOf(value: unknown): ToolStatus | undefined {
  if (value === null) return 'pending';
  if (typeof value !== 'string') return undefined;
  return Object.hasOwn(STATUSES, value) ? STATUSES[value] : 'running';
}

export const isFinal = (status: ToolStatus | undefined): boolean =>
  status === 'completed' || status === 'failed' || status === 'cancelled';

/** The text of a content block. */
export const blockText = (block: unknown): string | undefined => textOf(fieldsOf(block).text);

/** Whether the tool call tells text: as content, or as a raw result. */
export function hasToolText(update: Fields): boolean {
  const contents = listOf(update.content).map(fieldsOf);
  return contents.some(({ content }) => blockText(content) !== undefined) || textOf(update.rawOutput) !== undefined;
}

/** The fields of a tool frame that any tool call may have. */
export function toolFields(update: Fields): { title?: string; hasOutput?: true } {
  const title = textOf(update.title) ?? textOf(update.name);
  return { ...(title === undefined ? {} : { title }), ...(hasToolText(update) ? { hasOutput: true as const } : {}) };
}

export function outputFrame(update: Fields, generation: number, channel: 'message' | 'thought'): Frame[] {
  const text = blockText(update.content);
  return text === undefined ? [] : [{ type: 'output', generation, text, channel }];
}

/** `used`, `size`, and `cost` where the provider tells it. */
export function usageFrame(update: Fields, generation: number): Frame[] {
  const { used, size } = numbersOf(update);
  const { amount } = numbersOf(update.cost);
  const usage = {
    ...(used === undefined ? {} : { used }),
    ...(size === undefined ? {} : { size }),
    ...(amount === undefined ? {} : { cost: amount }),
  };
  return Object.keys(usage).length === 0 ? [] : [{ type: 'usage', generation, usage }];
}

/**
 * A prompt as the protocol's content blocks: text becomes a block of text, blocks stay as they are, and any other value is told as JSON.
 */
export function contentBlocks(content: JsonValue): JsonValue[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (Array.isArray(content) && content.every(isBlock)) return [...content];
  if (isBlock(content)) return [content];
  return [{ type: 'text', text: JSON.stringify(content) }];
}

const isBlock = (value: JsonValue): boolean => isFields(value) && typeof value.type === 'string';
