/**
 * What providers may send: messages of the recorded conversations, spoilt, out of order, twice or not at all. Mappings are total and make only whole
 * frames; real ACP connections settle every prompt and every start with an answer or a code; an engine whose agent tells it anything goes on, and
 * the session beside it notices nothing.
 */
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { acpV1Agent } from '../../src/adapters/acp-v1-agent.ts';
import { AcpV1Mapping } from '../../src/adapters/acp-v1-mapping.ts';
import { acpV2Agent } from '../../src/adapters/acp-v2-agent.ts';
import { AcpV2Mapping } from '../../src/adapters/acp-v2-mapping.ts';
import { claudeStreamMapping } from '../../src/adapters/claude-agent-sdk-mapping.ts';
import type { FrameMapping, MappingStep } from '../../src/adapters/frame-mapping.ts';
import { mockAgent } from '../../src/adapters/mock-agent.ts';
import type { Frame } from '../../src/model/agent.ts';
import { promptContext } from '../../test/adapters/agent-context.ts';
import { fixturePairs } from '../../test/adapters/fixture-files.ts';
import { FrameReader } from '../../test/adapters/read-frames.ts';
import { ScriptedAcp, V1_ANSWERS, V2_ANSWERS } from '../../test/adapters/scripted-acp.ts';
import { type StrayErrors, strayErrors } from '../../test/support/hostile.ts';
import { testEngine } from '../../test/support/test-engine.ts';
import { LIMIT_MS, times } from '../support/how-often.ts';
import { codeOf, mutatedJson, mutatedValue } from '../support/mutated.ts';

let stray: StrayErrors;
beforeEach(() => {
  stray = strayErrors();
  // The protocol's own library prints what it does not understand.
  for (const name of ['error', 'warn'] as const) vi.spyOn(console, name).mockImplementation(() => {});
});
afterEach(async () => {
  // What nobody has caught is told after the last promise.
  await new Promise((resolve) => setImmediate(resolve));
  vi.restoreAllMocks();
  expect(stray.errors).toEqual([]);
  stray[Symbol.dispose]();
});

const MAPPINGS: Readonly<Record<string, () => FrameMapping>> = {
  'acp-v1': () => new AcpV1Mapping(),
  'acp-v1-claude': () => new AcpV1Mapping({ metadata: 'claude' }),
  'acp-v2': () => new AcpV2Mapping(),
  'claude-agent-sdk': () => claudeStreamMapping((generation) => `message-${generation}`),
};
const STEPS = fixturePairs.map(({ adapter, launch, end }) => ({ adapter, steps: [...launch.steps, ...end.steps] }));

/** Steps of one conversation with their messages spoilt, and some of them moved, told twice or left out. */
const conversation = fc.constantFrom(...STEPS).chain(({ adapter, steps }) =>
  fc.record({
    adapter: fc.oneof({ weight: 9, arbitrary: fc.constant(adapter) }, fc.constantFrom(...Object.keys(MAPPINGS))),
    steps: fc
      .array(
        fc.nat(steps.length - 1).chain((at): fc.Arbitrary<MappingStep> => {
          const step = steps[at] as MappingStep;
          if (!('message' in step)) return fc.constant(step);
          return mutatedValue(fc.constant(step.message)).map((message) => ({ ...step, message }));
        }),
        { maxLength: 30 },
      )
      .chain((some) => fc.boolean().map((isSorted) => (isSorted ? inOrder(some, steps) : some))),
  }),
);
const inOrder = (some: readonly MappingStep[], steps: readonly MappingStep[]): readonly MappingStep[] =>
  steps.map((step, index) => some[index] ?? step);

const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';
const isTextOrNone = (value: unknown): boolean => value === undefined || isText(value);
const KINDS = ['subagent', 'shell', 'monitor'];
const STATUSES = [undefined, 'pending', 'running', 'completed', 'failed', 'cancelled'];

/** What any reader of frames relies on. */
function checkFrame(frame: Frame, generations: ReadonlySet<number>): void {
  const shown = JSON.stringify(frame);
  expect([shown, generations.has(frame.generation)]).toEqual([shown, true]);
  const { type, text, toolCallId, parentToolCallId, workloadId, eventId, status, kind, stopReason, usage, workloads, work } =
    frame as unknown as Readonly<Record<string, unknown>>;
  const named = [parentToolCallId, eventId, workloadId, toolCallId, (work as Readonly<Record<string, unknown>>)?.workloadId];
  expect([shown, named.every(isTextOrNone)]).toEqual([shown, true]);
  if (type === 'output') expect(isText(text)).toBe(true);
  if (type === 'tool.call' || type === 'tool.update')
    expect(isText(toolCallId) && STATUSES.includes(status as string)).toBe(true);
  if (type === 'workload.started') expect(isText(workloadId) && KINDS.includes(kind as string)).toBe(true);
  if (type === 'turn.ended') expect(isText(stopReason)).toBe(true);
  if (type === 'usage') for (const amount of Object.values(usage as object)) expect(Number.isFinite(amount)).toBe(true);
  if (type !== 'workload.snapshot') return;
  for (const one of workloads as readonly { workloadId: unknown }[])
    expect([shown, isText(one.workloadId)]).toEqual([shown, true]);
}

describe('mappings', () => {
  it('are total, make whole frames of known turns, and end the turn that comes after', () => {
    fc.assert(
      fc.property(conversation, ({ adapter, steps }) => {
        const mapping = (MAPPINGS[adapter] as () => FrameMapping)();
        const generations = new Set([0]);
        for (const step of steps) {
          if (step.step === 'prompt') generations.add(step.generation);
          for (const frame of mapping.step(step)) checkFrame(frame, generations);
          for (const id of ['toolu_monitor', '__proto__', undefined]) expect(generations).toContain(mapping.generationOf(id));
        }
        for (const generation of generations) if (generation > 0) mapping.step({ step: 'refused', generation });
        const after = [
          { step: 'prompt', generation: 99 } as const,
          { step: 'accepted', generation: 99 } as const,
          { step: 'answered', generation: 99, stopReason: 'end_turn' } as const,
        ].flatMap((step) => mapping.step(step));
        if (adapter.startsWith('acp-v1'))
          expect(after).toContainEqual({ type: 'turn.ended', generation: 99, stopReason: 'end_turn' });
      }),
      times(200),
    );
  });
});

const UPDATES = STEPS.flatMap(({ steps }) => steps.flatMap((step) => ('message' in step ? [step.message] : [])));
const message = fc.oneof(
  fc.constantFrom(...UPDATES).map((update) => ({ method: 'session/update', params: { sessionId: 'conversation-one', update } })),
  fc.constantFrom('session/request_permission', 'session/elicit', 'fs/read_text_file', 'initialize', 'x').map((method) => ({
    id: 'p1',
    method,
    params: {
      sessionId: 'conversation-one',
      toolCall: { toolCallId: 't1' },
      options: [{ optionId: 'a', name: 'A', kind: 'allow_once' }],
    },
  })),
  fc
    .constantFrom(0, 1, 2, 3, 99, 'x', null)
    .map((id) => ({ id, result: { stopReason: 'end_turn', sessionId: 'x', protocolVersion: 1 } })),
  fc.constantFrom(0, 1, 2, 3, null).map((id) => ({ id, error: { code: -32_603, message: 'no' } })),
);
/** Lines of an agent: JSON-RPC, spoilt as values and as texts. */
const lines = fc.array(
  mutatedJson(message.map((one) => ({ jsonrpc: '2.0', ...one }))).map((text) => `${text}\n`),
  { maxLength: 12 },
);

describe.each([
  ['ACP v1', acpV1Agent, V1_ANSWERS],
  ['ACP v2', acpV2Agent, V2_ANSWERS],
] as const)('%s', (_, connect, answers) => {
  it(
    'whatever an agent writes: a prompt settles, the frames end, and closing is all there is to do',
    async () => {
      await fc.assert(
        fc.asyncProperty(lines, lines, fc.boolean(), async (before, during, isCut) => {
          const provider = new ScriptedAcp(answers);
          const agent = await connect({ ...provider.pair.host, cwd: '/srv', agentId: 'example' });
          const reader = new FrameReader(agent);
          for (const line of before) provider.raw(line);
          const ended = agent.prompt('hello', promptContext(1)).catch(codeOf);
          await Promise.race([provider.next('session/prompt'), reader.ended.catch(() => {})]);
          for (const line of during) provider.raw(line);
          if (isCut) await provider.end().catch(() => {});
          else await agent.close();
          const end = await ended;
          if (typeof end !== 'string') expect(typeof end.stopReason).toBe('string');
          await reader.ended.catch(codeOf);
          for (const frame of reader.frames) if (frame.type !== 'permission.request') checkFrame(frame, new Set([0, 1]));
          await agent.close();
        }),
        times(40),
      );
    },
    LIMIT_MS,
  );

  it(
    'whatever it answers to a start: it has started, or agent.start_failed',
    async () => {
      const answer = mutatedValue(fc.constant(answers), { most: 2 }) as fc.Arbitrary<typeof answers>;
      await fc.assert(
        fc.asyncProperty(answer, lines, async (given, noise) => {
          const provider = new ScriptedAcp(typeof given === 'object' && given !== null ? given : {});
          const starting = connect({ ...provider.pair.host, cwd: '/srv', agentId: 'example' });
          const started = starting.then(
            (agent) => agent,
            (error: unknown) => codeOf(error),
          );
          for (const line of noise) provider.raw(line);
          // What was not answered by now never is.
          await Promise.race([started, provider.next('session/new'), provider.next('initialize')]);
          await provider.end().catch(() => {});
          const agent = await started;
          if (typeof agent === 'string') expect(agent).toBe('agent.start_failed');
          else await agent.close();
        }),
        times(40),
      );
    },
    LIMIT_MS,
  );
});

const FRAMES: readonly Frame[] = fixturePairs.flatMap(({ launch, end }) => [...launch.frames, ...end.frames]);
const told = fc.array(
  fc.oneof(
    { weight: 9, arbitrary: mutatedValue(fc.constantFrom(...FRAMES)) },
    mutatedValue(fc.constant({ type: 'permission.request', generation: 1, requestId: 'r1', kind: 'permission', options: ['a'] })),
  ),
  { maxLength: 20 },
);
const ATTESTED = { workloads: ['subagent', 'shell', 'monitor'], yield: true, handoff: true, snapshot: true } as const;

it(
  'an engine whose agent tells it anything: its turn ends, and the session beside it is served',
  async () => {
    await fc.assert(
      fc.asyncProperty(told, told, async (before, during) => {
        const mock = mockAgent({ attests: ATTESTED } as never);
        const quiet = mockAgent({ onPrompt: (prompt) => prompt.end() });
        await using engine = await testEngine({ agents: { default: mock.factory, quiet: quiet.factory } });
        const { sessions } = engine.offstage;
        await sessions.create({ sessionId: 'a' });
        await sessions.create({ sessionId: 'b', agentId: 'quiet' });
        await sessions.prompt('a', { content: 'one' });
        const prompt = await mock.nextPrompt();
        for (const frame of before) mock.emit(frame as Frame);
        expect(await sessions.prompt('b', { content: 'hello' })).toMatchObject({ accepted: true });
        for (const frame of during) mock.emit(frame as Frame);
        await engine.clock.settle();
        prompt.end();
        await engine.clock.settle();
        const { state } = await sessions.get('a');
        expect(['running', 'waiting_for_input']).toContain(state);
        for (const { workloadId } of await engine.offstage.workloads.list('a')) {
          expect(typeof workloadId).toBe('string');
          await engine.offstage.workloads.dismiss('a', workloadId).catch(codeOf);
        }
        const { settled } = await sessions
          .stop('a', { force: true })
          .catch((error) => ({ settled: Promise.resolve(codeOf(error)) }));
        await engine.clock.settle();
        await settled;
        expect((await sessions.get('b')).state).toBe('waiting_for_input');
      }),
      times(40),
    );
  },
  LIMIT_MS,
);
