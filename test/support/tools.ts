/** The tools as a model calls them: by name, on behalf of whoever the test says. */
import { plannerTools, type ToolContext } from '../../src/doors/tools/index.ts';
import type { Offstage } from '../../src/engine/offstage.ts';
import type { JsonValue } from '../../src/model/json.ts';

export type CallTool = (name: string, args?: unknown, context?: ToolContext) => Promise<JsonValue>;

/** `context` holds for every call; a call may add to it. */
export function toolsOf(offstage: Offstage, context: ToolContext = {}): CallTool {
  const tools = new Map(plannerTools(offstage).map((tool) => [tool.name, tool]));
  return (name, args, more = {}) => {
    const tool = tools.get(name);
    if (tool === undefined) throw new Error(`there is no tool ${name}`);
    return tool.execute(args, { ...context, ...more });
  };
}

/** Starts an agent in the background, and answers its job_id. */
export async function inBackground(call: CallTool, prompt: string, more: object = {}): Promise<string> {
  const answer = await call('agent', { prompt, description: prompt, run_in_background: true, ...more });
  if (typeof answer !== 'object' || answer === null || !('job_id' in answer))
    throw new Error(`refused: ${JSON.stringify(answer)}`);
  return answer.job_id as string;
}

/** Whether the promise has settled, as far as it has shown yet. */
export function watched<T>(promise: Promise<T>): { readonly promise: Promise<T>; readonly isSettled: boolean } {
  const state = { promise, isSettled: false };
  const settled = (): void => {
    state.isSettled = true;
  };
  promise.then(settled, settled);
  return state;
}
