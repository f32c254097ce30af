/** The statechart that moves with what it is of, and says the same in words. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { controlledExecutor } from '../../src/testing/index.ts';
import { generate, launch, vouchingAgent } from './agents.ts';
import { openDashboard } from './open-page.ts';
import { badgeSays } from './page-parts.ts';

const activeIn = (page: Page, machine: string): Promise<readonly (string | null)[]> =>
  page
    .locator(`.chart[data-machine="${machine}"] [data-state].is-active`)
    .evaluateAll((found) => found.map((element) => element.getAttribute('data-state')));

describe('the statechart', () => {
  it('of a job moves with it: queued, active, ending, cancelled; with the way it came, and the same in words', async () => {
    const work = controlledExecutor({ stubborn: true });
    await using dashboard = await openDashboard({ executors: { work }, workers: 1 });
    const { offstage } = dashboard;
    const first = await offstage.spawn({ kind: 'work' });
    await work.started(first.jobId);
    const { jobId } = await offstage.spawn({ kind: 'work', subject: 'watched' });
    const page = await dashboard.page({ hash: `/job/${jobId}` });
    await page.locator('[data-testid="charts"][data-feed="open"]').waitFor();
    const is = async (states: readonly string[], words: string): Promise<void> => {
      await page.locator('.chart-now').getByText(words).waitFor();
      await expect.poll(() => activeIn(page, 'job')).toEqual(states);
      await page.getByText('All states in words').waitFor();
      const current = page.locator('.chart-words [aria-current]');
      await expect.poll(() => current.count()).toBe(states.length);
    };
    await is(['queued'], 'queued');
    await work.release(first.jobId);
    await is(['running', 'running.active'], 'running, active');
    await offstage.cancel(jobId);
    await is(['running', 'running.ending'], 'running, ending');
    await expect.poll(() => page.locator('.chart-edge.is-last').count()).toBeGreaterThan(0);
    await work.release(jobId);
    await is(['cancelled'], 'cancelled');
    await badgeSays(page, 0);
  });

  it("of a session moves with its agent's turn and with what goes on behind it", async () => {
    const mock = vouchingAgent();
    await using dashboard = await openDashboard({ agents: { default: mock.factory } });
    const prompt = await generate(dashboard, mock);
    const page = await dashboard.page({ hash: '/session/s1' });
    const activity = page.locator('.chart[data-machine="session-activity"]');
    await activity.locator('[data-state="foreground.generating"].is-active').waitFor();
    launch(prompt);
    await activity.locator('[data-state="background.present"].is-active').waitFor();
    prompt.end();
    await activity.locator('[data-state="foreground.generating"].is-active').waitFor({ state: 'detached' });
    await activity.locator('[data-state="background.present"].is-active').waitFor();
  });

  it('is there by the record alone, when nobody tells of the actor', async () => {
    const work = controlledExecutor();
    await using dashboard = await openDashboard({ executors: { work } });
    const { jobId } = await dashboard.offstage.spawn({ kind: 'work' });
    await work.started(jobId);
    const page = await dashboard.page({
      hash: `/job/${jobId}`,
      prepare: (page) => page.routeWebSocket(/\/inspect/, (route) => void route.close()),
    });
    await expect.poll(() => activeIn(page, 'job')).toEqual(['running', 'running.active']);
    await work.release(jobId);
    await expect.poll(() => activeIn(page, 'job')).toEqual(['completed']);
  });
});
