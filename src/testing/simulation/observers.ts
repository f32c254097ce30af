/**
 * Observers of a simulated engine: one that only notes, and others that throw, call back into the engine, or read slowly.
 *
 * OBS1  Each notes what it is told before it does anything else.
 */
import type { Offstage } from '../../engine/offstage.ts';
import type { OffstageEvent } from '../../model/events.ts';
import type { Executors } from '../../model/executor.ts';
import { isTerminal } from '../../model/records.ts';
import { type Random, random } from './random.ts';
import type { Life, Names } from './stage.ts';

/** What an observer does when it is told. */
export type ObserverManner = 'notes' | 'throws' | 'rejects' | 'calls-back' | 'unsubscribes';

export const MANNERS: readonly ObserverManner[] = ['notes', 'throws', 'rejects', 'calls-back', 'unsubscribes'];

/** The honest one: number 0, from the first event on. */
export function watch(life: Life, offstage: Offstage<Executors>): void {
  offstage.onEvent((event) => life.note({ type: 'told', observer: 0, event }));
}

/** Each event that it causes is told to it: without a limit it would go on for ever. */
const MOST_CALLS = 12;

interface Attached {
  readonly life: Life;
  readonly offstage: Offstage<Executors>;
  readonly jobs: Names;
  readonly random: Random;
}

/** One more, by a callback, a subscription or a reader, with manners by chance. */
export function attachObserver({ life, offstage, jobs, random: dice }: Attached): void {
  const observer = life.nextNumber('observer');
  const how = dice.pick(['onEvent', 'events$', 'events'] as const);
  // What a subscriber of a stream returns is nobody's business but its own.
  const manner = dice.pick(how === 'events$' ? MANNERS.filter((one) => one !== 'rejects') : MANNERS);
  let detach = (): void => {};
  let calls = 0;
  const tell = (event: OffstageEvent): unknown => {
    life.note({ type: 'told', observer, event });
    switch (manner) {
      case 'throws':
        throw new Error(`observer ${observer}`);
      case 'rejects':
        return Promise.reject(new Error(`observer ${observer}, later`));
      case 'calls-back':
        calls += 1;
        if (calls > MOST_CALLS) return undefined;
        // What it prints is told at once: in the middle of what it is told itself.
        if (event.type === 'job.status' && event.status === 'running') printFor(offstage, event.jobId, observer);
        if (event.type === 'job.status' && isTerminal(event.status)) waitAtOnce(life, offstage, event.jobId);
        return callBack({ life, offstage, jobs, random: random(life.seed, 'observer', observer, event.seq, event.type) });
      case 'unsubscribes':
        detach();
        life.note({ type: 'detached', observer, how });
        return undefined;
      case 'notes':
        return undefined;
    }
  };
  life.note({ type: 'attached', observer, how });
  if (how === 'onEvent') detach = offstage.onEvent(tell as (event: OffstageEvent) => void);
  else if (how === 'events$') {
    const subscription = offstage.events$.subscribe((event) => void tell(event));
    detach = () => subscription.unsubscribe();
  } else {
    // Some have missed something, and begin before what is live.
    const { seq } = offstage.doors;
    const after = Math.max(life.openedAt, seq - dice.integer(30));
    const reader = offstage.events(dice.chance(0.5) ? { after } : {});
    detach = () => void reader.return?.(undefined);
    void read(life, reader, tell);
  }
}

/** Reads with pauses, as a slow connection does; a reader that throws has ended. */
async function read(life: Life, reader: AsyncIterable<OffstageEvent>, tell: (event: OffstageEvent) => unknown): Promise<void> {
  try {
    for await (const event of reader) {
      await tell(event);
      await life.hop('reader');
    }
  } catch {
    // Its own throw, or the end of the engine.
  }
}

/** In the very instant of the end. */
function waitAtOnce(life: Life, offstage: Offstage<Executors>, jobId: string): void {
  void life.call('wait', [jobId, { timeoutMs: null }], () => offstage.wait(jobId, { timeoutMs: null }), { who: 'observer' });
}

function printFor(offstage: Offstage<Executors>, jobId: string, observer: number): void {
  try {
    offstage.contextOf(jobId).output(`observer ${observer} has seen it\n`);
  } catch {
    // Its body has not begun, or is over.
  }
}

/** What a careless observer does in the middle of being told. */
function callBack({ life, offstage, jobs, random: dice }: Attached): void {
  const by = { who: 'observer' } as const;
  const some = jobs.pick(dice) ?? 'nobody';
  switch (dice.integer(8)) {
    case 0:
      void life.call(
        'spawn',
        [{ kind: 'sim.plain', subject: 'seen' }],
        () => offstage.spawn({ kind: 'sim.plain', subject: 'seen' }),
        by,
      );
      return;
    case 1:
      void life.cancel(some, by);
      return;
    case 2:
      void life.call('get', [some], () => offstage.get(some), by);
      return;
    case 3:
      void life.call('wait', [some, { timeoutMs: 0 }], () => offstage.wait(some, { timeoutMs: 0 }), by);
      return;
    default:
  }
}
