/** `examples/sessions.mjs`: a real agent over stdio, in the protocol that vouches for its work and in the one that does not. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { ROOT } from './offstage.ts';

const run = async (...args: string[]): Promise<readonly string[]> => {
  const { stdout } = await promisify(execFile)(process.execPath, [join(ROOT, 'examples', 'sessions.mjs'), ...args]);
  return stdout.split('\n').filter((line) => line !== '');
};

describe('the example of sessions', () => {
  it('ACP v2: the second prompt is taken while the background work of the first one runs, and what is shown is told in order', async () => {
    const lines = await run();
    expect(lines.filter((line) => /^(accepted|queued)/.test(line))).toEqual(['accepted  turn 1', 'accepted  turn 2']);
    expect(lines).toContain('In order: generating/0 -> generating/1 -> background/1 -> generating/1 -> background/1 -> none/0');
  });

  it('ACP v1, which vouches for nothing: the second prompt is a ticket, and no background work is shown', async () => {
    const lines = await run('--v1');
    expect(lines.filter((line) => /^(accepted|queued|ticket)/.test(line))).toEqual([
      'accepted  turn 1',
      'ticket    queued',
      'queued    position 1',
      'ticket    accepted',
    ]);
    expect(lines).toContain('In order: generating/0 -> none/0');
  });
});
