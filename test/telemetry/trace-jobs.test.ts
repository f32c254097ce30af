/** Spans and metrics of jobs, as OpenTelemetry's own SDK gets them (spec 11; docs/telemetry.md). */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { describe, expect, it } from 'vitest';
import * as names from '../../src/doors/telemetry/telemetry-names.ts';
import { traceJobs } from '../../src/doors/telemetry/trace-jobs.ts';
import type { JobContext, JobOf } from '../../src/model/executor.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { virtualClock } from '../../src/testing/virtual-clock.ts';
import { counting, echo, gate, scripted, stubborn, throwing } from '../support/executors.ts';
import { keptStore } from '../support/kept-store.ts';
import { testEngine } from '../support/test-engine.ts';
import { collected, msOf } from './collected.ts';

const idOf = (span: ReadableSpan): string => span.spanContext().spanId;
const parentOf = (span: ReadableSpan): string | undefined => span.parentSpanContext?.spanId;
const linksOf = (span: ReadableSpan): readonly string[] => span.links.map(({ context }) => context.spanId);

describe('spans', () => {
  it('one for the sending and one for the processing, in one trace, linked, with exactly the times of the record', async () => {
    const out = collected();
    const work = gate();
    // A time that a plain number would not be taken for.
    await using engine = await testEngine({ executors: { work }, clock: virtualClock(1_000) });
    const { offstage, clock } = engine;
    const telemetry = traceJobs(offstage, out.providers);
    const { sessionId, taskId } = await offstage.sessions.create({ sessionId: 's1' });
    const { jobId } = await offstage.spawn({ kind: 'work', sessionId, input: { secret: 'zz1' }, subject: 'zz2' });
    await work.started(jobId);
    await clock.advance(1_234);
    await work.release(jobId, 'zz3');
    const job = await offstage.wait(jobId);

    const sent = out.span('send work');
    const processed = out.span('process work');
    expect(sent.kind).toBe(SpanKind.PRODUCER);
    expect(processed.kind).toBe(SpanKind.CONSUMER);
    expect([sent.startTime, sent.endTime].map(msOf)).toEqual([job.createdAt, job.queuedAt]);
    expect([processed.startTime, processed.endTime].map(msOf)).toEqual([job.startedAt, job.completedAt]);
    expect((job.completedAt as number) - (job.startedAt as number)).toBe(1_234);
    const about = {
      'messaging.system': 'offstage',
      'messaging.destination.name': 'work',
      'messaging.message.id': jobId,
      'messaging.message.conversation_id': 's1',
      'messaging.offstage.task.id': taskId,
    };
    expect(sent.attributes).toEqual({ ...about, 'messaging.operation.name': 'send', 'messaging.operation.type': 'send' });
    expect(processed.attributes).toEqual({
      ...about,
      'messaging.operation.name': 'process',
      'messaging.operation.type': 'process',
      'messaging.offstage.job.status': 'completed',
      'messaging.offstage.job.reason_code': 'completed',
    });
    expect(processed.status.code).toBe(SpanStatusCode.UNSET);
    expect(parentOf(sent)).toBeUndefined();
    expect(parentOf(processed)).toBe(idOf(sent));
    expect(linksOf(processed)).toEqual([idOf(sent)]);
    expect(processed.spanContext().traceId).toBe(sent.spanContext().traceId);
    expect(processed.instrumentationScope).toMatchObject({ name: 'offstage', schemaUrl: names.SCHEMA_URL });
    // What users have written stays out of it.
    expect(JSON.stringify(out.spans().map(({ name, attributes, events }) => ({ name, attributes, events })))).not.toMatch(/zz\d/);
    await telemetry.close();
    expect(out.spans()).toHaveLength(2);
  });

  it('a failed job has its reason code as error.type; a cancelled one is no error', async () => {
    const out = collected();
    const work = gate();
    await using engine = await testEngine({ executors: { work, bad: throwing(new Error('zz1')) } });
    const { offstage } = engine;
    await using _ = traceJobs(offstage, out.providers);
    const bad = await offstage.spawn({ kind: 'bad' });
    const cancelled = await offstage.spawn({ kind: 'work' });
    await work.started(cancelled.jobId);
    await offstage.cancel(cancelled.jobId);
    await offstage.waitMany([bad.jobId, cancelled.jobId]);

    const failed = out.span('process bad');
    expect(failed.attributes).toMatchObject({ 'error.type': 'failed', 'messaging.offstage.job.status': 'errored' });
    expect(failed.status).toEqual({ code: SpanStatusCode.ERROR });
    expect(failed.events).toEqual([]);
    const ended = out.span('process work');
    expect(ended.attributes).toMatchObject({
      'messaging.offstage.job.status': 'cancelled',
      'messaging.offstage.job.reason_code': 'cancel.user',
    });
    expect(ended.attributes).not.toHaveProperty('error.type');
    expect(ended.status.code).toBe(SpanStatusCode.UNSET);
    // It was told to be running twice: when it started, and when it was asked to end.
    const counts = (await out.points()).filter(({ name }) => name === 'messaging.client.consumed.messages');
    expect(counts.map(({ value }) => value)).toEqual([1, 1]);
  });

  it('a job that does not listen is told as timed out and detached, at the time of its record', async () => {
    const out = collected();
    const deaf = stubborn();
    await using engine = await testEngine({ executors: { deaf }, cancelGraceMs: 1_000 });
    const { offstage, clock } = engine;
    await using _ = traceJobs(offstage, out.providers);
    const { jobId } = await offstage.spawn({ kind: 'deaf' });
    await deaf.started(jobId);
    await offstage.cancel(jobId);
    await clock.advance(1_000);
    const job = await offstage.get(jobId);
    expect(job).toMatchObject({ status: 'cancelled', detached: true });
    const span = out.span('process deaf');
    expect(span.attributes).toMatchObject({
      'messaging.offstage.job.reason_code': 'cancel.timed_out',
      'messaging.offstage.job.detached': true,
    });
    expect(msOf(span.endTime)).toBe(job.completedAt);
    await deaf.release(jobId);
  });

  it('nested jobs: what a body asks for lies below its processing, to any depth', async () => {
    const out = collected();
    const nest = async (job: JobOf, context: JobContext): Promise<unknown> => {
      const depth = job.input as number;
      if (depth > 0) await context.run({ kind: depth > 1 ? 'nest' : 'leaf', input: depth - 1, subject: String(depth - 1) });
      return depth;
    };
    await using engine = await testEngine({ executors: { nest, leaf: echo }, workers: 1 });
    const { offstage } = engine;
    await using _ = traceJobs(offstage, out.providers);
    const { jobId } = await offstage.spawn({ kind: 'nest', input: 3 });
    await offstage.wait(jobId);
    const spans = new Map(out.spans().map((span) => [`${span.name} ${span.attributes['messaging.message.id']}`, span]));
    const jobs = await offstage.list();
    expect(jobs).toHaveLength(4);
    const of = (operation: string, id: string | null): ReadableSpan => {
      const span = [...spans].find(([name]) => name.startsWith(operation) && name.endsWith(` ${id}`))?.[1];
      if (span === undefined) throw new Error(`no ${operation} of ${id}`);
      return span;
    };
    for (const { jobId: id, parentJobId } of jobs) {
      const above = parentJobId === null ? of('send', id) : of('process', parentJobId);
      expect(parentOf(of('process', id))).toBe(idOf(above));
      expect(parentOf(of('send', id))).toBe(parentJobId === null ? undefined : idOf(above));
      expect(linksOf(of('process', id))).toEqual([idOf(of('send', id))]);
    }
    expect(new Set(out.spans().map((span) => span.spanContext().traceId)).size).toBe(1);
  });

  it('a child that starts after its parent has ended lies below it all the same', async () => {
    const out = collected();
    const work = gate();
    const dispatch = scripted({ parent: (context) => context.spawn({ kind: 'work', subject: 'child' }).then(() => 'done') });
    await using engine = await testEngine({ executors: { dispatch, work }, workers: 1 });
    const { offstage } = engine;
    await using _ = traceJobs(offstage, out.providers);
    const { jobId } = await offstage.spawn({ kind: 'dispatch', subject: 'parent' });
    await offstage.wait(jobId);
    const [child] = await offstage.list({ parentJobId: jobId });
    await work.started(child?.jobId as string);
    await work.release(child?.jobId as string);
    await offstage.wait(child?.jobId as string);
    expect(parentOf(out.span('process work'))).toBe(idOf(out.span('process dispatch')));
  });

  it('jobs that never start: a span for the sending, and nothing else', async () => {
    const out = collected();
    const work = gate();
    await using engine = await testEngine({ executors: { work }, workers: 1 });
    const { offstage } = engine;
    await using _ = traceJobs(offstage, out.providers);
    const first = await offstage.spawn({ kind: 'work' });
    await work.started(first.jobId);
    const queued = await offstage.spawn({ kind: 'work' });
    await offstage.cancel(queued.jobId);
    // In the tick of its spawn: accepted and over in one commit, or nearly so.
    const both = offstage.spawn({ kind: 'work', jobId: 'at once' });
    await offstage.cancel('at once');
    await both;
    await work.release(first.jobId);
    await offstage.wait(first.jobId);
    await engine.clock.settle();
    expect(
      out
        .spans()
        .map(({ name }) => name)
        .sort(),
    ).toEqual(['process work', 'send work', 'send work', 'send work']);
  });

  it('agents: the names for generative AI only where they are asked for, inside of the processing', async () => {
    for (const agents of [false, true]) {
      const out = collected();
      await using engine = await testEngine({ executors: { agent: echo, other: echo } });
      const { offstage } = engine;
      await using _ = traceJobs(offstage, { ...out.providers, agents });
      const { jobId } = await offstage.spawn({ kind: 'agent', input: { prompt: 'hi' } });
      const other = await offstage.spawn({ kind: 'other' });
      const job = await offstage.wait(jobId);
      await offstage.wait(other.jobId);
      const spans = out.spans().filter(({ name }) => name.startsWith('invoke_agent'));
      expect(spans.map(({ name }) => name)).toEqual(agents ? ['invoke_agent default'] : []);
      for (const span of spans) {
        expect(span.kind).toBe(SpanKind.INTERNAL);
        expect(parentOf(span)).toBe(idOf(out.span('process agent')));
        expect([span.startTime, span.endTime].map(msOf)).toEqual([job.startedAt, job.completedAt]);
        expect(span.attributes).toEqual({
          'gen_ai.operation.name': 'invoke_agent',
          'gen_ai.provider.name': 'offstage',
          'gen_ai.agent.id': 'default',
          'gen_ai.agent.name': 'default',
          'gen_ai.conversation.id': job.sessionId,
        });
      }
    }
  });
});

describe('beginnings and ends of the observer', () => {
  it('jobs that a crash has abandoned are told by the next process, with the times of their records', async () => {
    const kept = keptStore(memoryStore());
    const work = gate();
    const first = await testEngine({ store: kept.open(), executors: { work }, workers: 1 });
    const started = await first.offstage.spawn({ kind: 'work', jobId: 'started' });
    await work.started(started.jobId);
    await first.offstage.spawn({ kind: 'work', jobId: 'queued' });
    // It dies here: nothing of it ever reaches the store again.
    const out = collected();
    await first.clock.advance(60_000);
    await using next = await testEngine({ store: kept.open(), executors: { work }, clock: first.clock });
    expect(next.recovery.abandoned.toSorted()).toEqual(['queued', 'started']);
    const telemetry = traceJobs(next.offstage, out.providers);
    await next.clock.settle();
    const job = await next.offstage.get('started');
    await telemetry.close();
    const span = out.span('process work');
    expect(span.attributes).toMatchObject({ 'messaging.message.id': 'started', 'error.type': 'abandoned.crash' });
    expect([span.startTime, span.endTime].map(msOf)).toEqual([job.startedAt, job.completedAt]);
    expect(span.status.code).toBe(SpanStatusCode.ERROR);
    expect(out.spans()).toHaveLength(1);
  });

  it('jobs that live already get the span of their processing, also below each other', async () => {
    const out = collected();
    const work = gate();
    const dispatch = scripted({ parent: (context) => context.run({ kind: 'work', subject: 'child' }) });
    await using engine = await testEngine({ executors: { dispatch, work } });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'dispatch', subject: 'parent' });
    await engine.eventOf((event) => event.type === 'job.status' && event.parentJobId === jobId && event.status === 'running');
    await clock.advance(5_000);
    await using _ = traceJobs(offstage, out.providers);
    const [child] = await offstage.list({ parentJobId: jobId });
    await work.release(child?.jobId as string);
    await offstage.wait(jobId);
    const span = out.span('process work');
    expect(parentOf(span)).toBe(idOf(out.span('process dispatch')));
    expect(msOf(span.startTime)).toBe(child?.startedAt);
    expect(out.spans()).toHaveLength(2);
    // It was counted by whoever saw it start.
    expect((await out.points()).map(({ name }) => name)).not.toContain('messaging.client.consumed.messages');
  });

  it('close ends the spans of jobs that live, and says so; afterwards nothing more is told', async () => {
    const out = collected();
    const work = gate();
    await using engine = await testEngine({ executors: { work } });
    const { offstage } = engine;
    const telemetry = traceJobs(offstage, out.providers);
    const { jobId } = await offstage.spawn({ kind: 'work' });
    await work.started(jobId);
    await engine.clock.settle();
    await Promise.all([telemetry.close(), telemetry.close()]);
    expect(out.span('process work').attributes).toMatchObject({ 'messaging.offstage.job.unfinished': true });
    expect(out.span('process work').attributes).not.toHaveProperty('messaging.offstage.job.status');
    await work.release(jobId);
    await offstage.spawn({ kind: 'work' });
    await engine.clock.settle();
    expect(out.spans()).toHaveLength(2);
  });

  it('an engine that closes ends its jobs first: no span is left open', async () => {
    const out = collected();
    const work = gate();
    const engine = await testEngine({ executors: { work } });
    const telemetry = traceJobs(engine.offstage, out.providers);
    const { jobId } = await engine.offstage.spawn({ kind: 'work' });
    await work.started(jobId);
    await engine[Symbol.asyncDispose]();
    expect(out.span('process work').attributes).toMatchObject({ 'error.type': 'abandoned.shutdown' });
    await telemetry.close();
    expect(out.spans()).toHaveLength(2);
  });
});

describe('metrics', () => {
  it('are counted and measured by kind, in seconds, with the recommended buckets', async () => {
    const out = collected();
    const work = gate();
    await using engine = await testEngine({ executors: { work, bad: throwing(new Error('no')) } });
    const { offstage, clock } = engine;
    await using _ = traceJobs(offstage, out.providers);
    for (const ms of [250, 1_750]) {
      const { jobId } = await offstage.spawn({ kind: 'work' });
      await work.started(jobId);
      await clock.advance(ms);
      await work.release(jobId);
      await offstage.wait(jobId);
    }
    const bad = await offstage.spawn({ kind: 'bad' });
    await offstage.wait(bad.jobId);
    const points = await out.points();
    const of = (kind: string, name: string) =>
      points.find((point) => point.name === name && point.attributes['messaging.destination.name'] === kind);
    const about = { 'messaging.system': 'offstage', 'messaging.destination.name': 'work' };
    expect(of('work', 'messaging.client.sent.messages')).toEqual({
      name: 'messaging.client.sent.messages',
      unit: '{message}',
      value: 2,
      attributes: { ...about, 'messaging.operation.name': 'send' },
    });
    expect(of('work', 'messaging.client.consumed.messages')).toMatchObject({
      value: 2,
      attributes: { ...about, 'messaging.operation.name': 'process' },
    });
    expect(of('work', 'messaging.process.duration')).toEqual({
      name: 'messaging.process.duration',
      unit: 's',
      count: 2,
      sum: 2,
      boundaries: [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
      attributes: { ...about, 'messaging.operation.name': 'process' },
    });
    expect(of('work', 'messaging.client.operation.duration')).toMatchObject({
      unit: 's',
      count: 2,
      attributes: { ...about, 'messaging.operation.name': 'send', 'messaging.operation.type': 'send' },
    });
    expect(of('bad', 'messaging.process.duration')?.attributes).toMatchObject({ 'error.type': 'failed' });
  });
});

describe('what may go wrong', () => {
  it('a thousand jobs, of which some never start, leave nothing behind', async () => {
    const out = collected();
    const instant = counting();
    await using engine = await testEngine({ executors: { instant }, workers: 8 });
    const { offstage } = engine;
    const telemetry = traceJobs(offstage, out.providers);
    const ids = Array.from({ length: 1_000 }, (_, index) => `job ${index}`);
    const spawned = ids.map((jobId) => offstage.spawn({ kind: 'instant', jobId }));
    for (const jobId of ids.filter((_, index) => index % 3 === 0)) void offstage.cancel(jobId);
    await Promise.all(spawned);
    const ended = await offstage.waitMany(ids, { timeoutMs: null });
    await engine.clock.settle();
    const started = ended.filter((job) => 'startedAt' in job && job.startedAt !== null).length;
    expect(started).toBeGreaterThan(600);
    expect(started).toBeLessThan(1_000);
    expect(out.spans().filter(({ name }) => name === 'send instant')).toHaveLength(1_000);
    expect(out.spans().filter(({ name }) => name === 'process instant')).toHaveLength(started);
    // Of one that was left, close would end the span.
    await telemetry.close();
    expect(out.spans()).toHaveLength(1_000 + started);
    const points = await out.points();
    expect(points.find(({ name }) => name === 'messaging.client.sent.messages')?.value).toBe(1_000);
    expect(points.find(({ name }) => name === 'messaging.client.consumed.messages')?.value).toBe(started);
  });

  it('nothing is kept of jobs that have ended without a start', async () => {
    const work = gate();
    await using engine = await testEngine({ executors: { work }, workers: 1 });
    const { offstage } = engine;
    const kept: WeakRef<object>[] = [];
    const startSpan = () => {
      const context = { traceId: '1'.repeat(32), spanId: '1'.repeat(16), traceFlags: 1 };
      kept.push(new WeakRef(context));
      return { spanContext: () => context, setAttribute() {}, setStatus() {}, end() {} };
    };
    await using _ = traceJobs(offstage, { tracerProvider: { getTracer: () => ({ startSpan }) as never } });
    await offstage.spawn({ kind: 'work', jobId: 'first' });
    await work.started('first');
    const ids = Array.from({ length: 100 }, (_, index) => `queued ${index}`);
    await Promise.all(ids.map((jobId) => offstage.spawn({ kind: 'work', jobId })));
    await offstage.cancelMany({ ids });
    await engine.clock.settle();
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    // What was looked at in this turn is kept until the next one.
    await engine.clock.settle();
    await new Promise(setImmediate);
    collect();
    expect(kept).toHaveLength(102);
    // The one that runs: its sending and its processing.
    expect(kept.filter((ref) => ref.deref() !== undefined)).toHaveLength(2);
    await work.release('first');
  });

  it('tracers, spans, meters and exporters that throw harm nobody', async () => {
    const bang = (): never => {
      throw new Error('bang');
    };
    const out = collected();
    const halfSpan = { ...Object.fromEntries(['setAttribute', 'setStatus', 'end'].map((name) => [name, bang])) };
    const bad: readonly Parameters<typeof traceJobs>[1][] = [
      {
        tracerProvider: { getTracer: () => ({ startSpan: bang, startActiveSpan: bang }) },
        meterProvider: out.providers.meterProvider,
      },
      { tracerProvider: { getTracer: () => ({ startSpan: () => halfSpan, startActiveSpan: bang }) as never } },
      { tracerProvider: { getTracer: () => ({ startSpan: () => undefined, startActiveSpan: bang }) as never } },
      {
        meterProvider: {
          getMeter: () => ({ createCounter: () => ({ add: bang }), createHistogram: () => ({ record: bang }) }) as never,
        },
        tracerProvider: out.providers.tracerProvider,
      },
    ];
    await using engine = await testEngine({ executors: { echo } });
    const { offstage } = engine;
    const all = bad.map((options) => traceJobs(offstage, options));
    const { jobId } = await offstage.spawn({ kind: 'echo', input: 'hi' });
    expect(await offstage.wait(jobId)).toMatchObject({ status: 'completed', resultText: 'hi' });
    for (const telemetry of all) await telemetry.close();
    expect(engine.log).toEqual([]);
    // Spans do not suffer from meters, nor the other way round.
    expect(out.spans().map(({ name }) => name)).toEqual(['send echo', 'process echo']);
    expect((await out.points()).map(({ name }) => name)).toContain('messaging.process.duration');
  });

  it('wrong options are refused by name', async () => {
    await using engine = await testEngine();
    for (const [option, options] of [
      ['traceJobs.tracerProvider', { tracerProvider: {} }],
      ['traceJobs.meterProvider', { meterProvider: 5 }],
      ['traceJobs.agents', { agents: 'yes' }],
      ['traceJobs.agent', { agent: true }],
      ['traceJobs', 'all'],
    ] as const) {
      expect(() => traceJobs(engine.offstage, options as never), option).toThrow(
        expect.objectContaining({ code: 'config.invalid', details: expect.objectContaining({ option }) }),
      );
    }
  });

  it('the names are those of the conventions, to the letter', () => {
    const require = createRequire(createRequire(import.meta.url).resolve('@opentelemetry/sdk-trace-base'));
    const folder = require.resolve('@opentelemetry/semantic-conventions').replace(/(semantic-conventions).*$/, '$1');
    const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
    const known = new Set(Object.values(require('@opentelemetry/semantic-conventions/incubating') as Record<string, string>));
    expect(names.SCHEMA_URL).toBe(`https://opentelemetry.io/schemas/${version}`);
    const used = [names.ATTRIBUTE, names.OPERATION, names.METRIC, names.AGENT_ATTRIBUTE].flatMap((group) => Object.values(group));
    expect(used.filter((name) => !known.has(name))).toEqual([]);
    expect(known).toContain(names.AGENT_OPERATION);
  });
});
