/** Everything that comes from work, agents or hosts is text (spec 12): nothing of it becomes markup, runs, or asks anybody. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { controlledExecutor } from '../../src/testing/index.ts';
import { ask, generate, launch, vouchingAgent } from './agents.ts';
import { type FullScene, fullScene, show } from './full-scene.ts';
import { openDashboard } from './open-page.ts';
import { detailOf, rowOf, sentenceOf } from './page-parts.ts';

/** Each kind of it, in one line: markup, a script, an address that is asked for, one that runs, an end of whatever was open. */
const evil = (name: string): string =>
  `${name} "'\`></textarea></title><script>ran.push(1)</script><img src=x onerror="ran.push(2)"><iframe srcdoc="<script>parent.ran.push(3)</script>"></iframe><svg onload="ran.push(4)"><a href="javascript:ran.push(5)">go</a><link rel=stylesheet href=//evil.example/a.css>{{7*7}}\u202e`;

/** Nothing has run, and the page has no element that it was not made of. */
async function isUnharmed(page: Page): Promise<void> {
  expect(await page.evaluate('globalThis.ran')).toEqual([]);
  expect(await page.locator('#app :is(script, img, iframe, a, link, [onload], [onerror], [srcdoc])').count()).toBe(0);
}

const watched = (page: Page): Promise<unknown> => page.addInitScript('globalThis.ran = []');

describe('every field of a job', () => {
  it('is shown as text: subject, description, input, progress, output, partial and final text, result, error, reason, ids', async () => {
    const work = controlledExecutor();
    const agents = { [evil('agent')]: vouchingAgent().factory };
    await using dashboard = await openDashboard({ executors: { work, [evil('kind')]: work }, agents, notices: false });
    const { offstage } = dashboard;
    const taskId = evil('task id');
    const sessionId = evil('session id');
    await offstage.tasks.create({ taskId, title: evil('task title') });
    await offstage.sessions.create({ sessionId, taskId, agentId: evil('agent') });
    const fields = (name: string) => ({
      jobId: evil(`${name} id`),
      kind: evil('kind'),
      sessionId,
      subject: evil(`${name} subject`),
      description: evil('description'),
      input: { [evil('key')]: [evil('value')] },
      parentMessageId: evil('plan'),
    });
    const running = fields('running');
    await offstage.spawn(running);
    const { context } = await work.started(running.jobId);
    context.output(evil('output'));
    context.partial(evil('partial'));
    context.progress({ done: 1, total: 2, message: evil('progress') });
    const failed = fields('failed');
    await offstage.spawn(failed);
    await work.fail(failed.jobId, Object.assign(new Error(evil('error')), { code: evil('code') }));
    await offstage.wait(failed.jobId);
    const done = fields('done');
    await offstage.spawn(done);
    await work.release(done.jobId, { text: evil('result') });
    await offstage.wait(done.jobId);
    const page = await dashboard.page({ prepare: watched });
    const show = async (kind: string, id: string): Promise<void> => {
      await page.evaluate(`location.hash = ${JSON.stringify(`/${kind}/${encodeURIComponent(id)}`)}`);
      await sentenceOf(page).waitFor();
    };
    const sees = (text: string): Promise<void> => detailOf(page).getByText(text, { exact: false }).first().waitFor();
    await show('job', running.jobId);
    for (const name of ['running subject', 'description', 'value', 'output', 'partial', 'progress', 'plan', 'kind', 'running id'])
      await sees(name === 'value' ? '7*7' : evil(name));
    await isUnharmed(page);
    await show('job', failed.jobId);
    await sees(evil('error'));
    await isUnharmed(page);
    await show('job', done.jobId);
    await detailOf(page).getByLabel('Result value').getByText('result').waitFor();
    await detailOf(page).getByTestId('card').getByText(evil('done subject')).first().waitFor();
    await isUnharmed(page);
    await show('session', sessionId);
    await sees(evil('session id'));
    await show('task', taskId);
    await sees(evil('task title'));
    for (const [kind, id] of [
      ['task', taskId],
      ['session', sessionId],
      ['job', done.jobId],
    ] as const) {
      expect(
        await page.locator(`.row[data-kind="${kind}"]`).evaluateAll((rows) => rows.map((row) => row.getAttribute('data-id'))),
      ).toContain(id);
    }
    await isUnharmed(page);
    // The form that offers what is there, and the question before an end.
    await page.getByRole('button', { name: 'Job', exact: true }).click();
    await page.getByRole('dialog').getByLabel('Session').waitFor();
    await isUnharmed(page);
    await page.keyboard.press('Escape');
    await page.getByPlaceholder('Search').fill(evil('nothing like this'));
    await page.getByRole('button', { name: 'Show everything' }).waitFor();
    await isUnharmed(page);
    await page.reload();
    await sentenceOf(page).waitFor();
    await isUnharmed(page);
  });
});

describe('what an agent says and asks', () => {
  it('is shown as text: message, thought, options, tool, name of the work, why a turn ended', async () => {
    const mock = vouchingAgent();
    await using dashboard = await openDashboard({ agents: { default: mock.factory } });
    const prompt = await generate(dashboard, mock);
    const { agent, generation } = prompt;
    const page = await dashboard.page({ prepare: watched, hash: '/session/s1' });
    await sentenceOf(page).getByText('Agent is generating').waitFor();
    agent.emit({ type: 'output', generation, text: evil('message') });
    agent.emit({ type: 'output', generation, text: evil('thought'), channel: 'thought' });
    agent.emit({ type: 'usage', generation, usage: { [evil('usage')]: 1 } });
    launch(prompt, evil('work'));
    await page.getByTestId('said').getByText(evil('message')).waitFor();
    await page.getByTestId('said').getByText(evil('thought')).waitFor();
    const choices = [
      { optionId: evil('option id'), name: evil('allow'), tool: evil('tool'), input: { command: evil('command') } },
      evil('bare option'),
    ];
    ask(prompt, 'permission', choices, { title: evil('title') });
    const pending = page.getByTestId('pending');
    await pending.getByText(evil('title')).waitFor();
    await pending.getByText(evil('allow')).waitFor();
    await pending.getByText(evil('tool')).waitFor();
    await isUnharmed(page);
    await pending.getByText(evil('allow')).click();
    await pending.waitFor({ state: 'detached' });
    expect(agent.answers).toEqual([{ requestId: 'r1', choice: evil('option id') }]);
    prompt.end(evil('stop reason'));
    await page.getByTestId('said').getByText(evil('stop reason')).waitFor();
    await rowOf(page, 'session', 's1').waitFor();
    await isUnharmed(page);
  });
});

describe('the content policy', () => {
  it('is that of the page itself, and no view of it breaks it or asks another origin', async () => {
    const scene: FullScene = await fullScene();
    await using dashboard = scene.dashboard;
    const page = await dashboard.page({
      prepare: (page) =>
        page.addInitScript(
          `globalThis.broken = []; document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => broken.push(violatedDirective + ' ' + blockedURI))`,
        ),
    });
    const answer = await page.reload();
    const policy = (await answer?.headerValue('content-security-policy')) ?? '';
    expect(policy).toContain("default-src 'self'");
    expect(policy).not.toMatch(/unsafe|\*|data:/);
    for (const hash of Object.values(scene.views)) await show(page, hash);
    await show(page, '/job/runs');
    await page.locator('.chart-picture').first().waitFor();
    for (const name of ['Task', 'Job']) {
      await page.getByRole('button', { name, exact: true }).click();
      await page.getByRole('dialog').waitFor();
      await page.keyboard.press('Escape');
    }
    expect(await page.evaluate('broken')).toEqual([]);
    // That the listener hears: what the policy forbids is heard.
    dashboard.ignore(/Content Security Policy/);
    await page.evaluate(`document.head.append(Object.assign(document.createElement('script'), { textContent: '1' }))`);
    await expect.poll(() => page.evaluate('broken.length')).toBe(1);
  });
});
