/** Keys, and what the pictures mean. */
import type { JSX } from 'preact';
import { StateIcon } from '../icons.tsx';
import { STATES, type StateKey } from '../model/states.ts';
import { Modal } from './dialogs.tsx';

const KEYS = [
  ['j, k or arrows', 'Next, previous row'],
  ['Right, left', 'Open, close a row'],
  ['Home, End, PgUp, PgDn', 'Far steps'],
  ['Enter', 'Show the row'],
  ['x', 'Mark a job'],
  ['c', 'Cancel the job, or the marked ones'],
  ['/', 'Search'],
  ['?', 'This help'],
] as const;

export function Help(): JSX.Element {
  return (
    <Modal title="Help">
      <h3>Keys, while the list has the focus</h3>
      <dl class="keys">
        {KEYS.map(([key, words]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{words}</dd>
          </div>
        ))}
      </dl>
      <h3>States, in their order</h3>
      <ul class="legend">
        {(Object.keys(STATES) as StateKey[]).map((state) => (
          <li key={state}>
            <StateIcon state={state} of="legend" isMute /> {STATES[state].label}
          </li>
        ))}
      </ul>
    </Modal>
  );
}
