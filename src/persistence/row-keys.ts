/**
 * Where everything lies. One place for all keys, so that ranges can be seen not to overlap.
 *
 * LAY1  Live and finished jobs lie apart: open reads what lives, lists read what is finished, neither pays for the other.
 * LAY2  Ids stand in keys only encoded; no id reaches into another range.
 * LAY3  Every range that is read in reverse has a permanent key at its upper bound: without it, LevelDB walks through deleted neighbours.
 */
import { encodeId, encodeOrdinal } from './key-encoding.ts';

/** Sorts after every encoded id and ordinal. */
const END = '~';

export const KEYS = {
  /** Format of the whole store. */
  format: '!format',
  /** Last sequence number and ordinal given, as of the last batch. */
  head: '!head',
  /** No live job has a lower ordinal. */
  low: '!low',

  live: (ordinal: number) => `l/${encodeOrdinal(ordinal)}`,
  finished: (ordinal: number) => `f/${encodeOrdinal(ordinal)}`,
  /** Input and description of a job, where they are large. */
  large: (ordinal: number) => `b/${encodeOrdinal(ordinal)}`,
  /** What a finished job has printed, as far as it was kept in memory. */
  output: (ordinal: number) => `y/${encodeOrdinal(ordinal)}`,
  /** jobId → ordinal and content hash, or `EXPIRED`. */
  id: (jobId: string) => `i/${encodeId(jobId)}`,
  /** Tombstones in the order they were made. */
  tombstone: (ordinal: number) => `t/${encodeOrdinal(ordinal)}`,
  /** The jobs a session hosts or dispatched. */
  sessionJob: (sessionId: string, ordinal: number) => `s/${encodeId(sessionId)}/${encodeOrdinal(ordinal)}`,
  /** One segment of events per batch, by its first sequence number. */
  events: (firstSeq: number) => `e/${encodeOrdinal(firstSeq)}`,
  session: (sessionId: string) => `n/${encodeId(sessionId)}`,
  task: (taskId: string) => `o/${encodeId(taskId)}`,
  /** What the provider calls a session's conversation. */
  conversation: (sessionId: string) => `c/${encodeId(sessionId)}`,
  process: (executionId: string) => `x/${encodeId(executionId)}`,
  /** The sessions of a task. */
  taskSession: (taskId: string, sessionId: string) => `m/${encodeId(taskId)}/${encodeId(sessionId)}`,
  /** Mark of a session that a restart has to settle. */
  openSession: (sessionId: string) => `a/${encodeId(sessionId)}`,
  /** A prompt that waits for its turn. */
  ticket: (ticketId: string) => `q/${encodeId(ticketId)}`,
  /** The card of a pruned job. */
  card: (jobId: string) => `k/${encodeId(jobId)}`,
  /** The cards of pruned jobs that stand in a session. */
  sessionCard: (sessionId: string, ordinal: number) => `w/${encodeId(sessionId)}/${encodeOrdinal(ordinal)}`,
  /** A notice about an ended job that its caller's agent has not taken yet. */
  notice: (sessionId: string, ordinal: number) => `u/${encodeId(sessionId)}/${encodeOrdinal(ordinal)}`,
} as const;

export const RANGES = {
  live: { gte: 'l/', lt: `l/${END}` },
  finished: { gte: 'f/', lt: `f/${END}` },
  tombstones: { gte: 't/', lt: `t/${END}` },
  events: { gte: 'e/', lt: `e/${END}` },
  sessions: { gte: 'n/', lt: `n/${END}` },
  tasks: { gte: 'o/', lt: `o/${END}` },
  processes: { gte: 'x/', lt: `x/${END}` },
  openSessions: { gte: 'a/', lt: `a/${END}` },
  tickets: { gte: 'q/', lt: `q/${END}` },
  cards: { gte: 'k/', lt: `k/${END}` },
  /** Of all sessions. */
  cardIndex: { gte: 'w/', lt: `w/${END}` },
  sessionCards: (sessionId: string) => ({ gte: `w/${encodeId(sessionId)}/`, lt: `w/${encodeId(sessionId)}/${END}` }),
  notices: { gte: 'u/', lt: `u/${END}` },
  sessionNotices: (sessionId: string) => ({ gte: `u/${encodeId(sessionId)}/`, lt: `u/${encodeId(sessionId)}/${END}` }),
  /** Of all tasks. */
  taskIndex: { gte: 'm/', lt: `m/${END}` },
  taskSessions: (taskId: string) => ({ gte: `m/${encodeId(taskId)}/`, lt: `m/${encodeId(taskId)}/${END}` }),
  large: { gte: 'b/', lt: `b/${END}` },
  outputs: { gte: 'y/', lt: `y/${END}` },
  ids: { gte: 'i/', lt: `i/${END}` },
  /** Of all sessions. */
  sessionIndex: { gte: 's/', lt: `s/${END}` },
  sessionJobs: (sessionId: string) => ({ gte: `s/${encodeId(sessionId)}/`, lt: `s/${encodeId(sessionId)}/${END}` }),
} as const;

/** Written once, never deleted (LAY3). */
export const SENTINELS: readonly string[] = [`l/${END}`, `f/${END}`, `e/${END}`, `t/${END}`, `s/${END}`, `w/${END}`];

export const EXPIRED = '-';
