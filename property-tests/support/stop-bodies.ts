/** Bodies for scenes in which somebody stops things: some heed their signal, some late or never, some have children; all note it in the ledger. */
import type { Executor, JobContext, JobOf } from '../../src/model/executor.ts';
import type { JobView } from '../../src/model/records.ts';
import type { SpawnOptions } from '../../src/model/requests.ts';
import { codeOf } from './session-scene.ts';
import { type Cue, cue } from './stop-agents.ts';
import { isBodyLive, type JobNote, type StopLedger } from './stop-ledger.ts';

export const KINDS = ['gate', 'strict', 'late', 'deaf', 'parent'] as const;
export type Kind = (typeof KINDS)[number];

/** What is asked for, and by what. */
export interface Wanted {
  readonly kind: Kind;
  readonly host: string;
  readonly caller: string | null;
  readonly wait: boolean;
  /** With an id of its own, which the engine has to look up first. */
  readonly isNamed: boolean;
}

export class StopBodies {
  readonly #ledger: StopLedger;
  readonly #cues = new Map<JobNote, Cue>();
  readonly #byJobId = new Map<string, JobNote>();
  /** Nobody waits any more. */
  readonly letGo = cue();

  constructor(ledger: StopLedger) {
    this.#ledger = ledger;
  }

  readonly executors: Readonly<Record<Kind, Executor>> = {
    gate: this.#executor('gate'),
    strict: this.#executor('strict'),
    late: this.#executor('late'),
    deaf: this.#executor('deaf'),
    parent: this.#executor('parent'),
  };

  /** Never rejects: what came of it is in the note. */
  async spawn(
    wanted: Wanted,
    by: { readonly spawn: (options: SpawnOptions) => Promise<JobView>; readonly parent: JobNote | null },
  ) {
    const { kind, host, caller, wait, isNamed } = wanted;
    const note = this.#ledger.spawned({ host, caller, wait, parent: by.parent });
    try {
      const view = await by.spawn({
        kind,
        sessionId: host,
        wait,
        input: { number: note.number },
        ...(caller === null ? {} : { callerSessionId: caller }),
        ...(isNamed ? { jobId: `named ${note.number}` } : {}),
      });
      note.jobId = view.jobId;
    } catch (error) {
      note.refused = codeOf(error);
    }
    note.isAnswered = true;
    return note;
  }

  /** One of the bodies at work returns. */
  release(which: number): void {
    const live = this.#ledger.jobs.filter(isBodyLive);
    const note = live[which % Math.max(1, live.length)];
    if (note !== undefined) this.#cueOf(note).give();
  }

  releaseJob(note: JobNote): void {
    this.#cueOf(note).give();
  }

  #cueOf(note: JobNote): Cue {
    const known = this.#cues.get(note) ?? cue();
    this.#cues.set(note, known);
    return known;
  }

  #executor(kind: Kind): Executor {
    return {
      capabilities: {
        abortable: kind !== 'deaf',
        killable: false,
        workload: kind === 'late' ? 'shell' : 'subagent',
        strictStart: kind === 'strict',
      },
      run: (job, context) => this.#run(kind, job, context),
      cancel: (jobId) => {
        const note = this.#byJobId.get(jobId);
        if (note !== undefined) note.cancels += 1;
      },
    };
  }

  async #run(kind: Kind, job: JobOf, context: JobContext): Promise<string> {
    const ledger = this.#ledger;
    const note = ledger.jobs[(job.input as { readonly number: number }).number] as JobNote;
    if (note.bodyAt !== null) ledger.problems.push(`the body of ${job.jobId} is called twice`);
    note.bodyAt = ledger.now;
    note.jobId = job.jobId;
    this.#byJobId.set(job.jobId, note);
    const toldToEnd = new Promise<never>((_, reject) => {
      context.signal.addEventListener('abort', () => {
        note.signalAt ??= ledger.now;
        reject(context.signal.reason);
      });
    });
    toldToEnd.catch(() => {});
    const enough = Promise.race([this.letGo.given, this.#cueOf(note).given]);
    try {
      if (kind === 'parent') await this.#haveChildren(note, context);
      await (kind === 'deaf' ? enough : Promise.race([enough, toldToEnd]));
      return 'done';
    } catch (error) {
      if (kind === 'late') for (let step = 0; step < 3; step++) await ledger.ticks.hop('a body');
      throw error;
    } finally {
      note.bodyEndedAt = ledger.now;
    }
  }

  /** Also when it was told to end: it is not the body's to know who refuses it. */
  async #haveChildren(note: JobNote, context: JobContext): Promise<void> {
    for (const kind of ['gate', 'late'] as const) {
      await this.#ledger.ticks.hop('a body');
      const wanted: Wanted = { kind, host: note.host, caller: null, wait: kind === 'late', isNamed: false };
      void this.spawn(wanted, { spawn: (options) => context.spawn(options), parent: note });
    }
  }
}
