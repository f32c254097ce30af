/**
 * Requests about jobs, as the wire words them (spec 13).
 *
 * JAC1  A door translates and never decides: defaults and rules are the engine's.
 */
import type { OutputPiece } from '../../engine/output-log.ts';
import type { JsonValue } from '../../model/json.ts';
import { LIMITS } from '../../model/limits.ts';
import type { JobStatus, JobView } from '../../model/records.ts';
import type { CancelManySelector, ListQuery, SpawnOptions, WaitManyEntry } from '../../model/requests.ts';
import { cutPoint } from '../wire/cut-point.ts';
import { Page } from '../wire/page.ts';
import type { WireFields } from '../wire/rename.ts';
import { briefJobToWire, cancelledManyToWire, cancelledToWire, historyToWire, spawnFromWire } from '../wire/wire-answers.ts';
import { jobToWire } from '../wire/wire-names.ts';
import { listInPortions, waitInPortions } from './many-jobs.ts';
import type { Action, Request } from './request.ts';
import { invalidField, RequestFields } from './request-fields.ts';

const SPAWN_TEXTS = [
  'job_id',
  'kind',
  'description',
  'prompt',
  'agent_id',
  'caller_session_id',
  'parent_job_id',
  'parent_msg_id',
  'tool_call_id',
] as const;

const spawnJob: Action = async ({ offstage, fields }) => {
  const context = fields.oneOf('context', ['inherit', 'clean']) ?? 'inherit';
  const given = RequestFields.present({
    ...Object.fromEntries(SPAWN_TEXTS.map((name) => [name, fields.text(name)])),
    session_id: sessionOf(fields),
    context,
    wait: fields.flag('wait'),
    timeout_ms: fields.number('timeout_ms'),
    idle_timeout_ms: fields.number('idle_timeout_ms'),
    input: inputOf(fields, context),
  }) as WireFields;
  fields.refuseRest();
  const job = await offstage.spawn({ kind: 'agent', ...spawnFromWire(given) } as SpawnOptions);
  return { job_id: job.jobId, status: job.status, parent_msg_id: job.parentMessageId };
};

/** The input as given, else made of the prompt, as agents take it. */
function inputOf(fields: RequestFields, context: string): JsonValue | undefined {
  const input = fields.get('input');
  if (input !== undefined) return input;
  const prompt = fields.text('prompt');
  if (prompt !== undefined) return { prompt, context };
  if (fields.text('kind') === undefined) throw invalidField('prompt', 'it is missing');
  return undefined;
}

/** Requests may use either name; two different sessions are a mistake. */
function sessionOf(fields: RequestFields): string | undefined {
  const sessionId = fields.text('session_id');
  const parentSessionId = fields.text('parent_session_id');
  if (sessionId !== undefined && parentSessionId !== undefined && sessionId !== parentSessionId) {
    throw invalidField('session_id', 'parent_session_id names another session');
  }
  return sessionId ?? parentSessionId;
}

const selectionOf = (fields: RequestFields) => ({
  sessionId: sessionOf(fields),
  taskId: fields.text('task_id'),
  parentJobId: fields.text('parent_job_id'),
  parentMessageId: fields.text('parent_msg_id'),
  status: fields.textOrTexts('status_filter') as JobStatus | readonly JobStatus[] | undefined,
});

/** `brief` rows of long lists leave out what may be large. */
const jobWords = (fields: RequestFields): ((job: JobView) => WireFields) =>
  fields.flag('brief') === true ? briefJobToWire : jobToWire;

const listJobs: Action = async ({ offstage, engine, fields, signal }) => {
  const query = RequestFields.present({
    ...selectionOf(fields),
    callerSessionId: fields.text('caller_session_id'),
    kind: fields.text('kind'),
    limit: fields.number('limit'),
    before: fields.text('before'),
  }) as ListQuery;
  const toWire = jobWords(fields);
  fields.refuseRest();
  const page = new Page(toWire);
  const list = (portion: ListQuery) => offstage.list(portion);
  const isMore = await listInPortions(query, {
    engine,
    list,
    idOf: ({ jobId }) => jobId,
    take: (jobs) => page.take(jobs),
    signal,
  });
  return { tasks: page.rows, next_before: isMore ? (page.rows.at(-1)?.job_id ?? null) : null };
};

/** The only field of some requests. */
function onlyJobId(fields: RequestFields): string {
  const jobId = fields.requiredText('job_id');
  fields.refuseRest();
  return jobId;
}

const getJob: Action = async ({ offstage, fields }) => jobToWire(await offstage.get(onlyJobId(fields)));

const cancelJob: Action = async ({ offstage, fields }) => {
  const jobId = fields.requiredText('job_id');
  const options = RequestFields.present({ reason: fields.text('reason') });
  fields.refuseRest();
  return cancelledToWire(await offstage.cancel(jobId, options));
};

const cancelJobs: Action = async ({ offstage, fields }) => {
  const selector = RequestFields.present({ ids: fields.texts('job_ids'), ...selectionOf(fields) }) as CancelManySelector;
  const reason = fields.text('reason');
  fields.refuseRest();
  return cancelledManyToWire(await offstage.cancelMany(selector, RequestFields.present({ reason })));
};

const awaitJobs: Action = async ({ offstage, engine, fields, signal }) => {
  const ids = fields.texts('job_ids');
  if (ids === undefined) throw invalidField('job_ids', 'it is missing');
  const mode = fields.oneOf('mode', ['all', 'any']) ?? 'all';
  const limit = RequestFields.present({ timeoutMs: waitOf(fields) });
  const toWire = jobWords(fields);
  fields.refuseRest();
  if (ids.length > LIMITS.awaitedIds) throw invalidField('job_ids', `there are more than ${LIMITS.awaitedIds}`);
  // Asked for many times, a job is read once.
  const distinct = [...new Set(ids)];
  const room = new AnswerRoom();
  const rows = await waitInPortions(distinct, {
    engine,
    wait: (jobIds, options) => offstage.waitMany(jobIds, options),
    options: { mode, ...limit, signal },
    toRow: (entry) => room.take(entryToWire(entry, toWire)),
  });
  if (ids.length === distinct.length) return { tasks: rows };
  const byId = new Map(distinct.map((id, index) => [id, rows[index] as WireFields]));
  const all = new AnswerRoom();
  return { tasks: ids.map((id) => all.take(byId.get(id) as WireFields)) };
};

/** So many of the largest records are still one answer. */
const FEW = 64;
/** More than this is read by no client of ours. */
const LONGEST_ANSWER = 64 * LIMITS.frameBytes;

/** Of a few thousand large records no answer is made: it would be gigabytes. */
class AnswerRoom {
  #rows = 0;
  #characters = 0;

  /** @throws OffstageError `input.invalid` when there is none left */
  take(row: WireFields): WireFields {
    this.#rows += 1;
    this.#characters += JSON.stringify(row).length;
    if (this.#rows <= FEW || this.#characters <= LONGEST_ANSWER) return row;
    throw invalidField('job_ids', 'their records do not fit into one answer; ask for brief rows');
  }
}

/** Milliseconds; `null` waits without limit, absent leaves it to the engine. */
function waitOf(fields: RequestFields): number | null | undefined {
  return fields.isNull('timeout') ? null : fields.number('timeout');
}

const entryToWire = (entry: WaitManyEntry, toWire: (job: JobView) => WireFields): WireFields =>
  'status' in entry
    ? toWire(entry satisfies JobView)
    : { job_id: entry.jobId, error: 'No such job.', error_code: entry.error.code };

const getHistory: Action = async ({ offstage, fields }) => {
  const jobId = onlyJobId(fields);
  return { job_id: jobId, history: (await offstage.history(jobId)).map(historyToWire) };
};

/** Text of one answer, at most: escaped as JSON it may grow sixfold. */
const PART_CHARACTERS = LIMITS.frameBytes / 8;

/**
 * With `parts`, all that is kept comes in frames `part` before the result, each with its `offset`. Without, one answer holds the end of it,
 * and `cut` says so. `end` counts the characters printed so far: what comes later has that `offset`, or a higher one, in `job_output` events.
 */
const getOutput: Action = async (request) => {
  const { offstage, fields } = request;
  const jobId = fields.requiredText('job_id');
  const tail = fields.number('tail');
  if (tail !== undefined && (!Number.isInteger(tail) || tail < 0)) throw invalidField('tail', 'it must be a number of lines');
  const isWhole = fields.flag('parts') === true;
  fields.refuseRest();
  const { pieces, end } = await offstage.printed(jobId, tail === undefined ? { onlyEnd: !isWhole } : { tail });
  if (isWhole) {
    for (const piece of pieces) await sendParts(request, piece);
    return { job_id: jobId, end };
  }
  const last = pieces.at(-1) ?? { offset: end, text: '' };
  const start = cutPoint(last.text, Math.max(0, last.text.length - PART_CHARACTERS));
  const isCut = start > 0 || pieces.length > 1 || (tail === undefined && last.offset > 0);
  return { job_id: jobId, output: last.text.slice(start), cut: isCut, end };
};

async function sendParts({ connection, requestId, signal }: Request, { offset, text }: OutputPiece): Promise<void> {
  for (let from = 0; from < text.length && !signal.aborted; ) {
    const to = cutPoint(text, from + PART_CHARACTERS);
    await connection.send({ type: 'part', request_id: requestId, offset: offset + from, text: text.slice(from, to) });
    from = to;
  }
}

export const JOB_ACTIONS = {
  spawn_job: spawnJob,
  list_jobs: listJobs,
  get_job: getJob,
  cancel_job: cancelJob,
  cancel_jobs: cancelJobs,
  await_jobs: awaitJobs,
  get_history: getHistory,
  get_output: getOutput,
} as const satisfies Readonly<Record<string, Action>>;
