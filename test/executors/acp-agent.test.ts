/** ACP1 to ACP3: the example agent as a real program, over real pipes. */
import { join, resolve } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type AcpProgramOptions, acpAgent } from '../../src/acp-agent.ts';
import type { AcpAgent } from '../../src/adapters/acp-session.ts';
import type { AgentContext, Frame, TurnEnd } from '../../src/model/agent.ts';
import { type FakeContext, fakeContext } from './fake-context.ts';
import { endLeftBehind, newExecutionId, sh, tokenHolders } from './processes.ts';

const EXAMPLE = join(resolve(import.meta.dirname, '../..'), 'examples', 'agent.mjs');

const running: AcpAgent[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((agent) => agent.close()));
  await endLeftBehind();
});

interface Begun extends FakeContext {
  readonly agent: AcpAgent;
  readonly frames: readonly Frame[];
  /** How the frames ended: what they threw, or null. */
  readonly ended: Promise<unknown>;
  prompt(text: string): Promise<TurnEnd>;
  /** Resolves with the first frame that matches, past ones included. */
  until(matches: (frame: Frame) => boolean): Promise<Frame>;
  /** What the agent said. */
  text(): string;
}

const example = (...args: string[]): AcpProgramOptions => ({
  command: process.execPath,
  args: [EXAMPLE, ...args],
  protocol: args.includes('--v1') ? 'v1' : 'v2',
});

function contextOf(fake: FakeContext): AgentContext {
  const { execution, signal } = fake.context;
  return {
    agentId: 'tester',
    sessionId: 'session_1',
    taskId: 'task_1',
    jobId: null,
    contextMode: null,
    conversationId: null,
    execution,
    signal,
  };
}

async function begin(options: AcpProgramOptions, limits: { killAfterMs?: number } = {}): Promise<Begun> {
  const fake = fakeContext({ ...limits, executionId: newExecutionId() });
  const agent = (await acpAgent(options)(contextOf(fake))) as AcpAgent;
  running.push(agent);
  const frames: Frame[] = [];
  const checks = new Set<() => void>();
  const ended = (async () => {
    try {
      for await (const frame of agent.frames) {
        frames.push(frame);
        for (const check of [...checks]) check();
      }
      return null;
    } catch (error) {
      return error;
    }
  })();
  let generation = 0;
  return {
    ...fake,
    agent,
    frames,
    ended,
    async prompt(text) {
      generation += 1;
      const end = await agent.prompt(text, { generation, origin: 'human', signal: new AbortController().signal });
      // The frames that came before it have all been read then.
      await new Promise(setImmediate);
      return end;
    },
    until: (matches) =>
      new Promise((found) => {
        const check = (): void => {
          const frame = frames.find(matches);
          if (frame === undefined) return;
          checks.delete(check);
          found(frame);
        };
        checks.add(check);
        check();
      }),
    text: () => frames.map((frame) => (frame.type === 'output' && frame.channel === 'message' ? frame.text : '')).join(''),
  };
}

const snapshots = (frames: readonly Frame[]): readonly (readonly string[])[] =>
  frames.flatMap((frame) => (frame.type === 'workload.snapshot' ? [frame.workloads.map(({ kind }) => kind ?? '?')] : []));

const isEmptySnapshot = (frame: Frame): boolean => frame.type === 'workload.snapshot' && frame.workloads.length === 0;

describe('v2', () => {
  it('streams a turn, tells its end, and is gone when closed', async () => {
    const run = await begin(example());
    expect(run.agent.attests).toMatchObject({ yield: true, snapshot: true });
    expect(await run.prompt('say hello from far away\nthink hm\n/tool 1')).toEqual({ stopReason: 'end_turn' });
    expect(run.text()).toBe('hello from far away');
    expect(run.frames.filter(({ type }) => type === 'output').length).toBeGreaterThan(3);
    await run.agent.close();
    await run.agent.close();
    expect(await run.ended).toBe(null);
    expect(await tokenHolders(run.executionId)).toEqual([]);
  });

  it('background work outlives its turn, and a second prompt is answered while it runs', async () => {
    const run = await begin(example());
    await run.prompt('/background 60 subagent\n/background 50 shell\n/background 300 monitor');
    expect(await run.prompt('say meanwhile')).toEqual({ stopReason: 'end_turn' });
    expect(run.text()).toBe('meanwhile');
    expect(snapshots(run.frames).at(-1)).toContain('monitor');
    const ends = (): number => run.frames.filter(({ type }) => type === 'workload.ended').length;
    await run.until(() => ends() === 3);
    await run.until((frame) => isEmptySnapshot(frame) && run.frames.indexOf(frame) > 5);
    expect(snapshots(run.frames)).toContainEqual(['subagent', 'shell', 'monitor']);
  });

  it('/forget stays listed; /twice tells each end twice', async () => {
    const run = await begin(example());
    await run.prompt('/twice\n/forget 1\n/background 1 monitor');
    await run.until((frame) => frame.type === 'workload.ended');
    await run.prompt('say done');
    expect(snapshots(run.frames).at(-1)).toEqual(['subagent']);
    const told = run.frames.filter((frame) => frame.type === 'tool.update' && frame.status === 'completed');
    expect(told).toHaveLength(2);
  });

  it('/out-of-turn speaks without being asked', async () => {
    const run = await begin(example());
    await run.prompt('/out-of-turn 5');
    await run.until((frame) => frame.type === 'output' && frame.text.includes('me.'));
    expect(run.text()).toBe('By the way: nobody asked me.');
    expect(run.frames.findLast(({ type }) => type === 'output')?.generation).toBe(0);
  });

  it('/permission waits for the answer', async () => {
    const run = await begin(example());
    const turn = run.prompt('/permission');
    const asked = await run.until(({ type }) => type === 'permission.request');
    await run.agent.answer?.(asked.type === 'permission.request' ? asked.requestId : '', 'deny');
    await turn;
    expect(run.text()).toBe('The answer is deny.');
  });

  it('/hang ends when it is told to stop', async () => {
    const run = await begin(example());
    const turn = run.prompt('say here I am\n/hang');
    await run.until(({ type }) => type === 'output');
    await run.agent.cancel?.(1);
    expect(await turn).toEqual({ stopReason: 'cancelled' });
  });

  it('/refuse, /fail and /reject end a turn as what they are', async () => {
    const run = await begin(example());
    expect(await run.prompt('/refuse')).toEqual({ stopReason: 'refusal' });
    expect(await run.prompt('/fail')).toEqual({ stopReason: 'error' });
    await expect(run.prompt('/reject')).rejects.toMatchObject({ code: 'agent.failed', details: { message: /told to reject/ } });
    expect(await run.prompt('/background soon')).toEqual({ stopReason: 'error' });
  });
});

describe('v1', () => {
  it('streams a turn; of the work behind it nothing can be relied upon', async () => {
    const run = await begin(example('--v1'));
    expect(run.agent.attests).toEqual({ workloads: [], yield: false, handoff: false, snapshot: false });
    expect(await run.prompt('say hello\n/background 5')).toEqual({ stopReason: 'end_turn' });
    await run.until((frame) => frame.type === 'tool.update' && frame.status === 'completed');
    expect(run.frames.filter(({ type }) => type.startsWith('workload') || type === 'foreground.idle')).toEqual([]);
    expect(run.text()).toBe('hello');
    const turn = run.prompt('/hang');
    await run.until((frame) => frame.type === 'prompt.accepted' && frame.generation === 2);
    await run.agent.cancel?.(2);
    expect(await turn).toEqual({ stopReason: 'cancelled' });
  });
});

describe('the end of the program', () => {
  it('ACP2: a crash in the turn ends the frames and rejects the prompt, with its last words', async () => {
    const run = await begin(example());
    const error = await run.prompt('say one\n/crash').catch((thrown: unknown) => thrown);
    const gone = {
      code: 'agent.gone',
      message: 'The agent has ended: its program ended with exit code 1: agent.mjs: told to crash',
    };
    expect(error).toMatchObject(gone);
    expect(await run.ended).toMatchObject(gone);
    expect(run.text()).toBe('one');
    await expect(run.prompt('anybody there?')).rejects.toMatchObject(gone);
  });

  it('ACP2: a foreign kill is told as one', async () => {
    const run = await begin(example());
    const turn = run.prompt('/hang').catch((thrown: unknown) => thrown);
    process.kill(await run.untilLaunched(), 'SIGKILL');
    expect(await turn).toMatchObject({ code: 'agent.gone', details: { message: 'its program was killed by SIGKILL.' } });
    expect(await run.ended).toMatchObject({ code: 'agent.gone' });
  });

  it('ACP3: close ends the whole tree, a grandchild in a session of its own too', async () => {
    const run = await begin(example());
    await run.prompt('/spawn\n/spawn setsid');
    expect(await tokenHolders(run.executionId)).toHaveLength(3);
    await run.agent.close();
    expect(await tokenHolders(run.executionId)).toEqual([]);
  });

  it('ACP3: so does the end of the program itself, though nobody asked', async () => {
    const run = await begin(example());
    await run.prompt('/spawn\n/spawn setsid\n/crash').catch(() => {});
    await run.agent.close();
    expect(await tokenHolders(run.executionId)).toEqual([]);
  });

  it('ACP3: an agent that listens to nothing is killed', async () => {
    const run = await begin(example(), { killAfterMs: 100 });
    const turn = run.prompt('/ignore-cancel\n/ignore-term\nsay try it\n/hang').catch((thrown: unknown) => thrown);
    await run.until(({ type }) => type === 'output');
    await run.agent.cancel?.(1);
    await run.agent.close();
    expect(await turn).toMatchObject({ code: 'agent.gone' });
    expect(await run.ended).toBe(null);
    expect(await tokenHolders(run.executionId)).toEqual([]);
  });

  it('the signal of its context ends it', async () => {
    const run = await begin(example());
    const turn = run.prompt('/hang').catch((thrown: unknown) => thrown);
    run.abort();
    expect(await turn).toMatchObject({ code: 'agent.gone' });
    expect(await run.ended).toBe(null);
    await run.agent.close();
    expect(await tokenHolders(run.executionId)).toEqual([]);
  });
});

describe('ACP1: a start that fails', () => {
  async function failure(options: AcpProgramOptions, fake = fakeContext({ executionId: newExecutionId() })): Promise<unknown> {
    const error = await Promise.resolve(acpAgent(options)(contextOf(fake))).catch((thrown: unknown) => thrown);
    expect(await tokenHolders(fake.executionId)).toEqual([]);
    return error;
  }

  it('names the program that is missing', async () => {
    expect(await failure({ command: 'no-such-agent', protocol: 'v2' })).toMatchObject({
      code: 'agent.start_failed',
      message: /"tester" could not be started: There is no command "no-such-agent"/,
      cause: { code: 'command.not_found' },
    });
    expect(await failure({ command: 'sh', cwd: '/no/such/folder', protocol: 'v2' })).toMatchObject({
      code: 'agent.start_failed',
      cause: { code: 'command.cwd_missing' },
    });
  });

  it('says how the program ended before it spoke, and its last words', async () => {
    const options = { ...sh('echo starting >&2; setsid sleep 600 & echo "no key" >&2; exit 7'), protocol: 'v1' as const };
    expect(await failure(options)).toMatchObject({
      code: 'agent.start_failed',
      details: { agentId: 'tester', message: 'its program ended with exit code 7, before it had answered: no key' },
    });
    expect(await failure({ ...sh('exit 0'), protocol: 'v2' })).toMatchObject({
      details: { message: 'its program ended with exit code 0, before it had answered.' },
    });
  });

  it('ends a program that closed its output', async () => {
    expect(await failure({ ...sh('exec >&-; exec sleep 600'), protocol: 'v2' })).toMatchObject({ code: 'agent.start_failed' });
  });

  it('ends a program that speaks another version, or something else', async () => {
    expect(await failure({ ...example('--v1'), protocol: 'v2' })).toMatchObject({ code: 'agent.start_failed' });
    expect(
      await failure({ ...sh('while :; do echo "what?"; sleep 0.1; done'), protocol: 'v2', startTimeoutMs: 300 }),
    ).toMatchObject({
      code: 'agent.start_failed',
      details: { message: 'it said nothing for 300 ms' },
    });
  });

  it('ends with the signal of its context', async () => {
    const fake = fakeContext({ executionId: newExecutionId() });
    const failed = failure({ ...sh('exec sleep 600'), protocol: 'v2' }, fake);
    await fake.untilLaunched();
    fake.abort();
    expect(await failed).toBe(fake.reason);
  });

  it.each([
    [{ command: '' }, 'acpAgent.command'],
    [{ command: 'x', args: 'y' }, 'acpAgent.args'],
    [{ command: 'x', env: { A: 5 } }, 'acpAgent.env.A'],
    [{ command: 'x', protocol: 'v3' }, 'acpAgent.protocol'],
    [{ command: 'x', metadata: 'claude' }, 'acpAgent.metadata'],
    [{ command: 'x', startTimeoutMs: 0 }, 'acpAgent.startTimeoutMs'],
    [{ command: 'x', onStderr: 5 }, 'acpAgent.onStderr'],
    [{ command: 'x', clock: {} }, 'acpAgent.clock'],
    [{ command: 'x', shell: true }, 'acpAgent.shell'],
  ])('refuses %o, naming %s', (options, name) => {
    expect(() => acpAgent({ protocol: 'v2', ...options } as never)).toThrow(`The option ${name} is not valid`);
  });
});
