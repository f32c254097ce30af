/** AGJ1 to AGJ4: the kind `agent`, with a mock that does what the test says, and with the example agent as a real program. */
import { join, resolve } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { acpAgent } from '../../src/acp-agent.ts';
import { systemClock } from '../../src/actors/clock.ts';
import { idSource } from '../../src/actors/id-source.ts';
import { type MockAgentScript, type MockPrompt, type MockRunningAgent, mockAgent } from '../../src/adapters/mock-agent.ts';
import type { Offstage } from '../../src/engine/offstage.ts';
import { agentExecutor } from '../../src/executors/agent.ts';
import type { AgentInput } from '../../src/executors/agent-input.ts';
import type { Agents } from '../../src/model/agent.ts';
import type { Outcome } from '../../src/model/executor.ts';
import { open } from '../../src/open.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { virtualClock } from '../../src/testing/virtual-clock.ts';
import { fakeContext, fakeJob } from './fake-context.ts';
import { endLeftBehind, newExecutionId, tokenHolders } from './processes.ts';

const EXAMPLE = join(resolve(import.meta.dirname, '../..'), 'examples', 'agent.mjs');

afterEach(endLeftBehind);

/** Runs a job of a mock agent with a context made by hand. */
function run(
  onPrompt: MockAgentScript['onPrompt'],
  options: { script?: MockAgentScript; input?: AgentInput; graceMs?: number } = {},
) {
  const clock = virtualClock();
  const fake = fakeContext(options.graceMs === undefined ? {} : { graceMs: options.graceMs });
  const mock = mockAgent({ ...options.script, ...(onPrompt === undefined ? {} : { onPrompt }) });
  const executor = agentExecutor({ agents: { default: mock.factory }, clock });
  const done = Promise.resolve(executor.run(fakeJob(options.input ?? { prompt: 'go' }, 'agent'), fake.context));
  const failure = done.then(
    (outcome) => ({ unexpected: outcome }),
    (error: unknown) => error,
  );
  return { ...fake, clock, mock, done, failure };
}

const says = (agent: MockRunningAgent, text: string, more: { channel?: 'thought'; parentToolCallId?: string } = {}): boolean =>
  agent.emit({ type: 'output', generation: 1, text, ...more });

const fieldsOf = ({ text, value }: Outcome): unknown => ({ text, value });

describe('a job of an agent', () => {
  it('is one prompt to an agent of its own, whose words are its result; then the agent is closed', async () => {
    const { mock, done, executionId, outputs, progress } = run((prompt, agent) => {
      says(agent, 'hmm', { channel: 'thought' });
      says(agent, 'I look. ');
      agent.emit({ type: 'tool.call', generation: 1, toolCallId: 't', status: 'running', title: 'reading' });
      says(agent, 'of a child', { parentToolCallId: 't' });
      says(agent, 'It is ');
      says(agent, 'fine.');
      prompt.end();
    });
    expect(fieldsOf(await done)).toEqual({ text: 'I look. \n\nIt is fine.', value: { stopReason: 'end_turn' } });
    expect(outputs.join('')).toBe('I look. \n\nIt is fine.');
    expect(progress).toContainEqual({ doing: 'reading' });
    const [context] = mock.starts;
    expect(context).toMatchObject({ agentId: 'default', jobId: 'job_1', sessionId: 'session_1', taskId: 'task_1' });
    expect(context?.execution.executionId).toBe(executionId);
    expect(mock.prompts.map(({ content, generation }) => ({ content, generation }))).toEqual([{ content: 'go', generation: 1 }]);
    expect(mock.closed).toBe(1);
  });

  it('AIN1: a prompt passes unchanged; a context comes first, as content of its own', async () => {
    const block = { type: 'image', data: '…' };
    const heard = async (input: AgentInput): Promise<unknown> => {
      const { mock, done } = run((prompt) => prompt.end(), { input });
      await done;
      return mock.prompts[0]?.content;
    };
    expect(await heard({ prompt: { any: ['json'] } })).toEqual({ any: ['json'] });
    expect(await heard({ prompt: 'why', context: null })).toBe('why');
    expect(await heard({ prompt: 'why', context: { file: 'a' } })).toEqual([
      { type: 'text', text: '{"file":"a"}' },
      { type: 'text', text: 'why' },
    ]);
    expect(await heard({ prompt: [block], context: 'look' })).toEqual([{ type: 'text', text: 'look' }, block]);
  });

  it('AIN2: the words of a context mode are not told to the agent; its start is told the mode', async () => {
    for (const context of ['inherit', 'clean']) {
      const { mock, done } = run((prompt) => prompt.end(), { input: { prompt: 'why', context } });
      await done;
      expect(mock.prompts[0]?.content).toBe('why');
      expect(mock.starts[0]?.contextMode).toBe('inherit');
    }
  });

  it('hears all that was said before the end, however fast it came', async () => {
    const { done } = run((prompt, agent) => {
      for (let index = 0; index < 2_000; index += 1) says(agent, `${index} `);
      prompt.end();
    });
    expect((await done).text).toMatch(/1998 1999 $/);
  });

  it('AGJ3: permission is declined by the option that says no; without one, nothing is chosen', async () => {
    const options = [
      { optionId: 'yes', kind: 'allow_once' },
      { optionId: 'never', kind: 'reject_always' },
      { optionId: 'no', kind: 'reject_once' },
    ];
    const { mock, done } = run(async (prompt, agent) => {
      agent.emit({ type: 'permission.request', generation: 1, requestId: 'a', kind: 'permission', options });
      agent.emit({ type: 'permission.request', generation: 1, requestId: 'b', kind: 'clarification', options: ['x', null] });
      while (agent.answers.length < 2) await new Promise(setImmediate);
      prompt.end();
    });
    await done;
    expect(mock.agents[0]?.answers).toEqual([
      { requestId: 'a', choice: 'no' },
      { requestId: 'b', choice: null },
    ]);
  });

  it.each<[string, (prompt: MockPrompt, agent: MockRunningAgent) => void, object]>([
    ['a refusal', (prompt) => prompt.end('refusal'), { code: 'agent.failed', details: { message: 'it refused the prompt.' } }],
    ['an error of the turn', (prompt) => prompt.end('error'), { code: 'agent.failed' }],
    ['a cancel by others', (prompt) => prompt.end('cancelled'), { code: 'agent.failed' }],
    [
      'a failed prompt',
      (prompt) => prompt.fail(new Error('no key')),
      { code: 'agent.failed', details: { message: 'Error: no key' } },
    ],
    ['a crash', (_, agent) => agent.crash(), { code: 'agent.gone' }],
    ['an exit', (_, agent) => agent.exit(), { code: 'agent.gone' }],
  ])('%s is an end like any other', async (_, how, error) => {
    const { mock, failure } = run((prompt, agent) => {
      says(agent, 'so far');
      how(prompt, agent);
    });
    expect(await failure).toMatchObject(error);
    expect(mock.closed).toBe(1);
  });

  it('max_tokens and the like are results', async () => {
    const { done } = run((prompt) => prompt.end('max_tokens'));
    expect((await done).value).toEqual({ stopReason: 'max_tokens' });
  });

  it('a start that fails is told with its agent', async () => {
    const { failure } = run(undefined, { script: { failStart: new Error('no licence') } });
    expect(await failure).toMatchObject({
      code: 'agent.start_failed',
      details: { agentId: 'default', message: 'Error: no licence' },
    });
  });

  it('agent.unknown: a name that nobody registered, also one that every object has', async () => {
    const executor = agentExecutor({ agents: {}, clock: systemClock });
    for (const agentId of [null, 'constructor']) {
      const refused = Promise.resolve(executor.run({ ...fakeJob({ prompt: 'go' }, 'agent'), agentId }, fakeContext().context));
      await expect(refused).rejects.toMatchObject({ code: 'agent.unknown' });
    }
  });

  it('a profile starts like a bare factory', async () => {
    const mock = mockAgent({ onPrompt: (prompt) => prompt.end() });
    const executor = agentExecutor({ agents: { default: { start: mock.factory, display: 'coarse' } }, clock: systemClock });
    await executor.run(fakeJob({ prompt: 'go' }, 'agent'), fakeContext().context);
    expect(mock.closed).toBe(1);
  });
});

describe('told to end', () => {
  it('AGJ4: asks the agent to cancel, and closes it', async () => {
    const job = run((_, agent) => void says(agent, 'half'));
    await job.untilOutput('half');
    job.abort();
    expect(await job.failure).toBe(job.reason);
    expect(job.mock.agents[0]?.cancels).toEqual([1]);
    expect(job.mock.closed).toBe(1);
    expect(job.clock.pending).toBe(0);
  });

  it('AGJ4: does not wait for an agent that ignores it longer than a part of the grace', async () => {
    const job = run((_, agent) => void says(agent, 'half'), { script: { ignoreCancel: true }, graceMs: 9_000 });
    await job.untilOutput('half');
    job.abort();
    await job.clock.advance(2_999);
    expect(job.mock.closed).toBe(0);
    await job.clock.advance(1);
    expect(await job.failure).toBe(job.reason);
    expect(job.mock.closed).toBe(1);
  });

  it('AGJ4: nor for ever, where the part is no whole number and the clock is far on', async () => {
    const job = run((_, agent) => void says(agent, 'half'), { script: { ignoreCancel: true }, graceMs: 500 });
    await job.untilOutput('half');
    await job.clock.advance(12_207_510);
    job.abort();
    await job.clock.advance(167);
    expect(await job.failure).toBe(job.reason);
  });

  it('AGJ1: waits for the close, whatever it takes', async () => {
    const job = run((prompt) => prompt.end(), { script: { ignoreClose: true } });
    let hasSettled = false;
    job.failure.finally(() => {
      hasSettled = true;
    });
    await job.mock.nextPrompt();
    await job.clock.advance(60_000);
    expect(job.mock.closed).toBe(1);
    expect(hasSettled).toBe(false);
  });

  it('while it starts: the start is given up, and no prompt is sent', async () => {
    const job = run(undefined, { script: { hangStart: true } });
    job.abort();
    expect(await job.failure).toBe(job.reason);
    expect(job.mock.agents).toEqual([]);
  });
});

describe('in an engine, with the example agent', () => {
  const agents: Agents = {
    default: acpAgent({ command: process.execPath, args: [EXAMPLE], protocol: 'v2' }),
    missing: acpAgent({ command: 'no-such-agent', protocol: 'v2' }),
    mute: acpAgent({ command: process.execPath, args: [EXAMPLE, '--no-such-option'], protocol: 'v2' }),
  };
  /** Its executions are named by the test, so that what they leave behind can be looked for. */
  async function engine(): Promise<{ offstage: Offstage; executionId: string }> {
    const executionId = newExecutionId();
    const ids = { ...idSource, id: (prefix: string) => (prefix === 'exec' ? executionId : idSource.id(prefix)) };
    return { offstage: await open({ store: memoryStore(), agents, ids, killAfterMs: 200 }), executionId };
  }

  it('runs a prompt, and everything of the agent is gone with the job', async () => {
    const { offstage, executionId } = await engine();
    await using _ = offstage;
    const job = await offstage.spawn({ kind: 'agent', input: { prompt: 'say hello\n/spawn\n/spawn setsid\n/background 1m' } });
    const ended = await offstage.wait(job.jobId, { timeoutMs: null });
    expect(ended).toMatchObject({ status: 'completed', result: { stopReason: 'end_turn' } });
    expect(ended.resultText).toMatch(/^helloStarted process \d+\.Started process \d+\.$/);
    expect(await tokenHolders(executionId)).toEqual([]);
    expect((await offstage.history(job.jobId)).map(({ type }) => type)).toContain('process_launched');
  });

  it('ends as cancelled, with its tree, an agent that listens to nothing', async () => {
    const { offstage, executionId } = await engine();
    await using _ = offstage;
    const prompt = '/ignore-cancel\n/ignore-term\n/spawn setsid\nsay ready\n/hang';
    const job = await offstage.spawn({ kind: 'agent', input: { prompt } });
    for await (const event of offstage.events()) if (event.type === 'job.output' && event.text.includes('ready')) break;
    await offstage.cancel(job.jobId, { reason: 'enough' });
    const ended = await offstage.wait(job.jobId, { timeoutMs: null });
    expect(ended).toMatchObject({ status: 'cancelled', detached: false });
    expect(ended.resultText).toContain('ready');
    expect(await tokenHolders(executionId)).toEqual([]);
  });

  it('a crash, a missing program and one that never speaks are errors a person can read', async () => {
    const { offstage } = await engine();
    await using _ = offstage;
    const errorOf = async (agentId: string, prompt: string) => {
      const { jobId } = await offstage.spawn({ kind: 'agent', agentId, input: { prompt } });
      const { status, error, resultText } = await offstage.wait(jobId, { timeoutMs: null });
      return { status, code: error?.code, message: error?.message, resultText };
    };
    expect(await errorOf('default', 'say so far\n/crash')).toEqual({
      status: 'errored',
      code: 'agent.gone',
      message: 'The agent has ended: its program ended with exit code 1: agent.mjs: told to crash',
      resultText: 'so far',
    });
    expect(await errorOf('default', '/reject')).toMatchObject({ code: 'agent.failed', message: /told to reject it/ });
    expect(await errorOf('missing', 'x')).toMatchObject({ code: 'agent.start_failed', message: /no command "no-such-agent"/ });
    expect(await errorOf('mute', 'x')).toMatchObject({ code: 'agent.start_failed', message: /exit code 2/ });
  });

  it('checks its input at spawn, and who is to run it', async () => {
    const { offstage } = await engine();
    await using _ = offstage;
    for (const input of [null, 'go', {}, { prompt: '' }, { prompt: 'x', contxt: 1 }]) {
      await expect(offstage.spawn({ kind: 'agent', input: input as never })).rejects.toMatchObject({ code: 'input.invalid' });
    }
    const nobody = offstage.spawn({ kind: 'agent', agentId: 'nobody', input: { prompt: 'x' } });
    await expect(nobody).rejects.toMatchObject({ code: 'agent.unknown' });
    const [planned] = await offstage.plan.run([{ description: 'greet', prompt: 'say planned' }]);
    expect(planned).toMatchObject({ kind: 'agent', status: 'completed', resultText: 'planned' });
  });
});
