/** What is kept of a job's output, over a connection of its own: the one that carries events may be waiting for the reader of this. */
import type { OutputPiece } from '../../engine/output-log.ts';
import type { Cli } from './cli.ts';

export async function readOutput(cli: Cli, jobId: string): Promise<readonly OutputPiece[]> {
  const client = await cli.another();
  try {
    const pieces: OutputPiece[] = [];
    await client.readOutput(jobId, {}, (text, offset) => {
      pieces.push({ offset, text });
    });
    return pieces;
  } finally {
    client.close();
  }
}
