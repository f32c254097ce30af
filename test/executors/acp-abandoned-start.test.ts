/** ARN2 with a real program that says nothing and does not listen: when its start is given up it is ended, or it is still on record. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { acpAgent } from '../../src/acp-agent.ts';
import type { EngineOptions } from '../../src/model/options.ts';
import { open } from '../../src/open.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { RANGES } from '../../src/persistence/row-keys.ts';
import { held } from '../support/bare-agent.ts';
import { keptStore } from '../support/kept-store.ts';
import { keysUnder } from '../support/left-behind.ts';
import { isLiving, temporaryFolder } from './processes.ts';

const DEAF = `
process.on('SIGTERM', () => {});
process.on('SIGINT', () => {});
process.on('SIGHUP', () => {});
process.stdin.resume();
setInterval(() => {}, 1_000);
process.stderr.write('deaf');
`;

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
const pids: number[] = [];
beforeEach(async () => {
  folder = await temporaryFolder();
  await writeFile(join(folder.path, 'deaf.mjs'), DEAF);
});
afterEach(async () => {
  for (const pid of pids.splice(0)) if (await isLiving(pid)) process.kill(pid, 'SIGKILL');
  await folder[Symbol.asyncDispose]();
});

/** An engine whose agent is being started, and does not hear. */
async function starting(options: EngineOptions) {
  const inner = memoryStore();
  const kept = keptStore(inner);
  const ready = held();
  const agent = acpAgent({
    command: process.execPath,
    args: [join(folder.path, 'deaf.mjs')],
    protocol: 'v2',
    onStderr: () => ready.resolve(),
  });
  const offstage = await open({ store: kept.open(), log: () => {}, agents: { default: agent }, ...options });
  await offstage.sessions.create({ sessionId: 's' });
  const prompt = offstage.sessions.prompt('s', { content: 'hello?' }).then(
    () => 'accepted',
    ({ code }: { code: string }) => code,
  );
  await ready.promise;
  const [record] = await offstage.processes();
  const pid = record?.pid ?? 0;
  if (pid <= 1) throw new Error('the program is not on record');
  pids.push(pid);
  return { offstage, kept, prompt, pid, recorded: () => keysUnder(inner, RANGES.processes) };
}

describe.each([
  ['by the close itself', false],
  ['by an interrupt before', true],
])('a start that is given up while its program says nothing; given up %s', (_how, isInterrupted) => {
  it('close waits until the program has been killed', async () => {
    const { offstage, prompt, pid, recorded } = await starting({ killAfterMs: 200, shutdownGraceMs: 30_000 });
    if (isInterrupted) {
      await offstage.sessions.interrupt('s');
      expect(await prompt).toBe('prompt.interrupted');
      expect([await isLiving(pid), (await offstage.processes()).length]).toEqual([true, 1]);
    }
    await offstage.close();
    expect([await isLiving(pid), await recorded()]).toEqual([false, []]);
    expect(await prompt).toMatch(/^(prompt\.interrupted|engine\.closing)$/);
  });
});

it('a start that was given up with a long time to end is ended by the close all the same', async () => {
  const { offstage, prompt, pid, recorded } = await starting({ killAfterMs: 600_000, shutdownGraceMs: 1_000 });
  await offstage.sessions.interrupt('s');
  expect(await prompt).toBe('prompt.interrupted');
  expect([await isLiving(pid), (await recorded()).length]).toEqual([true, 1]);
  await offstage.close();
  expect([await isLiving(pid), await recorded()]).toEqual([false, []]);
});
