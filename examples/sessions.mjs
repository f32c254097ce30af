/**
 * Sessions with a real agent: a prompt launches work that outlives its turn, a second prompt is let in while that work runs, and what the
 * session shows is told as it changes. With `--v1` the same agent speaks a protocol that vouches for nothing, so nothing is shown of its
 * background work, and a second prompt waits as a ticket until the turn is over.
 *
 *   node examples/sessions.mjs [--v1]
 */
import { fileURLToPath } from 'node:url';
import { memoryStore, open } from 'offstage';
import { acpAgent } from 'offstage/agents';

const isV1 = process.argv.includes('--v1');
const program = fileURLToPath(new URL('agent.mjs', import.meta.url));
const agent = acpAgent({ command: process.execPath, args: [program, ...(isV1 ? ['--v1'] : [])], protocol: isV1 ? 'v1' : 'v2' });

const offstage = await open({ store: memoryStore(), agents: { default: agent } });
const { sessionId } = await offstage.sessions.create();

const shown = ({ foregroundActivity, activeSubagentCount }) => `${foregroundActivity ?? 'none'}/${activeSubagentCount}`;
const told = [];
const waiting = new Map();
offstage.onEvent((event) => {
  if (event.type === 'session.activity_changed') told.push(shown(event));
  const line = {
    'session.activity_changed': () => `shows     ${shown(event)}`,
    'session.state_changed': () => `state     ${event.oldState ?? '-'} -> ${event.newState}`,
    'session.output': () => `says      ${event.text.trim()}`,
    'session.turn_ended': () => `turn ${event.generation}    ended: ${event.stopReason ?? event.error?.message}`,
    'session.ticket': () => `ticket    ${event.status}`,
  }[event.type]?.();
  if (line !== undefined && !line.endsWith('      ')) console.log(line);
  waiting.get(event.type)?.(event);
});
const next = (type, matches = () => true) =>
  new Promise((resolve) => waiting.set(type, (event) => matches(event) && resolve(event)));

const prompt = async (content) => {
  console.log(`\nprompt    ${content.replaceAll('\n', ' | ')}`);
  const answer = await offstage.sessions.prompt(sessionId, { content, whenBusy: 'queue' });
  console.log(answer.accepted ? `accepted  turn ${answer.generation}` : `queued    position ${answer.position}`);
  return answer;
};

// With v1 the turn is kept open for a while, as agents do that wait for their own background work.
const firstEnds = next('session.turn_ended');
await prompt(isV1 ? '/background 600ms subagent\n/slow 900ms' : '/background 1500ms subagent\nsay working on it');
if (!isV1) await firstEnds;
const isOver = next('session.activity_changed', (event) => event.foregroundActivity === null);
await prompt('say and what else?');
await isOver;
console.log(`\nIn order: ${told.join(' -> ')}`);
await offstage.close();
