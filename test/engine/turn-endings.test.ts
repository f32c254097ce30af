/** IRP2, and what is told of the end of a turn: whoever waits for one turn must hear of it, and end no other. */
import { describe, expect, it } from 'vitest';
import { LIMITS } from '../../src/model/limits.ts';
import { controlledExecutor } from '../../src/testing/controlled-executor.ts';
import { sessionLab } from '../support/sessions.ts';

describe('IRP2: an interrupt that names its prompt', () => {
  it('ends the turn of that prompt, and leaves the turn of another one alone', async () => {
    await using lab = await sessionLab();
    const s = await lab.create();
    await s.ask('first', { promptId: 'p1' });
    await s.ask('second', { promptId: 'p2', whenBusy: 'queue' });
    await lab.settled();
    // p2 waits: it has no turn that could be ended.
    expect(await lab.offstage.sessions.interrupt('s', { promptId: 'p2' })).toEqual({ changed: false });
    expect(s.prompt.isOpen).toBe(true);
    await s.done();
    expect(s.prompt.content).toBe('second');
    // p1 is over, and p2 has the foreground now.
    expect(await lab.offstage.sessions.interrupt('s', { promptId: 'p1' })).toEqual({ changed: false });
    expect(s.prompt.signal.aborted).toBe(false);
    expect(await lab.offstage.sessions.interrupt('s', { promptId: 'p2' })).toEqual({ changed: true });
    expect(s.prompt.signal.aborted).toBe(true);
  });

  it('leaves a turn alone that the agent opened by itself', async () => {
    await using lab = await sessionLab();
    const s = await lab.running();
    await s.done();
    await s.out('by the way', 0);
    expect(await lab.offstage.sessions.interrupt('s', { promptId: 'p1' })).toEqual({ changed: false });
    expect(await s.view()).toMatchObject({ turn: { origin: 'provider' } });
    expect(await lab.offstage.sessions.interrupt('s')).toEqual({ changed: true });
  });

  it('takes no other option', async () => {
    await using lab = await sessionLab();
    await lab.create();
    await expect(lab.offstage.sessions.interrupt('s', { generation: 1 } as never)).rejects.toMatchObject({
      code: 'input.invalid',
    });
    await expect(lab.offstage.sessions.interrupt('s', { promptId: '' })).rejects.toMatchObject({ code: 'input.invalid' });
  });
});

it('the end of a turn that another prompt has taken over is told, once', async () => {
  await using lab = await sessionLab();
  const s = await lab.running();
  const [first] = s.prompts;
  await s.reg('w');
  await s.idle();
  await s.ask('second');
  await lab.settled();
  const ends = () => lab.engine.events.flatMap((event) => (event.type === 'session.turn_ended' ? [event] : []));
  expect(ends()).toMatchObject([{ generation: first?.generation, stopReason: null, error: null }]);
  first?.end();
  await s.done();
  expect(ends().map(({ generation }) => generation)).toEqual(s.prompts.map(({ generation }) => generation));
});

it('EVR2: what an agent says counts in the memory of a reader that does not read', async () => {
  await using lab = await sessionLab();
  const s = await lab.running();
  const reader = lab.offstage.events();
  const text = 'x'.repeat(1024 * 1024);
  for (let spoken = 0; spoken <= LIMITS.readerBufferCharacters; spoken += text.length) await s.out(text);
  await s.done();
  const types: string[] = [];
  for await (const event of reader) {
    types.push(event.type);
    if (event.type === 'resync') break;
  }
  // Its end, and that its activity has changed meanwhile, are among what was missed: it is told to look anew.
  expect(types).toEqual(['session.state_changed', 'resync']);
});

it('EVR2: a reader that has only missed what jobs print has nothing to read anew', async () => {
  const gate = controlledExecutor();
  await using lab = await sessionLab({ executors: { gate } });
  const { jobId } = await lab.offstage.spawn({ kind: 'gate' });
  const { context } = await gate.started(jobId);
  await lab.settled();
  const reader = lab.offstage.events();
  for (let printed = 0; printed <= LIMITS.readerBuffer; printed++) context.output('x');
  const next = reader.next();
  await lab.settled();
  await gate.release(jobId);
  expect((await next).value).toMatchObject({ type: 'job.status', status: 'completed' });
  expect((await reader.next()).value).toMatchObject({ type: 'card.updated', status: 'completed' });
  expect((await reader.next()).value).toMatchObject({ type: 'session.activity_changed', foregroundActivity: null });
});
