/** A program that serves its engine, for tests of `inspect`. Usage: node inspect-host.mjs <dataDir> <job ids, comma separated> [token]. */
import { serve } from '../../dist/doors/server/index.js';
import { open } from '../../dist/open.js';

const [dataDir, ids, token] = process.argv.slice(2);
const hold = (_, { signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
const offstage = await open({ dataDir, control: true, handleSignals: true, executors: { hold, noop: async () => 'done' } });
if (token !== 'none') await serve(offstage, token === undefined ? {} : { token });
for (const jobId of ids.split(','))
  await offstage.spawn({ kind: jobId.startsWith('done') ? 'noop' : 'hold', jobId, subject: jobId });
for (const jobId of ids.split(',')) if (jobId.startsWith('done')) await offstage.wait(jobId);
console.log('ready');
