/** Agents as factories of hosts return them, looked at before anything is asked of them. */
import type { Agent } from '../model/agent.ts';

/** What a factory returned. @throws TypeError when it is no agent */
export function checkAgent(agent: Agent): Agent {
  const attests = agent?.attests;
  const isWhole =
    typeof agent?.prompt === 'function' &&
    typeof agent.close === 'function' &&
    typeof agent.frames?.[Symbol.asyncIterator] === 'function' &&
    typeof attests === 'object' &&
    attests !== null &&
    Array.isArray(attests.workloads);
  if (!isWhole) throw new TypeError('its factory must return an agent: attests, frames, prompt and close');
  return agent;
}
