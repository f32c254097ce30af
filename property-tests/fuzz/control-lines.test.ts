/**
 * What another terminal may write to the control socket of a folder: lines that are requests, nearly, or not at all, in pieces of any size. Each line
 * is answered once, with a code that was foreseen where it is refused; who asks beside it is served; the client of the socket takes any answer.
 */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectControl } from '../../src/doors/control/control-client.ts';
import { type Line, LineSplitter } from '../../src/doors/control/line-splitter.ts';
import type { WireFields } from '../../src/doors/wire/rename.ts';
import type { Offstage } from '../../src/engine/offstage.ts';
import { open } from '../../src/open.ts';
import { thisOwner, writeOwner } from '../../src/persistence/ownership.ts';
import { echo } from '../../test/support/executors.ts';
import { type StrayErrors, strayErrors } from '../../test/support/hostile.ts';
import { LIMIT_MS, times } from '../support/how-often.ts';
import { byteChange, isForeseen, mutatedJson, parsed, rarely, spoilBytes } from '../support/mutated.ts';
import { requestText } from '../support/requests.ts';

let folder = '';
let offstage: Offstage;
let stray: StrayErrors;
beforeAll(async () => {
  stray = strayErrors();
  folder = await mkdtemp(join(tmpdir(), 'offstage-lines-'));
  const executors = { agent: echo, command: echo, echo };
  offstage = (await open({ dataDir: join(folder, 'data'), control: true, executors })) as unknown as Offstage;
});
afterAll(async () => {
  await offstage.close();
  await rm(folder, { recursive: true, force: true });
  expect(stray.errors).toEqual([]);
  stray[Symbol.dispose]();
});

/** Cut into pieces at these places. */
const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 4 });
function piecesOf(bytes: Buffer, places: readonly number[]): readonly Buffer[] {
  const at = [0, ...places.map((place) => Math.floor(place * bytes.length)).sort((a, b) => a - b), bytes.length];
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end));
}
const lineText = requestText.map((text) => text.replace(/\n/g, ' '));
const isRequest = (text: string): boolean => text.trim() !== '';

async function answersTo(socket: Socket, pieces: readonly Buffer[]): Promise<readonly WireFields[]> {
  let text = '';
  socket.setEncoding('utf8');
  socket.on('data', (part: string) => {
    text += part;
  });
  const ended = once(socket, 'close');
  for (const piece of pieces) socket.write(piece);
  socket.end();
  await ended;
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as WireFields);
}

let asked = 0;
async function neighbourIsServed(): Promise<void> {
  const client = await connectControl(join(folder, 'data'));
  if (client === null) throw new Error('nobody answers the neighbour');
  const { job_id: jobId } = await client.request('spawn_job', { kind: 'echo', input: ++asked });
  const { tasks } = await client.request('await_jobs', { job_ids: [jobId as string], timeout: null });
  expect(tasks).toMatchObject([{ status: 'completed', result: asked }]);
  client.close();
  if (asked % 20 === 0) await offstage.prune({ maxJobs: 20 });
}

it(
  'every line is answered once, however it is cut, and the neighbour is served',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(lineText, { minLength: 1, maxLength: 6 }),
        cuts,
        rarely(byteChange),
        async (texts, places, change) => {
          const socket = connect(join(folder, 'data', 'control.sock'));
          socket.on('error', () => {});
          await once(socket, 'connect');
          const whole = Buffer.from(texts.map((text) => `${text}\n`).join(''));
          const bytes = change === null ? whole : spoilBytes(whole, change);
          const answers = (await answersTo(socket, piecesOf(bytes, places))).filter(({ type }) =>
            ['result', 'error', 'snapshot'].includes(type as string),
          );
          for (const answer of answers) {
            if (answer.type === 'error') expect([answer, isForeseen(answer.error_code)]).toEqual([answer, true]);
          }
          if (change === null) expect(answers).toHaveLength(texts.filter(isRequest).length);
          await neighbourIsServed();
        },
      ),
      times(50),
    );
  },
  LIMIT_MS,
);

it('lines come out as they went in, wherever the stream is cut; what is no line is said once', () => {
  const line = fc.oneof(fc.string({ unit: 'binary', maxLength: 30 }), fc.constantFrom('é', '💥', '', ' ', '\r', 'x'.repeat(200)));
  const text = ({ text: one }: { text: string }): string => one;
  fc.assert(
    fc.property(fc.array(line, { maxLength: 6 }), cuts, rarely(byteChange), (lines, places, change) => {
      const whole = lines.map((one) => one.replace(/\n/g, '')).join('\n');
      const bytes = change === null ? Buffer.from(whole) : spoilBytes(Buffer.from(whole), change);
      const read = (pieces: readonly Buffer[]): readonly Line[] => {
        const splitter = new LineSplitter(100);
        return [...pieces.flatMap((piece) => splitter.push(piece)), ...splitter.end()];
      };
      const cut = read(piecesOf(bytes, places));
      expect(cut).toEqual(read([bytes]));
      for (const one of cut) if ('text' in one) expect(bytes.includes(text(one))).toBe(true);
      if (change !== null) return;
      const kept = whole.split('\n').filter((one) => one.trim() !== '');
      expect(cut).toHaveLength(kept.length);
      for (const [index, one] of cut.entries()) {
        const wanted = kept[index] as string;
        if (Buffer.byteLength(wanted) > 100) expect(one).toHaveProperty('fault');
        // A byte order mark at the beginning is none of the text.
        else expect(one).toEqual({ text: wanted.replace(/^\ufeff/, '') });
      }
    }),
    times(500),
  );
});

it(
  'the client takes whatever an owner answers: each question settles, with an answer or with a code',
  async () => {
    const place = join(folder, 'other');
    await rm(place, { recursive: true, force: true });
    await (await open({ dataDir: place })).close();
    let said: readonly string[] = [];
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end(said.join('')));
    });
    server.listen(join(place, 'control.sock'));
    await once(server, 'listening');
    await writeOwner(place, await thisOwner(join(place, 'control.sock')));
    const answer = fc.constantFrom<unknown>(
      { type: 'result', request_id: 1, job_id: 'j1', status: 'running' },
      { type: 'error', request_id: 1, error: 'no', error_code: 'job.not_found', retryable: false, details: { job_id: 'j1' } },
      { type: 'error', request_id: null, error: 'no', error_code: 'limit.connections', retryable: true },
      { type: 'part', request_id: 1, offset: 0, text: 'x' },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          mutatedJson(answer).map((text) => `${text}\n`),
          { maxLength: 5 },
        ),
        async (lines) => {
          said = lines;
          const client = await connectControl(place);
          if (client === null) throw new Error('nobody answers');
          const end = await client
            .request('get_job', { job_id: 'j1' }, () => {})
            .then(
              (fields) => typeof fields,
              (error: { code?: unknown }) => error.code,
            );
          expect([lines, typeof end]).toEqual([lines, 'string']);
          if (end === 'object') expect(lines.some((line) => parsed(line) !== undefined)).toBe(true);
          await client.ended;
        },
      ),
      times(60),
    );
    server.close();
  },
  LIMIT_MS,
);
