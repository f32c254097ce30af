/**
 * The two ways in which an agent is at work, as the page shows them: L162 to L171 of the acceptance rows, and seed 002.
 */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { acpAgent } from '../../src/acp-agent.ts';
import { EXAMPLE } from '../support/real-host.ts';
import { finish, generate, launch, vouchingAgent, workBehind } from './agents.ts';
import { openDashboard, PHONE } from './open-page.ts';
import { detailOf, iconOf, rowIn, rowOf, sentenceOf, styleOf } from './page-parts.ts';

const GENERATING = 'Agent is generating';
const BACKGROUND = 'Background work is running';

const COLOURS = {
  light: { generating: 'rgb(154, 107, 0)', background: 'rgb(116, 55, 220)' },
  dark: { generating: 'rgb(240, 198, 74)', background: 'rgb(180, 156, 255)' },
} as const;

async function send(page: Page, text: string): Promise<void> {
  await page.getByTestId('composer').getByRole('textbox').fill(text);
  await page.getByTestId('composer').getByRole('button').click();
}

const outcomeIs = (page: Page, outcome: 'sent' | 'queued'): Promise<void> =>
  page.locator(`[data-testid="outcome"][data-outcome="${outcome}"]`).waitFor();

/** The composer says that a message would be taken at once. */
const isFree = (page: Page): Promise<void> => page.getByPlaceholder('Message the agent').waitFor();
const isBusy = (page: Page): Promise<void> => page.getByPlaceholder('Queue a message').waitFor();

describe('L162: generating and background work', () => {
  it.each(['light', 'dark'] as const)('are one dashed spinner in two colours with two labels, %s', async (colorScheme) => {
    const mock = vouchingAgent();
    await using dashboard = await openDashboard({ agents: { default: mock.factory } });
    await generate(dashboard, mock, { sessionId: 'speaks', taskId: 't1' });
    await workBehind(dashboard, mock, { sessionId: 'works', taskId: 't2' });
    const page = await dashboard.page({ colorScheme, reducedMotion: 'no-preference' });
    const seen = [
      ['session', 'speaks', 'generating', GENERATING],
      ['task', 't1', 'generating', GENERATING],
      ['session', 'works', 'background', BACKGROUND],
      ['task', 't2', 'background', BACKGROUND],
    ] as const;
    for (const [kind, id, tier, label] of seen) {
      const icon = rowOf(page, kind, id).getByRole('img', { name: label, exact: true });
      await icon.waitFor();
      expect(await styleOf(icon, 'color')).toEqual({ color: COLOURS[colorScheme][tier] });
      const ring = icon.locator('.ring');
      expect(await styleOf(ring, 'strokeDasharray', 'animationName')).toEqual({
        strokeDasharray: '3.1px, 3.18px',
        animationName: 'turn',
      });
    }
    await page.getByTestId('task-state-generating').waitFor();
    await page.getByTestId('task-state-background-running').waitFor();
  });

  it('follow each other: background, a prompt that is posted, generating, background, and nothing', async () => {
    const mock = vouchingAgent();
    await using dashboard = await openDashboard({ agents: { default: mock.factory } });
    const first = await workBehind(dashboard, mock);
    const page = await dashboard.page({ hash: '/session/s1' });
    await page.getByTestId('task-state-background-running').waitFor();
    await isFree(page);
    const taken = mock.nextPrompt();
    await send(page, 'go on');
    await outcomeIs(page, 'sent');
    await expect.poll(() => page.getByTestId('tickets').count()).toBe(0);
    await page.getByTestId('task-state-generating').waitFor();
    (await taken).end();
    await page.getByTestId('task-state-background-running').waitFor();
    finish(first);
    await page.getByTestId('task-state-background-running').waitFor({ state: 'detached' });
    await rowIn(page, 'session', 's1', 'idle').waitFor();
  });

  it('are told of a real agent over ACP', async () => {
    await using dashboard = await openDashboard({ agents: { default: acpAgent(EXAMPLE) }, killAfterMs: 500 });
    const { sessions } = dashboard.offstage;
    await sessions.create({ sessionId: 's1', taskId: (await dashboard.offstage.tasks.create({ title: 'Real' })).taskId });
    const page = await dashboard.page({ hash: '/session/s1' });
    await send(page, '/background 10m');
    await page.getByTestId('task-state-background-running').waitFor();
    await send(page, 'say I have not forgotten you\n/hang');
    await outcomeIs(page, 'sent');
    await page.getByTestId('task-state-generating').waitFor();
    await page.getByTestId('said').getByText('I have not forgotten you').waitFor();
    await detailOf(page).getByRole('button', { name: 'Interrupt the turn' }).click();
    await page.getByTestId('task-state-background-running').waitFor();
    await sessions.stop('s1', { force: true });
    await rowIn(page, 'session', 's1', 'cancelled').waitFor();
    await page.locator('.row .ring').waitFor({ state: 'detached' });
  });
});

describe('a session with work behind it', () => {
  it('L163: shows nothing of it after a stop by force, although its end was never told', async () => {
    const mock = vouchingAgent();
    await using dashboard = await openDashboard({ agents: { default: mock.factory } });
    await workBehind(dashboard, mock);
    const page = await dashboard.page({ hash: '/session/s1' });
    await page.getByTestId('task-state-background-running').waitFor();
    await dashboard.offstage.sessions.stop('s1', { force: true });
    await rowIn(page, 'session', 's1', 'cancelled').waitFor();
    await expect
      .poll(() =>
        page.locator('[data-testid$="-state-background-running"]:not([data-testid^="badge"], [data-testid^="chip"])').count(),
      )
      .toBe(0);
    expect((await dashboard.offstage.sessions.get('s1')).foregroundActivity).toBeNull();
  });

  it.each([
    ['', {}],
    [' (L168: on a phone)', PHONE],
  ])(
    'L164, L165: shows that it works and takes input; queues while it speaks; and is clear when it is done%s',
    async (_, device) => {
      const mock = vouchingAgent();
      await using dashboard = await openDashboard({ agents: { default: mock.factory } });
      const first = await workBehind(dashboard, mock);
      const page = await dashboard.page({ hash: '/session/s1', ...device });
      const state = detailOf(page).getByRole('heading', { level: 2 });
      await state.getByLabel(BACKGROUND, { exact: true }).waitFor();
      await isFree(page);
      const taken = mock.nextPrompt();
      await send(page, 'and what else?');
      await outcomeIs(page, 'sent');
      await isBusy(page);
      await state.getByLabel(GENERATING, { exact: true }).waitFor();
      const later = mock.nextPrompt();
      await send(page, 'later');
      await outcomeIs(page, 'queued');
      await page.getByTestId('outcome').getByText('Queued, number 1 in line').waitFor();
      await page.getByTestId('tickets').getByText('1. From a person').waitFor();
      (await taken).end();
      (await later).end();
      await isFree(page);
      await state.getByLabel(BACKGROUND, { exact: true }).waitFor();
      await expect.poll(() => page.getByTestId('tickets').count()).toBe(0);
      finish(first);
      await state.getByLabel('Ready for a prompt', { exact: true }).waitFor();
      if (device === PHONE) await detailOf(page).getByRole('button', { name: 'List' }).click();
      await rowIn(page, 'session', 's1', 'idle').waitFor();
    },
  );

  it('L166: shows both after a reload in the middle', async () => {
    const mock = vouchingAgent();
    await using dashboard = await openDashboard({ agents: { default: mock.factory } });
    await workBehind(dashboard, mock);
    const page = await dashboard.page({ hash: '/session/s1' });
    await page.getByTestId('task-state-background-running').waitFor();
    await page.reload();
    await page.getByTestId('task-state-background-running').waitFor();
    await isFree(page);
  });

  it('L169: its spinners end when everything has settled, in every place that had one', async () => {
    const mock = vouchingAgent();
    await using dashboard = await openDashboard({ agents: { default: mock.factory } });
    const prompt = await generate(dashboard, mock);
    const page = await dashboard.page({ hash: '/session/s1' });
    const spinners = page.locator('.row .ring, .detail .ring');
    await page.getByTestId('task-state-generating').waitFor();
    await expect.poll(() => spinners.count()).toBeGreaterThan(2);
    prompt.end();
    await rowIn(page, 'task', 't1', 'idle').waitFor();
    await rowIn(page, 'session', 's1', 'idle').waitFor();
    await sentenceOf(page).getByText('Ready for a prompt').waitFor();
    await expect.poll(() => spinners.count()).toBe(0);
  });

  it('is the same in a second tab at once, without waiting for a transition', async () => {
    const mock = vouchingAgent();
    await using dashboard = await openDashboard({ agents: { default: mock.factory } });
    const prompt = await workBehind(dashboard, mock);
    launch(prompt, 'w2');
    const first = await dashboard.page();
    await rowOf(first, 'session', 's1').getByText('2 subagents').waitFor();
    const { seq } = await dashboard.offstage.snapshot();
    const second = await first.context().newPage();
    await second.goto(dashboard.server.url);
    await rowOf(second, 'session', 's1').getByText('2 subagents').waitFor();
    await second.getByTestId('task-state-background-running').waitFor();
    expect((await dashboard.offstage.snapshot()).seq).toBe(seq);
  });
});

describe('L171: news of a session', () => {
  it('a change of the count alone is shown', async () => {
    const mock = vouchingAgent();
    await using dashboard = await openDashboard({ agents: { default: mock.factory } });
    const prompt = await workBehind(dashboard, mock);
    const page = await dashboard.page();
    const row = rowOf(page, 'session', 's1');
    await row.getByText('1 subagent').waitFor();
    launch(prompt, 'w2');
    await row.getByText('2 subagents').waitFor();
    finish(prompt, 'w1');
    await row.getByText('1 subagent', { exact: false }).waitFor();
    await expect.poll(() => iconOf(row).getAttribute('aria-label')).toBe(BACKGROUND);
  });

  it('generating turns into background and that into nothing while the state on the record stays; what is not told stays', async () => {
    const mock = vouchingAgent();
    await using dashboard = await openDashboard({ agents: { default: mock.factory } });
    const prompt = await generate(dashboard, mock);
    launch(prompt);
    const page = await dashboard.page({ hash: '/session/s1' });
    await rowIn(page, 'session', 's1', 'generating').waitFor();
    // Of another field of the task only: what its session does is not in it, and is not lost.
    await dashboard.offstage.tasks.setState('t1', 'review');
    prompt.agent.emit({ type: 'foreground.idle', generation: prompt.generation });
    await rowIn(page, 'session', 's1', 'background-running').waitFor();
    await rowIn(page, 'task', 't1', 'background-running').waitFor();
    prompt.end();
    await page.locator('.facts').getByText('waiting for input').waitFor();
    await rowIn(page, 'session', 's1', 'background-running').waitFor();
    finish(prompt);
    await rowIn(page, 'session', 's1', 'idle').waitFor();
    await rowIn(page, 'task', 't1', 'idle').waitFor();
    await expect.poll(() => rowOf(page, 'session', 's1').getByText('subagent').count()).toBe(0);
  });
});
