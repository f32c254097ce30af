/**
 * Interrupt: ends the foreground turn of a session, and the jobs that turn waits for; background work goes on (liveness 3).
 *
 * IRP1  Without an open turn it changes nothing, and leaves nothing behind for the next one.
 * IRP2  With a `promptId` only the turn of that prompt is ended; one that waits, or is over, is left alone.
 * IRP3  Only foreground jobs of the session are cancelled, and only those that no job of their own waits for.
 */
import { offstageError } from '../model/errors.ts';
import type { Changed, InterruptOptions } from '../model/session-requests.ts';
import type { Canceller } from './canceller.ts';
import { namesOf, readOptions } from './check-options.ts';
import type { Core } from './core.ts';
import type { LiveSession } from './live-session.ts';
import type { OpenPrompt } from './open-prompt.ts';
import type { Sessions } from './sessions.ts';
import { checkId } from './spawn-request.ts';
import type { Turns } from './turns.ts';
import { isForegroundJob } from './workload-rules.ts';

const MESSAGE = 'somebody interrupted it';

const INTERRUPT_NAMES = namesOf<InterruptOptions>({ promptId: true });

export class Interrupts {
  readonly #core: Core;
  readonly #host: { readonly sessions: Sessions; readonly turns: Turns; readonly canceller: Canceller };

  constructor(core: Core, host: { readonly sessions: Sessions; readonly turns: Turns; readonly canceller: Canceller }) {
    this.#core = core;
    this.#host = host;
  }

  /** Resolves once the cancels of its foreground jobs are durable. @throws OffstageError `session.not_found`, `engine.closing` */
  async interrupt(sessionId: string, given?: InterruptOptions): Promise<Changed> {
    const options = readOptions('options', given, INTERRUPT_NAMES);
    const promptId = options.promptId === undefined ? null : checkId('promptId', options.promptId);
    this.#core.assertOpen();
    const session = this.#core.liveness.find(checkId('sessionId', sessionId));
    if (session === null) {
      await this.#host.sessions.get(sessionId);
      return { changed: false };
    }
    // In the tick of the call: what begins later is not what was meant.
    const { turns } = this.#host;
    const prompts = speaking(session).filter(({ request }) => promptId === null || request.promptId === promptId);
    const byProvider = promptId === null && turns.interruptProvider(session);
    if (prompts.length === 0 && !byProvider) return { changed: false };
    for (const prompt of prompts) {
      if (prompt === session.claimant && !prompt.isDispatched)
        prompt.abort(offstageError('prompt.interrupted', { message: MESSAGE }));
      else turns.interrupt(session, prompt, MESSAGE);
    }
    const isStored = await this.#cancelForegroundJobs(session);
    return isStored ? { changed: true } : { changed: true, durable: false };
  }

  /** Resolves with whether that is stored, or the store refuses for now. */
  #cancelForegroundJobs(session: LiveSession): Promise<boolean> {
    const { canceller } = this.#host;
    const jobs = [...(session.record?.jobs.own ?? [])].filter(isForegroundJob);
    const changes = canceller.decide(jobs, { code: 'cancel.caller_gone', reason: 'the turn that waited for it was interrupted' });
    if (changes.length === 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      this.#core.submit({ changes, acknowledge: resolve, effects: () => canceller.runEffectsOf(changes) });
    });
  }
}

/** The prompts that have the foreground: on their way, or open and not yielded. */
function speaking({ claimant, record, prompts }: LiveSession): readonly OpenPrompt[] {
  const open = (record?.context.turns ?? []).flatMap((turn) => {
    const prompt = turn.hasYielded ? undefined : prompts.get(turn.generation);
    return prompt === undefined || prompt.hasEnded ? [] : [prompt];
  });
  return claimant === null || open.includes(claimant) ? open : [...open, claimant];
}
