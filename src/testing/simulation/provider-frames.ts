/**
 * Frames of a simulated provider: right ones, stale ones, and things that are no frames at all.
 *
 * PFR1  Ids are counted by each agent for itself, so that those of two agents of one session are the same.
 * PFR2  What is noted of a frame is plain JSON; of what cannot be noted, because looking at it throws, it is told what it was.
 */
import type { Frame, ToolWork } from '../../model/agent.ts';
import type { WorkloadKind } from '../../model/executor.ts';
import type { FactOf } from './facts.ts';
import type { Random } from './random.ts';

/** A frame, and how it is noted. */
export interface Said {
  readonly frame: Frame;
  readonly note: FactOf<'agent.said'>['frame'];
}

interface Work {
  readonly workloadId: string;
  readonly kind: WorkloadKind;
  readonly toolCallId: string | null;
}

interface Call {
  readonly toolCallId: string;
  readonly work: ToolWork | null;
  readonly parentToolCallId?: string;
}

const angry = (): never => {
  throw new Error('do not look at me');
};

/** Whatever code may throw, errors that nobody can read among them. */
export const anyThrown = (random: Random): unknown =>
  random.pick<() => unknown>([
    () => new Error('no'),
    () => 'no',
    () => undefined,
    () => null,
    () => 42,
    () => ({ message: 7, code: 'agent.gone' }),
    () => Symbol('no'),
    () => Object.create(Error.prototype, { message: { get: angry } }),
    () => new Proxy({}, { get: (_, name) => (name === 'then' ? undefined : angry()), getPrototypeOf: angry, has: angry }),
  ])();

/** What comes from adapters with faults; each is left out, whatever it holds. The prompt that it proves to be of was taken all the same. */
function garbage(generation: number, random: Random): Said {
  const what = random.pick<readonly [string, unknown]>([
    ['null', null],
    ['a number', 5],
    ['a text', 'output'],
    ['nothing', {}],
    ['a list', []],
    ['an unknown type', { type: 'party', generation }],
    ['a type that throws', Object.defineProperty({ generation }, 'type', { get: angry })],
    ['a generation that throws', Object.defineProperty({ type: 'output', text: 'text' }, 'generation', { get: angry })],
    ['output without text', { type: 'output', generation, text: 5 }],
    ['a generation that is a text', { type: 'prompt.accepted', generation: String(generation) }],
    ['a generation that is half', { type: 'prompt.accepted', generation: generation + 0.5 }],
    ['work without an id', { type: 'workload.started', generation, kind: 'subagent', workloadId: '' }],
    ['work of no kind', { type: 'workload.started', generation, kind: 'constructor', workloadId: 'w1' }],
    ['a tool call without an id', { type: 'tool.call', generation, status: 'running' }],
    ['a list that is none', { type: 'workload.snapshot', generation, workloads: 'none' }],
    ['an end with an id that is none', { type: 'workload.ended', generation, workloadId: { id: 'w1' } }],
    ['a question without an id', { type: 'permission.request', generation, requestId: null, kind: 'permission', options: [] }],
  ]);
  const [name, frame] = what;
  const isOfGeneration = typeof frame === 'object' && frame !== null && !name.startsWith('a generation') && 'generation' in frame;
  return { frame: frame as Frame, note: { type: 'garbage', generation: isOfGeneration ? generation : 0, what: name } };
}

/** The books of one provider: what it has told of, so that later frames can speak of it. */
export class ProviderFrames {
  readonly #works: Work[] = [];
  #ended: Work | null = null;
  readonly #calls: Call[] = [];
  readonly #generations: number[] = [];
  #count = 0;
  #lastCall: string | null = null;

  /** A prompt has come. */
  begin(generation: number): void {
    this.#generations.push(generation);
  }

  /** The frame of a deed; null: the word makes none, or there is nothing that it could speak of. */
  make(words: readonly string[], generation: number, random: Random): Said | null {
    if (words[0] === 'garble') return garbage(generation, random);
    const frame = this.#frame(words, generation, random);
    return frame === null ? null : saidOf(frame);
  }

  #frame([verb, how, more]: readonly string[], own: number, random: Random): Frame | null {
    const generation = this.#generation(how, own);
    switch (verb) {
      case 'accept':
        return { type: 'prompt.accepted', generation };
      case 'speak':
        if (how === 'thought') return { type: 'output', generation, text: 'hm', channel: 'thought' };
        if (how === 'child') return { type: 'output', generation, text: 'text', parentToolCallId: this.#lastCall ?? 'c0' };
        return { type: 'output', generation, text: how === 'empty' ? '' : 'text' };
      case 'tool':
        return this.#tool(how, more, generation);
      case 'launch':
        return this.#launch(how as WorkloadKind, more === 'called', generation);
      case 'finish':
        return this.#finish(how ?? 'exact', generation, random);
      case 'list':
        return this.#list(how ?? 'all', generation, random);
      case 'idle':
        return { type: 'foreground.idle', generation };
      case 'end':
        return { type: 'turn.ended', generation, stopReason: 'end_turn' };
      case 'ask': {
        const kind = how === 'clarification' ? how : 'permission';
        const options = [
          { optionId: 'yes', kind: 'allow_once' },
          { optionId: 'no', kind: 'reject_once' },
        ];
        return { type: 'permission.request', generation, requestId: this.nextId('q'), kind, options };
      }
      case 'use':
        if (how === 'odd') return odd({ type: 'usage', generation, usage: { input: -1, output: 'many', more: Number.NaN } });
        return { type: 'usage', generation, usage: { input: 1 + random.integer(100), output: 1 } };
      case 'can':
        if (how === 'odd') return odd({ type: 'capability', generation, handoff: 'yes', snapshot: 1 });
        return { type: 'capability', generation, handoff: how !== 'nothing', snapshot: how !== 'nothing' };
      default:
        return null;
    }
  }

  /** `stale`: of the prompt before this one, or one that never was. */
  #generation(how: string | undefined, own: number): number {
    if (how === 'nobody') return 0;
    if (how !== 'stale') return own;
    return this.#generations.findLast((generation) => generation !== own) ?? 1_000_000;
  }

  nextId(prefix: string): string {
    this.#count += 1;
    return `${prefix}${this.#count}`;
  }

  #tool(how: string | undefined, more: string | undefined, generation: number): Frame | null {
    if (how === 'end' || how === 'fail') {
      const call = this.#calls.pop();
      if (call === undefined) return null;
      const { toolCallId, work, ...rest } = call;
      if (work?.isDetached !== true) this.#forget((one) => one.toolCallId === toolCallId);
      const status = how === 'fail' ? 'failed' : 'completed';
      return { type: 'tool.update', generation, toolCallId, status, ...rest, hasOutput: how === 'end' };
    }
    if (how === 'on') {
      const call = this.#calls.at(-1);
      return call === undefined ? null : { type: 'tool.update', generation, toolCallId: call.toolCallId, status: 'running' };
    }
    const toolCallId = this.nextId('c');
    const parent = how === 'child' ? { parentToolCallId: this.#lastCall ?? 'c0' } : {};
    const work = how === undefined || how === 'child' ? null : { kind: how as WorkloadKind, isDetached: more === 'detached' };
    this.#calls.push({ toolCallId, work, ...parent });
    this.#lastCall = toolCallId;
    if (work !== null) this.#works.push({ workloadId: toolCallId, kind: work.kind, toolCallId });
    return { type: 'tool.call', generation, toolCallId, status: 'running', ...parent, ...(work === null ? {} : { work }) };
  }

  #launch(kind: WorkloadKind, isCalled: boolean, generation: number): Frame {
    const workloadId = this.nextId('w');
    const toolCallId = isCalled ? this.nextId('c') : null;
    this.#works.push({ workloadId, kind, toolCallId });
    return { type: 'workload.started', generation, kind, workloadId, ...(toolCallId === null ? {} : { toolCallId }) };
  }

  #finish(how: string, generation: number, random: Random): Frame | null {
    const type = 'workload.ended';
    if (how === 'wrong') return { type, generation, workloadId: 'w1000' };
    if (how === 'again') {
      const last = this.#ended;
      return last === null ? null : { type, generation, workloadId: last.workloadId, eventId: `e-${last.workloadId}` };
    }
    const index = this.#works.length === 0 ? -1 : random.integer(this.#works.length);
    const [work] = index === -1 ? [] : this.#works.splice(index, 1);
    if (work === undefined) return how === 'blind' ? { type, generation } : null;
    this.#ended = work;
    const eventId = `e-${work.workloadId}`;
    if (how === 'blind') return { type, generation, eventId };
    if (how === 'kind') return { type, generation, kind: work.kind, eventId };
    if (how === 'called' && work.toolCallId !== null) return { type, generation, toolCallId: work.toolCallId };
    return { type, generation, workloadId: work.workloadId, eventId };
  }

  #list(how: string, generation: number, random: Random): Frame {
    const type = 'workload.snapshot';
    if (how === 'odd')
      return odd({ type, generation, workloads: [null, { workloadId: 5 }, { workloadId: 'w1', kind: 'party' }, 7] });
    if (how === 'none') this.#works.length = 0;
    if (how === 'less' && this.#works.length > 0) this.#works.splice(random.integer(this.#works.length), 1);
    if (how === 'more') this.#works.push({ workloadId: this.nextId('w'), kind: 'shell', toolCallId: null });
    const workloads = this.#works.map(({ workloadId, kind, toolCallId }) => ({
      workloadId,
      ...(random.chance(0.7) ? { kind } : {}),
      ...(toolCallId === null ? {} : { toolCallId }),
    }));
    return { type, generation, workloads };
  }

  #forget(isOver: (work: Work) => boolean): void {
    const index = this.#works.findIndex(isOver);
    if (index !== -1) [this.#ended = null] = this.#works.splice(index, 1);
  }
}

/** What adapters with faults take for a frame. */
const odd = (frame: unknown): Frame => frame as Frame;

/** The frame as it is noted. */
export const saidOf = (frame: Frame): Said => ({ frame, note: frame as Said['note'] });
