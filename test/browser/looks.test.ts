/** The page for everybody: no violation that axe finds in either theme, and the statechart moves with its job. */
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { controlledExecutor } from '../../src/testing/index.ts';
import { openDashboard, PHONE } from './open-page.ts';
import { attestingAgent, rowIn, startBackgroundWork } from './page-parts.ts';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

interface WithAxe {
  readonly axe: { run(options: object): Promise<{ readonly violations: readonly Violation[] }> };
}

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string }[];
}

/** What axe finds, as short lines. The script is read by the driver, so the content policy has no say. */
async function violations(page: Page): Promise<readonly string[]> {
  await page.evaluate(`${(await import('node:fs')).readFileSync(AXE, 'utf8')}; undefined`);
  const found = await page.evaluate(() =>
    (globalThis as unknown as WithAxe).axe.run({
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
    }),
  );
  return found.violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 120)}`));
}

describe.each([
  ['light', {}],
  ['dark', {}],
  ['light', PHONE],
] as const)('in %s colours', (colorScheme, device) => {
  it('axe finds nothing to say against list, details and dialogs', async () => {
    const mock = attestingAgent();
    await using dashboard = await openDashboard({ agents: { default: mock.factory } });
    await startBackgroundWork(dashboard.offstage, mock);
    const { offstage } = dashboard;
    const { jobId } = await offstage.spawn({
      kind: 'command',
      sessionId: 's1',
      input: { command: 'sh', args: ['-c', 'echo no >&2; exit 3'] },
    });
    await offstage.wait(jobId);
    const page = await dashboard.page({ colorScheme, ...device });
    const views = ['/', '/task/t1', '/session/s1', `/job/${jobId}`, '/?show=errored'];
    for (const hash of views) {
      await page.goto(`${dashboard.server.url}#${hash}`);
      await page
        .locator(hash.startsWith('/?') || hash === '/' ? '.row' : '.thing')
        .first()
        .waitFor();
      expect(await violations(page), hash).toEqual([]);
    }
    for (const name of ['Job', 'Task']) {
      await page.getByRole('button', { name, exact: true }).click();
      await page.getByRole('dialog').waitFor();
      expect(await violations(page), name).toEqual([]);
      await page.keyboard.press('Escape');
    }
  });
});

describe('the statechart', () => {
  it('moves with its job, and says the same in words', async () => {
    const work = controlledExecutor({ stubborn: true });
    await using dashboard = await openDashboard({ executors: { work } });
    const { jobId } = await dashboard.offstage.spawn({ kind: 'work', subject: 'one' });
    const page = await dashboard.page({ hash: `/job/${jobId}` });
    const chart = page.getByTestId('charts');
    await chart.locator('[data-state="running.active"].is-active').waitFor();
    await dashboard.offstage.cancel(jobId);
    await chart.locator('[data-state="running.ending"].is-active').waitFor();
    await work.release(jobId);
    await rowIn(page, 'job', jobId, 'cancelled').waitFor();
    await chart.locator('[data-state="cancelled"].is-active').waitFor();
    await chart.getByText('Now: cancelled').waitFor();
  });
});
