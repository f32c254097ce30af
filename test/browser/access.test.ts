/** Who gets in, by what, and what they may do there (spec 12): links, tokens, cookies, and a page for those who only look. */
import { describe, expect, it } from 'vitest';
import { serve } from '../../src/doors/server/index.ts';
import { controlledExecutor } from '../../src/testing/index.ts';
import { ask, generate, vouchingAgent } from './agents.ts';
import { openDashboard, openPage } from './open-page.ts';
import { connectionIs, detailOf, rowIn, rowOf } from './page-parts.ts';

describe('a link', () => {
  it('lets one browser in, once: it leaves no trace in the address, and a second one is asked for a token', async () => {
    await using dashboard = await openDashboard();
    const link = dashboard.server.oneTimeUrl();
    await using first = await openPage(link);
    await connectionIs(first.page, 'open');
    expect(first.page.url()).not.toContain('code');
    await using second = await openPage(link);
    second.ignore(/status of 401/);
    await second.page.getByRole('heading', { name: 'Offstage needs a token' }).waitFor();
    expect((await second.page.context().cookies()).length).toBe(0);
    // The first one stays in, also when it comes again.
    await first.page.reload();
    await connectionIs(first.page, 'open');
    const [cookie] = await first.page.context().cookies();
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', path: '/' });
    expect(await first.page.evaluate<string>('document.cookie')).toBe('');
  });

  it('keeps what follows the # for the page', async () => {
    await using dashboard = await openDashboard({ executors: { quick: () => 'done' } });
    const { jobId } = await dashboard.offstage.spawn({ kind: 'quick', subject: 'linked' });
    await using opened = await openPage(`${dashboard.server.oneTimeUrl()}#/job/${jobId}`);
    await detailOf(opened.page).getByRole('heading', { name: 'linked' }).waitFor();
  });
});

describe('without a token', () => {
  it('there is a form, and nothing else; a wrong token says so, the right one opens the page', async () => {
    await using dashboard = await openDashboard();
    await using opened = await openPage(dashboard.server.url);
    const { page } = opened;
    opened.ignore(/status of 401/);
    const token = page.getByLabel('Token');
    await token.fill('a-token-that-is-not-the-right-one');
    await page.getByRole('button', { name: 'Open' }).click();
    await token.waitFor();
    expect((await page.context().cookies()).length).toBe(0);
    await token.fill(dashboard.server.token);
    await page.keyboard.press('Enter');
    await connectionIs(page, 'open');
    for (const path of ['api/jobs', 'assets/', 'charts/job.svg']) {
      const answer = await fetch(new URL(path, dashboard.server.url));
      expect([path, answer.status]).toEqual([path, 401]);
    }
  });

  it('a page whose token is no good any more says so, does not try again, and can be let in anew', async () => {
    await using dashboard = await openDashboard();
    const page = await dashboard.page();
    // What comes after the first view may be refused as well.
    dashboard.ignore(/401|WebSocket connection|ERR_|Refused to apply style/);
    await page.context().clearCookies();
    await page.reload();
    await page.getByRole('heading', { name: 'Offstage needs a token' }).waitFor();
    // Without its cookie the page itself would not come: one that was open meanwhile is shown the form where it is.
    await page.goto(dashboard.server.oneTimeUrl());
    await connectionIs(page, 'open');
    await page.context().clearCookies();
    const served = new URL(dashboard.server.url);
    await dashboard.server.close();
    await using again = await serve(dashboard.offstage, { port: Number(served.port) });
    await connectionIs(page, 'refused');
    await page.getByTestId('banner').getByLabel('Token').fill(again.token);
    await page.getByRole('button', { name: 'Let me in' }).click();
    await connectionIs(page, 'open');
  });
});

describe('a token that may only look', () => {
  it('sees everything live, and gets no button that would change anything', async () => {
    const work = controlledExecutor();
    const mock = vouchingAgent();
    await using dashboard = await openDashboard({ executors: { work }, agents: { default: mock.factory } });
    ask(await generate(dashboard, mock), 'permission');
    const { jobId } = await dashboard.offstage.spawn({ kind: 'work', subject: 'watched', sessionId: 's1' });
    await work.started(jobId);
    const page = await dashboard.page({ scope: 'observe', hash: `/job/${jobId}` });
    await page.getByText('Read-only').waitFor();
    await rowIn(page, 'job', jobId, 'background-running').waitFor();
    await detailOf(page).getByRole('heading', { name: 'watched' }).waitFor();
    const noWord = /^(?!.*(?:\b(?:cancel|stop|delete|archive|interrupt|send|queue|mark)\b|^task$|^job$))/i;
    const names = await page
      .locator('button:not(.chip)')
      .evaluateAll((buttons) => buttons.map((button) => `${button.ariaLabel ?? ''} ${button.textContent}`.trim()));
    expect(names.length).toBeGreaterThan(3);
    for (const name of names) expect(name).toMatch(noWord);
    await expect.poll(() => page.getByRole('checkbox').count()).toBe(0);
    await rowOf(page, 'job', jobId).focus();
    for (const key of ['c', 'x']) await page.keyboard.press(key);
    await rowOf(page, 'session', 's1').click();
    await page.getByTestId('pending').waitFor();
    await expect.poll(() => page.getByTestId('pending').getByRole('button').count()).toBe(0);
    await expect.poll(() => page.getByTestId('composer').count()).toBe(0);
    await rowOf(page, 'task', 't1').click();
    await detailOf(page).getByRole('heading', { name: 'Find the fault' }).waitFor();
    await expect.poll(() => detailOf(page).getByRole('combobox').count()).toBe(0);
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    await work.release(jobId, 'seen');
    await rowIn(page, 'job', jobId, 'completed').waitFor();
  });
});
