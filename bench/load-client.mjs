/**
 * Many subscribers in one process, as light as they can be. Each one counts and sums (CRC) the bytes it gets; a few take every frame apart,
 * check the order of `seq`, and measure how old each event is. Who has the same sum as one of those has got the same frames in the same order.
 */
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { crc32 } from 'node:zlib';

const { host, port, token, count, readers, request } = JSON.parse(process.argv[2]);

const HEAD = Buffer.from('\r\n\r\n');
const masked = (text) => {
  const body = Buffer.from(text);
  const head =
    body.length <= 125
      ? Buffer.from([0x81, 0x80 | body.length])
      : Buffer.from([0x81, 0xfe, body.length >> 8, body.length & 0xff]);
  return Buffer.concat([head, Buffer.alloc(4), body]);
};

/** Length of a frame and of its head; null while it is not whole. */
function frameAt(bytes, at) {
  if (at + 2 > bytes.length) return null;
  let length = bytes[at + 1] & 0x7f;
  let head = 2;
  if (length === 126) {
    if (at + 4 > bytes.length) return null;
    length = bytes.readUInt16BE(at + 2);
    head = 4;
  } else if (length === 127) {
    if (at + 10 > bytes.length) return null;
    length = Number(bytes.readBigUInt64BE(at + 2));
    head = 10;
  }
  return at + head + length > bytes.length ? null : { head, length };
}

class Subscriber {
  constructor(isReader) {
    this.isReader = isReader;
    this.state = 'upgrade';
    this.rest = Buffer.alloc(0);
    this.bytes = 0;
    this.sum = 0;
    this.frames = 0;
    this.resyncs = 0;
    this.disorders = 0;
    this.lastSeq = 0;
    this.seen = [];
    this.ready = new Promise((resolve, reject) => {
      this.socket = connect(port, host, () => {
        this.socket.write(
          `GET /ws HTTP/1.1\r\nHost: ${host}:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n` +
            `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\nAuthorization: Bearer ${token}\r\n\r\n`,
        );
      });
      this.socket.on('error', reject);
      this.socket.on('data', (part) => this.take(part, resolve));
    });
  }

  take(part, onReady) {
    if (this.state === 'live') return this.live(part);
    this.rest = Buffer.concat([this.rest, part]);
    if (this.state === 'upgrade') {
      const end = this.rest.indexOf(HEAD);
      if (end === -1) return;
      if (!this.rest.subarray(0, 12).equals(Buffer.from('HTTP/1.1 101'))) throw new Error(this.rest.toString());
      this.rest = this.rest.subarray(end + 4);
      this.state = 'snapshot';
      this.socket.write(masked(JSON.stringify({ ...request, action: 'subscribe' })));
    }
    const frame = frameAt(this.rest, 0);
    if (frame === null) return;
    this.state = 'live';
    const more = this.rest.subarray(frame.head + frame.length);
    this.rest = Buffer.alloc(0);
    onReady();
    if (more.length > 0) this.live(more);
  }

  live(part) {
    this.bytes += part.length;
    this.sum = crc32(part, this.sum);
    if (!this.isReader) return;
    const now = performance.timeOrigin + performance.now();
    const bytes = this.rest.length === 0 ? part : Buffer.concat([this.rest, part]);
    let at = 0;
    for (let frame = frameAt(bytes, at); frame !== null; frame = frameAt(bytes, at)) {
      const event = JSON.parse(bytes.subarray(at + frame.head, at + frame.head + frame.length).toString());
      at += frame.head + frame.length;
      this.frames += 1;
      if (event.type === 'resync') this.resyncs += 1;
      else if (typeof event.seq === 'number') {
        if (event.seq < this.lastSeq) this.disorders += 1;
        this.lastSeq = event.seq;
        if (event.type.startsWith('job_')) this.seen.push([event.seq, now, event.at]);
      }
    }
    this.rest = bytes.subarray(at);
  }
}

const subscribers = [];
for (let number = 0; number < count; number += 20) {
  const some = Array.from({ length: Math.min(20, count - number) }, (_, index) => new Subscriber(number + index < readers));
  subscribers.push(...some);
  await Promise.all(some.map(({ ready }) => ready));
}
process.send({ type: 'ready' });
const cpu = process.cpuUsage();
process.on('message', ({ type }) => {
  if (type === 'count') {
    const [{ bytes }] = subscribers;
    process.send({
      type: 'count',
      least: Math.min(...subscribers.map((one) => one.bytes)),
      most: Math.max(...subscribers.map((one) => one.bytes)),
      bytes,
    });
    return;
  }
  const used = process.cpuUsage(cpu);
  const reading = subscribers.filter(({ isReader }) => isReader);
  const result = {
    type: 'result',
    cpuMs: (used.user + used.system) / 1_000,
    sums: subscribers.map(({ bytes, sum }) => `${bytes} ${sum}`),
    readers: reading.map(({ bytes, sum, frames, resyncs, disorders, lastSeq }) => ({
      is: `${bytes} ${sum}`,
      frames,
      resyncs,
      disorders,
      lastSeq,
    })),
    seen: reading.flatMap(({ seen }) => seen),
  };
  // What is not sent yet when a process exits is lost.
  process.send(result, () => process.exit(0));
});
