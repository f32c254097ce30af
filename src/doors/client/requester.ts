/** What verbs are said to: something that asks the other side, and settles with its answer. */
import type { WireFields } from '../wire/rename.ts';

/** Gets a piece of a long answer, and where it stands in it. */
export type OnPart = (text: string, offset: number) => Promise<void> | void;

export interface Requester {
  /**
   * Any action of spec 13, by the words of the wire.
   * @param onPart gets the text of frames that come before the answer; the next one waits for the promise it returns
   * @throws OffstageError whatever the other side answers; `control.lost` when the connection went before the answer
   */
  request(action: string, fields?: WireFields, onPart?: OnPart): Promise<WireFields>;
}
