/**
 * `events({after})`: what was missed, then what happens, without a gap between (spec 11).
 *
 * EVR1  Record events come in order, each once; a cursor older than the log gets one `resync`, then what is kept.
 * EVR2  A slow reader costs bounded memory: it is taken back to the log at its cursor, and misses volatile events only.
 * EVR3  Leaving the loop, or the engine's close, ends the subscription.
 */
import type { OffstageEvent } from '../model/events.ts';
import { LIMITS } from '../model/limits.ts';
import { oldestSeq, readEvents } from '../persistence/event-log.ts';
import type { Core } from './core.ts';
import { invalidInput } from './spawn-request.ts';

export interface EventsOptions {
  /** The `seq` of the last event seen; 0 replays all that is kept; absent: from now on. */
  readonly after?: number;
  readonly signal?: AbortSignal;
}

const isVolatile = (event: OffstageEvent): boolean => event.type === 'job.progress' || event.type === 'job.output';

export function readFrom(
  core: Core,
  options: EventsOptions,
  onClose: (end: () => void) => () => void,
): AsyncGenerator<OffstageEvent> {
  const { after, signal } = options;
  if (after !== undefined && (!Number.isSafeInteger(after) || after < 0))
    throw invalidInput('after', 'it must be an integer of 0 or more');
  // Subscribed at once, not at the first `next`: the caller's "from now on" is now.
  const buffer: OffstageEvent[] = [];
  let bufferedCharacters = 0;
  let isBehind = false;
  let hasEnded = false;
  let wake: (() => void) | null = null;
  const nudge = (): void => {
    wake?.();
    wake = null;
  };
  const stop = core.bus.subscribe((event) => {
    if (event.type === 'job.output') bufferedCharacters += event.text.length;
    if (buffer.length >= LIMITS.readerBuffer || bufferedCharacters > LIMITS.readerBufferCharacters) {
      isBehind = true;
      buffer.length = 0;
      bufferedCharacters = 0;
    }
    if (!isBehind) buffer.push(event);
    nudge();
  });
  const end = (): void => {
    hasEnded = true;
    nudge();
  };
  const forget = onClose(end);
  signal?.addEventListener('abort', end, { once: true });
  let cursor = after ?? core.loop.seq;

  async function* replay(): AsyncGenerator<OffstageEvent> {
    const oldest = await oldestSeq(core.store);
    // Nothing kept, or the oldest kept one comes later than the next one due: what lies between is gone.
    const first = oldest ?? core.loop.seq + 1;
    if (first > cursor + 1) {
      cursor = first - 1;
      yield { type: 'resync', seq: cursor, epoch: core.epoch, at: core.settings.clock.now() };
    }
    for await (const event of readEvents(core.store, cursor, core.epoch)) {
      // What is stored and not yet revealed comes with the bus.
      if (event.seq > core.loop.seq) return;
      if (hasEnded) return;
      cursor = event.seq;
      yield event;
    }
  }

  async function* follow(): AsyncGenerator<OffstageEvent> {
    try {
      if (after !== undefined && after < core.loop.seq) yield* replay();
      while (!hasEnded) {
        if (isBehind) {
          isBehind = false;
          yield* replay();
        }
        const batch = buffer.splice(0);
        bufferedCharacters = 0;
        for (const event of batch) {
          if (hasEnded && signal?.aborted === true) return;
          if (isVolatile(event)) {
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
      for (const event of buffer.splice(0)) if (isVolatile(event) || event.seq > cursor) yield event;
    } finally {
      stop();
      forget();
      signal?.removeEventListener('abort', end);
    }
  }
  return follow();
}
