/** All that a job has printed, over a connection of its own: the one that carries events may be waiting for the reader of this. */
import type { Cli } from './cli.ts';

export async function readWholeOutput(cli: Cli, jobId: string): Promise<string> {
  const client = await cli.another();
  try {
    let whole = '';
    await client.request('get_output', { job_id: jobId, parts: true }, (text) => {
      whole += text;
    });
    return whole;
  } finally {
    client.close();
  }
}
