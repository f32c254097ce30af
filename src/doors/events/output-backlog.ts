/**
 * How far the reader of a job's output is behind what the job prints; whoever runs the job may hold it back.
 *
 * OBL1  A reader that has gone, or a job without one, holds nobody back.
 */
import type { Offstage } from '../../engine/offstage.ts';
import { Room } from '../requests/room.ts';

/** Characters that may be on their way to a reader. */
const AHEAD = 1024 * 1024;

const backlogs = new WeakMap<object, Map<string, Set<OutputBacklog>>>();

/** Null while the job's readers keep up; else resolves when they have caught up. */
export function roomFor(offstage: object, jobId: string): Promise<void> | null {
  for (const backlog of backlogs.get(offstage)?.get(jobId) ?? []) {
    const room = backlog.room();
    if (room !== null) return room;
  }
  return null;
}

export class OutputBacklog {
  readonly #leave: () => void;
  #printed = 0;
  #sent = 0;
  readonly #room = new Room();

  constructor(offstage: Offstage, jobId: string) {
    const ofEngine = backlogs.get(offstage) ?? new Map<string, Set<OutputBacklog>>();
    backlogs.set(offstage, ofEngine);
    const ofJob = ofEngine.get(jobId) ?? new Set();
    ofEngine.set(jobId, ofJob.add(this));
    const stop = offstage.onEvent((event) => {
      if (event.type === 'job.output' && event.jobId === jobId) this.#printed = event.offset + event.text.length;
    });
    this.#leave = () => {
      stop();
      ofJob.delete(this);
      if (ofJob.size === 0 && ofEngine.get(jobId) === ofJob) ofEngine.delete(jobId);
    };
  }

  room(): Promise<void> | null {
    if (this.#printed - this.#sent <= AHEAD) return null;
    return this.#room.wait();
  }

  /** The reader has everything up to here. */
  sent(end: number): void {
    this.#sent = end;
    if (this.#printed - end <= AHEAD / 2) this.#room.make();
  }

  /** The reader has gone. */
  end(): void {
    this.#leave();
    this.#room.make();
  }
}
