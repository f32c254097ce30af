/** Reported faults, B57, in process: foreign callbacks throw, reject, re-enter, and nobody else is harmed (G16). */
import { filter, map, tap } from 'rxjs';
import { describe, expect, it } from 'vitest';
import type { OffstageEvent } from '../../src/model/events.ts';
import type { Executor } from '../../src/model/executor.ts';
import { echo, gate } from '../support/executors.ts';
import { FOREIGN_REJECTIONS } from '../support/foreign-rejections.ts';
import { strayErrors } from '../support/hostile.ts';
import { testEngine } from '../support/test-engine.ts';

const refuse = (): never => {
  throw new Error('an observer that throws');
};
const reject = (): Promise<never> => Promise.reject(new Error('an observer that rejects'));
/** A proxy that throws at whatever is done with it. */
const hostile = (): unknown =>
  new Proxy(
    {},
    {
      get() {
        throw new Error('do not look');
      },
      getPrototypeOf() {
        throw new Error('do not ask');
      },
    },
  );

describe('observers', () => {
  it('B57: those that throw, reject or are hostile are isolated and logged; all others see everything', async () => {
    const inspected: string[] = [];
    await using engine = await testEngine({
      executors: { echo },
      inspect: (event) => {
        inspected.push(event.type);
        return inspected.length % 2 === 0 ? (reject() as never) : refuse();
      },
    });
    const { offstage, clock } = engine;
    const seen: OffstageEvent[] = [];
    const seenByRx: OffstageEvent[] = [];
    const piped: string[] = [];
    let models = 0;
    offstage.onEvent(refuse);
    offstage.onEvent(reject);
    offstage.onEvent(hostile);
    offstage.events$.subscribe(refuse);
    offstage.events$.subscribe({ next: reject, complete: refuse });
    offstage.events$.pipe(map(refuse)).subscribe();
    offstage.events$.pipe(tap(refuse)).subscribe(() => {});
    offstage.jobsModel.subscribe(refuse);
    offstage.jobsModel.subscribe(reject);
    offstage.poolModel.subscribe(refuse);
    // These come after all the bad ones.
    offstage.onEvent((event) => seen.push(event));
    offstage.events$.subscribe((event) => seenByRx.push(event));
    offstage.events$
      .pipe(
        filter(({ type }) => type === 'job.status'),
        map((event) => (event as { status: string }).status),
      )
      .subscribe((status) => {
        piped.push(status);
        if (status === 'running') refuse();
      });
    offstage.jobsModel.subscribe(() => {
      models += 1;
    });
    const jobs = await Promise.all(Array.from({ length: 20 }, (_, index) => offstage.spawn({ kind: 'echo', input: index })));
    const ended = await offstage.waitMany(jobs.map(({ jobId }) => jobId));
    await clock.settle();
    expect(ended.every((entry) => 'status' in entry && entry.status === 'completed')).toBe(true);
    expect(seen).toEqual(engine.events);
    expect(seenByRx).toEqual(seen);
    expect(piped).toHaveLength(60);
    expect(models).toBeGreaterThan(0);
    expect(inspected.length).toBeGreaterThan(0);
    const complaints = new Set(engine.log.filter(({ level }) => level === 'error').map(({ event }) => event));
    expect([...complaints].sort()).toEqual(['inspector.failed', 'observer.failed', 'read_model.observer_failed']);
  });

  it.each(FOREIGN_REJECTIONS)('B57: those that answer with %s are isolated and logged', async (_, answer) => {
    using stray = strayErrors();
    const logged: string[] = [];
    await using engine = await testEngine({
      executors: {
        listens: (_job, { signal }) =>
          new Promise<void>((resolve) => {
            signal.addEventListener('abort', answer as () => void);
            signal.addEventListener('abort', () => resolve());
          }),
      },
      inspect: answer as () => void,
      log: (_level, event) => {
        logged.push(event);
        return answer() as undefined;
      },
    });
    const { offstage, clock } = engine;
    offstage.onEvent(answer);
    offstage.events$.subscribe(answer as () => void);
    offstage.jobsModel.subscribe(answer);
    offstage.inspect({ actor: answer as () => void, change: answer as () => void });
    const { jobId } = await offstage.spawn({ kind: 'listens' });
    await clock.settle();
    await offstage.cancel(jobId);
    expect(await offstage.wait(jobId)).toMatchObject({ status: 'cancelled' });
    await new Promise(setImmediate);
    expect(stray.count).toBe(0);
    const complaints = ['abort_listener.failed', 'inspector.failed', 'observer.failed', 'read_model.observer_failed'];
    expect([...new Set(logged)].sort()).toEqual(complaints);
  });

  it('B57: an observer that reacts by causing events disturbs the order of nobody', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held, echo } });
    const { offstage, clock } = engine;
    const first: OffstageEvent[] = [];
    const last: OffstageEvent[] = [];
    offstage.onEvent((event) => first.push(event));
    let reactions = 0;
    const late: OffstageEvent[] = [];
    offstage.onEvent((event) => {
      if (event.type !== 'job.status' || event.status !== 'running' || reactions >= 10) return;
      reactions += 1;
      void offstage.spawn({ kind: 'echo', input: 1 });
      void offstage.cancel(event.jobId);
      // Observers that come and go in mid-delivery.
      const stop = offstage.onEvent((other) => {
        late.push(other);
        stop();
      });
    });
    offstage.onEvent((event) => last.push(event));
    for (let index = 0; index < 5; index++) await offstage.spawn({ kind: 'held' });
    await clock.settle();
    await clock.settle();
    expect(reactions).toBe(10);
    expect(last).toEqual(first);
    expect(late.length).toBeGreaterThan(0);
    const numbers = first.map(({ seq }) => seq);
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
  });

  it('B57: an observer that causes events in the very call disturbs the order of nobody either', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held } });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'held' });
    const { context } = await held.started(jobId);
    await clock.settle();
    const first: OffstageEvent[] = [];
    const last: OffstageEvent[] = [];
    offstage.onEvent((event) => first.push(event));
    let depth = 0;
    let deepest = 0;
    offstage.onEvent((event) => {
      depth += 1;
      deepest = Math.max(deepest, depth);
      if (event.type === 'job.output' && event.text.length < 5) context.output(`${event.text}x`);
      depth -= 1;
    });
    offstage.onEvent((event) => last.push(event));
    context.output('x');
    const texts = (events: readonly OffstageEvent[]) =>
      events.flatMap((event) => (event.type === 'job.output' ? [event.text] : []));
    expect(texts(first)).toEqual(['x', 'xx', 'xxx', 'xxxx', 'xxxxx']);
    expect(last).toEqual(first);
    expect(deepest).toBe(1);
    await held.release(jobId);
    await offstage.wait(jobId);
  });

  it('B57: an observer that unsubscribes hears nothing more', async () => {
    await using engine = await testEngine({ executors: { echo } });
    const { offstage } = engine;
    let heard = 0;
    const stop = offstage.onEvent(() => {
      heard += 1;
      stop();
    });
    const subscription = offstage.events$.subscribe(() => {
      heard += 1;
      subscription.unsubscribe();
    });
    const { jobId } = await offstage.spawn({ kind: 'echo' });
    await offstage.wait(jobId);
    expect(heard).toBe(2);
  });

  it('B57: events$ completes at close, and a throw there harms nobody', async () => {
    const engine = await testEngine({ executors: { echo } });
    const { offstage } = engine;
    let completed = 0;
    offstage.events$.subscribe({
      complete: () => {
        completed += 1;
        refuse();
      },
    });
    offstage.events$.subscribe({
      complete: () => {
        completed += 1;
      },
    });
    await engine[Symbol.asyncDispose]();
    expect(completed).toBe(2);
  });
});

describe('executors', () => {
  it('B57: abort listeners and cancel hooks that throw or reject do not keep the job from its end', async () => {
    const asked: string[] = [];
    const nasty: Executor = {
      run: (_, context) =>
        new Promise((resolve) => {
          context.signal.addEventListener('abort', refuse);
          context.signal.addEventListener('abort', reject);
          context.signal.onabort = () => refuse();
          context.signal.addEventListener('abort', () => resolve('said goodbye'));
        }),
      cancel: (jobId) => {
        asked.push(jobId);
        return asked.length % 2 === 0 ? reject() : refuse();
      },
    };
    await using engine = await testEngine({ executors: { nasty } });
    const { offstage, clock } = engine;
    const jobs = await Promise.all([offstage.spawn({ kind: 'nasty' }), offstage.spawn({ kind: 'nasty' })]);
    await clock.settle();
    for (const { jobId } of jobs) await offstage.cancel(jobId);
    for (const { jobId } of jobs) {
      expect(await offstage.wait(jobId)).toMatchObject({ status: 'cancelled', resultText: 'said goodbye', detached: false });
    }
    expect(asked).toEqual(jobs.map(({ jobId }) => jobId));
    const complaints = engine.log.filter(({ level }) => level === 'error').map(({ event }) => event);
    expect(complaints.filter((event) => event === 'executor.cancel_failed')).toHaveLength(2);
    expect(complaints.filter((event) => event === 'abort_listener.failed').length).toBeGreaterThanOrEqual(6);
  });

  it('B57: a log that throws and an executor that fails to close are no reason to stay open', async () => {
    const bad: Executor = { run: () => 'ok', close: refuse };
    const worse: Executor = { run: () => 'ok', close: reject };
    const engine = await testEngine({ executors: { bad, worse }, log: refuse });
    const { jobId } = await engine.offstage.spawn({ kind: 'bad' });
    expect((await engine.offstage.wait(jobId)).resultText).toBe('ok');
    await engine[Symbol.asyncDispose]();
    expect(engine.offstage.health().status).toBe('closing');
  });
});
