/** SUB1–SUB4: what was missed, a snapshot, then everything. */
import { describe, expect, it } from 'vitest';
import type { Frame } from '../../src/doors/requests/connection.ts';
import { handle } from '../../src/doors/requests/handler.ts';
import { LIMITS } from '../../src/model/limits.ts';
import { controlledExecutor } from '../../src/testing/controlled-executor.ts';
import { testEngine } from '../support/test-engine.ts';
import { recordingConnection } from './recording-connection.ts';

const start = async () => {
  const gate = controlledExecutor();
  const engine = await testEngine({ executors: { gate, echo: async () => 'done' } });
  return { gate, engine };
};

const isRecord = ({ type, volatile }: Frame): boolean =>
  /^(?:job_created|job_status|card_updated|session\.state_changed|task\.(?:created|updated|removed))$/.test(type) &&
  volatile !== true;
const seqs = (frames: readonly Frame[]): unknown[] => frames.filter(isRecord).map(({ seq }) => seq);
const from = (first: number, last: number): number[] => Array.from({ length: last - first + 1 }, (_, index) => first + index);
const endOf = (jobId: string) => (frame: Frame) =>
  frame.type === 'card_updated' && frame.job_id === jobId && frame.status !== 'running';

describe('subscribe', () => {
  it('answers a snapshot, then events, without a gap', async () => {
    const { gate, engine } = await start();
    await using _ = engine;
    const { offstage } = engine;
    await offstage.spawn({ kind: 'gate', jobId: 'g' });
    await engine.eventOf((event) => event.type === 'job.status' && event.status === 'running');
    const connection = recordingConnection();
    await handle(offstage, { action: 'subscribe', request_id: 'r' }, connection);
    const snapshot = await connection.frameOf(({ type }) => type === 'snapshot');
    expect(snapshot).toMatchObject({
      request_id: 'r',
      epoch: expect.any(String),
      jobs: [{ job_id: 'g', status: 'running' }],
      sessions: [{ session_id: 'default' }],
      tasks: [{ task_id: 'default' }],
      counts: { running: 1, queued: 0 },
      next_before: null,
    });
    await gate.release('g', 'x');
    await offstage.spawn({ kind: 'echo', jobId: 'e' });
    await connection.frameOf(endOf('e'));
    expect(connection.frames[0]).toBe(snapshot);
    const { seq } = await offstage.snapshot();
    expect(seqs(connection.frames)).toEqual(from((snapshot.seq as number) + 1, seq));
  });

  it('with after: what was missed, then the snapshot, then events; each once', async () => {
    const { engine } = await start();
    await using _ = engine;
    const { offstage } = engine;
    await offstage.spawn({ kind: 'echo', jobId: 'a' });
    await offstage.wait('a');
    const { seq: seen } = await offstage.snapshot();
    await offstage.spawn({ kind: 'echo', jobId: 'b' });
    await offstage.wait('b');
    const connection = recordingConnection();
    await handle(offstage, { action: 'subscribe', after: seen }, connection);
    const snapshot = await connection.frameOf(({ type }) => type === 'snapshot');
    await offstage.spawn({ kind: 'echo', jobId: 'c' });
    await connection.frameOf(endOf('c'));
    const at = connection.frames.indexOf(snapshot);
    const { seq } = await offstage.snapshot();
    expect(seqs(connection.frames.slice(0, at))).toEqual(from(seen + 1, snapshot.seq as number));
    expect(seqs(connection.frames.slice(at))).toEqual(from((snapshot.seq as number) + 1, seq));
    expect(connection.frames.filter(endOf('b'))).toHaveLength(1);
  });

  it('nothing missed: the snapshot comes first', async () => {
    const { engine } = await start();
    await using _ = engine;
    await engine.offstage.spawn({ kind: 'echo', jobId: 'a' });
    await engine.offstage.wait('a');
    const { seq } = await engine.offstage.snapshot();
    const connection = recordingConnection();
    await handle(engine.offstage, { action: 'subscribe', after: seq }, connection);
    await connection.frameOf(({ type }) => type === 'snapshot');
    expect(connection.frames.map(({ type }) => type)).toEqual(['snapshot']);
  });

  it('SUB2: a cursor from elsewhere gets one resync, and is served all the same', async () => {
    const { engine } = await start();
    await using _ = engine;
    const connection = recordingConnection();
    await handle(engine.offstage, { action: 'subscribe', after: 1_000_000 }, connection);
    await engine.offstage.spawn({ kind: 'echo', jobId: 'a' });
    await connection.frameOf(endOf('a'));
    expect(connection.frames.slice(0, 2).map(({ type }) => type)).toEqual(['resync', 'snapshot']);
    expect(connection.frames.filter(({ type }) => type === 'resync')).toHaveLength(1);
  });

  it("running_task and the seed's names", async () => {
    const { gate, engine } = await start();
    await using _ = engine;
    const { offstage } = engine;
    const connection = recordingConnection();
    await handle(offstage, { action: 'subscribe', names: 'seed' }, connection);
    await offstage.spawn({ kind: 'gate', jobId: 'a' });
    await offstage.spawn({ kind: 'gate', jobId: 'b' });
    const { context } = await gate.started('a');
    context.progress({ step: 1 });
    await gate.started('b');
    await gate.release('a');
    await connection.frameOf(endOf('a'));
    await gate.release('b');
    await connection.frameOf((frame) => frame.type === 'running_task' && frame.running_count === 0);
    const running = connection.frames.filter(({ type }) => type === 'running_task');
    expect(running.map(({ job_id, running: is, running_count }) => [job_id, is, running_count])).toEqual([
      ['a', true, 1],
      ['b', true, 2],
      ['a', false, 1],
      ['b', false, 0],
    ]);
    const types = new Set(connection.frames.map(({ type }) => type));
    expect([types.has('task_created'), types.has('task_progress'), types.has('job_created')]).toEqual([true, true, false]);
  });

  it('job_id: only this job; large output comes in frames of bounded size, in order', async () => {
    const { gate, engine } = await start();
    await using _ = engine;
    const { offstage } = engine;
    const connection = recordingConnection();
    await handle(offstage, { action: 'subscribe', job_id: 'a' }, connection);
    await offstage.spawn({ kind: 'gate', jobId: 'b' });
    await offstage.spawn({ kind: 'gate', jobId: 'a' });
    const text = '😀'.repeat(400_000);
    const { context } = await gate.started('a');
    context.output('first');
    context.output(text, 'stderr');
    (await gate.started('b')).context.output('other');
    await gate.release('a');
    await gate.release('b');
    await connection.frameOf(endOf('a'));
    const output = connection.frames.filter(({ type }) => type === 'job_output');
    expect(output.every((frame) => JSON.stringify(frame).length < LIMITS.frameBytes)).toBe(true);
    expect(output.map((frame) => frame.text).join('')).toBe(`first${text}`);
    let offset = 0;
    for (const frame of output) {
      expect(frame.offset).toBe(offset);
      expect(frame.stream).toBe(offset === 0 ? null : 'stderr');
      offset += (frame.text as string).length;
    }
    expect(connection.frames.some((frame) => frame.job_id === 'b')).toBe(false);
  });

  it('SUB3: one who does not read is sent no more, and misses no record when he reads again', async () => {
    const { gate, engine } = await start();
    await using _ = engine;
    const { offstage } = engine;
    const connection = recordingConnection();
    await handle(offstage, { action: 'subscribe' }, connection);
    const snapshot = await connection.frameOf(({ type }) => type === 'snapshot');
    connection.hold();
    await offstage.spawn({ kind: 'gate', jobId: 'g' });
    const { context } = await gate.started('g');
    const held = connection.frames.length;
    for (let number = 0; number < LIMITS.readerBuffer + 10; number++) context.output('x');
    for (let number = 0; number < 20; number++) context.output('y'.repeat(1024 * 1024));
    await gate.release('g');
    await offstage.wait('g');
    expect(connection.frames.length).toBeLessThanOrEqual(held + 1);
    connection.resume();
    await connection.frameOf(endOf('g'));
    const { seq } = await offstage.snapshot();
    expect(seqs(connection.frames)).toEqual(from((snapshot.seq as number) + 1, seq));
  });

  it('SUB4: a second subscription takes the place of the first', async () => {
    const { engine } = await start();
    await using _ = engine;
    const connection = recordingConnection();
    await handle(engine.offstage, { action: 'subscribe', request_id: 1 }, connection);
    await connection.frameOf(({ request_id: id }) => id === 1);
    await handle(engine.offstage, { action: 'subscribe', request_id: 2 }, connection);
    await connection.frameOf(({ request_id: id }) => id === 2);
    await engine.offstage.spawn({ kind: 'echo', jobId: 'a' });
    await connection.frameOf(endOf('a'));
    expect(connection.frames.filter(endOf('a'))).toHaveLength(1);
    connection.goAway();
    expect(connection.listeners).toBe(0);
  });

  it('EVR3: a reader of events that never began, or that waits, ends at once when it is left', async () => {
    const { engine } = await start();
    await using _ = engine;
    const unread = engine.offstage.events();
    await unread.return?.(undefined);
    const waiting = engine.offstage.events();
    const next = waiting.next();
    await waiting.return?.(undefined);
    expect(await next).toMatchObject({ done: true });
  });
});
