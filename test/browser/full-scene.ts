/** One engine in which there is everything that can be seen: every state of a job, a session and a task, a question, a plan, output, a card. */
import type { Page } from 'playwright-core';
import { controlledExecutor } from '../../src/testing/index.ts';
import { ask, generate, launch, vouchingAgent, workBehind } from './agents.ts';
import { type Dashboard, openDashboard } from './open-page.ts';

export interface FullScene extends AsyncDisposable {
  readonly dashboard: Dashboard;
  /** What follows the `#` to show each kind of thing. */
  readonly views: Readonly<Record<string, string>>;
}

export async function fullScene(): Promise<FullScene> {
  const work = controlledExecutor();
  const stubborn = controlledExecutor({ stubborn: true });
  const mock = vouchingAgent();
  const dashboard = await openDashboard({
    executors: { work, stubborn },
    agents: { default: mock.factory },
    workers: 6,
    cancelGraceMs: 200,
    shutdownGraceMs: 1,
    notices: false,
    log: () => {},
  });
  const { offstage } = dashboard;
  ask(await generate(dashboard, mock, { sessionId: 'asks', taskId: 't1', title: 'Deploy the service' }), 'permission');
  const wondering = await generate(dashboard, mock, { sessionId: 'wonders', taskId: 't2', title: 'Choose a name' });
  ask(wondering, 'clarification', ['the short one', 'the long one']);
  const speaking = await generate(dashboard, mock, { sessionId: 'speaks', taskId: 't3', title: 'Find the fault' });
  launch(speaking, 'w2', 'shell');
  await offstage.sessions.prompt('speaks', { content: 'and then?', whenBusy: 'queue' });
  await workBehind(dashboard, mock, { sessionId: 'works', taskId: 't4', title: 'Read the papers' });
  await offstage.tasks.create({ taskId: 't5', title: 'Nothing to do' });
  const spawn = (jobId: string, more: object = {}) =>
    offstage.spawn({ kind: 'work', jobId, subject: `research ${jobId}`, sessionId: 'works', parentMessageId: 'plan', ...more });
  await spawn('runs', { description: 'Read all of it.', input: { pages: [1, 2, 3] } });
  const { context } = await work.started('runs');
  context.output('page 1\npage 2\n');
  context.partial('so far nothing');
  context.progress({ done: 1, total: 3, message: 'page 1 of 3' });
  for (const jobId of ['well', 'badly', 'ended']) await spawn(jobId, { parentJobId: 'runs' });
  await work.release('well', { found: true });
  await work.fail('badly', new Error('there is no page 4'));
  await offstage.cancel('ended');
  await spawn('lost', { kind: 'stubborn' });
  await stubborn.started('lost');
  await offstage.cancel('lost', { reason: 'too slow' });
  await offstage.waitMany(['well', 'badly', 'ended', 'lost']);
  for (let n = 0; n < 6; n += 1) await spawn(`more${n}`);
  const views = {
    list: '/',
    'a filter': '/?show=errored,queued&q=research',
    'a running job': '/job/runs',
    'a failed job': '/job/badly',
    'a completed job': '/job/well',
    'a detached job': '/job/lost',
    'a session that asks': '/session/asks',
    'a session with a question': '/session/wonders',
    'a session that speaks': '/session/speaks',
    'a session with work behind it': '/session/works',
    'a task': '/task/t4',
    'nothing there': '/job/nowhere',
  };
  return { dashboard, views, [Symbol.asyncDispose]: () => dashboard[Symbol.asyncDispose]() };
}

/** Goes there within the page, and waits for what is to be seen, what is read later included. @param hash one of `views` */
export async function show(page: Page, hash: string): Promise<void> {
  await page.evaluate(`new Promise((resolve) => {
    if (decodeURIComponent(location.hash) === ${JSON.stringify(`#${hash}`)}) return resolve();
    addEventListener('hashchange', () => requestAnimationFrame(() => requestAnimationFrame(resolve)), { once: true });
    location.hash = ${JSON.stringify(hash)};
  })`);
  const isOfList = hash === '/' || hash.startsWith('/?');
  await page
    .locator(isOfList ? '.row' : hash.endsWith('nowhere') ? '.nothing' : '.thing .facts')
    .first()
    .waitFor();
  if (hash.startsWith('/job/') && !hash.endsWith('nowhere')) await page.getByTestId('card').waitFor();
}
