/**
 * `events({after})`: what was missed, then what happens, without a gap between (spec 11).
 *
 * EVR1  Record events come in order, each once; where some are gone, because the log begins later or has a gap, one `resync` says so.
 * EVR2  A slow reader costs bounded memory: it is taken back to the log at its cursor, and misses volatile events only. If activity, or
 *       what agents say, was among them, one `resync` says so: nothing else would ever tell. (The output of jobs has offsets.)
 * EVR3  Leaving the loop, or the engine's close, ends the subscription; where that cuts a replay short, the last event told is the last one.
 */
import { isVolatileEvent, type OffstageEvent } from '../model/events.ts';
import { LIMITS } from '../model/limits.ts';
import { readEvents } from '../persistence/event-log.ts';
import { checkSignal, namesOf, readOptions } from './check-options.ts';
import type { Core } from './core.ts';
import { onAbortOf } from './signal-fan.ts';
import { invalidInput } from './spawn-request.ts';

/** Where to begin, and when to end. */
export interface EventsOptions {
  /** The `seq` of the last event seen; 0 replays all that is kept; absent: from now on. */
  readonly after?: number;
  readonly signal?: AbortSignal;
}

const EVENTS_NAMES = namesOf<EventsOptions>({ after: true, signal: true });

export function readFrom(
  core: Core,
  options: EventsOptions | undefined,
  onClose: (end: () => void) => () => void,
): AsyncGenerator<OffstageEvent> {
  const given = readOptions('options', options, EVENTS_NAMES);
  const { after } = given;
  const signal = checkSignal('signal', given.signal);
  if (after !== undefined && (!Number.isSafeInteger(after) || after < 0))
    throw invalidInput('after', 'it must be an integer of 0 or more');
  // Subscribed at once, not at the first `next`: the caller's "from now on" is now.
  const buffer: OffstageEvent[] = [];
  let bufferedCharacters = 0;
  let isBehind = false;
  let hasMissed = false;
  let hasEnded = false;
  let wake: (() => void) | null = null;
  const nudge = (): void => {
    wake?.();
    wake = null;
  };
  const stop = core.bus.subscribe((event) => {
    if (event.type === 'job.output' || event.type === 'session.output') bufferedCharacters += event.text.length;
    if (buffer.length >= LIMITS.readerBuffer || bufferedCharacters > LIMITS.readerBufferCharacters) {
      isBehind = true;
      hasMissed ||= buffer.some(isPassing);
      buffer.length = 0;
      bufferedCharacters = 0;
    }
    if (!isBehind) buffer.push(event);
    else hasMissed ||= isPassing(event);
    nudge();
  });
  const end = (): void => {
    hasEnded = true;
    nudge();
  };
  const forget = onClose(end);
  let cursor = after ?? core.loop.seq;

  /** What lies between the cursor and `seq` cannot be told any more. */
  const resyncTo = (seq: number): OffstageEvent => {
    cursor = seq;
    return { type: 'resync', seq, epoch: core.epoch, at: core.settings.clock.now() };
  };

  /** A replay that the end has cut short is not taken up again: nothing is told from behind what is missing. */
  const isBeyond = (event: OffstageEvent): boolean => event.seq > (isVolatileEvent(event) ? cursor : cursor + 1);

  async function* replay(): AsyncGenerator<OffstageEvent> {
    const until = core.loop.seq;
    try {
      for await (const event of readEvents(core.store, cursor, core.epoch)) {
        // What is stored and not yet revealed comes with the bus.
        if (event.seq > until || hasEnded) break;
        if (event.seq !== cursor + 1) yield resyncTo(event.seq - 1);
        cursor = event.seq;
        yield event;
      }
    } catch (error) {
      // With the engine its store has closed: that is the end, and no failure.
      if (!hasEnded) throw error;
    }
    if (cursor < until && !hasEnded) yield resyncTo(until);
  }

  async function* follow(): AsyncGenerator<OffstageEvent> {
    try {
      // A cursor from the future belongs to another store.
      if (cursor > core.loop.seq) yield resyncTo(core.loop.seq);
      else if (after !== undefined && !hasEnded) yield* replay();
      while (!hasEnded) {
        if (isBehind) {
          isBehind = false;
          yield* replay();
          if (hasMissed) {
            hasMissed = false;
            yield resyncTo(cursor);
          }
        }
        const batch = buffer.splice(0);
        bufferedCharacters = 0;
        for (const event of batch) {
          if (hasEnded && (signal?.aborted === true || isBeyond(event))) return;
          if (isVolatileEvent(event)) {
            yield event;
          } else if (event.seq > cursor) {
            cursor = event.seq;
            yield event;
          }
        }
        if (batch.length > 0 || isBehind) continue;
        if (hasEnded) return;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      for (const event of buffer.splice(0)) {
        if (isBeyond(event)) return;
        if (!isVolatileEvent(event)) {
          if (event.seq <= cursor) continue;
          cursor = event.seq;
        }
        yield event;
      }
    } finally {
      leave();
    }
  }
  // Also without anybody who reads on: an aborted reader buffers nothing.
  const abort = (): void => {
    end();
    leave();
  };
  const stopListening = signal === undefined || signal.aborted ? null : onAbortOf(signal, abort);
  const leave = (): void => {
    stop();
    forget();
    stopListening?.();
  };
  if (signal?.aborted === true) abort();
  // A generator that was never asked for anything runs no `finally`, and one that waits does not hear of `return`.
  const iterator = follow();
  const finish = iterator.return.bind(iterator);
  iterator.return = (value) => {
    end();
    leave();
    return finish(value);
  };
  return iterator;
}

/** Said once, and kept nowhere. */
const isPassing = (event: OffstageEvent): boolean => isVolatileEvent(event) && !event.type.startsWith('job.');
