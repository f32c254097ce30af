/**
 * What a client may send over `/ws`: every frame of text is answered, once, with what it asked for or with a code that was foreseen; bytes that are
 * no frames end their own connection with a documented close code; and whoever else is connected is served as before.
 */
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ActionName, requestSchema, schemaOf } from '../../src/doors/requests/action-schemas.ts';
import type { Scope } from '../../src/doors/requests/caller-identity.ts';
import type { WireFields } from '../../src/doors/wire/rename.ts';
import type { Client } from '../../test/server/lab.ts';
import { closeCodeIn, gone, rawFrame, rawWebSocket } from '../../test/server/raw.ts';
import { type FuzzLab, fuzzLab } from '../support/fuzz-lab.ts';
import { LIMIT_MS, times } from '../support/how-often.ts';
import { byteChange, isForeseen, parsed, spoilBytes } from '../support/mutated.ts';
import { declared, requestText } from '../support/requests.ts';

let lab: FuzzLab;
beforeAll(async () => {
  lab = await fuzzLab();
});
afterAll(() => lab[Symbol.asyncDispose]());

const ANSWERS = ['result', 'error', 'snapshot'];
const isAnswer = ({ type }: WireFields): boolean => ANSWERS.includes(type as string);

/** The first `count` answers. */
async function answersOf(client: Client, count: number): Promise<readonly WireFields[]> {
  let seen = 0;
  await client.frameOf((frame) => isAnswer(frame) && ++seen === count);
  return client.frames.filter(isAnswer);
}

const scopes = fc.constantFrom<Scope>('operate', 'operate', 'operate', 'observe', 'session:s1');

it(
  'every frame of text is answered once, in whatever order they come',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(requestText, { minLength: 1, maxLength: 8 }), scopes, async (texts, scope) => {
        const client = await lab.client({ token: lab.tokenOf(scope) });
        for (const text of texts) client.socket.send(text);
        const answers = await answersOf(client, texts.length);
        for (const answer of answers) {
          if (answer.type !== 'error') continue;
          expect([answer, isForeseen(answer.error_code)]).toEqual([answer, true]);
          expect(typeof answer.error).toBe('string');
        }
        // The connection has outlived it, and nothing came twice.
        expect(await client.ask('whoami')).toMatchObject({ type: 'result', scope });
        expect(client.frames.filter(isAnswer)).toHaveLength(texts.length + 1);
        client.socket.terminate();
        await lab.neighbourIsServed();
      }),
      times(40),
    );
  },
  LIMIT_MS,
);

const ajv = new Ajv2020({ strict: false });
const validators = new Map<string, (fields: object) => boolean>();
function isTaken(name: ActionName, fields: object): boolean {
  const known = validators.get(name) ?? (ajv.compile(requestSchema(declared(name))) as (fields: object) => boolean);
  validators.set(name, known);
  return known(fields);
}

it(
  'what the schema of an action refuses, the action refuses; what it takes is not taken for a frame of another form',
  async () => {
    const client = await lab.client({ token: lab.tokenOf('operate') });
    await fc.assert(
      fc.asyncProperty(requestText, async (text) => {
        const request = parsed(text);
        if (typeof request !== 'object' || request === null || Array.isArray(request)) return;
        const { action, request_id: _, ...rest } = request as Record<string, unknown>;
        if (schemaOf(action) === null) return;
        const answer = await client.ask(action as string, rest as WireFields);
        expect(answer.error_code).not.toBe('control.protocol');
        if (!isTaken(action as ActionName, rest)) expect([answer.type, isForeseen(answer.error_code)]).toEqual(['error', true]);
      }),
      times(150),
    );
    client.socket.terminate();
  },
  LIMIT_MS,
);

const OPCODES = [0x81, 0x81, 0x81, 0x01, 0x80, 0x00, 0x82, 0x89, 0x8a, 0x88, 0x83, 0xc1, 0xf1];
const frame = fc
  .tuple(
    fc.constantFrom(...OPCODES),
    fc.oneof(
      requestText.map((text) => Buffer.from(text)),
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
      fc
        .constantFrom(1_000, 1_001, 1_005, 1_006, 1_015, 2_999, 3_000, 5_000, 0)
        .map((code) => Buffer.from([code >> 8, code & 0xff])),
    ),
    fc.boolean(),
  )
  .map(([first, payload, isMasked]) => rawFrame(first, payload, { isMasked: isMasked || first === 0x81 }));

it(
  'bytes that are no frames: the connection ends, with 1002, 1007, 1009 or the code that was sent',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(frame, { minLength: 1, maxLength: 6 }),
        fc.array(byteChange, { maxLength: 2 }),
        async (frames, changes) => {
          const socket = await rawWebSocket(lab.server, lab.tokenOf('operate'));
          const parts: Buffer[] = [];
          socket.on('data', (part: Buffer) => parts.push(part));
          const ended = gone(socket);
          socket.end(changes.reduce(spoilBytes, Buffer.concat(frames)));
          await ended;
          const code = closeCodeIn(Buffer.concat(parts));
          // 1011 is what a server says of its own faults; 1006 nobody may send.
          if (code !== null) expect([1_006, 1_011, 1_012, 1_013]).not.toContain(code);
          await lab.neighbourIsServed();
        },
      ),
      times(40),
    );
  },
  LIMIT_MS,
);
