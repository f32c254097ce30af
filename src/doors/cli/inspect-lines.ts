/** Frames of the inspector as lines for people: which state each actor has left for which, and why. */
import type { JsonValue } from '../../model/json.ts';
import type { WireFields } from '../wire/rename.ts';
import { printable, type Sink } from './terminal.ts';
import { timeInWords } from './words.ts';

interface Shown {
  readonly name: string;
  readonly state: string;
}

export class InspectLines {
  readonly #sink: Sink;
  /** By XState's ids, which are good for one connection. */
  readonly #actors = new Map<string, Shown>();
  readonly #ended = new Set<string>();

  constructor(sink: Sink) {
    this.#sink = sink;
  }

  /** Null: nothing to say of it. */
  take(frame: WireFields): string | null {
    const { type, sessionId, snapshot } = frame;
    if (typeof sessionId !== 'string' || !isFields(snapshot)) return null;
    const state = stateInWords(snapshot.value);
    if (state === '') return null;
    if (type === '@xstate.actor') {
      const name = printable(String(frame.name));
      this.#actors.set(sessionId, { name, state });
      return this.#line(frame, name, state);
    }
    const before = this.#actors.get(sessionId);
    if (before === undefined) return null;
    this.#note(sessionId, before, { state, isOver: snapshot.status !== 'active' });
    if (state === before.state) return null;
    const event = isFields(frame.event) ? String(frame.event.type).replaceAll(/[._]/g, ' ') : '';
    return this.#line(frame, before.name, `${before.state} -> ${state}  ${this.#sink.paint('dim', `(${printable(event)})`)}`);
  }

  /** Whether the job was seen to end. */
  hasEnded(jobId: string): boolean {
    return this.#ended.has(`job ${printable(jobId)}`);
  }

  #note(id: string, { name }: Shown, { state, isOver }: { readonly state: string; readonly isOver: boolean }): void {
    if (!isOver) {
      this.#actors.set(id, { name, state });
      return;
    }
    this.#actors.delete(id);
    // Only the last ones: whoever asks, asks at once.
    this.#ended.clear();
    this.#ended.add(name.split(' ').slice(0, 2).join(' '));
  }

  #line({ createdAt }: WireFields, name: string, text: string): string {
    return `${this.#sink.paint('dim', timeInWords(Number(createdAt)))}  ${name}  ${text}`;
  }
}

/** `queued`; `running.active`; `foreground.idle + background.none`. */
export function stateInWords(value: JsonValue | undefined): string {
  if (typeof value === 'string') return value;
  if (!isFields(value)) return '';
  return Object.entries(value)
    .map(([region, inner]) => `${region}.${stateInWords(inner)}`)
    .join(' + ');
}

const isFields = (value: JsonValue | undefined): value is WireFields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
