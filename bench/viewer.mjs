/** A viewer of the inspector in a process of its own: reads, counts, and says how much on its way out. */
import { WebSocket } from 'ws';

const webSocket = new WebSocket(process.argv[2]);
let frames = 0;
webSocket.on('message', () => {
  frames += 1;
  if (frames === 1) process.send({ frames });
});
process.on('message', () => {
  process.send({ frames });
  webSocket.close();
  process.disconnect();
});
