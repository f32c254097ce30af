/**
 * Who may watch an engine while it works (H9). Each is put on an open engine and answers a function that ends it and checks what was seen.
 *
 * WAT1  The viewer of an inspector is a process of its own, as a page would be: what it does with what it gets is not measured.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { WebSocketServer } from 'ws';

const VIEWER = fileURLToPath(new URL('./viewer.mjs', import.meta.url));
const SUBSCRIBERS = 100;

async function subscribers(engine) {
  const counts = new Array(SUBSCRIBERS).fill(0);
  const ends = counts.map((_, index) =>
    engine.onEvent(() => {
      counts[index] += 1;
    }),
  );
  return async () => {
    for (const end of ends) end();
    if (new Set(counts).size !== 1 || counts[0] === 0) throw new Error(`subscribers have seen ${new Set(counts)} events`);
  };
}

/** A relay on a port, and a viewer that reads as fast as it can. */
async function viewed(engine) {
  const { InspectorRelay } = await import('../dist/doors/inspector/inspector-relay.js');
  const relay = new InspectorRelay(engine);
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, maxPayload: 1_024 });
  await once(server, 'listening');
  server.on('connection', (webSocket) => relay.accept(webSocket));
  const viewer = fork(VIEWER, [`ws://127.0.0.1:${server.address().port}`]);
  await once(viewer, 'message');
  return async () => {
    const seen = once(viewer, 'message');
    viewer.send('leave');
    const [{ frames }] = await seen;
    await once(viewer, 'exit');
    while (relay.viewers > 0) await once([...server.clients][0], 'close');
    server.close();
    return frames;
  };
}

async function inspector(engine) {
  const leave = await viewed(engine);
  return async () => {
    const frames = await leave();
    if (frames < 100) throw new Error(`the viewer has seen ${frames} frames`);
  };
}

/** Somebody has looked, and is gone. */
async function left(engine) {
  const leave = await viewed(engine);
  await leave();
  return async () => {};
}

export const watches = { subscribers, inspector, left };
