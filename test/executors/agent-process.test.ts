/** AGP1 to AGP4 with real processes: how an agent's program is started, spoken to, and ended with all it started. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/actors/clock.ts';
import {
  type AgentProcess,
  type AgentProcessOptions,
  type AgentProgram,
  startAgentProcess,
} from '../../src/executors/agent-process.ts';
import { bootId, processStartTime } from '../../src/executors/process-tree.ts';
import { type FakeContext, fakeContext } from './fake-context.ts';
import { endLeftBehind, isLiving, newExecutionId, temporaryFolder, tokenHolders } from './processes.ts';

afterEach(endLeftBehind);

interface Begun extends FakeContext {
  readonly program: AgentProcess;
  /** All of its output; resolves at the end of the stream. */
  readonly text: Promise<string>;
  /** Resolves with the output so far once it contains `part`. */
  untilText(part: string): Promise<string>;
  write(text: string): Promise<void>;
}

const script = (text: string, ...args: string[]): AgentProgram => ({ command: 'sh', args: ['-c', text, 'sh', ...args] });

async function begin(
  program: AgentProgram,
  options: { graceMs?: number | null; killAfterMs?: number } & Pick<AgentProcessOptions, 'onStderr'> = {},
): Promise<Begun> {
  const fake = fakeContext({ ...options, executionId: newExecutionId() });
  const started = await startAgentProcess(program, {
    clock: systemClock,
    execution: fake.context.execution,
    signal: fake.context.signal,
    onStderr: options.onStderr,
  });
  let read = '';
  const waiting = new Set<() => void>();
  const text = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of started.output) {
      read += decoder.decode(chunk, { stream: true });
      for (const check of waiting) check();
    }
    return read;
  })();
  const writer = started.input.getWriter();
  // It breaks when the program ends; each test says where that matters.
  writer.closed.catch(() => {});
  return {
    ...fake,
    program: started,
    text,
    untilText: (part) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (read.includes(part)) resolve(read);
        };
        waiting.add(check);
        check();
      }),
    write: (line) => writer.write(new TextEncoder().encode(line)),
  };
}

describe('start', () => {
  it('carries the launch token, a minimal environment, and is noted with pid, start time and boot id', async () => {
    process.env.OFFSTAGE_TEST_SECRET = 'hush';
    process.env.OFFSTAGE_TEST_ALLOWED = 'yes';
    try {
      const agent = await begin({
        ...script('echo "$OFFSTAGE_EXECUTION $OFFSTAGE_TEST_SECRET $OFFSTAGE_TEST_ALLOWED $OWN"; read -r line'),
        env: { OWN: 'mine' },
        allow: ['OFFSTAGE_TEST_ALLOWED'],
      });
      expect(await agent.untilText('\n')).toBe(`${agent.executionId}  yes mine\n`);
      const [launch] = agent.launches;
      expect(launch).toEqual({ pid: launch?.pid, startTime: processStartTime(launch?.pid ?? 0), bootId: bootId() });
      expect(await tokenHolders(agent.executionId)).toEqual([launch?.pid]);
      await agent.program.end();
    } finally {
      delete process.env.OFFSTAGE_TEST_SECRET;
      delete process.env.OFFSTAGE_TEST_ALLOWED;
    }
  });

  it.each([
    [{ command: 'no-such-agent' }, 'command.not_found'],
    [{ command: 'sh', cwd: '/no/such/folder' }, 'command.cwd_missing'],
    [{ command: '/' }, 'command.start_failed'],
    [{ command: 'sh', allow: ['*'] }, 'config.invalid'],
  ])('refuses %o with %s, and nothing is launched', async (program, code) => {
    const { context, launches } = fakeContext();
    const { execution, signal } = context;
    await expect(startAgentProcess(program, { clock: systemClock, execution, signal })).rejects.toMatchObject({ code });
    expect(launches).toEqual([]);
  });

  it('is not started once it is not wanted any more', async () => {
    const fake = fakeContext();
    fake.abort();
    const { execution, signal } = fake.context;
    await expect(startAgentProcess(script('true'), { clock: systemClock, execution, signal })).rejects.toBe(fake.reason);
    expect(fake.launches).toEqual([]);
  });
});

describe('talk', () => {
  it('answers what it is told, in order, across the borders of chunks', async () => {
    const agent = await begin(script('while read -r line; do echo "<$line>"; done'));
    await agent.write('one\ntw');
    await agent.write('ö\n');
    expect(await agent.untilText('<twö>')).toBe('<one>\n<twö>\n');
    await agent.program.end();
  });

  it('AGP2: the output ends with the program, though another process holds its pipe; what it wrote is all there', async () => {
    const agent = await begin(
      script("setsid sh -c 'trap \"\" TERM; exec sleep 600' & head -c 300000 /dev/zero | tr '\\0' x; exit 3"),
    );
    expect((await agent.text).length).toBe(300_000);
    expect(await agent.program.exited).toEqual({ exitCode: 3, signal: null, lastErrorLine: null });
    await agent.program.end();
    expect(await tokenHolders(agent.executionId)).toEqual([]);
  });

  it('AGP2: a slow reader holds it back and loses nothing', async () => {
    const fake = fakeContext({ executionId: newExecutionId() });
    const { execution, signal } = fake.context;
    const program = await startAgentProcess(script("head -c 3000000 /dev/zero | tr '\\0' x"), {
      clock: systemClock,
      execution,
      signal,
    });
    let bytes = 0;
    for await (const chunk of program.output) {
      bytes += chunk.length;
      await new Promise(setImmediate);
    }
    expect(bytes).toBe(3_000_000);
    await program.end();
  });

  it('a write to a program that has ended rejects, and breaks nothing', async () => {
    const agent = await begin(script('exit 0'));
    await agent.program.exited;
    await expect(agent.write('anybody there?\n')).rejects.toThrow();
    await agent.program.end();
  });

  it('AGP3: its last words are kept, clipped and without control characters; who listens may throw', async () => {
    const heard: string[] = [];
    const agent = await begin(
      script('head -c 200000 /dev/zero | tr "\\0" e >&2; printf "\\n\\033[31mno \\007key\\033[0m\\n\\n" >&2; exit 1'),
      {
        onStderr(text) {
          heard.push(text);
          throw new Error('not interested');
        },
      },
    );
    expect(await agent.program.exited).toEqual({ exitCode: 1, signal: null, lastErrorLine: 'no  key' });
    expect(heard.join('')).toContain('eee');
  });
});

describe('end', () => {
  it('ends the tree: children, other sessions, double forks', async () => {
    const agent = await begin(
      script(
        `sleep 600 & setsid sleep 600 & setsid sh -c '(sleep 600 &) ; exit 0'; echo ready; while read -r line; do :; done; sleep 600`,
      ),
    );
    await agent.untilText('ready');
    expect((await tokenHolders(agent.executionId)).length).toBe(4);
    await Promise.all([agent.program.end(), agent.program.end()]);
    expect(await tokenHolders(agent.executionId)).toEqual([]);
    expect((await agent.program.exited).signal).toBe('SIGTERM');
    expect(agent.listenerCount()).toBe(0);
  });

  it('kills what ignores TERM after killAfterMs, and names it meanwhile', async () => {
    const agent = await begin(script("trap '' TERM; echo ready; while :; do sleep 1; done"), { killAfterMs: 100 });
    await agent.untilText('ready');
    await agent.program.end();
    expect((await agent.program.exited).signal).toBe('SIGKILL');
    expect(agent.survivors[0]).toContain(`process ${agent.launches[0]?.pid} (sh)`);
  });

  it('a signal that fires does the same', async () => {
    const agent = await begin(script('echo ready; exec sleep 600'));
    await agent.untilText('ready');
    agent.abort();
    expect((await agent.program.exited).signal).toBe('SIGTERM');
    await agent.program.end();
    expect(await tokenHolders(agent.executionId)).toEqual([]);
  });

  it('AGP1: a program that ended by itself leaves nothing behind, though nobody asked', async () => {
    const agent = await begin(script('setsid sleep 600 & sleep 600 & sleep 0.1; echo $!; exit 1'));
    const pid = Number((await agent.text).trim());
    expect((await agent.program.exited).exitCode).toBe(1);
    while ((await isLiving(pid)) || (await tokenHolders(agent.executionId)).length > 0) await new Promise(setImmediate);
    await agent.program.end();
  });

  it('AGP1: what it leaves behind in its own group is asked before it is killed', async () => {
    await using folder = await temporaryFolder();
    const file = join(folder.path, 'bye');
    const polite = `sh -c 'trap "echo bye > $1; exit 0" TERM; echo ready; while :; do sleep 0.05; done' sh "$1" &`;
    const agent = await begin(script(`${polite} read -r line; exit 1`, file));
    await agent.untilText('ready');
    await agent.write('go\n');
    await agent.program.exited;
    await agent.program.end();
    expect(await readFile(file, 'utf8')).toBe('bye\n');
  });

  it('AGP2: one that closes its output and lives on is ended', async () => {
    const agent = await begin(script('echo bye; exec >&-; exec sleep 600'));
    expect(await agent.text).toBe('bye\n');
    expect((await agent.program.exited).signal).toBe('SIGTERM');
    await agent.program.end();
  });
});
