/** A server in a process of its own, which a test kills and restarts on the same folder and port. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { connect, type OffstageClient } from '../../src/doors/client/index.ts';

const PROGRAM = join(import.meta.dirname, 'served-engine.mjs');

export interface Served extends AsyncDisposable {
  readonly url: string;
  /** Lets a browser in. */
  readonly link: string;
  /** Another way to the same engine. Made anew with each start. */
  readonly client: OffstageClient;
  /** On the same folder and port; resolves when it listens. */
  start(): Promise<void>;
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
}

export async function servedEngine(): Promise<Served> {
  const dataDir = await mkdtemp(join(tmpdir(), 'offstage-served-'));
  let child: ChildProcess | null = null;
  let client: OffstageClient | null = null;
  let url = '';
  let link = '';
  const served: Served = {
    get url() {
      return url;
    },
    get link() {
      return link;
    },
    get client() {
      if (client === null) throw new Error('it was not started');
      return client;
    },
    async start() {
      const port = url === '' ? '0' : new URL(url).port;
      const started = spawn(process.execPath, [PROGRAM, dataDir, port], { stdio: ['ignore', 'pipe', 'inherit'] });
      child = started;
      const [line] = (await once(createInterface({ input: started.stdout }), 'line')) as [string];
      ({ url, link } = JSON.parse(line) as { url: string; link: string });
      client = connect({ url, token: (await readFile(join(dataDir, 'token'), 'utf8')).trim() });
    },
    async end(signal) {
      client?.close();
      if (child === null || child.exitCode !== null || child.signalCode !== null) return;
      child.kill(signal);
      await once(child, 'exit');
    },
    async [Symbol.asyncDispose]() {
      await served.end('SIGKILL');
      await rm(dataDir, { recursive: true, force: true });
    },
  };
  await served.start();
  return served;
}
