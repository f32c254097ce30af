/**
 * A host that dies while it ends the agent of a session and a command, neither of which ends when asked.
 * Usage: node stopping-host.mjs <what ends them> <when it dies> <dataDir>. It ends them by `stop`, or by `stall`; it dies `before` or
 * `after` the batch that says so, or is killed by others once it has said `told`. Before, it says `execution <id>` of both.
 */
import { writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { acpAgent } from '../../dist/acp-agent.js';
import { open } from '../../dist/index.js';
import { levelStore } from '../../dist/persistence/level-store.js';

const [by, when, dataDir] = process.argv.slice(2);
const AGENT = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'examples', 'agent.mjs');
const FOREVER_MS = 3_600_000;

const say = (line) => writeSync(1, `${line}\n`);
const die = () => process.kill(process.pid, 'SIGKILL');

const isIntent = ({ key, value }) => key.startsWith('x/') && value !== undefined && JSON.parse(value).teardownAt !== null;

/** Dies with the batch that decides the end. */
function dying(store) {
  return {
    get: (key) => store.get(key),
    getMany: (keys) => store.getMany(keys),
    range: (options) => store.range(options),
    close: () => store.close(),
    async batch(operations, options) {
      const isIt = operations.some(isIntent);
      if (isIt && when === 'before') die();
      await store.batch(operations, options);
      if (isIt && when === 'after') die();
    },
  };
}

// A shell says something when it, or a child of it, is told to end. Nobody may read that any more, so it is deaf to PIPE as well.
const deaf = (script, ...args) => ({ command: 'sh', args: ['-c', script, 'sh', ...args] });
const offstage = await open({
  store: dying(await levelStore(dataDir)),
  agents: {
    default: acpAgent({
      ...deaf('trap "" TERM PIPE; "$@"; while :; do sleep 0.1; done', process.execPath, AGENT),
      protocol: 'v2',
    }),
  },
  stallFailMs: by === 'stall' ? 500 : null,
  cancelGraceMs: 4 * FOREVER_MS,
  killAfterMs: FOREVER_MS,
  log: () => {},
});
const said = (of, text) =>
  new Promise((resolve) => {
    offstage.onEvent((event) => {
      if ((event.sessionId === of || event.jobId === of) && event.text?.includes(text)) resolve();
    });
  });

await offstage.tasks.create({ taskId: 't' });
await offstage.sessions.create({ sessionId: 's', taskId: 't' });
const input = deaf("trap '' PIPE; trap 'echo told' TERM; echo ready; while :; do sleep 0.1; done");
const hasBegun = said('j', 'ready');
const isTold = said('j', 'told');
await offstage.spawn({ kind: 'command', sessionId: 's', jobId: 'j', input });
await hasBegun;
const isAtWork = said('s', 'ready');
const content = '/ignore-cancel\n/spawn setsid\nsay ready\n/hang';
await offstage.sessions.prompt('s', { content });
await isAtWork;
for (const { executionId } of await offstage.processes()) say(`execution ${executionId}`);
say('ready');
if (by === 'stop') await offstage.tasks.stop('t');
await isTold;
say('told');
