/** What the example agent says over real stdio while background work outlives its turn, as steps of a fixture. */
import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { MappingStep } from '../../src/adapters/frame-mapping.ts';
import { fieldsOf } from '../../src/adapters/read-json.ts';

const ROOT = resolve(import.meta.dirname, '..', '..');

export interface Recording {
  /** Up to the end of the turn. */
  readonly launch: MappingStep[];
  /** From there until nothing runs any more. */
  readonly end: MappingStep[];
}

/** Runs one prompt; ids that differ from run to run are numbered. */
export async function recordExample(prompt: string): Promise<Recording> {
  const child = spawn(process.execPath, [join(ROOT, 'examples', 'agent.mjs')], { cwd: ROOT, stdio: ['pipe', 'pipe', 'inherit'] });
  const closed = new Promise((settle) => child.once('close', settle));
  const send = (message: object): void => {
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  };
  const launch: MappingStep[] = [];
  const end: MappingStep[] = [];
  try {
    send({
      id: 0,
      method: 'initialize',
      params: { protocolVersion: 2, info: { name: 'recorder', version: '1' }, capabilities: {} },
    });
    for await (const line of createInterface({ input: child.stdout })) {
      const { id, result, params } = JSON.parse(line) as Record<string, unknown>;
      if (id === 0) {
        launch.push({ step: 'connected', message: result });
        send({ id: 1, method: 'session/new', params: { cwd: ROOT, mcpServers: [] } });
      } else if (id === 1) {
        launch.push({ step: 'prompt', generation: 1 });
        const { sessionId } = fieldsOf(result);
        send({ id: 2, method: 'session/prompt', params: { sessionId, prompt: [{ type: 'text', text: prompt }] } });
      } else if (id === 2) launch.push({ step: 'accepted', generation: 1 });
      else {
        const { update } = fieldsOf(params);
        const { state, background } = fieldsOf(update);
        const isOver = launch.some((step) => step.step === 'told' && fieldsOf(step.message).state === 'idle');
        (isOver ? end : launch).push({ step: 'told', message: update });
        if (isOver && state === 'idle' && Array.isArray(background) && background.length === 0) break;
      }
    }
  } finally {
    child.stdin.end();
    child.kill();
    await closed;
  }
  return numbered({ launch, end });
}

const UUID = /_[0-9a-f]{8}-[0-9a-f-]{27}/g;

/** `subagent_<uuid>` becomes `subagent-1`: by first appearance, over the whole recording. */
function numbered(recording: Recording): Recording {
  const numbers = new Map<string, number>();
  const text = JSON.stringify(recording).replace(UUID, (uuid) => {
    if (!numbers.has(uuid)) numbers.set(uuid, numbers.size + 1);
    return `-${numbers.get(uuid)}`;
  });
  return JSON.parse(text) as Recording;
}
