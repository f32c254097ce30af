/** Parts of the page by the names that web/README.md promises, and scenes that several tests begin with. */
import type { Locator, Page } from 'playwright-core';
import { type MockAgent, type MockPrompt, mockAgent } from '../../src/adapters/mock-agent.ts';
import type { Offstage } from '../../src/engine/offstage.ts';
import type { Executors } from '../../src/model/executor.ts';

export type RowKind = 'task' | 'session' | 'job';

export const rowOf = (page: Page, kind: RowKind, id: string): Locator =>
  page.locator(`.row[data-kind="${kind}"][data-id="${id}"]`);

/** The row, once it shows this state. */
export const rowIn = (page: Page, kind: RowKind, id: string, state: string): Locator =>
  page.locator(`.row[data-kind="${kind}"][data-id="${id}"][data-state="${state}"]`);

export const detailOf = (page: Page): Locator => page.getByRole('region', { name: 'Detail' });

/** What the page's own world has. */
interface Styled {
  getComputedStyle(element: unknown): { readonly color: string };
}

export const colourOf = (icon: Locator): Promise<string> =>
  icon.evaluate((element) => (globalThis as unknown as Styled).getComputedStyle(element).color);

/** An agent that vouches for everything, and has said so. */
export const attestingAgent = (): MockAgent =>
  mockAgent({ attests: { workloads: ['subagent', 'shell', 'monitor'], yield: true, handoff: true, snapshot: true } });

/** A session `s1` of task `t1` whose agent has taken its first prompt. */
export async function startTurn(offstage: Offstage<Executors>, mock: MockAgent): Promise<MockPrompt> {
  await offstage.tasks.create({ taskId: 't1', title: 'Find the fault' });
  await offstage.sessions.create({ sessionId: 's1', taskId: 't1' });
  const prompt = mock.nextPrompt();
  await offstage.sessions.prompt('s1', { content: 'begin' });
  const { agent } = await prompt;
  agent.emit({ type: 'capability', generation: 0, handoff: true, snapshot: true });
  return prompt;
}

/** The same, and its turn is over, with a subagent behind it. */
export async function startBackgroundWork(offstage: Offstage<Executors>, mock: MockAgent): Promise<MockPrompt> {
  const prompt = await startTurn(offstage, mock);
  const { agent, generation } = prompt;
  agent.emit({ type: 'workload.started', generation, kind: 'subagent', workloadId: 'w1' });
  prompt.end();
  return prompt;
}
