/** Jobs, newest first, page by page, as many as are asked for. */
import { LIMITS } from '../../model/limits.ts';
import type { JobView } from '../../model/records.ts';
import type { WireClient } from '../client/wire-client.ts';
import type { WireFields } from '../rename.ts';
import { jobFromWire } from '../wire-names.ts';
import { rowsOf } from './cli.ts';

export async function* jobPages(client: WireClient, query: WireFields, limit: number): AsyncGenerator<readonly JobView[]> {
  let rest = limit;
  let before: WireFields = {};
  while (rest > 0) {
    const asked = Math.min(rest, LIMITS.listMaximum);
    const answer = await client.request('list_jobs', { ...query, ...before, limit: asked });
    const jobs = rowsOf(answer.tasks).map(jobFromWire);
    yield jobs;
    rest -= jobs.length;
    if (answer.next_before === null || answer.next_before === undefined || jobs.length === 0) return;
    before = { before: answer.next_before };
  }
}

export async function listJobs(client: WireClient, query: WireFields, limit: number): Promise<readonly JobView[]> {
  const all: JobView[] = [];
  for await (const page of jobPages(client, query, limit)) all.push(...page);
  return all;
}
