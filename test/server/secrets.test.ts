/** B74: nothing secret of the host gets into its children, and nothing secret of a job or a token into what is told of them. */
import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { WireFields } from '../../src/doors/wire/rename.ts';
import { clientOf } from './lab.ts';

/** The command lines of all processes that can be read. */
async function commandLines(): Promise<string> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const texts = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
  return texts.join('\n');
}

describe.skipIf(process.platform !== 'linux')('B74', () => {
  it("the host's environment reaches no child; a job's own reaches it, and nothing else; tokens stand nowhere", async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'offstage-secrets-'));
    const host = spawn(process.execPath, [join(import.meta.dirname, 'secrets-host.mjs'), dataDir], {
      env: { PATH: process.env.PATH, CANARY_TOKEN: 'zz1canary' },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const told = createInterface({ input: host.stdout })[Symbol.asyncIterator]();
    const { url, token, title, argv } = JSON.parse((await told.next()).value as string) as {
      url: string;
      token: string;
      title: string;
      argv: string[];
    };
    const socket = new WebSocket(url.replace(/^http/, 'ws').concat('ws'), ['offstage.v1', `offstage.token.${token}`]);
    const client = clientOf(socket);
    await new Promise((resolve) => socket.once('open', resolve));
    await client.ask('subscribe');
    const script = 'console.log(JSON.stringify(process.env)); require("fs").readFileSync(0)';
    const input = {
      command: process.execPath,
      args: ['-e', 'console.log("has", process.env.KEY === "zz2" + "secret", "CANARY_TOKEN" in process.env)'],
    };
    const run = async (jobId: string, more: WireFields): Promise<WireFields> => {
      await client.ask('spawn_job', { kind: 'command', job_id: jobId, input: { ...input, ...more } });
      return (
        (await client.ask('await_jobs', { job_ids: [jobId], timeout: null })).tasks as readonly WireFields[]
      )[0] as WireFields;
    };
    expect(await run('plain', {})).toMatchObject({ result_text: expect.stringContaining('has false false') });
    expect(await run('keyed', { env: { KEY: 'zz2secret' } })).toMatchObject({
      result_text: expect.stringContaining('has true false'),
    });
    const everything = await run('all', { args: ['-e', script], stdin: '' });
    expect(everything.status).toBe('completed');
    expect(JSON.stringify(everything)).not.toContain('zz1canary');
    // While it runs: no command line of any process says it.
    await client.ask('spawn_job', {
      kind: 'command',
      job_id: 'long',
      input: { ...input, args: ['-e', 'console.log("up"); setTimeout(() => {}, 60000)'], env: { KEY: 'zz2secret' } },
    });
    await client.frameOf(({ type, job_id: id }) => type === 'job_output' && id === 'long');
    const lines = await commandLines();
    expect(lines).toContain('secrets-host.mjs');
    for (const secret of ['zz2secret', 'zz1canary', token]) expect(lines).not.toContain(secret);
    const answers: unknown[] = [];
    for (const [action, fields] of [
      ['list_jobs', {}],
      ['get_job', { job_id: 'keyed' }],
      ['get_history', { job_id: 'keyed' }],
      ['get_output', { job_id: 'keyed' }],
      ['get_card', { card_id: 'card_keyed' }],
      ['list_processes', {}],
      ['get_snapshot', {}],
      ['whoami', {}],
      ['no_such_action', { token }],
    ] as const) {
      answers.push(await client.ask(action, fields));
    }
    const authorization = `Bearer ${token}`;
    for (const path of ['metrics', 'api/openapi.json', 'api/jobs', 'nothing']) {
      answers.push(await (await fetch(`${url}${path}`, { headers: { authorization } })).text());
    }
    answers.push(await (await fetch(`${url}api/jobs`, { headers: { authorization: `${authorization}x` } })).text());
    await client.ask('cancel_job', { job_id: 'long' });
    await client.ask('await_jobs', { job_ids: ['long'], timeout: null });
    host.stdin.write('\n');
    const { lines: log, audit } = JSON.parse((await told.next()).value as string) as { lines: string[]; audit: string[] };
    expect(audit.length).toBeGreaterThan(3);
    expect(log.some((line) => line.includes('audit.call'))).toBe(true);
    const all = JSON.stringify([answers, client.frames, log, audit, title, argv]);
    for (const secret of ['zz2secret', 'zz1canary', token]) expect(all).not.toContain(secret);
    if (host.exitCode === null) await new Promise((resolve) => host.once('exit', resolve));
    await rm(dataDir, { recursive: true });
  });
});
