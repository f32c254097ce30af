/** A job that has ended, and that nothing in this process hangs on any more, as outsiders see it. */
import type { JobView } from '../model/records.ts';
import { type StoredJob, toRecord } from '../persistence/job-codec.ts';

const AT_REST = { bodyLive: false, progress: null, partialText: null } as const;

// Added to the record's own object: a copy of it would double the price of a list.
export const storedView = (job: StoredJob): JobView => Object.assign(toRecord(job.base, job.snapshot, job.revision), AT_REST);
