import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/actors/clock.ts';
import { commandExecutor } from '../../src/executors/command.ts';
import { commandInput, redactCommandInput } from '../../src/executors/command-input.ts';
import { childEnvironment } from '../../src/executors/environment.ts';
import { endLeftBehind, sh, start } from './processes.ts';

afterEach(endLeftBehind);

async function environmentOf(text: string | undefined): Promise<Map<string, string>> {
  const lines = (text ?? '').split('\0').filter((line) => line !== '');
  return new Map(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
}

describe('B74: a minimal environment, and secrets nowhere else', () => {
  it('B74: a secret of the host reaches a child only when it is listed', async () => {
    process.env.CANARY_TOKEN = 'zz1';
    try {
      const plain = await start({ command: 'env', args: ['-0'] }).done;
      expect(plain.text).not.toContain('zz1');
      const environment = await environmentOf(plain.text);
      expect(environment.get('PATH')).toBe(process.env.PATH);
      const listed = await start({ command: 'env', args: ['-0'] }, { allow: ['CANARY_*'] }).done;
      expect((await environmentOf(listed.text)).get('CANARY_TOKEN')).toBe('zz1');
    } finally {
      delete process.env.CANARY_TOKEN;
    }
  });

  it("B74: the child sees the job's own variables and the token; no command line holds them", async () => {
    const run = start({ ...sh('echo "$KEY $OFFSTAGE_EXECUTION"; exec sleep 600'), env: { KEY: 'zz2' } });
    await run.untilOutput('\n');
    expect(run.outputs.join('')).toBe(`zz2 ${run.executionId}\n`);
    const pid = await run.untilLaunched();
    expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8')).not.toContain('zz2');
    run.abort();
    await run.failure;
  });

  it('B74: the record shows the names of variables, not their values; the rest of the input stays', () => {
    const executor = commandExecutor({ clock: systemClock });
    const input = { command: 'x', args: ['a'], env: { KEY: 'zz2', OTHER: 'zz3' } };
    const shown = executor.redact?.(input);
    expect(shown).toEqual({ command: 'x', args: ['a'], env: { KEY: '(hidden)', OTHER: '(hidden)' } });
    expect(input.env.KEY).toBe('zz2');
    expect(redactCommandInput({ command: 'x' })).toEqual({ command: 'x' });
    expect(redactCommandInput('odd')).toBe('odd');
  });

  it('B50: a long standard input is not stored, a short one is shown, and there is an end to it', async () => {
    const stdin = 'p'.repeat(8 * 1024 * 1024);
    expect(redactCommandInput({ command: 'x', stdin })).toEqual({ command: 'x', stdin: '(8.0 MiB, not kept)' });
    expect(redactCommandInput({ command: 'x', stdin: 'short' })).toEqual({ command: 'x', stdin: 'short' });
    const { issues } = await commandInput['~standard'].validate({ command: 'x', stdin: stdin.repeat(2).concat('p') });
    expect(issues).toEqual([{ message: 'must not be longer than 16.0 MiB', path: ['stdin'] }]);
  });

  it('B74: no start failure holds a value', async () => {
    const env = { KEY: `zz2${'x'.repeat(4 * 1024 * 1024)}` };
    const error = await start({ command: 'true', env }).failure;
    expect(error).toMatchObject({ code: 'command.start_failed' });
    expect(JSON.stringify([error.message, error.details])).not.toContain('zz2');
  });

  it('ENV2: the job can neither replace nor drop the token', () => {
    const own = { OFFSTAGE_EXECUTION: 'other', PATH: '/mine' };
    const host = { PATH: '/host', LC_ALL: 'C', OFFSTAGE_EXECUTION: 'outer', SECRET: 's' };
    expect(childEnvironment({ host, allow: [], own, executionId: 'exe_1' })).toEqual({
      PATH: '/mine',
      LC_ALL: 'C',
      OFFSTAGE_EXECUTION: 'exe_1',
    });
  });

  it('an allow-list that would let everything through is config.invalid', () => {
    for (const allow of [['*'], ['A=B'], [''], [7 as unknown as string]]) {
      expect(() => commandExecutor({ clock: systemClock, environment: { allow } })).toThrow(
        expect.objectContaining({ code: 'config.invalid' }),
      );
    }
  });
});

describe('the input of a command', () => {
  const validate = commandInput['~standard'].validate;
  const fine = [
    { command: 'x' },
    { command: 'x', args: [], cwd: '/', env: {}, stdin: '', shell: true },
    { command: 'x', shell: 'bash' },
  ];
  for (const input of fine) it(`takes ${JSON.stringify(input)}`, () => expect(validate(input)).toEqual({ value: input }));

  const odd: [unknown, string][] = [
    [null, ''],
    ['ls', ''],
    [[], ''],
    [{}, 'command'],
    [{ command: '' }, 'command'],
    [{ command: 'a\0b' }, 'command'],
    [{ command: 'x', args: 'y' }, 'args'],
    [{ command: 'x', args: [1] }, 'args'],
    [{ command: 'x', args: ['a\0'] }, 'args'],
    [{ command: 'x', cwd: '' }, 'cwd'],
    [{ command: 'x', env: ['A=1'] }, 'env'],
    [{ command: 'x', env: { A: 1 } }, 'env.A'],
    [{ command: 'x', env: { 'A=': 'zz2' } }, 'env.A='],
    [{ command: 'x', env: { A: 'zz2\0' } }, 'env.A'],
    [{ command: 'x', env: { OFFSTAGE_EXECUTION: 'zz2' } }, 'env.OFFSTAGE_EXECUTION'],
    [{ command: 'x', stdin: 1 }, 'stdin'],
    [{ command: 'x', shell: 1 }, 'shell'],
    [{ command: 'x', comand: 'y' }, 'comand'],
  ];
  for (const [input, path] of odd) {
    it(`refuses ${JSON.stringify(input)} at ${path === '' ? 'the top' : path}`, async () => {
      const { issues = [] } = await validate(input);
      expect(issues.map((issue) => (issue.path ?? []).join('.'))).toEqual([path]);
      expect(JSON.stringify(issues)).not.toContain('zz2');
    });
  }
});
