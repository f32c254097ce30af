/** One request on its way through the handler, and what an action is. */
import type { Offstage } from '../../engine/offstage.ts';
import type { JsonValue } from '../../model/json.ts';
import type { WireFields } from '../wire/rename.ts';
import type { Connection } from './connection.ts';
import type { RequestFields } from './request-fields.ts';
import type { Verbs } from './session-verbs.ts';

export interface Request {
  /** What the caller may do; of a session's token only what that session reaches. */
  readonly offstage: Verbs;
  /** The whole of it, for actions that narrow by themselves what the caller gets. */
  readonly engine: Offstage;
  readonly fields: RequestFields;
  readonly connection: Connection;
  /** Goes back with every answer; null when the request had none. */
  readonly requestId: JsonValue;
  /** For actions that wait: fires when the other side has gone. */
  readonly signal: AbortSignal;
}

/** Answers the fields of the result, or null when it has sent its answer itself. Rejects with an OffstageError. */
export type Action = (request: Request) => Promise<WireFields | null>;
