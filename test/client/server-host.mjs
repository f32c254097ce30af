/** A program that serves a folder until it is killed, for tests. Usage: node server-host.mjs <dataDir> <port>. Prints its address and token. */
import { serve } from '../../dist/doors/server/index.js';
import { open } from '../../dist/open.js';

const [dataDir, port] = process.argv.slice(2);
const offstage = await open({
  dataDir,
  durability: 'process',
  workers: 8,
  executors: {
    echo: async (job) => job.input,
    hang: (_, { signal }) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  },
});
const server = await serve(offstage, { port: Number(port) });
console.log(JSON.stringify({ url: server.url, token: server.token, port: server.port }));
process.on('SIGTERM', () => void offstage.close());
