/** The tools in an agent loop of the AI SDK, with a model that is scripted. */
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { generateText, stepCountIs, type ToolSet } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { describe, expect, it } from 'vitest';
import { type AgentTool, agentTools, plannerTools, toAiSdkTools } from '../../src/doors/tools/index.ts';
import { open } from '../../src/open.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { gate, scripted } from '../support/executors.ts';
import { testEngine } from '../support/test-engine.ts';

type Turn = Awaited<ReturnType<MockLanguageModelV3['doGenerate']>>;

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

const calls = (...tools: readonly (readonly [name: string, input: unknown])[]): Turn => ({
  content: tools.map(([toolName, input], index) => ({
    type: 'tool-call',
    toolCallId: `call_${index}`,
    toolName,
    input: JSON.stringify(input),
  })),
  finishReason: { unified: 'tool-calls', raw: undefined },
  usage,
  warnings: [],
});

const says = (text: string): Turn => ({
  content: [{ type: 'text', text }],
  finishReason: { unified: 'stop', raw: undefined },
  usage,
  warnings: [],
});

describe('toAiSdkTools', () => {
  it('are tools by name, which generateText takes', async () => {
    await using engine = await testEngine();
    const tools = toAiSdkTools(plannerTools(engine.offstage));
    // The compiler says so too.
    const set: ToolSet = tools;
    expect(Object.keys(set)).toEqual(['agent', 'job_output', 'job_stop', 'list_jobs', 'await_tasks']);
    for (const { name, description, parameters } of plannerTools(engine.offstage)) {
      expect(tools[name]?.description).toBe(description);
      expect(tools[name]?.inputSchema.jsonSchema).toEqual(parameters);
    }
    const plain: readonly AgentTool[] = agentTools(engine.offstage);
    expect(Object.keys(toAiSdkTools(plain))).toHaveLength(4);
  });

  it('load the AI SDK when they are asked for, and not before', async () => {
    const script = `
      import { createRequire } from 'node:module';
      import { toAiSdkTools } from 'offstage/tools';
      const { cache } = createRequire(import.meta.url);
      const isLoaded = () => Object.keys(cache).some((path) => path.includes('/node_modules/ai/'));
      const before = isLoaded();
      toAiSdkTools([]);
      console.log(before, isLoaded());`;
    const cwd = resolve(import.meta.dirname, '../..');
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { cwd });
    expect(stdout).toBe('false true\n');
  });

  it('take an engine as open made it, whatever kinds it has', async () => {
    await using offstage = await open({
      store: memoryStore(),
      executors: { agent: async (job: { input: { prompt: string } }) => job.input.prompt },
    });
    const [agent] = agentTools(offstage);
    expect(await agent?.execute({ prompt: 'hello', description: 'greet' })).toBe('hello');
  });

  it('are called by a loop: the model sees the schemas, and gets what the tools answer', async () => {
    const agent = scripted({ probe: () => 'the disk is full', fails: () => Promise.reject(new Error('no key')) });
    await using engine = await testEngine({ executors: { agent } });
    const { offstage } = engine;
    await offstage.sessions.create({ sessionId: 's' });
    const model = new MockLanguageModelV3({
      doGenerate: [
        calls(['agent', { prompt: 'go', description: 'probe' }], ['agent', { prompt: 'go', description: 'fails' }]),
        calls(['list_jobs', {}], ['job_output', { job_id: 7 }]),
        says('The disk is full.'),
      ],
    });
    const { text, steps } = await generateText({
      model,
      prompt: 'Why?',
      tools: toAiSdkTools(agentTools(offstage), { sessionId: 's', parentMessageId: 'm1' }),
      stopWhen: stepCountIs(5),
    });
    expect(text).toBe('The disk is full.');
    expect(steps.flatMap(({ toolResults }) => toolResults.map(({ output }) => output))).toEqual([
      'the disk is full',
      '[task error] Error: no key',
      [
        { id: expect.any(String), status: 'errored', subject: 'fails' },
        { id: expect.any(String), status: 'completed', subject: 'probe' },
      ],
      '[job_output error] job_id must be a string',
    ]);
    expect(model.doGenerateCalls[0]?.tools).toMatchObject(
      agentTools(offstage).map(({ name, description, parameters }) => ({ name, description, inputSchema: parameters })),
    );
    expect((await offstage.list()).map(({ sessionId, parentMessageId }) => [sessionId, parentMessageId])).toEqual([
      ['s', 'm1'],
      ['s', 'm1'],
    ]);
  });

  it('end with the signal of the loop: its jobs in the foreground are cancelled', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { agent: held } });
    const { offstage, clock } = engine;
    const controller = new AbortController();
    const model = new MockLanguageModelV3({ doGenerate: calls(['agent', { prompt: 'a', description: 'a' }]) });
    const running = generateText({
      model,
      prompt: 'go',
      tools: toAiSdkTools(agentTools(offstage)),
      abortSignal: controller.signal,
      stopWhen: stepCountIs(2),
    });
    await engine.eventOf((event) => event.type === 'job.status' && event.status === 'running');
    await clock.settle();
    controller.abort();
    await running.catch(() => {});
    await clock.settle();
    expect(await offstage.get(held.calls[0] as string)).toMatchObject({ status: 'cancelled', reasonCode: 'cancel.caller_gone' });
  });

  it('of a body that is told to end tell the loop so by an error, and the loop ends with the job', async () => {
    const held = gate();
    await using engine = await testEngine({
      executors: {
        agent: held,
        planner: async (_, { jobId, signal }) => {
          const model = new MockLanguageModelV3({ doGenerate: calls(['agent', { prompt: 'a', description: 'a' }]) });
          const tools = toAiSdkTools(agentTools(engine.offstage), { jobId });
          return (await generateText({ model, prompt: 'go', tools, abortSignal: signal, stopWhen: stepCountIs(5) })).text;
        },
      },
      workers: 1,
    });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'planner' });
    await engine.eventOf((event) => event.type === 'job.status' && event.status === 'running' && event.parentJobId === jobId);
    await clock.settle();
    await offstage.cancel(jobId);
    expect((await offstage.wait(jobId)).status).toBe('cancelled');
    expect((await offstage.get(held.calls[0] as string)).status).toBe('cancelled');
    expect(held.calls).toHaveLength(1);
  });
});
