/** PUP1: a request that offers to go on in another protocol is answered like any other. */
import { once } from 'node:events';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Lab, serverLab } from './lab.ts';
import { rawExchange, rawSocket, rawUpgrade, requestHead } from './raw.ts';

let lab: Lab;
beforeAll(async () => {
  lab = await serverLab();
});
afterAll(() => lab[Symbol.asyncDispose]());

/** As the HTTP library of Java sends with its first request. */
const OFFER = { Connection: 'Upgrade, HTTP2-Settings', Upgrade: 'h2c', 'HTTP2-Settings': 'AAEAAEAAAAIAAAABAAMAAABk' };
const statusesIn = (text: string): readonly number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));

it('with its body, and what comes after it', async () => {
  const socket = await rawSocket(lab.server);
  let text = '';
  socket.on('data', (part: Buffer) => {
    text += part.toString('latin1');
  });
  const body = JSON.stringify({ task_id: 'offered' });
  const headers = { ...OFFER, 'Content-Type': 'application/json', 'Content-Length': String(body.length) };
  socket.write(
    requestHead(lab.server, '/api/tasks', headers, 'POST') + body + requestHead(lab.server, '/api/tasks/offered', OFFER),
  );
  while (statusesIn(text).length < 2) await once(socket, 'data');
  expect(statusesIn(text)).toEqual([201, 200]);
  socket.destroy();
});

it('after the answers that are still to come', async () => {
  await lab.offstage.spawn({ kind: 'gate', jobId: 'g' });
  await lab.gate.started('g');
  const body = JSON.stringify({ job_ids: ['g'], timeout: null });
  const headers = { 'Content-Type': 'application/json', 'Content-Length': String(body.length) };
  const wait = requestHead(lab.server, '/api/jobs/await', headers, 'POST') + body;
  const answered = rawExchange(
    lab.server,
    wait + requestHead(lab.server, '/api/whoami', OFFER),
    (text) => statusesIn(text).length === 2,
  );
  await lab.get('api/whoami');
  lab.gate.release('g');
  const { status, text } = await answered;
  expect([status, ...statusesIn(text)]).toEqual([200, 200]);
});

it('and needs its token like any other', async () => {
  const head = requestHead(lab.server, '/api/whoami', { ...OFFER, Authorization: null });
  expect((await rawExchange(lab.server, head, (text) => text.includes('\r\n\r\n'))).status).toBe(401);
});

it('a WebSocket is none of these', async () => {
  expect((await rawUpgrade(lab.server)).status).toBe(101);
  expect((await rawUpgrade(lab.server, {}, '/api/jobs')).status).toBe(400);
});
