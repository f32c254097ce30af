/** The type that every manager knows from the start: a place that hosts fill with `registerExecutor('subagent', …)`. */
import type { AsyncTaskExecutor } from './contract.ts';

// The sentence is part of the contract: hosts tell the missing executor by it.
const SERVER_ONLY = '[SubagentTaskExecutor] SubagentExecutor is server-only';

export const subagentExecutor: AsyncTaskExecutor = {
  execute: () => Promise.reject(new Error(SERVER_ONLY)),
};
