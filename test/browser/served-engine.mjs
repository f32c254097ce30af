/**
 * An engine and its server in a process of their own, so that a test can end and restart them: folder and port as arguments.
 * Says `{ url, link }` as its first line. SIGTERM closes it in order.
 */
import { serve } from '../../dist/doors/server/index.js';
import { open } from '../../dist/index.js';

const [dataDir, port] = process.argv.slice(2);
const never = new Promise(() => {});
setInterval(() => {}, 60_000);

const offstage = await open({
  dataDir,
  executors: {
    quick: () => 'done',
    broken: () => Promise.reject(new Error('told to fail')),
    listens: (_job, { signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    deaf: () => never,
  },
  workers: 3,
  cancelGraceMs: 50,
  shutdownGraceMs: 50,
  notices: false,
  log: () => {},
});
const server = await serve(offstage, { port: Number(port) });
process.once('SIGTERM', async () => {
  await offstage.close();
  process.exit(0);
});
console.log(JSON.stringify({ url: server.url, link: server.oneTimeUrl() }));
