/**
 * The root of one engine's actor system: the supervisor, and under it the roster that all job actors call their parent.
 *
 * ACT3  A throwing, rejecting or re-entering inspector harms no actor: XState would wedge the actor that is being inspected.
 * ACT4  The roster keeps nothing per job; XState's own list of children is copied on every spawn and never forgets.
 */
import { type ActorRefFrom, createActor, fromTransition } from 'xstate';
import { supervisorMachine } from '../machines/supervisor.ts';
import type { Inspect } from '../model/options.ts';

const rosterLogic = fromTransition((state: null) => state, null);

export type JobRoster = ActorRefFrom<typeof rosterLogic>;
export type SupervisorActor = ActorRefFrom<typeof supervisorMachine>;

export interface ActorSystem {
  readonly supervisor: SupervisorActor;
  readonly roster: JobRoster;
  stop(): void;
}

export interface ActorSystemOptions {
  readonly workers: number | null;
  readonly perSessionLimit: number | null;
  readonly inspect?: Inspect | undefined;
  readonly onInspectError: (error: unknown) => void;
}

/** Wraps a foreign observer so that nothing it does reaches the caller. */
export function fenceInspect(inspect: Inspect, onError: (error: unknown) => void): Inspect {
  return (event) => {
    try {
      const answer: unknown = inspect(event);
      if (answer instanceof Promise) answer.catch(onError);
    } catch (error) {
      onError(error);
    }
  };
}

export function startActorSystem(options: ActorSystemOptions): ActorSystem {
  const supervisor = createActor(supervisorMachine, {
    id: 'supervisor',
    input: { workers: options.workers, perSessionLimit: options.perSessionLimit },
    ...(options.inspect === undefined ? {} : { inspect: fenceInspect(options.inspect, options.onInspectError) }),
  });
  supervisor.start();
  const roster = createActor(rosterLogic, { id: 'jobs', parent: supervisor });
  roster.start();
  return {
    supervisor,
    roster,
    // The roster has nothing to stop, and XState stops only roots.
    stop: () => {
      supervisor.stop();
    },
  };
}
