/** What random interleavings of sessions have found (`property-tests/session-activity`), as fixed examples. */
import { describe, expect, it } from 'vitest';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { controlledExecutor } from '../../src/testing/controlled-executor.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { pausePoints } from '../../src/testing/pause-at.ts';
import { bareLiveness } from '../support/bare-liveness.ts';
import { sessionLab } from '../support/sessions.ts';

describe('a start that is given up', () => {
  it('fails nobody who waited behind it: the next prompt starts the agent anew', async () => {
    await using lab = await sessionLab({ script: { hangStart: true } });
    const s = await lab.create();
    const first = s.ask('first').catch(({ code }) => code);
    await s.ask('second', { whenBusy: 'queue' });
    await s.ask('third', { whenBusy: 'queue', origin: 'synthetic' });
    lab.mock.script.hangStart = false;
    await lab.offstage.sessions.interrupt('s');
    await lab.settled();
    expect(await first).toBe('prompt.interrupted');
    expect(s.prompts.map(({ content }) => content)).toEqual(['second']);
    await s.done();
    // No agent has taken over from another one: the first one never came.
    expect(s.prompts.map(({ content }) => content)).toEqual(['second', 'third']);
  });
});

describe('a list of live work', () => {
  const script = { attests: { workloads: ['subagent' as const], yield: true, handoff: true, snapshot: true } };

  it('keeps what is registered, also where it names no kind, or another one that nobody vouches for', async () => {
    await using lab = await sessionLab({ script });
    const s = await lab.running();
    await s.reg('w');
    await s.tell({ type: 'workload.snapshot', generation: 0, workloads: [{ workloadId: 'w' }, { workloadId: 'x' }] });
    expect(await s.works()).toEqual(['w']);
    await s.tell({ type: 'workload.snapshot', generation: 0, workloads: [{ workloadId: 'w', kind: 'shell' }] });
    expect(await s.works()).toEqual(['w']);
    const { executionId } = s;
    expect(await lab.offstage.workloads.snapshot({ sessionId: 's', executionId, workloads: [{ workloadId: 'w' }] })).toEqual({
      changed: false,
    });
  });
});

describe('the launch of detached work', () => {
  it('may complete twice: neither time is it the end of the work', async () => {
    await using lab = await sessionLab();
    const s = await lab.running();
    await s.call('c', { work: { kind: 'shell', isDetached: true, workloadId: 'w' } });
    await s.update('c', { status: 'completed' });
    await s.update('c', { status: 'completed' });
    expect(await s.works()).toEqual(['w']);
  });

  it('is a launch also where that shows only with the work: its card does not speak for the foreground', async () => {
    await using lab = await sessionLab();
    const s = await lab.running();
    await s.call('c');
    await s.reg('w', 'shell', 'c');
    await s.idle();
    await s.update('c', { status: 'completed', hasOutput: true });
    expect(await s.tier()).toBe('background');
  });
});

it('W3: a list of live work that names the tool call of a job counts the job once', async () => {
  const gate = controlledExecutor();
  await using lab = await sessionLab({ executors: { gate } });
  const s = await lab.running();
  const { jobId } = await lab.offstage.spawn({ kind: 'gate', sessionId: 's', toolCallId: 'c' });
  const { executionId } = s;
  const entry = { kind: 'subagent' as const, toolCallId: 'c' };
  await s.reg('w');
  await lab.offstage.workloads.snapshot({ sessionId: 's', executionId, workloads: [{ ...entry, workloadId: 'w' }] });
  expect(await s.works()).toEqual([jobId]);
  await s.reg('x');
  await s.tell({ type: 'workload.snapshot', generation: 0, workloads: [{ ...entry, workloadId: 'x' }] });
  expect(await s.works()).toEqual([jobId]);
});

it('a person who waits for work that is only shown is let in when it ends', async () => {
  const attests = { workloads: [], shown: ['monitor' as const], yield: true, handoff: true, snapshot: true };
  await using lab = await sessionLab({ script: { attests } });
  const s = await lab.running();
  await s.reg('w', 'monitor');
  await s.idle();
  await s.ask('second', { whenBusy: 'queue' });
  await lab.settled();
  expect(s.prompts).toHaveLength(1);
  await s.bgc({ workloadId: 'w' });
  expect(s.prompts.map(({ content }) => content)).toEqual(['begin', 'second']);
});

describe('what is shown and what is told', () => {
  it('agree also while the end of a turn is not stored yet', async () => {
    const store = controlledStore(memoryStore());
    await using lab = await sessionLab({ store });
    const s = await lab.running();
    store.hold();
    s.agent.crash();
    await lab.settled();
    const view = await s.view();
    const task = await lab.offstage.tasks.get(s.taskId);
    expect(lab.publications('s').at(-1)).toEqual([null, 0]);
    expect([view.state, view.foregroundActivity, task.foregroundActivity]).toEqual(['running', null, null]);
    store.release();
  });

  it('agree after tellings were held back, also where the event of a state has told something in between', () => {
    const { points, pauseAt } = pausePoints();
    const { core, events, session, publications } = bareLiveness(points);
    const s = session('s');
    s.reg('work');
    const held = pauseAt('publish');
    const claim = s.claim();
    const told = {
      type: 'session.state_changed',
      sessionId: 's',
      taskId: 'task',
      oldState: 'created',
      newState: 'starting',
    } as const;
    core.bus.publish(core.liveness.decorate({ ...told, seq: 1, epoch: core.epoch, at: 0 }));
    expect(events.at(-1)).toMatchObject({ foregroundActivity: 'generating' });
    s.release(claim);
    held.release();
    // Background, as it was told before, and not what that event has told since.
    expect(publications()).toEqual([
      ['background', 1],
      ['background', 1],
    ]);
  });
});

it('the end of a call that was no work is no end of work: what it turns out to have launched is registered', async () => {
  await using lab = await sessionLab();
  const s = await lab.running();
  await s.call('c');
  await s.update('c', { status: 'completed', hasOutput: true });
  await s.reg('w', 'shell', 'c');
  expect(await s.works()).toEqual(['w']);
});
