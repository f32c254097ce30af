/** Sessions as lines for people. */
import type { SessionView, WorkloadView } from '../../model/activity.ts';
import type { PromptTicket } from '../../model/session-requests.ts';
import { sessionNotes, sessionWord } from './activity-words.ts';
import { tableLines } from './table.ts';
import { clipped, printable, type Sink } from './terminal.ts';
import { ageInWords, dateInWords, durationInWords } from './words.ts';

const TEXT_CHARACTERS = 400;

export type Pair = readonly [string, string];

export function sessionTable(sink: Sink, rows: readonly SessionView[], now: number): readonly string[] {
  return tableLines(
    sink,
    ['SESSION', 'ACTIVITY', 'CREATED', 'NOTES', 'TASK'],
    rows.map((row) => [
      { text: printable(row.sessionId) },
      sessionWord(row),
      { text: ageInWords(now - row.createdAt) },
      { text: sessionNotes(row, now).join(', ') },
      { text: printable(row.taskId) },
    ]),
  );
}

/** What a change of is worth a line where lists are not drawn again. */
export function sessionGist(row: SessionView): string {
  const { state, queuedPrompts, quietCount, uncertainCount, endingAgents, turn, pending } = row;
  const of = [turn?.generation, turn?.quiet, pending?.requestId];
  return JSON.stringify([sessionWord(row).text, state, queuedPrompts, quietCount, uncertainCount, endingAgents, ...of]);
}

/** Everything about one session. */
export function sessionPairs(sink: Sink, row: SessionView, now: number): readonly Pair[] {
  const { text, style } = sessionWord(row);
  const pairs: Pair[] = [
    ['session', printable(row.sessionId)],
    ['task', printable(row.taskId)],
    ['agent', row.agentId === null ? 'default' : printable(row.agentId)],
    ['activity', [style === undefined ? text : sink.paint(style, text), ...sessionNotes(row, now)].join(', ')],
    ['state', row.state + (row.interrupted ? ' (its last turn was cut off)' : '')],
    ['created', `${dateInWords(row.createdAt)} (${ageInWords(now - row.createdAt)})`],
  ];
  const { pending } = row;
  if (pending) {
    const { kind, requestId, title, options } = pending;
    const choices = clipped(printable(JSON.stringify(options)), TEXT_CHARACTERS);
    pairs.push(['asks for', `${kind}, as ${printable(requestId)}: ${choices}`]);
    if (title !== undefined) pairs.push(['about', clipped(printable(title), TEXT_CHARACTERS)]);
  }
  const usage = Object.entries(row.usage ?? {});
  if (usage.length > 0) pairs.push(['usage', usage.map(([name, count]) => `${printable(name)} ${count}`).join(', ')]);
  return pairs;
}

export const workloadPairs = (works: readonly WorkloadView[], now: number): readonly Pair[] =>
  works.map((work, index) => {
    const what = work.source === 'engine' ? `${work.kind}, the job ${work.workloadId}` : `${work.kind} ${work.workloadId}`;
    const since = `${work.phase === 'queued' ? 'queued ' : ''}for ${durationInWords(now - work.startedAt)}`;
    const labels = [
      ...(work.hosted ? ['asked for by another session'] : []),
      ...(work.uncertain ? ['uncertain: perhaps ended'] : []),
      ...(work.quiet ? ['quiet'] : []),
    ];
    return [index === 0 ? 'background' : '', [printable(what), since, ...labels].join(', ')];
  });

export const ticketPairs = (tickets: readonly PromptTicket[], now: number): readonly Pair[] =>
  tickets.map(({ ticketId, position, origin, createdAt }, index) => {
    const whose = origin === 'synthetic' ? ', of the program itself' : '';
    const since = durationInWords(now - createdAt);
    return [index === 0 ? 'waiting' : '', `${position}. ${printable(ticketId)}, for ${since}${whose}`];
  });
