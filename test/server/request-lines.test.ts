/** RQL1–RQL3: many requests on one connection, sent without waiting for the answers. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { LIMITS } from '../../src/model/limits.ts';
import { type Lab, serverLab } from './lab.ts';
import { gone, rawSocket, requestHead } from './raw.ts';

let lab: Lab;
beforeAll(async () => {
  lab = await serverLab();
});
afterAll(() => lab[Symbol.asyncDispose]());

const withBody = (path: string, body: string): string =>
  requestHead(lab.server, path, { 'Content-Type': 'application/json', 'Content-Length': String(body.length) }, 'POST') + body;
const toWaitFor = (jobId: string): string => withBody('/api/jobs/await', JSON.stringify({ job_ids: [jobId], timeout: null }));
const toMake = (taskId: string): string => withBody('/api/tasks', JSON.stringify({ task_id: taskId }));
const tasks = async (): Promise<readonly string[]> => (await lab.offstage.tasks.list()).map(({ taskId }) => taskId);
const statusesIn = (text: string): readonly number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));

function collected(socket: Socket): { readonly text: () => string; readonly until: (count: number) => Promise<void> } {
  let text = '';
  socket.on('data', (part: Buffer) => {
    text += part.toString('latin1');
  });
  return {
    text: () => text,
    async until(count) {
      while (statusesIn(text).length < count) await once(socket, 'data');
    },
  };
}

async function started(jobId: string): Promise<void> {
  await lab.offstage.spawn({ kind: 'gate', jobId });
  await lab.gate.started(jobId);
}

it('are begun and answered one after the other', async () => {
  await started('first');
  const socket = await rawSocket(lab.server);
  const { text, until } = collected(socket);
  socket.write(toWaitFor('first') + toMake('second') + toMake('third'));
  // The server has seen all of that by the time that somebody else was answered.
  await lab.get('api/whoami');
  expect(await tasks()).not.toContain('second');
  lab.gate.release('first');
  await until(3);
  expect(statusesIn(text())).toEqual([200, 201, 201]);
  expect(text().indexOf('second')).toBeLessThan(text().indexOf('third'));
  // The connection serves on.
  socket.write(toMake('fourth'));
  await until(4);
  socket.destroy();
});

it('beyond what may wait they are refused, and that is the end of the connection', async () => {
  await started('long');
  const socket = await rawSocket(lab.server);
  const { text } = collected(socket);
  const ended = gone(socket);
  const ids = Array.from({ length: LIMITS.pipelinedRequests + 10 }, (_, index) => `t${index}`);
  socket.write(toWaitFor('long') + ids.map(toMake).join(''));
  await lab.get('api/whoami');
  lab.gate.release('long');
  await ended;
  const made = ids.slice(0, LIMITS.pipelinedRequests);
  expect(statusesIn(text())).toEqual([200, ...made.map(() => 201), 429]);
  expect(await tasks()).toEqual(expect.arrayContaining(made));
  expect(await tasks()).not.toContain(ids[made.length]);
});

it('of a client that has gone are not begun', async () => {
  await started('lost');
  const socket = await rawSocket(lab.server);
  socket.write(toWaitFor('lost') + toMake('never'));
  await lab.get('api/whoami');
  socket.resetAndDestroy();
  await lab.get('api/whoami');
  lab.gate.release('lost');
  await lab.offstage.wait('lost');
  await lab.get('api/whoami');
  expect(await tasks()).not.toContain('never');
});

it('of a client that reads no answer, the connection is dropped; one that waits for its answer keeps it', async () => {
  await using own = await serverLab({}, { heartbeatMs: 20 });
  await own.offstage.spawn({ kind: 'gate', jobId: 'slow' });
  await own.gate.started('slow');
  const waiting = own.post('/api/jobs/await', { job_ids: ['slow'], timeout: null });
  const socket = await rawSocket(own.server);
  const ended = gone(socket);
  socket.pause();
  // More than the system keeps for it.
  await own.offstage.spawn({ kind: 'echo', jobId: 'large', input: 'x'.repeat(200_000) });
  await own.offstage.wait('large');
  const ask = requestHead(own.server, '/api/jobs/large');
  let isOver = false;
  void ended.then(() => {
    isOver = true;
  });
  while (!isOver) {
    socket.write(ask);
    await new Promise((resolve) => setImmediate(resolve));
  }
  own.gate.release('slow');
  expect((await waiting).status).toBe(200);
});
