/** What has happened to a job: its history without the line that tells how it stands now. */
import type { Offstage } from '../../src/engine/offstage.ts';
import type { Executors } from '../../src/model/executor.ts';
import type { HistoryEntry } from '../../src/model/records.ts';

export async function pastOf(offstage: Pick<Offstage<Executors>, 'history'>, jobId: string): Promise<readonly HistoryEntry[]> {
  return (await offstage.history(jobId)).filter(({ type }) => String(type) !== 'now');
}
