/**
 * A program with an agent, for tests: it owns the folder until it is killed. Usage: node session-host.mjs <dataDir> <controlDir>.
 * The agent does what its prompts say; a file that appears in <controlDir> tells it what to do next, and is taken away.
 */
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { mockAgent } from '../../dist/adapters/mock-agent.js';
import { open } from '../../dist/open.js';

const [dataDir, controlDir] = process.argv.slice(2);
mkdirSync(controlDir, { recursive: true });

/** The prompt that is held open. */
let held = null;

const mock = mockAgent({
  attests: { workloads: ['subagent', 'shell', 'monitor'], yield: true, handoff: true, snapshot: true },
  onPrompt(prompt, agent) {
    const { generation } = prompt;
    const say = (text, channel = 'message') => agent.emit({ type: 'output', generation, text, channel });
    const [verb, ...words] = String(prompt.content).split(' ');
    const rest = words.join(' ');
    if (verb === 'say') {
      say('let me think', 'thought');
      say(rest);
      prompt.end();
    } else if (verb === 'hold') {
      say(`holding ${rest}`);
      held = prompt;
    } else if (verb === 'work') {
      agent.emit({ type: 'workload.started', generation, kind: 'subagent', workloadId: 'w-1' });
      agent.emit({ type: 'usage', generation, usage: { input_tokens: 7 } });
      say('started it\n');
      held = prompt;
    } else if (verb === 'crash') {
      say('oh');
      agent.crash(new Error('something broke'));
    } else if (verb === 'stop') {
      prompt.end(rest);
    } else {
      throw new Error(`it does not know ${verb}`);
    }
  },
});

const controls = {
  release() {
    mock.emit({ type: 'output', generation: held.generation, text: ' and released' });
    held.end();
  },
  yield: () => held.end(),
  finish: () => mock.emit({ type: 'workload.ended', generation: 0, workloadId: 'w-1' }),
  ask: () =>
    mock.emit({
      type: 'permission.request',
      generation: held.generation,
      requestId: 'r-1',
      kind: 'permission',
      title: 'Remove\u001b[31m the tag 1.4',
      options: ['allow', 'deny'],
    }),
};

const offstage = await open({ dataDir, control: true, agents: { default: mock.factory }, log: () => {} });
await offstage.tasks.create({ taskId: 't', title: 'Release 1.4' });
await offstage.sessions.create({ sessionId: 's', taskId: 't' });
console.log('ready');

setInterval(() => {
  for (const [name, act] of Object.entries(controls)) {
    const file = join(controlDir, name);
    if (!existsSync(file)) continue;
    rmSync(file);
    act();
  }
}, 10);
