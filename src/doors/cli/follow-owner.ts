/**
 * For verbs that go on looking: they use the folder's owner while there is one, and wait for the next when it has gone. They do not
 * keep the folder themselves: whoever then runs something should own it.
 */
import { isOffstageError } from '../../model/errors.ts';
import { readOwner } from '../../persistence/ownership.ts';
import { storeStamp } from '../../persistence/store-stamp.ts';
import type { Cli } from './cli.ts';
import { type Door, unfinished } from './open-door.ts';

const LOOK_EVERY_MS = 250;
/** An owner that ends its connections may hold the folder for another moment. */
const PAUSE_MS = 100;

export interface Visit {
  readonly door: Door;
  /** Resolves when this visit is over: the owner has gone, or, in a folder of our own, nothing is going on. */
  readonly over: Promise<void>;
}

/** Calls `visit` again and again, until the verb is interrupted. */
export async function followOwner(cli: Cli, visit: (visit: Visit) => Promise<void>): Promise<never> {
  for (let seen = ''; ; ) {
    await somethingNew(cli, seen);
    const door = await cli.door();
    const isTheirs = door.engine === null;
    try {
      await visit({ door, over: isTheirs ? door.client.ended : nothingGoesOn(door) });
    } catch (error) {
      if (!isOffstageError(error, 'control.lost') && !isOffstageError(error, 'engine.closing')) throw error;
    }
    await cli.letGo();
    if (isTheirs) await cli.pause(PAUSE_MS);
    // What an owner did last is still to be read; our own last look has shown everything.
    seen = isTheirs ? '' : await storeStamp(cli.dataDir);
  }
}

async function nothingGoesOn({ engine }: Door): Promise<void> {
  if (engine === null) return;
  while (unfinished(engine) > 0) {
    await new Promise<void>((resolve) => {
      const stop = engine.jobsModel.subscribe(() => {
        stop();
        resolve();
      });
    });
  }
}

/** Resolves when the folder has an owner, or its data are others than those seen. */
async function somethingNew(cli: Cli, seen: string): Promise<void> {
  while ((await readOwner(cli.dataDir)) === null && (await storeStamp(cli.dataDir)) === seen) await cli.pause(LOOK_EVERY_MS);
}
