/** Icons as inline SVG, drawn on 16 by 16; every state has a shape of its own, so that colour is never alone. */
import type { JSX } from 'preact';
import { STATES, type StateKey } from './model/states.ts';

const PATHS = {
  chevron: 'M6 4l4 4-4 4',
  close: 'M4 4l8 8M12 4l-8 8',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.6 10.6L14 14',
  warning: 'M8 2L1.5 13.5h13zM8 6.5v3.2M8 11.6v.2',
  // States.
  permission: 'M8 1.8l5 1.9v3.8c0 3-2 5.5-5 6.7-3-1.2-5-3.7-5-6.7V3.7zM8 5v3.4M8 10.6v.2',
  clarification: 'M2.5 3h11v7.5H8L5 13.5v-3H2.5zM6.6 5.6a1.5 1.5 0 1 1 1.9 1.4c-.4.1-.5.4-.5.7M8 9v.1',
  queued: 'M8 14a6 6 0 1 0 0-12 6 6 0 0 0 0 12zM8 4.6V8l2.3 1.6',
  errored: 'M8 14a6 6 0 1 0 0-12 6 6 0 0 0 0 12zM6 6l4 4M10 6l-4 4',
  cancelled: 'M8 14a6 6 0 1 0 0-12 6 6 0 0 0 0 12zM3.8 12.2l8.4-8.4',
  completed: 'M8 14a6 6 0 1 0 0-12 6 6 0 0 0 0 12zM5.3 8.2l1.9 1.9 3.5-3.9',
  idle: 'M8 13.2a5.2 5.2 0 1 0 0-10.4 5.2 5.2 0 0 0 0 10.4z',
  ring: 'M8 14a6 6 0 1 0 0-12 6 6 0 0 0 0 12z',
} as const;

export type IconName = keyof typeof PATHS;

type IconProps = { readonly name: IconName; readonly path?: never } | { readonly name?: never; readonly path: string };

/** @param path of an icon that is none of these */
export const Icon = ({ name, path = PATHS[name as IconName] }: IconProps): JSX.Element => (
  <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
    <path d={path} />
  </svg>
);

const RINGS: ReadonlySet<StateKey> = new Set(['generating', 'background-running', 'cancelling']);

/**
 * The state of a thing as a picture with a name. Generating has a dot in its ring, being cancelled a square.
 * @param of makes the hook for tests: `task-state-background-running`
 */
export function StateIcon({
  state,
  of,
  isMute,
}: {
  readonly state: StateKey;
  readonly of: string;
  readonly isMute?: boolean;
}): JSX.Element {
  const { label } = STATES[state];
  return (
    <span
      class={`state ${of}-state-${state}`}
      data-state={state}
      data-testid={`${of}-state-${state}`}
      {...(isMute ? { 'aria-hidden': true } : { role: 'img', 'aria-label': label, title: label })}
    >
      <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
        {RINGS.has(state) ? (
          <>
            <path class="ring" d={PATHS.ring} />
            {state === 'generating' && <circle class="core" cx="8" cy="8" r="2.4" />}
            {state === 'cancelling' && <path class="core" d="M6 6h4v4H6z" />}
          </>
        ) : (
          <path d={PATHS[state as keyof typeof PATHS]} />
        )}
      </svg>
    </span>
  );
}
