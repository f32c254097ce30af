/** Everything without a mouse: find, open, mark, cancel, ask, answer; with a focus that can be seen, and letters that are only the list's. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { controlledExecutor } from '../../src/testing/index.ts';
import { type Dashboard, openDashboard } from './open-page.ts';
import { detailOf, focused, rowIn, rowOf, styleOf } from './page-parts.ts';

async function press(page: Page, ...keys: string[]): Promise<void> {
  for (const key of keys) await page.keyboard.press(key);
}

async function withJobs(count: number): Promise<{ dashboard: Dashboard; ids: string[] }> {
  const work = controlledExecutor();
  const dashboard = await openDashboard({ executors: { work }, workers: 8 });
  const ids = Array.from({ length: count }, (_, n) => `j${n}`);
  for (const jobId of ids) await dashboard.offstage.spawn({ kind: 'work', jobId, subject: `job ${jobId}` });
  for (const jobId of ids) await work.started(jobId);
  return { dashboard, ids };
}

/** Tab until it has the focus; fails when it never gets it. */
async function tabTo(page: Page, what: string): Promise<void> {
  for (let presses = 0; presses < 40; presses += 1) {
    if ((await focused(page)).includes(what)) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`Tab never comes to ${what}`);
}

const focusOn = (page: Page, name: string): Promise<void> => expect.poll(() => focused(page)).toBe(name);

const focusIs = (page: Page, id: string): Promise<void> => page.locator(`.row[data-id="${id}"]:focus`).waitFor();

describe('with the keyboard alone', () => {
  it('a job is found, opened and cancelled', async () => {
    const { dashboard: made } = await withJobs(3);
    await using dashboard = made;
    const page = await dashboard.page();
    await rowIn(page, 'job', 'j1', 'background-running').waitFor();
    await tabTo(page, 'Search');
    await page.keyboard.type('j1');
    await rowOf(page, 'job', 'j0').waitFor({ state: 'detached' });
    await tabTo(page, 'task:');
    await press(page, 'End');
    await focusIs(page, 'j1');
    await press(page, 'Enter');
    await detailOf(page).getByRole('heading', { name: 'job j1' }).waitFor();
    await tabTo(page, 'Cancel this job');
    await tabTo(page, 'Copy');
    await page.keyboard.press('Shift+Tab');
    for (let presses = 0; presses < 20 && (await focused(page)) !== 'Cancel this job'; presses += 1)
      await page.keyboard.press('Shift+Tab');
    await press(page, 'Enter');
    await rowIn(page, 'job', 'j1', 'cancelled').waitFor();
    expect((await dashboard.offstage.get('j0')).status).toBe('running');
  });

  it('c cancels the row that has the focus, and x marks rows for one cancel of them all', async () => {
    const { dashboard: made } = await withJobs(4);
    await using dashboard = made;
    const page = await dashboard.page();
    await rowIn(page, 'job', 'j3', 'background-running').focus();
    await press(page, 'c');
    await rowIn(page, 'job', 'j3', 'cancelled').waitFor();
    await rowOf(page, 'job', 'j2').focus();
    await press(page, 'x', 'j', 'x');
    await page.getByText('2 jobs marked').waitFor();
    await press(page, 'c');
    const dialog = page.getByRole('dialog', { name: 'Cancel 2 jobs?' });
    await dialog.waitFor();
    // The answer that changes nothing has the focus; Escape is that answer too, and the focus goes back.
    await focusOn(page, 'Cancel');
    await press(page, 'Escape');
    await dialog.waitFor({ state: 'detached' });
    await focusOn(page, 'job:j1');
    await press(page, 'c');
    await focusOn(page, 'Cancel');
    await press(page, 'Tab', 'Enter');
    for (const jobId of ['j1', 'j2']) await rowIn(page, 'job', jobId, 'cancelled').waitFor();
    await rowIn(page, 'job', 'j0', 'background-running').waitFor();
  });

  it('rows are reached by arrows, j and k, and opened and closed by right and left', async () => {
    const { dashboard: made } = await withJobs(2);
    await using dashboard = made;
    const page = await dashboard.page();
    const task = rowOf(page, 'task', 'default');
    await rowIn(page, 'job', 'j0', 'background-running').waitFor();
    await task.focus();
    await press(page, 'j', 'ArrowDown');
    await focusIs(page, 'j1');
    await press(page, 'k');
    await focusOn(page, 'session:default');
    await press(page, 'ArrowLeft');
    await page.locator('.row[data-kind="session"][aria-expanded="false"]').waitFor();
    await expect.poll(() => rowOf(page, 'job', 'j0').count()).toBe(0);
    await press(page, 'ArrowLeft');
    await focusOn(page, 'task:default');
    await press(page, 'ArrowDown', 'ArrowRight');
    await rowOf(page, 'job', 'j0').waitFor();
    await press(page, 'ArrowRight');
    await focusIs(page, 'j1');
  });

  it('keys that come faster than rows are drawn each take their step', async () => {
    const { dashboard: made } = await withJobs(3);
    await using dashboard = made;
    const page = await dashboard.page();
    await rowIn(page, 'job', 'j0', 'background-running').waitFor();
    await rowOf(page, 'task', 'default').focus();
    await page.evaluate(`for (const key of ['j', 'ArrowDown', 'j'])
      document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }))`);
    await focusIs(page, 'j1');
  });

  it('what has the focus can be seen, wherever Tab goes', async () => {
    const { dashboard: made } = await withJobs(1);
    await using dashboard = made;
    const page = await dashboard.page({ hash: '/job/j0' });
    await detailOf(page).getByRole('button', { name: 'Cancel this job' }).waitFor();
    const seen: string[] = [];
    for (let presses = 0; presses < 50; presses += 1) {
      await page.keyboard.press('Tab');
      const name = await focused(page);
      if (seen.length > 0 && name === seen[0]) break;
      seen.push(name);
      if (name === 'BODY') continue;
      const ring = page.locator('.search:has(:focus), *:focus').first();
      const { outlineStyle, outlineWidth } = await styleOf(ring, 'outlineStyle', 'outlineWidth');
      expect([name, outlineStyle, Number.parseFloat(outlineWidth)]).toEqual([name, 'solid', 2]);
    }
    for (const wanted of ['Search tasks, sessions and jobs', 'task:default', 'Cancel this job', 'Help'])
      expect(seen).toContain(wanted);
  });
});

describe('single letters', () => {
  it('do nothing outside the list, nor with a modifier, nor in a field', async () => {
    const { dashboard: made } = await withJobs(2);
    await using dashboard = made;
    const page = await dashboard.page({ hash: '/job/j1' });
    await detailOf(page).getByRole('button', { name: 'Cancel this job' }).focus();
    await press(page, 'c', 'x', '?', 'j');
    await page.getByPlaceholder('Search').focus();
    await page.keyboard.type('cx?/');
    await expect.poll(() => page.getByPlaceholder('Search').inputValue()).toBe('cx?/');
    await press(page, 'Escape');
    await rowOf(page, 'job', 'j1').focus();
    await press(page, 'Control+c', 'Alt+x', 'Meta+c');
    await rowOf(page, 'job', 'j1').getByRole('button', { name: 'Cancel this job' }).focus();
    await press(page, 'x');
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    await expect.poll(() => page.getByText('marked').count()).toBe(0);
    expect((await dashboard.offstage.list({ status: ['running'] })).map(({ cancelRequestedAt }) => cancelRequestedAt)).toEqual([
      null,
      null,
    ]);
  });

  it('/ goes to the search and ? to the help, which names them', async () => {
    const { dashboard: made } = await withJobs(1);
    await using dashboard = made;
    const page = await dashboard.page();
    await rowOf(page, 'job', 'j0').focus();
    await press(page, '/');
    await focusOn(page, 'Search tasks, sessions and jobs');
    await rowOf(page, 'job', 'j0').focus();
    await press(page, '?');
    const help = page.getByRole('dialog', { name: 'Help' });
    await help.getByText('Cancel the job, or the marked ones').waitFor();
    for (const label of ['Agent is generating', 'Background work is running'])
      await help.getByText(label, { exact: true }).waitFor();
    await press(page, 'Escape');
    await help.waitFor({ state: 'detached' });
    await focusOn(page, 'job:j0');
  });
});
