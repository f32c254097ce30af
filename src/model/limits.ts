/**
 * Every limit, once, with its reason (spec 19). Bytes are UTF-8 bytes, times are milliseconds.
 */

const KIB = 1024;
const MIB = 1024 * KIB;
const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Every limit by name.
 * @example
 * if (Buffer.byteLength(JSON.stringify(input)) > LIMITS.inputBytes) throw new Error('put it into a file');
 */
export const LIMITS = {
  /** An id is part of keys and of messages; longer ones are no names any more. */
  idBytes: 512,
  /** Input is held in memory while its job lives and is read with it. */
  inputBytes: MIB,
  /** Standard input of a command: a prompt with files in it. Held in memory while the job lives; long ones are never stored. */
  stdinBytes: 16 * MIB,
  /** Standard input up to this length is shown in the record. */
  stdinShownBytes: 64 * KIB,
  /** A result is read with every get and shown in lists; larger ones belong in a file that the result names. */
  resultBytes: 256 * KIB,
  /** Text results keep their end, where the conclusion stands. */
  resultTextBytes: 256 * KIB,
  /** Subjects, titles, reasons and error messages: texts for a person, kept with every record and shown in lists. */
  textBytes: 16 * KIB,
  /** Progress is replaced, not collected; it is meant for a line on a screen. */
  progressBytes: 16 * KIB,
  /** Bounds memory and the time a new job would wait. */
  queuedJobs: 100_000,
  /** Deeper trees are loops in practice. */
  treeDepth: 64,
  /** A store that has not answered for so long is treated as failed, by everybody who must not wait for it. */
  storeAnswerMs: 10_000,
  /** Bounds memory held for callers. */
  waiters: 100_000,
  /** More concurrent bodies than this in one process is a mistake in the configuration. */
  workers: 1_024,
  /** Events kept for replay; older cursors get `resync`. */
  eventLogEntries: 1_000_000,
  eventLogMs: 7 * DAY_MS,
  /** One request or answer of a door. */
  frameBytes: MIB,
  connections: 1_024,
  /** Requests of one token: this many at once, then so many per second. A dashboard of thousands of rows stays far below. */
  requestBurst: 2_000,
  requestsPerSecond: 500,
  /** The same for attempts of one address without a good token: a person mistypes a few times. */
  refusalBurst: 20,
  refusalsPerSecond: 1,
  /** Credentials and addresses whose rate is remembered; one that is forgotten starts anew. */
  ratedCallers: 10_000,
  /** Requests that wait on one HTTP connection for the answers before them: browsers and libraries send one at a time. */
  pipelinedRequests: 32,
  /** A request head: a token of the longest session id and a long query fit well. */
  requestHeadBytes: 16 * KIB,
  /** Whoever needs longer for the head of a request, or for all of it, is not asking for anything. */
  requestHeadMs: 10_000,
  requestMs: 60_000,
  /** Events kept ready for all readers of one server together; who is further behind reads the log. */
  broadcastBytes: 16 * MIB,
  /** Of these, as much at once for one reader: what has gone to the system cannot be taken back. */
  broadcastWriteBytes: 256 * KIB,
  /** Readers that are taken back to the log at the same time: each reads it by itself. */
  logReaders: 8,
  /** Longest pause between two flushes to all readers: beyond it people notice. */
  flushIntervalMs: 50,
  /** A link for a browser is used within this time, or not at all. */
  oneTimeCodeMs: 10 * 60_000,
  oneTimeCodes: 100,
  /** What a closing server gives to clients that do not read what they were sent. */
  goodbyeMs: 2_000,
  /** Output of a job that is kept in memory; the rest goes to its spill file. */
  outputMemoryBytes: 256 * KIB,
  outputSpillBytes: 64 * MIB,
  /** A history is for people; a job that cancels in a loop must not grow without end. */
  historyEntries: 1_000,
  /** Changes per batch of the commit loop: larger ones hold up the event loop (performance 2.4). */
  changesPerBatch: 256,
  /** Of these, acceptances of new jobs: the rest is for jobs that run already, however many are waiting at the door. */
  acceptancesPerBatch: 160,
  /** Bodies started per turn of the event loop, so that I/O and cancels get through (performance 2.4). */
  startsPerTurn: 32,
  /** Progress events of one job are coalesced to this distance. */
  progressIntervalMs: 250,
  /** Events buffered for one reader of `events()` before it re-reads the log from its cursor. */
  readerBuffer: 10_000,
  /** The same for the text of output events, which may be large. */
  readerBufferCharacters: 16 * MIB,
  /** Frames of one agent taken per turn of the event loop. */
  framesPerTurn: 256,
  /** Turns of the event loop that an answer waits for the frames before it: a million of them. What then still comes is a flood. */
  turnsToHear: 4_096,
  /** Prompts that wait for one session: more would be a queue that nobody reads. */
  ticketsPerSession: 1_000,
  /** Provider workloads of one session: an agent that launches without end is cut off, not followed. */
  workloadsPerSession: 10_000,
  /** Tool calls of one execution whose owner is remembered; the oldest are forgotten first. */
  toolCallsPerExecution: 10_000,
  /** Ended workloads and deliveries of one execution that are remembered, so that late frames stay inert. */
  endingsPerExecution: 10_000,
  /** Answers to prompts that are remembered by their promptId. */
  promptAnswers: 10_000,
  /** A forced stop looks this long whether what it killed has gone: a kill cannot be refused, but takes the system a moment. */
  forcedEndMs: 1_000,
  /** A removal of which nobody knows whether it was written is looked for again after so long. */
  doubtRetryMs: 1_000,
  /** Agents that could not be ended are told again after so long, then twice as long, up to the last. */
  firstTeardownRetryMs: 1_000,
  lastTeardownRetryMs: 60_000,
  /** Notices are prompts: what an agent is told of ended jobs at once; the whole is read with `job_output`. */
  noticeBytes: 128 * KIB,
  /** Of those that an earlier process left: more would be a prompt that says little of each. */
  noticesPerPrompt: 200,
  /** Ids that one call of a tool takes: more is no list that a model has made. */
  idsPerCall: 1_000,
  /** Ids that one request waits for over a socket: a screen of ten thousand rows looks at all of them at once. */
  awaitedIds: 10_000,
  /** Ended jobs that one request of a door reads at the same time: each may have a few MiB. */
  recordsAtOnce: 32,
  /** Requests of all doors that read many jobs do so a portion at a time, and so many portions at once. */
  portionsAtOnce: 4,
  /** Items of one array that is handed in. */
  arrayItems: 1_000_000,
  /** A notice that could not be delivered is tried again after so long, then twice as long, up to the last. */
  firstNoticeRetryMs: 5_000,
  lastNoticeRetryMs: 10 * 60_000,
  listDefault: 50,
  listMaximum: 1_000,
  retentionJobs: 100_000,
  retentionMs: 30 * DAY_MS,
  tombstones: 1_000_000,
  tombstoneMs: 365 * DAY_MS,
} as const;
