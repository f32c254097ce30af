/** Sessions and tasks from a second terminal (spec 15): the owner is a program with an agent, everybody else talks to it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { SessionView, TaskView } from '../../src/model/activity.ts';
import { host, json, newFolder, offstage, type Started, start, until } from './offstage.ts';

const owners: ReturnType<typeof spawn>[] = [];
afterEach(async () => {
  for (const owner of owners.splice(0)) {
    if (owner.exitCode !== null || owner.signalCode !== null) continue;
    owner.kill('SIGKILL');
    await once(owner, 'exit');
  }
});

type Control = 'release' | 'yield' | 'finish' | 'ask';

/** A folder that a program with an agent owns: the session `s` of the task `t`. */
async function stage() {
  const folder = await newFolder();
  const data = join(folder, 'data');
  const control = join(folder, 'control');
  const owner = spawn(process.execPath, [join(import.meta.dirname, 'session-host.mjs'), data, control], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  owners.push(owner);
  await once(owner.stdout as NonNullable<typeof owner.stdout>, 'data');
  const at = ['--data-dir', data] as const;
  return {
    data,
    at,
    owner,
    tell: (what: Control) => writeFile(join(control, what), ''),
    prompt: (...text: readonly string[]): Started => start(['sessions', 'prompt', 's', ...text, ...at]),
    session: () => json<SessionView>(['sessions', 'get', 's', ...at]),
  };
}

const lastLine = (text: string): string => text.trimEnd().split('\n').at(-1) ?? '';
const records = <Row>(stdout: string): readonly Row[] =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Row);

describe('sessions prompt', () => {
  it('sends it, shows what the agent says and not what it thinks, and ends with the turn', async () => {
    const { prompt } = await stage();
    expect(await prompt('say', 'hello', 'there').ended).toEqual({
      code: 0,
      signal: null,
      stdout: 'hello there\n',
      stderr: 'offstage: sent\n',
    });
  });

  it('a busy session takes it in its turn: queued, then sent; each terminal shows only its own turn', async () => {
    const { prompt, tell, session, at } = await stage();
    const first = prompt('hold one');
    await first.saw('holding one');
    const second = prompt('say two');
    await second.saw(/^offstage: queued \(position 1, ticket ticket_\w+\)\n$/, 'stderr');
    const third = prompt('say three');
    await third.saw('queued (position 2', 'stderr');
    expect(await session()).toMatchObject({ queuedPrompts: 2, foregroundActivity: 'generating', state: 'running' });
    const { stdout: shown } = await offstage(['sessions', 'get', 's', ...at]);
    expect(shown).toMatch(/^activity +generating, for .+, 2 prompts waiting$/m);
    expect(shown).toMatch(/^waiting +1\. ticket_\w+, for .+\n +2\. ticket_\w+, for .+$/m);
    await tell('release');
    expect(await first.ended).toMatchObject({ code: 0, stdout: 'holding one and released\n', stderr: 'offstage: sent\n' });
    expect(await second.ended).toMatchObject({ code: 0, stdout: 'two\n', stderr: expect.stringMatching(/\noffstage: sent\n$/) });
    expect(await third.ended).toMatchObject({ code: 0, stdout: 'three\n' });
  });

  it('- reads it from standard input, as it is', async () => {
    const { at } = await stage();
    const input = 'say two\n  lines: "quoted" \\ and 😀\n';
    expect(await offstage(['sessions', 'prompt', 's', '-', ...at], { input })).toMatchObject({
      code: 0,
      stdout: input.slice('say '.length),
    });
    expect(await offstage(['sessions', 'prompt', 's', '-', ...at], { input: '\n' })).toMatchObject({
      code: 2,
      stdout: '',
      stderr: 'offstage: text is not valid: it is empty.\n',
    });
  });

  it('--no-wait only sends it, or gets in line', async () => {
    const { at, prompt, tell, session } = await stage();
    expect(await prompt('hold one', '--no-wait').ended).toMatchObject({ code: 0, stdout: '', stderr: 'offstage: sent\n' });
    const queued = await offstage(['sessions', 'prompt', 's', 'say two', '--no-wait', '--json', ...at]);
    expect(queued).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(queued.stdout)).toEqual({
      queued: true,
      promptId: expect.stringMatching(/^prompt_/),
      ticketId: expect.stringMatching(/^ticket_/),
      position: 1,
    });
    await tell('release');
    await until(async () => ((await session()).state === 'waiting_for_input' ? true : null));
    const { turn, queuedPrompts } = await session();
    expect([turn, queuedPrompts]).toEqual([null, 0]);
  });

  it('--json prints one document at the end', async () => {
    const { at } = await stage();
    expect(await json(['sessions', 'prompt', 's', 'say hello', ...at])).toEqual({
      accepted: true,
      promptId: expect.stringMatching(/^prompt_/),
      generation: expect.any(Number),
      stopReason: 'end_turn',
      error: null,
      text: 'hello',
    });
  });

  it('Ctrl-C ends the turn of this prompt, and no other', async () => {
    const { prompt, session } = await stage();
    const first = prompt('hold one');
    await first.saw('holding one');
    const second = prompt('hold two');
    await second.saw('queued', 'stderr');
    first.child.kill('SIGINT');
    expect(await first.ended).toMatchObject({
      code: 130,
      stdout: 'holding one\n',
      stderr: 'offstage: sent\noffstage: interrupting; once more leaves at once.\n',
    });
    await second.saw('holding two');
    expect(await session()).toMatchObject({ state: 'running', queuedPrompts: 0 });
    second.child.kill('SIGINT');
    expect((await second.ended).code).toBe(130);
    expect(await session()).toMatchObject({ state: 'waiting_for_input', foregroundActivity: null, interrupted: false });
  });

  it('Ctrl-C while it waits in line takes it out of the line, and the turn before goes on', async () => {
    const { prompt, tell, session } = await stage();
    const first = prompt('hold one');
    await first.saw('holding one');
    const second = prompt('say two');
    await second.saw('queued', 'stderr');
    second.child.kill('SIGINT');
    expect(await second.ended).toMatchObject({ code: 130, stdout: '' });
    expect(await session()).toMatchObject({ state: 'running', queuedPrompts: 0 });
    await tell('release');
    expect(await first.ended).toMatchObject({ code: 0, stdout: 'holding one and released\n' });
  });

  it('a turn that is cut off exits 1 and says why; the next prompt starts the agent again', async () => {
    const { at, prompt } = await stage();
    expect(await prompt('crash').ended).toMatchObject({
      code: 1,
      stdout: 'oh\n',
      stderr: expect.stringMatching(/^offstage: sent\noffstage: the turn was cut off\. The agent has ended: .+\n$/),
    });
    const crashed = await offstage(['sessions', 'prompt', 's', 'crash', '--json', ...at]);
    expect([crashed.code, crashed.stderr]).toEqual([1, '']);
    expect(JSON.parse(crashed.stdout)).toMatchObject({ text: 'oh', stopReason: null, error: { code: 'agent.gone' } });
    expect(await prompt('say back').ended).toMatchObject({ code: 0, stdout: 'back\n' });
  });

  it('how the agent ended the turn decides the exit code', async () => {
    const { prompt } = await stage();
    for (const [stopReason, code] of [
      ['max_tokens', 0],
      ['refusal', 1],
      ['cancelled', 130],
    ] as const) {
      const end = await prompt(`stop ${stopReason}`).ended;
      expect([end.code, lastLine(end.stderr)]).toEqual([code, `offstage: the turn has ended: ${stopReason}.`]);
    }
  });

  it('what the agent asks a person is told while its turn waits for the answer', async () => {
    const { at, prompt, tell } = await stage();
    const asking = prompt('hold one');
    await asking.saw('holding one');
    await tell('ask');
    const waits = 'offstage: the agent waits for an answer (permission): Remove the tag 1.4 ["allow","deny"]\n';
    await asking.saw(waits, 'stderr');
    expect((await offstage(['sessions', 'list', ...at])).stdout).toMatch(/\ns +permission needed .+ generating, for .+ t\n$/);
    expect((await offstage(['sessions', 'get', 's', ...at])).stdout).toMatch(
      /^asks for +permission, as r-1: \["allow","deny"\]\nabout +Remove the tag 1\.4$/m,
    );
    expect((await offstage(['tasks', 'list', ...at])).stdout).toMatch(/\nt +permission needed +open .+ Release 1\.4\n$/);
    await tell('release');
    expect((await asking.ended).code).toBe(0);
  });

  it('an owner that goes away takes the turn with it', async () => {
    const { prompt, owner } = await stage();
    const asking = prompt('hold one');
    await asking.saw('holding one');
    owner.kill('SIGKILL');
    expect(await asking.ended).toMatchObject({
      code: 1,
      stdout: 'holding one\n',
      stderr: expect.stringMatching(/^offstage: sent\noffstage: The agent has ended: the program that owned .+ has ended\.\n$/),
    });
  });
});

describe('where no agent can be asked', () => {
  it('without an owner: says that the program with the agents must run', async () => {
    const { at, data, owner, prompt } = await stage();
    await prompt('say hello').ended;
    owner.kill('SIGKILL');
    await once(owner, 'exit');
    const end = await prompt('say hello').ended;
    expect([end.code, end.stdout]).toEqual([2, '']);
    expect(lastLine(end.stderr)).toBe(
      `offstage: No agent is registered under the name "default". Agents run in the program that opens ${data} with the option agents, and none has it open: start that program, with control: true, and ask again.`,
    );
    const { stderr } = await offstage(['sessions', 'prompt', 's', 'hello', '--json', ...at]);
    expect(JSON.parse(lastLine(stderr))).toMatchObject({ error: { code: 'agent.unknown' } });
    expect(await offstage(['sessions', 'interrupt', 's', ...at])).toMatchObject({
      code: 0,
      stdout: 's has no open turn; nothing was changed.\n',
    });
  });

  it('an owner that was given none of that name', async () => {
    const data = join(await newFolder(), 'data');
    const at = ['--data-dir', data];
    const owner = start(['run', ...at, '--', 'sh', '-c', 'echo ready; sleep 60']);
    await owner.saw('ready');
    expect(await offstage(['sessions', 'prompt', 'default', 'hello', ...at])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: `offstage: No agent is registered under the name "default". Agents run in the program that has ${data} open, and it was given none of that name.\n`,
    });
    owner.child.kill('SIGINT');
    await owner.ended;
  });

  it('unknown sessions and wrong usage exit 2, a folder that cannot be had exits 4', async () => {
    const { at } = await stage();
    for (const args of [
      ['sessions', 'prompt', 'unknown', 'hello'],
      ['sessions', 'interrupt', 'unknown'],
      ['sessions', 'prompt', 's', '   '],
      ['sessions', 'prompt', 's'],
      ['sessions', 'interrupt'],
    ]) {
      const end = await offstage([...args, ...at]);
      expect([end.code, end.stdout], args.join(' ')).toEqual([2, '']);
      expect(end.stderr).toMatch(/\S/);
    }
    const empty = join(await newFolder(), 'data');
    for (const verb of [
      ['prompt', 's', 'hello'],
      ['interrupt', 's'],
    ]) {
      expect(await offstage(['sessions', ...verb, '--data-dir', empty])).toMatchObject({
        code: 2,
        stderr: 'offstage: No session has the id "s".\n',
      });
    }
    const silent = host('hold', empty);
    await silent.saw('ready');
    expect(await offstage(['sessions', 'prompt', 's', 'hello', '--data-dir', empty])).toMatchObject({ code: 4, stdout: '' });
  });
});

describe('sessions interrupt', () => {
  it('says whether anything was changed; who waits for the turn hears of it', async () => {
    const { at, prompt } = await stage();
    const interrupt = (): Promise<unknown> => offstage(['sessions', 'interrupt', 's', ...at]);
    expect(await interrupt()).toMatchObject({ code: 0, stdout: 's has no open turn; nothing was changed.\n', stderr: '' });
    const asking = prompt('hold one');
    await asking.saw('holding one');
    expect(await interrupt()).toMatchObject({ code: 0, stdout: 's was interrupted.\n', stderr: '' });
    expect(await asking.ended).toMatchObject({ code: 130, stderr: expect.stringContaining('the turn has ended: cancelled.') });
    expect(await json(['sessions', 'interrupt', 's', ...at])).toEqual({ changed: false });
    // Nothing was left behind for the next one.
    expect(await prompt('say hello').ended).toMatchObject({ code: 0, stdout: 'hello\n' });
  });
});

describe('what a second terminal sees', () => {
  it('list --watch: generating, then background, then done; as lines, and as records', async () => {
    const { at, prompt, tell } = await stage();
    const lines = start(['sessions', 'list', '--watch', ...at]);
    const data = start(['sessions', 'list', '--watch', '--json', ...at]);
    const tasks = start(['tasks', 'list', '--watch', ...at]);
    await lines.saw(/^SESSION +ACTIVITY +CREATED +NOTES +TASK\ns +new +.+ t\n$/);
    await tasks.saw(/^TASK +ACTIVITY +STATE +CREATED +SESSIONS +JOBS +TITLE\nt +nothing runs +open /);
    await data.saw('"state":"created"');
    const asking = prompt('work');
    await asking.saw('started it');
    await lines.saw(/^s +generating \(1\) .+ for .+ t$/m);
    await tasks.saw(/^t +generating \(1\) /m);
    await data.saw('"foregroundActivity":"generating"');
    await tell('yield');
    await asking.ended;
    await lines.saw(/^s +background \(1\) /m);
    await tasks.saw(/^t +background \(1\) /m);
    await data.saw('"foregroundActivity":"background"');
    await tell('finish');
    await lines.saw(/^s +done /m);
    await tasks.saw(/^t +nothing runs .+$(?![\s\S]*background)/m);
    await data.saw(/"foregroundActivity":null(?![\s\S]*background)/);
    for (const { child } of [lines, data, tasks]) child.kill('SIGINT');
    expect([(await lines.ended).code, (await data.ended).code, (await tasks.ended).code]).toEqual([130, 130, 130]);
    const words = lines.stdout.split('\n').map((line) => /^s +(\w+)/.exec(line)?.[1]);
    expect(words.filter((word, index) => word !== undefined && word !== words[index - 1])).toEqual(
      expect.arrayContaining(['new', 'generating', 'background', 'done']),
    );
    for (const row of records<SessionView>(data.stdout)) {
      expect(Object.keys(row)).toEqual(expect.arrayContaining(['foregroundActivity', 'activeSubagentCount', 'turn', 'pending']));
      expect(Object.keys(row).filter((name) => name.includes('_'))).toEqual([]);
    }
  });

  it('sessions get and tasks get: the whole, in words and as the records of the API', async () => {
    const { at, prompt, tell, session } = await stage();
    const asking = prompt('work');
    await asking.saw('started it');
    const generating = await session();
    expect(generating).toEqual({
      sessionId: 's',
      taskId: 't',
      agentId: null,
      state: 'running',
      interrupted: false,
      pending: null,
      createdAt: expect.any(Number),
      updatedAt: expect.any(Number),
      revision: expect.any(Number),
      foregroundActivity: 'generating',
      activeSubagentCount: 1,
      uncertainCount: 0,
      quietCount: 0,
      queuedPrompts: 0,
      turn: { generation: expect.any(Number), origin: 'prompt', startedAt: expect.any(Number), quiet: false },
      executionId: expect.any(String),
      endingAgents: 0,
      usage: { input_tokens: 7 },
      sessionSeq: expect.any(Number),
    });
    await tell('yield');
    await asking.ended;
    expect((await offstage(['sessions', 'get', 's', ...at])).stdout).toMatch(
      new RegExp(
        [
          '^session +s',
          'task +t',
          'agent +default',
          'activity +background \\(1\\)',
          'state +waiting_for_input',
          'created +.+',
          'usage +input_tokens 7',
          'background +subagent w-1, for .+\n$',
        ].join('\n'),
      ),
    );
    expect(await json<TaskView>(['tasks', 'get', 't', ...at])).toEqual({
      taskId: 't',
      title: 'Release 1.4',
      state: 'open',
      createdAt: expect.any(Number),
      revision: 1,
      foregroundActivity: 'background',
      activeSubagentCount: 1,
      pending: 'work',
      sessions: ['s'],
      runningJobs: 0,
      taskSeq: expect.any(Number),
    });
    expect((await offstage(['tasks', 'get', 't', ...at])).stdout).toMatch(
      /^task +t\ntitle +Release 1\.4\nactivity +background \(1\)\nstate +open\ncreated +.+\njobs +0 running\nsessions +s\n$/,
    );
    await tell('finish');
    await until(async () => ((await session()).foregroundActivity === null ? true : null));
    expect(await json<SessionView[]>(['sessions', 'list', ...at])).toMatchObject([
      { sessionId: 's', foregroundActivity: null, activeSubagentCount: 0, turn: null },
    ]);
    expect(await json<TaskView[]>(['tasks', 'list', ...at])).toMatchObject([
      { taskId: 't', foregroundActivity: null, activeSubagentCount: 0, pending: null },
    ]);
  });
});
