/** A server in a process of its own, started with a secret in its environment. Prints its address and token as a line of JSON. */

import { serve } from '../../dist/doors/server/index.js';
import { open } from '../../dist/index.js';

const lines = [];
const offstage = await open({
  dataDir: process.argv[2],
  log: (level, event, fields) => lines.push(JSON.stringify({ level, event, fields })),
});
const audit = [];
const server = await serve(offstage, { onAudit: (entry) => audit.push(JSON.stringify(entry)) });
console.log(JSON.stringify({ url: server.url, token: server.token, title: process.title, argv: process.argv, pid: process.pid }));
process.stdin.once('data', async () => {
  await offstage.close();
  console.log(JSON.stringify({ lines, audit }));
  process.stdin.unref();
});
