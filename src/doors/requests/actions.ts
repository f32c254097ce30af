/**
 * Every action by name. Each is declared in `action-schemas.ts`; the compiler asks for both.
 */

import { getSnapshot } from '../events/snapshot-wire.ts';
import { subscribe } from '../events/subscribe.ts';
import type { ActionName } from './action-schemas.ts';
import { CARD_ACTIONS } from './card-actions.ts';
import { JOB_ACTIONS } from './job-actions.ts';
import type { Action } from './request.ts';
import { ROW_ACTIONS } from './row-actions.ts';
import { SERVER_ACTIONS } from './server-actions.ts';
import { SESSION_ACTIONS } from './session-actions.ts';
import { STOP_ACTIONS } from './stop-actions.ts';

export const ACTIONS: Readonly<Record<ActionName, Action>> = {
  ...JOB_ACTIONS,
  ...SESSION_ACTIONS,
  ...ROW_ACTIONS,
  ...STOP_ACTIONS,
  ...CARD_ACTIONS,
  ...SERVER_ACTIONS,
  get_snapshot: getSnapshot,
  subscribe,
};
