/**
 * A whole host in one file: a folder for the data, an agent, a kind of job of its own, events, a session with prompts, jobs with cards, a
 * notice to the agent, the tools by hand, a stop, and the end.
 *
 *   npm install offstage @agentclientprotocol/sdk
 *   node examples/host.mjs
 *
 * The agent is examples/agent.mjs, which needs no model and does what its prompt says. Put the command of a real one in its place.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { CARD_BADGES, open } from 'offstage';
import { acpAgent } from 'offstage/agents';
import { agentTools } from 'offstage/tools';

const program = fileURLToPath(new URL('agent.mjs', import.meta.url));
const dataDir = await mkdtemp(join(tmpdir(), 'offstage-host-'));

const offstage = await open({
  dataDir,
  agents: { default: acpAgent({ command: process.execPath, args: [program], protocol: 'v2' }) },
  executors: {
    /** A kind of job of your own: an async function. */
    async research(job, { signal }) {
      await pause(400, undefined, { signal });
      return `${job.input.question} Because of the tides.`;
    },
  },
});

const said = [];
offstage.onEvent((event) => {
  if (event.type === 'session.output') said.push(event.text);
  if (event.type === 'session.turn_ended') console.log(`agent     ${said.splice(0).join('').trim().replaceAll('\n', ' | ')}`);
  if (event.type === 'session.activity_changed') console.log(`shows     ${shown(event)}`);
  if (event.type === 'card.updated') console.log(`card      ${CARD_BADGES[event.status]}`);
});
/** The next event of this type that matches. */
const next = (type, matches = () => true) =>
  new Promise((resolve) => {
    const stop = offstage.onEvent((event) => {
      if (event.type !== type || !matches(event)) return;
      stop();
      resolve(event);
    });
  });

heading('A person talks to the agent of a session');
const task = await offstage.tasks.create({ title: 'Find out about the sea' });
const { sessionId } = await offstage.sessions.create({ taskId: task.taskId });
await prompt('say Hello, what shall I do?');

heading('A job in the background; when it ends, the agent is told');
const toldOfIt = next('session.turn_ended');
const job = await offstage.spawn({ kind: 'research', sessionId, subject: 'the sea', input: { question: 'Why does it rise?' } });
await toldOfIt;
const [card] = await offstage.cards.list({ sessionId });
console.log(`card      ${card.content}`);
console.log(`context   ${(await offstage.context.expand(sessionId, [card])).map(({ text }) => text)}`);

heading('The tools of a model, called by hand');
const tools = new Map(agentTools(offstage).map((tool) => [tool.name, tool]));
const call = async (name, args) => {
  const answer = await tools.get(name).execute(args, { sessionId });
  console.log(`${name.padEnd(12)}${typeof answer === 'string' ? answer.replaceAll('\n', ' | ') : JSON.stringify(answer)}`);
};
await call('agent', { prompt: 'say I am another agent.', description: 'ask somebody else' });
await call('job_output', { job_id: job.jobId });

heading('All of it is stopped at once');
await offstage.spawn({ kind: 'agent', sessionId, subject: 'never ends', input: { prompt: '/hang' } });
await offstage.spawn({ kind: 'command', sessionId, subject: 'sleeps', input: { command: 'sleep', args: ['600'] } });
await next('job.status', ({ status }) => status === 'running');
const { settled } = await offstage.tasks.stop(task.taskId, { reason: 'that will do' });
const { stopped, detached } = await settled;
console.log(`stopped   ${stopped.length} ended, ${detached.length} did not`);
for (const { subject, status } of await offstage.list({ taskId: task.taskId }))
  console.log(`job       ${status.padEnd(9)} ${subject}`);

await offstage.close();
await rm(dataDir, { recursive: true });

function shown({ foregroundActivity, activeSubagentCount }) {
  return `${foregroundActivity ?? 'nothing'}, ${activeSubagentCount} subagents at work`;
}

function heading(text) {
  console.log(`\n--- ${text}`);
}

/** Resolves with the end of the turn. */
async function prompt(content) {
  const ended = next('session.turn_ended');
  console.log(`person    ${content}`);
  await offstage.sessions.prompt(sessionId, { content });
  await ended;
}
