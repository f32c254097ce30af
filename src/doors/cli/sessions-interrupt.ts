/** `offstage sessions interrupt`: ends the open turn of a session, and says whether there was one. */
import { offstageError } from '../../model/errors.ts';
import type { Cli } from './cli.ts';
import { EXIT } from './exit-codes.ts';
import { printable } from './terminal.ts';

export async function sessionsInterrupt(cli: Cli, sessionId: string): Promise<number> {
  if (!(await cli.hasStore())) throw offstageError('session.not_found', { sessionId });
  const { changed } = await cli.persist(({ client }) => client.interrupt(sessionId));
  const id = printable(sessionId);
  if (cli.isJson) await cli.document({ changed });
  else await cli.out.line(changed ? `${id} was interrupted.` : `${id} has no open turn; nothing was changed.`);
  return EXIT.done;
}
