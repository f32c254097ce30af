/**
 * A Redis of the benchmark's own: free port on 127.0.0.1, temporary folder, ended by its pid.
 *
 * RDS1  A server that was running before is never touched.
 * RDS2  Append-only file with fsync every second and no rewriting meanwhile, no snapshots: durable as BullMQ recommends, nothing that disturbs.
 */
import { spawn } from 'node:child_process';
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** The path of `redis-server` on PATH, else null. */
export function findRedisServer() {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(folder, 'redis-server');
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // Not in this folder.
    }
  }
  return null;
}

const freePort = () =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

/** Sends commands and resolves with the answer once it has a line for each. */
const send = (port, ...commands) =>
  new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(commands.map((command) => `${command}\r\n`).join('')));
    socket.on('error', reject);
    socket.on('data', (data) => {
      answer += data.toString();
      if (answer.split('\r\n').length <= commands.length) return;
      socket.destroy();
      resolve(answer);
    });
  });

/** Starts it in a new folder under `parentDir`. @returns {Promise<{host: string, port: number, flush(database: number): Promise<void>, stop(): Promise<void>}>} */
export async function startRedis(parentDir) {
  const dataDir = mkdtempSync(join(parentDir, 'redis-'));
  const port = await freePort();
  const options = { port, bind: '127.0.0.1', dir: dataDir, save: '', appendonly: 'yes', appendfsync: 'everysec' };
  const args = Object.entries({ ...options, 'auto-aof-rewrite-percentage': 0 }).flatMap(([name, value]) => [
    `--${name}`,
    String(value),
  ]);
  const server = spawn(findRedisServer(), args, { stdio: 'ignore' });
  const exited = new Promise((resolve) => server.once('exit', resolve));
  const endWithUs = () => server.kill('SIGTERM');
  process.once('exit', endWithUs);
  const stop = async () => {
    process.removeListener('exit', endWithUs);
    server.kill('SIGTERM');
    await exited;
    rmSync(dataDir, { recursive: true, force: true });
  };
  for (let attempt = 0; attempt < 200 && server.exitCode === null; attempt += 1) {
    const answer = await send(port, 'PING').catch(() => '');
    if (answer.startsWith('+PONG')) {
      return {
        host: '127.0.0.1',
        port,
        flush: async (database) => void (await send(port, `SELECT ${database}`, 'FLUSHDB')),
        stop,
      };
    }
    await delay(25);
  }
  await stop();
  throw new Error('redis-server did not answer');
}
