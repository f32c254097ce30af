/** Agents written by hand, for what no mock does. */
import type { Agent, AgentContext, AgentFactory, Frame } from '../../src/model/agent.ts';

/** Frames that never come, and never end. */
export const SILENCE: AsyncIterable<Frame> = { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) };

/** Attests nothing, says nothing, answers no prompt, and is gone when it is closed; or what `more` says. */
export const bareAgent = (more: Partial<Agent> = {}): Agent => ({
  attests: { workloads: [], yield: false, handoff: false, snapshot: false },
  frames: SILENCE,
  prompt: () => new Promise(() => {}),
  close: () => {},
  ...more,
});

/** A promise under the hand of a test. */
export interface Held<Value> {
  readonly promise: Promise<Value>;
  resolve(value: Value): void;
  reject(error: unknown): void;
}

export function held<Value = void>(): Held<Value> {
  let resolve: (value: Value) => void = () => {};
  let reject: (error: unknown) => void = () => {};
  const promise = new Promise<Value>((onValue, onError) => {
    resolve = onValue;
    reject = onError;
  });
  return { promise, resolve, reject };
}

export interface HeldStart extends Held<Agent> {
  /** Listens to no signal: it ends when the test says so. */
  readonly factory: AgentFactory;
  /** Of each call. */
  readonly contexts: readonly AgentContext[];
}

export function heldStart(): HeldStart {
  const contexts: AgentContext[] = [];
  const agent = held<Agent>();
  const factory: AgentFactory = (context) => {
    contexts.push(context);
    return agent.promise;
  };
  return { ...agent, contexts, factory };
}

/** Tells whether a promise has settled. */
export function watched(promise: Promise<unknown>): { readonly hasSettled: boolean } {
  const watch = { hasSettled: false };
  const note = (): void => {
    watch.hasSettled = true;
  };
  promise.then(note, note);
  return watch;
}
