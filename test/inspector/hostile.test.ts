import { describe, expect, it } from 'vitest';
import { assign, createActor, setup } from 'xstate';
import type { InspectionObserver } from '../../src/engine/inspection.ts';
import type { Offstage } from '../../src/engine/offstage.ts';
import { controlledExecutor } from '../../src/testing/controlled-executor.ts';
import { type InspectedFrame, inspectorHost } from '../support/inspector-host.ts';
import { testEngine } from '../support/test-engine.ts';

const MIB = 1024 * 1024;
const hasSnapshots = (count: number) => (frames: readonly InspectedFrame[]) =>
  frames.filter(({ type }) => type === '@xstate.snapshot').length >= count;

/** Enough for the inspector of one actor that the test has made. */
function actorHost(actor: { readonly actorRef: unknown }): Offstage {
  const inspect = (observer: InspectionObserver) => {
    const actorRef = actor.actorRef as never as Parameters<InspectionObserver['actor']>[0]['actorRef'];
    observer.actor({ machine: 'job', actorRef, jobId: 'j', sessionId: 's', callerSessionId: null, taskId: 't', subject: 'test' });
    const { unsubscribe } = actorRef.system.inspect((event) => {
      if (event.type === '@xstate.event' || event.type === '@xstate.snapshot') observer.change(event);
    });
    return unsubscribe;
  };
  return { inspect } as never;
}

describe('a viewer that does not read', () => {
  it('harms nothing, costs bounded memory, and is shown what is when it reads again', async () => {
    const gate = controlledExecutor();
    await using engine = await testEngine({ executors: { gate, noop: () => 'x'.repeat(2_000) }, workers: 20 });
    const { offstage } = engine;
    await using host = await inspectorHost(offstage);
    const reading = await host.view();
    const paused = await host.view();
    await paused.until(hasSnapshots(4));
    const held = await Promise.all(Array.from({ length: 8 }, (_, n) => offstage.spawn({ kind: 'gate', jobId: `held-${n}` })));
    for (const { jobId } of held) await gate.started(jobId);
    await paused.until(() => held.every(({ jobId }) => paused.has(`job ${jobId}`)));
    paused.socket.pause();

    // Its system takes some megabytes before it stops taking.
    let most = 0;
    for (let round = 0; round < 8; round++) {
      const jobs = await Promise.all(Array.from({ length: 400 }, () => offstage.spawn({ kind: 'noop' })));
      await offstage.waitMany(jobs.map(({ jobId }) => jobId));
      const last = jobs.at(-1)?.jobId;
      await reading.until(() => reading.isOver(`job ${last}`));
      most = Math.max(most, ...[...host.sockets].map(({ bufferedAmount }) => bufferedAmount));
    }
    expect(most).toBeGreaterThan(MIB / 2);
    expect(most).toBeLessThan(1.5 * MIB);
    // Those that ended while it looked away, and those that began.
    await offstage.cancel('held-0');
    await gate.release('held-1', 'done');
    await offstage.waitMany(['held-0', 'held-1']);
    await offstage.spawn({ kind: 'gate', jobId: 'new' });
    await gate.started('new');
    await reading.until(() => reading.has('job new'));
    expect(paused.has('job new')).toBe(false);
    expect(host.relay.actors).toBe(5 + 7);

    paused.socket.resume();
    await paused.until(() => paused.has('job new') && paused.isOver('job held-0') && paused.isOver('job held-1'));
    await gate.release('new', 'done');
    await offstage.wait('new');
    await paused.until(() => paused.isOver('job new'));
    expect(paused.values('job held-0')).toEqual([{ running: 'active' }, 'cancelled']);
    expect(paused.values('job held-1').at(-1)).toBe('completed');
    // What it was told is true: whatever it believes to live, lives.
    const believed = [...paused.shown()]
      .filter(([, snapshot]) => snapshot?.status === 'active')
      .map(([name]) => name.split(' ').slice(0, 2).join(' '));
    expect(believed.sort()).toEqual(
      ['jobs', 'sessions', 'supervisor', 'task default', 'tasks', ...held.slice(2).map(({ jobId }) => `job ${jobId}`)].sort(),
    );
    expect(paused.frames.length).toBeLessThan(reading.frames.length);
    // It never saw most of the others, and saw the end of each that it saw.
    expect(paused.names().length).toBeLessThan(3_000);
  });
});

const counter = setup({
  types: { context: {} as { n: number }, events: {} as { type: 'add' } },
  actions: { add: assign(({ context }) => ({ n: context.n + 1 })) },
}).createMachine({
  id: 'counter',
  context: { n: 0 },
  on: { add: { actions: 'add' } },
});

describe('a burst', () => {
  it('IRL3: that is more than can be told is told by where it has led', async () => {
    const actorRef = createActor(counter).start();
    await using host = await inspectorHost(actorHost({ actorRef }));
    const viewing = await host.view();
    await viewing.until(hasSnapshots(1));
    for (let n = 0; n < 50_000; n++) actorRef.send({ type: 'add' });
    await viewing.until((frames) => frames.at(-1)?.snapshot?.context?.n === 50_000);
    expect(viewing.frames.length).toBeLessThan(10_000);
    const counts = viewing.frames.flatMap(({ snapshot }) =>
      snapshot?.context === undefined ? [] : [snapshot.context.n as number],
    );
    expect(counts).toEqual([...counts].sort((a, b) => a - b));
  });

  it('IRL3: ends where the last of it has led, also if nothing follows', async () => {
    const actorRef = createActor(counter).start();
    await using host = await inspectorHost(actorHost({ actorRef }));
    const viewing = await host.view();
    await viewing.until(hasSnapshots(1));
    // Two notes each: all that is noted at once, to the last.
    for (let n = 0; n < 2_048; n++) actorRef.send({ type: 'add' });
    await viewing.until((frames) => frames.at(-1)?.snapshot?.context?.n === 2_048);
    expect(viewing.frames).toHaveLength(3);
  });
});

describe('IFR1: values that cannot be shown', () => {
  it('are replaced, and everything else goes on', async () => {
    const machine = setup({
      types: { context: {} as { value: unknown; n: number }, events: {} as { type: 'set'; value: unknown } },
      actions: { set: assign(({ context, event }) => ({ value: event.value, n: context.n + 1 })) },
    }).createMachine({
      id: 'holder',
      context: { value: null, n: 0 },
      on: { set: { actions: 'set' } },
    });
    const actorRef = createActor(machine).start();
    await using host = await inspectorHost(actorHost({ actorRef }));
    const viewing = await host.view();
    await viewing.until(hasSnapshots(1));
    const circle: Record<string, unknown> = {};
    circle.circle = circle;
    for (const value of [
      {
        toJSON: () => {
          throw new Error('no JSON');
        },
      },
      1n,
      circle,
      {
        get broken() {
          throw new Error('no');
        },
      },
      'fine',
    ])
      actorRef.send({ type: 'set', value });
    await viewing.until(hasSnapshots(6));
    const contexts = viewing.frames.flatMap(({ type, snapshot }) => (type === '@xstate.snapshot' ? [snapshot?.context] : []));
    expect(contexts).toEqual([
      { value: null, n: 0 },
      { value: '[not shown: no JSON]', n: 1 },
      { value: '1n', n: 2 },
      { value: { circle: '[circular]' }, n: 3 },
      { value: { broken: '[not shown: no]' }, n: 4 },
      { value: 'fine', n: 5 },
    ]);
  });
});

describe('redaction', () => {
  const resultOf = async (redact: ((value: never) => unknown) | undefined, errors: unknown[] = []) => {
    const result = { note: 'shown', token: 'hunter2', nested: { env: { HOME: '/home/hunter2' } }, long: 'y'.repeat(9_000) };
    const engine = await testEngine({ executors: { noop: () => result } });
    const host = await inspectorHost(engine.offstage, {
      ...(redact === undefined ? {} : { redact: redact as never }),
      onError: (error) => errors.push(error),
    });
    const viewing = await host.view();
    await viewing.until(hasSnapshots(4));
    await engine.offstage.spawn({ kind: 'noop', jobId: 'j' });
    await viewing.until(() => viewing.isOver('job j'));
    const text = JSON.stringify(viewing.frames);
    const event = viewing.of('job j').find(({ event: one }) => one?.type === 'body.returned')?.event;
    const context = viewing.of('job j').at(-1)?.snapshot?.context;
    await host[Symbol.asyncDispose]();
    await engine[Symbol.asyncDispose]();
    return { text, event, context, status: (await engine.offstage.health()).pool };
  };

  it('withholds what looks secret, and cuts long texts, in events and contexts', async () => {
    const { text, event, context } = await resultOf(undefined);
    expect(text).not.toContain('hunter2');
    expect(text).not.toContain('y'.repeat(2_001));
    for (const part of [(event?.result as { value: unknown } | undefined)?.value, context?.result]) {
      expect(part).toMatchObject({ note: 'shown', token: '[redacted]', nested: { env: '[redacted]' } });
    }
  });

  it("is the host's, if it says so", async () => {
    const { text, event, context } = await resultOf((value: Record<string, unknown>) =>
      'result' in value ? { ...value, result: 'mine' } : value,
    );
    expect(text).not.toContain('hunter2');
    expect([event?.result, context?.result]).toEqual(['mine', 'mine']);
  });

  it('cannot change what the engine has', async () => {
    let calls = 0;
    const { context } = await resultOf((value: Record<string, unknown>) => {
      calls += 1;
      for (const key of Object.keys(value)) delete value[key];
      return value;
    });
    expect(calls).toBeGreaterThan(4);
    expect(context).toEqual({});
  });

  it('IFR2: that throws hides all of the value, and harms nothing', async () => {
    const errors: unknown[] = [];
    const { text, event, context } = await resultOf((value: unknown) => {
      throw new Error(`cannot redact ${JSON.stringify(value)}`);
    }, errors);
    expect(text).not.toMatch(/hunter2|"shown"/);
    expect(event).toEqual({ type: 'body.returned', value: '[not shown: redact has thrown]' });
    expect(context).toBe('[not shown: redact has thrown]');
    expect(errors.length).toBeGreaterThan(4);
  });

  it('may answer what cannot be shown', async () => {
    const { context, event } = await resultOf(() => ({
      get broken() {
        throw new Error('no');
      },
      big: 1n,
      type: 'forged',
    }));
    expect(context).toEqual({ broken: '[not shown: no]', big: '1n', type: 'forged' });
    expect(event).toEqual({ broken: '[not shown: no]', big: '1n', type: 'body.returned' });
  });

  it('that is no function is refused', async () => {
    await using engine = await testEngine();
    await expect(inspectorHost(engine.offstage, { redact: 'all' as never })).rejects.toMatchObject({ code: 'config.invalid' });
  });
});
