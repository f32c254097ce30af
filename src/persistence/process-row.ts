/** How a process that must be found again after a crash lies in the store. */
import type { ProcessRecord } from '../model/records.ts';

/** What lies under `x/`; null when it is no such record. */
export function readProcessRecord(value: string): ProcessRecord | null {
  let row: unknown;
  try {
    row = JSON.parse(value);
  } catch {
    return null;
  }
  if (typeof row !== 'object' || row === null || typeof (row as Partial<ProcessRecord>).executionId !== 'string') return null;
  // Rows of earlier releases belong to jobs, and name no session.
  return { sessionId: null, jobId: null, ...(row as Omit<ProcessRecord, 'sessionId' | 'jobId'>) };
}
