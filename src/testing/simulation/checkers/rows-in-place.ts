/**
 * Whether the rows of sessions, tickets, notices and agents fit what is shown, and each other.
 *
 * RIP1  The prompts that are stored as waiting are those that wait, but for one of each session that is on its way to its agent.
 * RIP2  What belongs to a session goes with it: its tickets, notices and kept cards, and the name of its conversation.
 * RIP3  What leads to a session is there exactly where it leads: under its task, and marked when a start has to settle it.
 * RIP4  Of an agent that has gone no process is stored, once none is being ended any more; of the agent of a job, once that has ended.
 */
import { isTerminal } from '../../../model/records.ts';
import { decodeId } from '../../../persistence/key-encoding.ts';
import { KEYS } from '../../../persistence/row-keys.ts';
import { isOpenSession, readTicket } from '../../../persistence/session-rows.ts';
import type { Violate } from '../checker.ts';
import type { RestView } from '../facts.ts';
import type { Known } from '../known.ts';
import { isNoticeId } from './ticket-book.ts';

/** What goes with its session, by the first letter of its key. */
const OF_A_SESSION: Readonly<Record<string, string>> = { u: 'a notice', w: 'a kept card', c: 'a conversation' };

/** To be asked when everything that was decided is stored. */
export function judgeRowsInPlace(view: RestView, known: Known, violate: Violate): void {
  const { sessions } = known;
  const gone = goneAgents(view, known);
  const tickets: string[] = [];
  for (const [key, value] of known.rows) {
    if (key[1] !== '/' || key.endsWith('~')) continue;
    const [kind = '', first = '', second = ''] = key.split('/');
    const what = OF_A_SESSION[kind];
    if (what !== undefined && !sessions.has(decodeId(first)))
      violate(`${what} of ${decodeId(first)} is stored, and there is no such session`);
    else if (kind === 'q') tickets.push(value);
    else if (kind === 'x' && gone.has(decodeId(first)))
      violate(`a process of ${decodeId(first)} is stored, and that agent has gone`);
    else if (kind === 'm' && sessions.get(decodeId(second))?.taskId !== decodeId(first))
      violate(`${decodeId(second)} is listed under ${decodeId(first)}, and is no session of it`);
    else if (kind === 'a' && !isMarkable(decodeId(first), known))
      violate(`${decodeId(first)} is marked for the next start, and need not be`);
  }
  judgeTickets(tickets, view, known, violate);
  for (const row of sessions.values()) {
    const { sessionId, taskId } = row;
    if (!known.rows.has(KEYS.taskSession(taskId, sessionId))) violate(`${sessionId} is not listed under its task ${taskId}`);
    if (isOpenSession(row) && !known.rows.has(KEYS.openSession(sessionId)))
      violate(`${sessionId} is ${row.state}, and is not marked for the next start`);
  }
}

/** By execution, as far as nothing of them has to be tried again. */
function goneAgents({ health }: RestView, { agents, jobs }: Known): ReadonlySet<string> {
  const gone = [...agents.values()].filter(({ started: { jobId }, isGone }) => {
    if (!isGone) return false;
    if (jobId === null) return health.agents.ending === 0;
    const record = jobs.get(jobId)?.record;
    return record !== undefined && isTerminal(record.status) && !record.detached;
  });
  return new Set(gone.map(({ started }) => started.executionId));
}

function isMarkable(sessionId: string, { sessions }: Known): boolean {
  const row = sessions.get(sessionId);
  return row !== undefined && isOpenSession(row);
}

function judgeTickets(values: readonly string[], view: RestView, known: Known, violate: Violate): void {
  /** Stored tickets of each session that nobody shows as waiting. */
  const unlisted = new Map<string, string[]>();
  for (const value of values) {
    const { ticketId, sessionId } = readTicket(value);
    if (view.tickets.get(sessionId)?.some((ticket) => ticket.ticketId === ticketId) === true) continue;
    unlisted.set(sessionId, [...(unlisted.get(sessionId) ?? []), ticketId]);
  }
  for (const [sessionId, ids] of unlisted) {
    if (ids.length > 1 || view.isLast || !known.sessions.has(sessionId))
      violate(`${ids.join(', ')} of ${sessionId} are stored as waiting, and do not wait`);
  }
  for (const [sessionId, tickets] of view.tickets) {
    const lost = tickets.find(({ ticketId, promptId }) => !isNoticeId(promptId) && !known.rows.has(KEYS.ticket(ticketId)));
    if (lost !== undefined) violate(`${lost.ticketId} of ${sessionId} waits, and is not stored`);
  }
}
