/**
 * The pictures in docs/images, taken of a real engine: `OFFSTAGE_SCREENSHOTS=1 npx vitest run --project browser screenshots`. Else not run.
 */
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { it } from 'vitest';
import { vouchingAgent } from './agents.ts';
import { openDashboard, PHONE } from './open-page.ts';
import { rowIn, rowOf } from './page-parts.ts';

const IMAGES = join(import.meta.dirname, '..', '..', 'docs', 'images');

/** Long enough that nothing of it ends while pictures are taken. */
const LONG = 600_000;

const sh = (script: string) => ({ command: script, shell: true });

it('pictures of the main views', async () => {
  const mock = vouchingAgent();
  await using dashboard = await openDashboard({
    workers: 5,
    cancelGraceMs: 1_500,
    notices: false,
    agents: { default: mock.factory, reviewer: mock.factory },
    executors: {
      research: async (job, context) => {
        context.progress({ step: 'reading worker-3.log', done: 3, total: 8 });
        await pause(LONG, undefined, { signal: context.signal });
        return job.subject;
      },
      stubborn: () => pause(LONG, undefined, { ref: false }),
    },
  });
  const { offstage } = dashboard;
  await offstage.tasks.create({ taskId: 'build', title: 'Find out why the nightly build fails' });
  await offstage.sessions.create({ sessionId: 'investigate', taskId: 'build' });
  await offstage.sessions.create({ sessionId: 'review', taskId: 'build', agentId: 'reviewer' });
  await offstage.tasks.create({ taskId: 'notes', title: 'Write the release notes' });
  await offstage.sessions.create({ sessionId: 'notes', taskId: 'notes' });
  await offstage.tasks.create({ taskId: 'dependencies', title: 'Update the dependencies' });
  await offstage.sessions.create({ sessionId: 'update', taskId: 'dependencies' });

  const ask = async (sessionId: string, content: string) => {
    const prompt = mock.nextPrompt();
    await offstage.sessions.prompt(sessionId, { content });
    return prompt;
  };
  const spawn = (sessionId: string, subject: string, kind: string, input: unknown = null) =>
    offstage.spawn({ kind, sessionId, subject, input } as never);

  const version = await spawn('investigate', 'Which node is this', 'command', sh('node --version'));
  const tests = await spawn(
    'investigate',
    'Unit tests',
    'command',
    sh(
      'for part in model engine doors; do echo " PASS  test/$part (84 tests)"; done; echo " FAIL  upload a file: expected 201, got 507"; exit 1',
    ),
  );
  await offstage.waitMany([version.jobId, tests.jobId]);
  const stuck = await spawn('investigate', 'A download that hangs', 'stubborn');
  const ended = new Promise<void>((resolve) => {
    const stop = offstage.onEvent((event) => {
      if (event.type !== 'job.status' || event.jobId !== stuck.jobId) return;
      if (event.status === 'running' && event.cancelRequestedAt === null) void offstage.cancel(stuck.jobId);
      if (event.status !== 'cancelled') return;
      stop();
      resolve();
    });
  });
  await ended;
  const logs = await spawn('investigate', 'Read the logs of last night', 'research');
  const watch = await spawn(
    'investigate',
    'Watch the disk',
    'command',
    sh('i=0; while :; do i=$((i+1)); echo "$i: 12.4 GB free on /var"; sleep 0.3; done'),
  );
  await spawn('update', 'Compare the changelogs', 'research');
  await spawn('update', 'npm outdated', 'research');
  await spawn('update', 'Read the advisories', 'research');

  const talk = await ask('investigate', 'The nightly build failed. Find out why.');
  talk.agent.emit({ type: 'capability', generation: 0, handoff: true, snapshot: true });
  talk.agent.emit({ type: 'workload.started', generation: talk.generation, kind: 'subagent', workloadId: 'toolu_01' });
  const question = await ask('notes', 'Write the notes for 1.2.0.');
  const options = [
    {
      optionId: 'yes',
      name: 'Allow once',
      kind: 'allow_once',
      tool: 'write_file',
      input: { path: 'CHANGELOG.md', text: '## 1.2.0' },
    },
    { optionId: 'no', name: 'Deny', kind: 'reject_once' },
  ];
  question.agent.emit({
    type: 'permission.request',
    generation: question.generation,
    requestId: 'r1',
    kind: 'permission',
    options,
  });

  const look = async (name: string, options: Parameters<typeof dashboard.page>[0], what: string) => {
    const page = await dashboard.page({ deviceScaleFactor: 1, ...options });
    await page.locator('[data-section]').first().waitFor();
    await page.getByText(what).first().waitFor();
    return { page, take: () => page.screenshot({ path: join(IMAGES, `${name}.png`) }) };
  };
  const first = await look('dashboard-light', { hash: `/job/${watch.jobId}` }, 'free on /var');
  await rowIn(first.page, 'session', 'notes', 'permission').waitFor();
  await first.page.getByText('20: 12.4 GB').waitFor();
  await first.take();
  const second = await look('dashboard-dark', { hash: '/session/investigate', colorScheme: 'dark' }, 'Background work');
  talk.agent.emit({ type: 'output', generation: talk.generation, text: 'I look at the logs.', channel: 'thought' });
  talk.agent.emit({
    type: 'output',
    generation: talk.generation,
    text: 'The disk was full from 02:10 to 02:40, which explains why the upload test failed. A second agent reads the other logs meanwhile.',
  });
  await second.page.getByText('A second agent reads').waitFor();
  await second.take();
  await (await look('dashboard-question', { hash: '/session/notes' }, 'asks for permission')).take();
  const chart = await look(
    'dashboard-statechart',
    { hash: `/job/${logs.jobId}`, viewport: { width: 1280, height: 1500 } },
    'reading worker-3.log',
  );
  await chart.page.locator('[data-state="running.active"].is-active').waitFor();
  await chart.take();
  const phone = await dashboard.page({ ...PHONE, deviceScaleFactor: 2 });
  await rowOf(phone, 'job', logs.jobId).waitFor();
  await phone.screenshot({ path: join(IMAGES, 'dashboard-phone.png') });
  dashboard.ignore(/WebSocket|ERR_|Failed to load/);
  await dashboard.server.close();
  await first.page.getByText('Disconnected, showing').waitFor();
  await first.page.screenshot({ path: join(IMAGES, 'dashboard-disconnected.png') });
}, 120_000);
