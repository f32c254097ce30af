/**
 * The message stream of the Claude Agent SDK, as frames (liveness 8). Pure.
 *
 * CSM1  `claudeMessageFrames` reads one message and changes nothing but the state that it is given.
 * CSM2  A message belongs to the prompt whose id was echoed last. From a provider that echoes none it belongs to the prompt at work:
 *       input is worked off in its order.
 * CSM3  A result ends the turn of its own prompts. Results of cycles that nobody here asked for end none.
 * CSM4  Idle is told with a generation only when that generation has already spoken.
 */
import type { Frame } from '../model/agent.ts';
import { BoundedMap } from '../model/bounded-map.ts';
import { LIMITS } from '../model/limits.ts';
import { ClaudeStreamTasks } from './claude-stream-tasks.ts';
import type { FrameMapping, MappingStep } from './frame-mapping.ts';
import { type Fields, fieldsOf, listOf, numbersOf, textOf } from './read-json.ts';

interface OpenPrompt {
  readonly generation: number;
  readonly messageId: string | undefined;
  isAccepted: boolean;
  isCancelled: boolean;
  hasSpoken: boolean;
}

interface ToolCall {
  readonly tool: string | undefined;
  readonly generation: number;
}

/** What the messages so far say. Made by `claudeStreamState`. */
export interface ClaudeStreamState {
  prompts: OpenPrompt[];
  readonly calls: BoundedMap<string, ToolCall>;
  /** Messages of the model whose text was told in pieces. */
  readonly pieced: BoundedMap<string, true>;
  readonly tasks: ClaudeStreamTasks;
  /** The message of the model that is being told in pieces, by the tool call whose child speaks ('' for none). */
  readonly streaming: BoundedMap<string, string>;
  hasSnapshots: boolean;
  /** The provider echoes the ids of prompts. */
  hasEchoes: boolean;
}

export function claudeStreamState(): ClaudeStreamState {
  const calls = new BoundedMap<string, ToolCall>(LIMITS.toolCallsPerExecution);
  return {
    prompts: [],
    calls,
    pieced: new BoundedMap(LIMITS.toolCallsPerExecution),
    tasks: new ClaudeStreamTasks((toolCallId) => calls.get(toolCallId)?.tool),
    streaming: new BoundedMap(LIMITS.toolCallsPerExecution),
    hasSnapshots: false,
    hasEchoes: false,
  };
}

/** One message of the stream. Total: what is malformed gives no frames. */
export function claudeMessageFrames(state: ClaudeStreamState, message: unknown): Frame[] {
  const fields = fieldsOf(message);
  switch (fields.type) {
    case 'assistant':
      return assistantFrames(state, fields);
    case 'stream_event':
      return pieceFrames(state, fields);
    case 'user':
      return toolResultFrames(state, fields);
    case 'result':
      return resultFrames(state, fields);
    case 'system':
      return systemFrames(state, fields);
    default:
      return [];
  }
}

function systemFrames(state: ClaudeStreamState, message: Fields): Frame[] {
  switch (message.subtype) {
    case 'task_started':
      return state.tasks.started(message);
    case 'task_progress':
      return state.tasks.progressed(message);
    case 'task_updated':
      return state.tasks.updated(message);
    case 'task_notification':
      return state.tasks.notified(message);
    case 'background_tasks_changed':
      return levelFrames(state, message);
    case 'session_state_changed':
      return message.state === 'idle' ? idleFrames(state) : [];
    default:
      return [];
  }
}

/** The first list is also the provider's word that it tells lists: older ones never send any. */
function levelFrames(state: ClaudeStreamState, message: Fields): Frame[] {
  const frames = state.tasks.level(message);
  if (frames.length === 0 || state.hasSnapshots) return frames;
  state.hasSnapshots = true;
  return [{ type: 'capability', generation: 0, handoff: false, snapshot: true }, ...frames];
}

/** The accepted prompts whose message ids are echoed. */
function echoed(state: ClaudeStreamState, message: Fields): OpenPrompt[] {
  const ids = [message.user_message_uuid, ...listOf(message.user_message_uuids)];
  state.hasEchoes ||= ids.some((id) => typeof id === 'string');
  return state.prompts.filter(({ isAccepted, messageId }) => isAccepted && messageId !== undefined && ids.includes(messageId));
}

/** The accepted prompt at work: the oldest. */
const atWork = (state: ClaudeStreamState): OpenPrompt | undefined => state.prompts.find(({ isAccepted }) => isAccepted);

/** The last prompt whose turn has begun. */
const speaking = (state: ClaudeStreamState): OpenPrompt | undefined => state.prompts.findLast(({ hasSpoken }) => hasSpoken);

function generationFor(state: ClaudeStreamState, message: Fields, parent: string | undefined): number {
  if (parent !== undefined) return state.calls.get(parent)?.generation ?? 0;
  const prompt = echoed(state, message).at(-1) ?? (state.hasEchoes ? speaking(state) : atWork(state));
  if (prompt === undefined) return 0;
  prompt.hasSpoken = true;
  return prompt.generation;
}

const parentOf = (message: Fields): string | undefined => textOf(message.parent_tool_use_id);

function assistantFrames(state: ClaudeStreamState, message: Fields): Frame[] {
  const parent = parentOf(message);
  const generation = generationFor(state, message, parent);
  const { id, content } = fieldsOf(message.message);
  const isTold = state.pieced.has(textOf(id) ?? '');
  return listOf(content).flatMap((block) => blockFrames(state, fieldsOf(block), generation, parent, isTold));
}

function blockFrames(
  state: ClaudeStreamState,
  block: Fields,
  generation: number,
  parent: string | undefined,
  isTold: boolean,
): Frame[] {
  const child = parent === undefined ? {} : { parentToolCallId: parent };
  if (block.type === 'tool_use') {
    const toolCallId = textOf(block.id);
    if (toolCallId === undefined) return [];
    const title = textOf(block.name);
    state.calls.set(toolCallId, { tool: title, generation });
    return [
      { type: 'tool.call', generation, toolCallId, status: 'running', ...(title === undefined ? {} : { title }), ...child },
    ];
  }
  const channel = block.type === 'text' ? 'message' : block.type === 'thinking' ? 'thought' : null;
  const text = textOf(block.text) ?? textOf(block.thinking);
  return channel === null || text === undefined || isTold ? [] : [{ type: 'output', generation, text, channel, ...child }];
}

function pieceFrames(state: ClaudeStreamState, message: Fields): Frame[] {
  const parent = parentOf(message);
  const event = fieldsOf(message.event);
  if (event.type === 'message_start') {
    state.streaming.set(parent ?? '', textOf(fieldsOf(event.message).id) ?? '');
    return [];
  }
  const delta = fieldsOf(event.delta);
  const text = delta.type === 'text_delta' ? textOf(delta.text) : undefined;
  const messageId = state.streaming.get(parent ?? '');
  // Without its id the whole of it could not be told from a second saying; then the pieces are left out.
  if (text === undefined || messageId === undefined || messageId === '') return [];
  state.pieced.set(messageId, true);
  const generation = generationFor(state, message, parent);
  return [
    { type: 'output', generation, text, channel: 'message', ...(parent === undefined ? {} : { parentToolCallId: parent }) },
  ];
}

function toolResultFrames(state: ClaudeStreamState, message: Fields): Frame[] {
  const parent = parentOf(message);
  return listOf(fieldsOf(message.message).content).flatMap((block) => {
    const { type, tool_use_id, is_error, content } = fieldsOf(block);
    const toolCallId = textOf(tool_use_id);
    if (type !== 'tool_result' || toolCallId === undefined) return [];
    const frame: Frame = {
      type: 'tool.update',
      generation: state.calls.get(toolCallId)?.generation ?? 0,
      toolCallId,
      status: is_error === true ? 'failed' : 'completed',
      ...(parent === undefined ? {} : { parentToolCallId: parent }),
      ...(hasText(content) ? { hasOutput: true } : {}),
    };
    return [frame, ...sentOffFrames(state, toolCallId, message.tool_use_result), ...state.tasks.toolReturned(toolCallId)];
  });
}

const hasText = (content: unknown): boolean =>
  textOf(content) !== undefined || listOf(content).some((block) => textOf(fieldsOf(block).text) !== undefined);

/** What a result says to go on in the background: a command, a subagent, a monitor. */
function sentOffFrames(state: ClaudeStreamState, toolCallId: string, result: unknown): Frame[] {
  const { backgroundTaskId, status, agentId, taskId } = fieldsOf(result);
  const tool = state.calls.get(toolCallId)?.tool;
  const shell = textOf(backgroundTaskId);
  if (tool === 'Bash' && shell !== undefined) return state.tasks.sentOff(shell, 'shell', toolCallId);
  const subagent = textOf(agentId);
  if (status === 'async_launched' && subagent !== undefined) return state.tasks.sentOff(subagent, 'subagent', toolCallId);
  const monitor = textOf(taskId);
  return tool === 'Monitor' && monitor !== undefined ? state.tasks.sentOff(monitor, 'monitor', toolCallId) : [];
}

function resultFrames(state: ClaudeStreamState, message: Fields): Frame[] {
  const { kind } = fieldsOf(message.origin);
  const byEcho = echoed(state, message);
  const oldest = atWork(state);
  const isOurs = kind === undefined || kind === 'human';
  const ended = byEcho.length > 0 || !isOurs || oldest === undefined ? byEcho : [oldest];
  if (ended.length === 0) return [{ type: 'foreground.idle', generation: 0 }];
  state.prompts = state.prompts.filter((prompt) => !ended.includes(prompt));
  const { total_cost_usd } = numbersOf(message);
  const usage = { ...numbersOf(message.usage), ...(total_cost_usd === undefined ? {} : { total_cost_usd }) };
  const last = ended.at(-1) as OpenPrompt;
  return [
    ...(Object.keys(usage).length === 0 ? [] : [{ type: 'usage', generation: last.generation, usage } as const]),
    ...ended.map((prompt): Frame => {
      const { generation } = prompt;
      return { type: 'turn.ended', generation, stopReason: stopReasonOf(message, prompt) };
    }),
  ];
}

function stopReasonOf(message: Fields, { isCancelled }: OpenPrompt): string {
  if (message.subtype === 'success') return textOf(message.stop_reason) ?? 'end_turn';
  return isCancelled ? 'cancelled' : (textOf(message.subtype) ?? 'error');
}

function idleFrames(state: ClaudeStreamState): Frame[] {
  const open = state.prompts.filter(({ isAccepted }) => isAccepted);
  const [only, ...others] = open;
  const generation = only !== undefined && others.length === 0 && only.hasSpoken ? only.generation : 0;
  return [{ type: 'foreground.idle', generation }];
}

/** The same, as an adapter's mapping. `messageIdOf` names the input message of a generation, where it has a name. */
export function claudeStreamMapping(messageIdOf: (generation: number) => string | undefined = () => undefined): FrameMapping {
  const state = claudeStreamState();
  return {
    step(step: MappingStep) {
      switch (step.step) {
        case 'prompt': {
          const { generation } = step;
          const prompt = {
            generation,
            messageId: messageIdOf(generation),
            isAccepted: false,
            isCancelled: false,
            hasSpoken: false,
          };
          state.prompts.push(prompt);
          return [];
        }
        case 'accepted': {
          const prompt = state.prompts.find(({ generation, isAccepted }) => generation === step.generation && !isAccepted);
          if (prompt === undefined) return [];
          prompt.isAccepted = true;
          return [{ type: 'prompt.accepted', generation: step.generation }];
        }
        case 'refused':
          state.prompts = state.prompts.filter(({ generation }) => generation !== step.generation);
          return [];
        case 'cancelled':
          for (const prompt of state.prompts) prompt.isCancelled ||= prompt.generation === step.generation;
          return [];
        case 'told':
          return claudeMessageFrames(state, step.message);
        default:
          return [];
      }
    },
    generationOf: (toolCallId) =>
      (toolCallId === undefined ? undefined : state.calls.get(toolCallId)?.generation) ?? atWork(state)?.generation ?? 0,
  };
}
