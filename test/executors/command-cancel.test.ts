import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { readProcessTable } from '../../src/executors/process-tree.ts';
import { endLeftBehind, groupMembers, isLiving, sh, start, temporaryFolder, tokenHolders } from './processes.ts';

afterEach(endLeftBehind);

/** Appends a line to `$1` and says so on stdout, every 50 ms. */
const HEARTBEAT = 'while :; do echo beat >> "$1"; echo beat; sleep 0.05; done';

describe('B46, B48, B52: a cancel ends the whole tree', () => {
  it('B46: the work inside a shell ends with it', async () => {
    await using folder = await temporaryFolder();
    const file = join(folder.path, 'beats');
    const run = start(sh(`sh -c '${HEARTBEAT}' sh "$1"; echo never`, file));
    await run.untilOutput('beat');
    run.abort();
    expect(await run.failure).toBe(run.reason);
    const size = (await readFile(file)).length;
    expect(await tokenHolders(run.executionId)).toEqual([]);
    expect(await groupMembers(run.launches[0]?.pid ?? 0)).toEqual([]);
    expect(run.partials.at(-1)).toMatch(/^(beat\n)+$/);
    expect((await readFile(file)).length).toBe(size);
    expect(run.listenerCount()).toBe(0);
  });

  it('B48: a child that ignores TERM is killed after killAfterMs', async () => {
    const run = start(sh("trap '' TERM; echo ready; while :; do sleep 1; done"), { killAfterMs: 150 });
    await run.untilOutput('ready');
    const begun = performance.now();
    run.abort();
    expect(await run.failure).toBe(run.reason);
    expect(performance.now() - begun).toBeGreaterThanOrEqual(145);
    expect(await isLiving(run.launches[0]?.pid ?? 0)).toBe(false);
    expect(run.survivors[0]).toContain(`process ${run.launches[0]?.pid} (sh)`);
  });

  it('B48: the kill comes at half the grace at the latest', async () => {
    const run = start(sh("trap '' TERM; echo ready; while :; do sleep 1; done"), { killAfterMs: 60_000, graceMs: 300 });
    await run.untilOutput('ready');
    run.abort();
    expect(await run.failure).toBe(run.reason);
    expect(await tokenHolders(run.executionId)).toEqual([]);
  });

  it('B48: a TERM handler gets its chance, with processes of its own, and no KILL', async () => {
    await using folder = await temporaryFolder();
    const file = join(folder.path, 'bye');
    const handler = 'sleep 0.4; echo bye > "$1"; exit 0';
    const run = start(sh(`trap '${handler}' TERM; echo ready; while :; do sleep 0.05; done`, file), { killAfterMs: 20_000 });
    await run.untilOutput('ready');
    run.abort();
    await run.done;
    expect(await readFile(file, 'utf8')).toBe('bye\n');
  });

  it('B52: work in a session of its own ends too', async () => {
    await using folder = await temporaryFolder();
    const file = join(folder.path, 'beats');
    const run = start(sh(`setsid sh -c '${HEARTBEAT}' sh "$1" & wait`, file));
    await run.untilOutput('beat');
    run.abort();
    expect(await run.failure).toBe(run.reason);
    const size = (await readFile(file)).length;
    expect(await tokenHolders(run.executionId)).toEqual([]);
    expect((await readFile(file)).length).toBe(size);
  });

  it('B52: so does work behind a double fork, whose parent is gone', async () => {
    await using folder = await temporaryFolder();
    const file = join(folder.path, 'beats');
    const run = start(sh(`setsid sh -c '(sh -c "$0" sh "$1" &) ; exit 0' '${HEARTBEAT}' "$1"; exec sleep 600`, file));
    await run.untilOutput('beat');
    run.abort();
    expect(await run.failure).toBe(run.reason);
    const size = (await readFile(file)).length;
    expect(await tokenHolders(run.executionId)).toEqual([]);
    expect((await readFile(file)).length).toBe(size);
  });

  it('B52: a daemon that ignores TERM and whose parents died of it is killed', async () => {
    const run = start(sh(`setsid sh -c '(trap "" TERM; echo beat; while :; do sleep 0.1; done) & wait' & wait`), {
      killAfterMs: 200,
    });
    await run.untilOutput('beat');
    run.abort();
    expect(await run.failure).toBe(run.reason);
    expect(await tokenHolders(run.executionId)).toEqual([]);
  });

  it('B52: work that dropped its environment is found through its parents and sessions', async () => {
    const run = start(sh('env -i setsid sh -c "sleep 600 & echo \\$!; wait" & wait'));
    await run.untilOutput('\n');
    const pid = Number(run.outputs.join('').trim());
    expect(await isLiving(pid)).toBe(true);
    run.abort();
    expect(await run.failure).toBe(run.reason);
    const lives = await isLiving(pid);
    if (lives) process.kill(pid, 'SIGKILL');
    expect(lives).toBe(false);
  });

  it('a process that forks all the time, into sessions of their own, is caught', async () => {
    const script = "trap '' TERM; echo ready; while :; do setsid sh -c 'sleep 0.3 & sleep 0.1' & sleep 0.01; done";
    const run = start(sh(script), { killAfterMs: 200 });
    await run.untilOutput('ready');
    run.abort();
    expect(await run.failure).toBe(run.reason);
    expect(await tokenHolders(run.executionId)).toEqual([]);
  });

  it('an abort while leftovers of an ended command are being ended reaches what left the session as well', async () => {
    await using folder = await temporaryFolder();
    const daemon = 'setsid sh -c \'echo beat; echo on > "$1"; exec sleep 600\' sh "$1.daemon" &';
    const stubborn =
      '(trap "" TERM; echo on > "$1"; while :; do sleep 0.1; done) & until [ -s "$1" ] && [ -s "$1.daemon" ]; do sleep 0.02; done';
    const run = start(sh(`${daemon} ${stubborn}; exit 0`, join(folder.path, 'on')));
    await run.untilOutput('beat');
    const pid = await run.untilLaunched();
    // Until the host has seen the end: before that, it would be the cancel of a running command.
    while ((await readProcessTable()).rows.has(pid)) await new Promise(setImmediate);
    const begun = performance.now();
    run.abort();
    await run.done;
    expect(await tokenHolders(run.executionId)).toEqual([]);
    expect(performance.now() - begun).toBeLessThan(4_000);
    expect(run.listenerCount()).toBe(0);
  });
});
