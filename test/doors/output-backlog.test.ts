/** OBL1, SUB5: a reader that falls behind can hold a command back; one that has gone cannot. */
import { expect, it } from 'vitest';
import { roomFor } from '../../src/doors/events/output-backlog.ts';
import { handle } from '../../src/doors/requests/handler.ts';
import { controlledExecutor } from '../../src/testing/controlled-executor.ts';
import { testEngine } from '../support/test-engine.ts';
import { recordingConnection } from './recording-connection.ts';

const MIB = 1024 * 1024;

async function start(request: object) {
  const gate = controlledExecutor();
  const engine = await testEngine({ executors: { gate } });
  const connection = recordingConnection();
  await handle(engine.offstage, { action: 'subscribe', request_id: 1, ...request }, connection);
  await connection.frameOf(({ request_id: id }) => id === 1);
  await engine.offstage.spawn({ kind: 'gate', jobId: 'g' });
  const { context } = await gate.started('g');
  return { engine, gate, connection, context };
}

it('holds back while more than a little is on its way, until the reader has caught up', async () => {
  const { engine, connection, context } = await start({ job_id: 'g', hold: true });
  await using _ = engine;
  connection.hold();
  context.output('x');
  expect(roomFor(engine.offstage, 'g')).toBeNull();
  context.output('x'.repeat(2 * MIB));
  const room = roomFor(engine.offstage, 'g');
  expect(room).not.toBeNull();
  expect(roomFor(engine.offstage, 'other')).toBeNull();
  connection.resume();
  await room;
  expect(roomFor(engine.offstage, 'g')).toBeNull();
});

it('a reader that goes away lets go', async () => {
  const { engine, connection, context } = await start({ job_id: 'g', hold: true });
  await using _ = engine;
  connection.hold();
  context.output('x'.repeat(2 * MIB));
  const room = roomFor(engine.offstage, 'g');
  connection.goAway();
  await room;
  context.output('x'.repeat(2 * MIB));
  expect(roomFor(engine.offstage, 'g')).toBeNull();
  connection.resume();
});

it('one who only looks on holds nobody back', async () => {
  const { engine, connection, context } = await start({ job_id: 'g' });
  await using _ = engine;
  connection.hold();
  context.output('x'.repeat(2 * MIB));
  expect(roomFor(engine.offstage, 'g')).toBeNull();
  connection.resume();
});

it('holding needs a job', async () => {
  await using engine = await testEngine({});
  const connection = recordingConnection();
  await handle(engine.offstage, { action: 'subscribe', request_id: 1, hold: true }, connection);
  expect(connection.frames).toMatchObject([{ type: 'error', error_code: 'input.invalid' }]);
});
