/**
 * The root of one engine's actor system: the supervisor, and under it one roster each that all job, session and task actors call their parent.
 *
 * ACT3  A throwing, rejecting or re-entering inspector harms no actor: XState would wedge the actor that is being inspected.
 * ACT4  A roster keeps nothing per child; XState's own list of children is copied on every spawn and never forgets.
 * ACT5  What the supervisor is told after its end is nothing: nobody counts any more, and XState complains about events to an actor that is done.
 */
import { type ActorRefFrom, createActor, fromTransition } from 'xstate';
import { type SupervisorEvent, supervisorMachine } from '../machines/supervisor.ts';
import type { Inspect } from '../model/options.ts';
import { settleQuietly } from '../model/settle-quietly.ts';

const rosterLogic = fromTransition((state: null) => state, null);

export type Roster = ActorRefFrom<typeof rosterLogic>;
export type SupervisorActor = ActorRefFrom<typeof supervisorMachine>;

export interface ActorSystem {
  readonly supervisor: SupervisorActor;
  readonly jobs: Roster;
  readonly sessions: Roster;
  readonly tasks: Roster;
  /** To the supervisor (ACT5). */
  tell(event: SupervisorEvent): void;
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
      settleQuietly(answer, onError);
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
  const rosterOf = (id: string): Roster => createActor(rosterLogic, { id, parent: supervisor }).start();
  return {
    supervisor,
    jobs: rosterOf('jobs'),
    sessions: rosterOf('sessions'),
    tasks: rosterOf('tasks'),
    tell(event) {
      if (supervisor.getSnapshot().status === 'active') supervisor.send(event);
    },
    // Rosters have nothing to stop, and XState stops only roots.
    stop: () => {
      supervisor.stop();
    },
  };
}
