/** The example of the port `Agent` compiles, is what the documentation shows, and works as an agent. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import type { AgentFactory } from '../../src/model/agent.ts';
import { open } from '../../src/open.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { sessionLab } from '../support/sessions.ts';

// begin
const echo: AgentFactory = () => {
  const frames = new PassThrough({ objectMode: true });
  return {
    attests: { workloads: [], yield: false, handoff: false, snapshot: false },
    frames,
    prompt: async (content, { generation }) => {
      frames.write({ type: 'output', generation, text: String(content) });
      return { stopReason: 'end_turn' };
    },
    close: () => void frames.end(),
  };
};
// end

it('is the one in the documentation', () => {
  const shown = readFileSync(join(resolve(import.meta.dirname, '../..'), 'src/model/agent.ts'), 'utf8').replaceAll(
    /^ \* ?/gm,
    '',
  );
  const [, code = 'none'] = readFileSync(import.meta.filename, 'utf8').match(/^\/\/ begin\n([\s\S]*?)^\/\/ end$/m) ?? [];
  expect(shown).toContain(`@example\n${code}`);
});

it('answers one prompt after the other as one agent, which ends when it is closed', async () => {
  const agents: ReturnType<AgentFactory>[] = [];
  const watched: AgentFactory = async (context) => {
    const agent = echo(context);
    agents.push(agent);
    return agent;
  };
  {
    await using lab = await sessionLab({ agents: { default: watched } });
    const session = await lab.create();
    for (const content of ['one', 'two']) {
      await session.ask(content);
      await lab.settled();
    }
    expect(
      lab.engine.events.flatMap((event) =>
        event.type === 'session.output' ? [event.text] : event.type === 'session.turn_ended' ? [event.stopReason] : [],
      ),
    ).toEqual(['one', 'end_turn', 'two', 'end_turn']);
    expect(agents).toHaveLength(1);
  }
  for (const agent of agents) expect((await agent).frames).toMatchObject({ writableEnded: true });
});

it('serves a job', async () => {
  await using offstage = await open({ store: memoryStore(), agents: { default: echo } });
  const { jobId } = await offstage.spawn({ kind: 'agent', input: { prompt: 'three' } });
  expect(await offstage.wait(jobId)).toMatchObject({ status: 'completed', resultText: 'three' });
});
