/** `examples/async-tasks.mjs`: tools that outlive a turn, each a program of its own. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { ROOT } from './offstage.ts';

it('the example of async tasks: launched in one turn, looked at in a later one, cancelled, timed out; the process ends by itself', async () => {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [join(ROOT, 'examples', 'async-tasks.mjs')]);
  expect(stderr).toBe('');
  expect(stdout.trimEnd().split('\n')).toEqual([
    'launched   sum: queued',
    'launched   slow: queued',
    'launched   endless: queued',
    'launched   bad: queued',
    'launched   unknown: error, No executor is registered for the kind "deep_thought".',
    'cancelled  endless: true, and again: false',
    'success    sum: {"stdout":"5050"}',
    'timeout    slow: timed out after 500 ms',
    'cancelled  endless: {}',
    'error      bad: [SubagentTaskExecutor] SubagentExecutor is server-only',
    'error      unknown: No executor is registered for the kind "deep_thought".',
    'channel    sum success, slow timeout, endless cancelled, bad error, unknown error',
    'written    sum: queued -> running -> success',
  ]);
});
