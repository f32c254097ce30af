/**
 * `--watch`: a list that follows what happens.
 *
 * LWT1  On a terminal the whole list is drawn again; elsewhere each change of a row is one line, and with `--json` one record.
 */
import type { OffstageEvent } from '../../model/events.ts';
import type { WireClient } from '../client/wire-client.ts';
import type { Cli } from './cli.ts';
import { followOwner } from './follow-owner.ts';
import type { Sink } from './terminal.ts';
import { WatchScreen } from './watch-screen.ts';

export interface WatchedList<Row> {
  /** Newest first. */
  readonly read: (client: WireClient) => Promise<readonly Row[]>;
  readonly idOf: (row: Row) => string;
  /** With the head of the table first. */
  readonly lines: (sink: Sink, rows: readonly Row[]) => readonly string[];
  /** What to say of an empty list. */
  readonly empty: string;
  /** What a change of is worth a line; default: all of the row. */
  readonly gist?: (row: Row) => string;
  /** Rows change without any event, such as those that fall quiet. */
  readonly changesByTime?: boolean;
}

const REFRESH_MS = 100;
/** Ages grow by themselves. */
const REDRAW_MS = 1_000;
const REREAD_MS = 5_000;

export async function watchList<Row>(cli: Cli, list: WatchedList<Row>): Promise<never> {
  const screen = new WatchScreen(cli.out);
  const shown = new Map<string, string>();
  let isFirst = true;
  const gist = cli.isJson || list.gist === undefined ? (row: Row): string => JSON.stringify(row) : list.gist;
  const lookAgainMs = screen.isRedrawn ? REDRAW_MS : list.changesByTime === true ? REREAD_MS : null;
  const show = async (rows: readonly Row[]): Promise<void> => {
    const changed = rows.filter((row) => shown.get(list.idOf(row)) !== gist(row));
    for (const row of changed) shown.set(list.idOf(row), gist(row));
    if (cli.isJson) {
      for (const row of changed.toReversed()) await cli.record(row);
    } else if (screen.isRedrawn) {
      await screen.draw(rows.length === 0 ? [list.empty] : list.lines(cli.out, rows));
    } else if (isFirst && rows.length === 0) {
      await cli.out.line(list.empty);
    } else if (changed.length > 0) {
      const [head = '', ...lines] = list.lines(cli.out, isFirst ? changed : changed.toReversed());
      for (const line of isFirst || shown.size === changed.length ? [head, ...lines] : lines) await cli.out.line(line);
    }
    isFirst = false;
  };
  if (!(await cli.hasStoreToList())) await show([]);
  return followOwner(cli, async ({ door: { client }, over }) => {
    const changes = new Changes(cli);
    await client.follow({}, ({ type }) => {
      if (!UNLISTED.has(type)) changes.note();
    });
    let isOver = false;
    void over.then(() => {
      isOver = true;
      changes.note();
    });
    while (!isOver) {
      await show(await list.read(client));
      await changes.next(lookAgainMs);
    }
    // Of our own folder, the last word; the owner's is read by the next visit.
    await show(await list.read(client));
  });
}

const UNLISTED: ReadonlySet<OffstageEvent['type']> = new Set(['job.output', 'session.output'] as const);

/** Changes of a short while count as one. */
class Changes {
  readonly #cli: Cli;
  #isNoted = false;
  #wake = (): void => {};

  constructor(cli: Cli) {
    this.#cli = cli;
  }

  note(): void {
    this.#isNoted = true;
    this.#wake();
  }

  /** Resolves with the next change, or after `lookAgainMs`; rejects when the verb is over. */
  async next(lookAgainMs: number | null): Promise<void> {
    if (!this.#isNoted) {
      const noted = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      await (lookAgainMs === null ? noted : Promise.race([noted, this.#cli.pause(lookAgainMs)]));
    }
    await this.#cli.pause(REFRESH_MS);
    this.#isNoted = false;
  }
}
