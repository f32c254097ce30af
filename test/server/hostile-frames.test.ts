/** B55: whatever a client sends, it gets an answer or a close code, and nobody else notices. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Client, type Lab, serverLab } from './lab.ts';
import { closeCodeIn, drained, gone, rawExchange, rawFrame, rawSocket, rawWebSocket, requestHead } from './raw.ts';

let lab: Lab;
let other: Client;
beforeAll(async () => {
  lab = await serverLab();
  other = await lab.client();
});
afterAll(() => lab[Symbol.asyncDispose]());

const othersAreServed = async (): Promise<void> => {
  expect(await other.ask('list_jobs')).toMatchObject({ type: 'result', tasks: [] });
};

describe('B55: frames of text', () => {
  it.each([
    'null',
    '[]',
    '123',
    '"x"',
    '{',
    '{}',
    'true',
    '{"action":7}',
    '{"action":"no_such_action"}',
    '{"action":"__proto__"}',
  ])('%s is answered with an error', async (text) => {
    const client = await lab.client();
    client.socket.send(text);
    expect(await client.frameOf(() => true)).toMatchObject({ type: 'error', error_code: 'control.protocol', request_id: null });
    expect(await client.ask('whoami')).toMatchObject({ type: 'result' });
    await othersAreServed();
    client.socket.terminate();
  });

  it.each([
    ['get_job', { job_id: 7 }],
    ['get_job', { job_id: {} }],
    ['list_jobs', { limit: 'x' }],
    ['list_jobs', { brief: 1 }],
    ['await_jobs', { job_ids: 'x' }],
    ['spawn_job', { prompt: ['x'] }],
    ['subscribe', { types: 'job_status' }],
    ['subscribe', { after: {} }],
  ] as const)('wrong types of fields: %s %j echoes its request_id', async (action, fields) => {
    const client = await lab.client();
    expect(await client.ask(action, fields)).toMatchObject({ type: 'error', error_code: 'input.invalid' });
    await othersAreServed();
    client.socket.terminate();
  });
});

describe('B55: what is no frame of text', () => {
  it('binary: an error, and the connection stays', async () => {
    const client = await lab.client();
    client.socket.send(Buffer.from('{"action":"whoami"}'));
    expect(await client.frameOf(() => true)).toMatchObject({ type: 'error', error_code: 'control.protocol' });
    expect(await client.ask('whoami')).toMatchObject({ type: 'result' });
    await othersAreServed();
  });

  const FRAMES: readonly (readonly [string, Buffer, number])[] = [
    ['illegal RSV bits', rawFrame(0x81 | 0x70, '{}'), 1002],
    ['an opcode that does not exist', rawFrame(0x83, 'x'), 1002],
    ['a frame that is not masked', rawFrame(0x81, '{}', { isMasked: false }), 1002],
    ['a continuation of nothing', rawFrame(0x80, 'x'), 1002],
    ['a control frame that is too long', rawFrame(0x89, Buffer.alloc(200)), 1002],
    ['text that is not UTF-8', rawFrame(0x81, Buffer.from([0xff, 0xfe, 0xfd])), 1007],
    ['a close frame with a code that does not exist', rawFrame(0x88, Buffer.from([0, 1])), 1002],
  ];
  it.each(FRAMES)('%s: a close code', async (_, frame, code) => {
    const socket = await rawWebSocket(lab.server);
    const parts: Buffer[] = [];
    socket.on('data', (part) => parts.push(part));
    socket.write(frame);
    await gone(socket);
    expect(closeCodeIn(Buffer.concat(parts))).toBe(code);
    await othersAreServed();
  });

  it('64 MiB of text: 1009, long before all of it is read', async () => {
    const socket = await rawWebSocket(lab.server);
    const parts: Buffer[] = [];
    socket.on('data', (part) => parts.push(part));
    const head = Buffer.alloc(14);
    head[0] = 0x81;
    head[1] = 0xff;
    head.writeBigUInt64BE(BigInt(64 * 1024 * 1024), 2);
    const closed = gone(socket);
    socket.write(head);
    const megabyte = Buffer.alloc(1024 * 1024, 'x');
    for (let number = 0; number < 64 && !socket.destroyed; number++) {
      if (!socket.write(megabyte)) await drained(socket);
    }
    await closed;
    expect(closeCodeIn(Buffer.concat(parts))).toBe(1009);
    await othersAreServed();
  });

  it('64 MiB in small pieces of one message: 1009 as well', async () => {
    const socket = await rawWebSocket(lab.server);
    const parts: Buffer[] = [];
    socket.on('data', (part) => parts.push(part));
    const closed = gone(socket);
    socket.write(rawFrame(0x01, Buffer.alloc(60_000, 'x')));
    for (let number = 0; number < 1_000 && !socket.destroyed; number++) {
      if (!socket.write(rawFrame(0x00, Buffer.alloc(60_000, 'x')))) await drained(socket);
    }
    await closed;
    expect(closeCodeIn(Buffer.concat(parts))).toBe(1009);
    await othersAreServed();
  });
});

describe('B55: requests that would have answers of gigabytes', () => {
  it('one large record, asked for ten thousand times in one wait, is refused; brief rows are not', async () => {
    await using own = await serverLab();
    await own.offstage.spawn({ kind: 'echo', jobId: 'j', input: 'x'.repeat(200_000) });
    await own.offstage.wait('j');
    const client = await own.client();
    const ids = Array.from({ length: 10_000 }, () => 'j');
    expect(await client.ask('await_jobs', { job_ids: ids, timeout: 0 })).toMatchObject({
      error_code: 'input.invalid',
      details: { argument: 'job_ids' },
    });
    const { tasks } = await client.ask('await_jobs', { job_ids: ids, timeout: 0, brief: true });
    expect(tasks).toHaveLength(10_000);
  });
});

describe('HTD1: what is no request', () => {
  it.each([
    ['garbage', 'GARBAGE\r\n\r\n', 400],
    ['a head that is too long', `GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 400],
    ['two lengths', 'POST /api/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx', 400],
  ])('%s gets an answer and the end', async (_, text, status) => {
    const answer = await rawExchange(lab.server, text);
    expect([answer.status, JSON.parse(answer.text)]).toMatchObject([status, { error_code: 'control.protocol' }]);
    await othersAreServed();
  });

  it('garbage instead of chunks gets an answer and the end', async () => {
    const head = requestHead(
      lab.server,
      '/api/jobs',
      { 'Transfer-Encoding': 'chunked', 'Content-Type': 'application/json' },
      'POST',
    );
    const answer = await rawExchange(lab.server, `${head}zzz\r\n`);
    expect(answer.status).toBe(400);
    await othersAreServed();
  });

  it.each(['/%', '/api/jobs/%zz', '/api/jobs/%ff', 'http://127.0.0.1/api/jobs', '*'])(
    'the target %s is refused',
    async (target) => {
      const answer = await rawExchange(lab.server, requestHead(lab.server, target, { Connection: 'close' }));
      expect([answer.status, JSON.parse(answer.text)]).toMatchObject([400, { error_code: 'control.protocol' }]);
      await othersAreServed();
    },
  );

  it('a client that goes in the middle of its body, or of its upgrade, harms nobody', async () => {
    for (const text of [
      `${requestHead(lab.server, '/api/jobs', { 'Content-Length': '100', 'Content-Type': 'application/json' }, 'POST')}{"kind`,
      requestHead(lab.server, '/ws', { Connection: 'Upgrade', Upgrade: 'websocket' }),
      'GET /api/jo',
    ]) {
      const socket = await rawSocket(lab.server);
      socket.write(text);
      await othersAreServed();
      socket.resetAndDestroy();
      await othersAreServed();
    }
  });

  it('a body beyond the limit is refused, announced or not, and not read on', async () => {
    const announced = requestHead(
      lab.server,
      '/api/jobs',
      { 'Content-Length': String(64 * 1024 * 1024), 'Content-Type': 'application/json' },
      'POST',
    );
    expect(await rawExchange(lab.server, announced)).toMatchObject({ status: 413, headers: { connection: 'close' } });
    const socket = await rawSocket(lab.server);
    let text = '';
    socket.on('data', (part) => {
      text += part;
    });
    const closed = gone(socket);
    socket.write(
      requestHead(lab.server, '/api/jobs', { 'Transfer-Encoding': 'chunked', 'Content-Type': 'application/json' }, 'POST'),
    );
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
    for (let number = 0; number < 1_024 && !socket.destroyed; number++) {
      if (!socket.write(chunk)) await drained(socket);
    }
    await closed;
    expect(text).toMatch(/^HTTP\/1\.1 413 /);
    expect(text).toContain('"limit.input_bytes"');
    await othersAreServed();
  });
});
