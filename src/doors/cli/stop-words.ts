/**
 * What a stop found and did, in words.
 *
 * SWD1  The last line counts everything, also what the lines above leave out; what may still be running, has failed or could not be read is
 *       never left out.
 */
import type { LiveWork, StopEntry, StopReport } from '../../model/stop.ts';
import { clipped, printable } from './terminal.ts';
import { counted } from './words.ts';

type List = Exclude<keyof StopReport, 'durable' | 'sourceError'>;
/** Some of the lists of a report, or all of them. */
export type StopLists = Partial<Pick<StopReport, List>>;

interface Part {
  readonly heading: string;
  /** Where it differs: the heading while they have not been seen to end. */
  readonly early?: string;
  readonly tally: (count: number) => string;
  readonly earlyTally?: (count: number) => string;
  readonly isShownWhole: boolean;
}

const PARTS: Readonly<Record<List, Part>> = {
  stopped: {
    heading: 'Stopped:',
    early: 'Told to end:',
    tally: (count) => `${count} stopped`,
    earlyTally: (count) => `${count} told to end`,
    isShownWhole: false,
  },
  recovered: {
    heading: 'Recovered: stopped, although by the record they were over:',
    early: 'Recovered: told to end, although by the record they are over:',
    tally: (count) => `${count} recovered`,
    isShownWhole: false,
  },
  alreadyStopping: {
    heading: 'Stopping already, by an earlier request; they have ended:',
    early: 'Stopping already, by an earlier request:',
    tally: (count) => `${count} stopped by an earlier request`,
    earlyTally: (count) => `${count} stopping already`,
    isShownWhole: false,
  },
  detached: {
    heading: 'May still be running: told to end, and not seen to:',
    tally: (count) => `${count} may still be running`,
    isShownWhole: true,
  },
  absent: {
    heading: 'Nothing was running here, and nothing was changed:',
    tally: (count) => `${count} with nothing running`,
    isShownWhole: false,
  },
  failed: {
    heading: 'Failed: could not be stopped, or nobody can say whether they run:',
    tally: (count) => `${count} failed`,
    isShownWhole: true,
  },
  loadErrors: {
    heading: 'Their records could not be read; what was known to run was told to end all the same:',
    tally: (count) => `${counted(count, 'record')} could not be read`,
    isShownWhole: true,
  },
};

const SHOWN = 20;
const ID_CHARACTERS = 40;
const ALL = Object.keys(PARTS) as readonly List[];

const shownOf = (lists: StopLists, list: List): readonly StopEntry[] =>
  (lists[list] ?? []).slice(0, PARTS[list].isShownWhole ? undefined : SHOWN);

const idOf = (id: string): string => clipped(printable(id), ID_CHARACTERS);

function nameOf({ jobId, executionId }: StopEntry): string {
  if (jobId !== undefined) return `job ${idOf(jobId)}`;
  return executionId === undefined ? 'session' : `agent ${idOf(executionId)}`;
}

/** Jobs of which a line tells. */
export const jobsShown = (lists: StopLists): readonly string[] =>
  ALL.flatMap((list) => shownOf(lists, list)).flatMap(({ jobId }) => (jobId === undefined ? [] : [jobId]));

export interface StopLinesOptions {
  /** False: as of the scheduling, when nothing has been seen to end yet. */
  readonly isSettled: boolean;
  /** By the id of the job. */
  readonly subjects?: ReadonlyMap<string, string>;
}

/** A line for each, under what came of it. */
export function stopLines(lists: StopLists, { isSettled, subjects }: StopLinesOptions): readonly string[] {
  const all = ALL.flatMap((list) => shownOf(lists, list));
  const sessionWidth = Math.max(0, ...all.map(({ sessionId }) => idOf(sessionId).length));
  const nameWidth = Math.max(0, ...all.map((entry) => nameOf(entry).length));
  const lineOf = (entry: StopEntry): string => {
    const subject = entry.jobId === undefined ? undefined : subjects?.get(entry.jobId);
    const known = [subject, entry.error?.message].filter((text) => text !== undefined).map(printable);
    return `  ${idOf(entry.sessionId).padEnd(sessionWidth)}  ${nameOf(entry).padEnd(nameWidth)}  ${known.join(': ')}`.trimEnd();
  };
  return ALL.flatMap((list) => {
    const count = lists[list]?.length ?? 0;
    if (count === 0) return [];
    const { heading, early } = PARTS[list];
    const shown = shownOf(lists, list);
    const more = count > shown.length ? [`  and ${count - shown.length} more`] : [];
    return [isSettled ? heading : (early ?? heading), ...shown.map(lineOf), ...more];
  });
}

/** "2 stopped, 1 may still be running." */
export function stopTally(lists: StopLists, { isSettled }: Pick<StopLinesOptions, 'isSettled'>): string {
  const parts = ALL.flatMap((list) => {
    const count = lists[list]?.length ?? 0;
    const { tally, earlyTally } = PARTS[list];
    return count === 0 ? [] : [(isSettled ? tally : (earlyTally ?? tally))(count)];
  });
  return `${parts.join(', ')}.`;
}

/** "2 agents are generating, 1 session works in the background, 3 jobs have not ended." */
export function liveWorkInWords({ generating, background, activeSubagentCount, jobs }: LiveWork): string {
  const parts = [
    [generating, 'agent is generating', 'agents are generating'],
    [background, 'session works in the background', 'sessions work in the background'],
    [activeSubagentCount, 'subagent is at work', 'subagents are at work'],
    [jobs, 'job has not ended', 'jobs have not ended'],
  ] as const;
  const said = parts.flatMap(([count, one, more]) => (count === 0 ? [] : [counted(count, one, more)]));
  return said.length === 0 ? 'Something of it still lives.' : `${said.join(', ')}.`;
}
