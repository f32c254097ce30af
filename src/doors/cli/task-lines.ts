/** Tasks as lines for people. */
import type { TaskView } from '../../model/activity.ts';
import { taskWord } from './activity-words.ts';
import type { Pair } from './session-lines.ts';
import { tableLines } from './table.ts';
import { printable, type Sink } from './terminal.ts';
import { ageInWords, counted, dateInWords } from './words.ts';

const SESSIONS_SHOWN = 20;

export function taskTable(sink: Sink, rows: readonly TaskView[], now: number): readonly string[] {
  return tableLines(
    sink,
    ['TASK', 'ACTIVITY', 'STATE', 'CREATED', 'SESSIONS', 'JOBS', 'TITLE'],
    rows.map((row) => [
      { text: printable(row.taskId) },
      taskWord(row),
      { text: row.state },
      { text: ageInWords(now - row.createdAt) },
      { text: String(row.sessions.length) },
      { text: row.runningJobs > 0 ? `${row.runningJobs} running` : '-' },
      { text: printable(row.title) },
    ]),
  );
}

/** What a change of is worth a line where lists are not drawn again. */
export const taskGist = (row: TaskView): string =>
  JSON.stringify([taskWord(row).text, row.state, row.title, row.sessions, row.runningJobs]);

/** Everything about one task. */
export function taskPairs(sink: Sink, row: TaskView, now: number): readonly Pair[] {
  const { text, style } = taskWord(row);
  const shown = row.sessions.slice(0, SESSIONS_SHOWN);
  const more = row.sessions.length - shown.length;
  return [
    ['task', printable(row.taskId)],
    ['title', printable(row.title)],
    ['activity', style === undefined ? text : sink.paint(style, text)],
    ['state', row.state],
    ['created', `${dateInWords(row.createdAt)} (${ageInWords(now - row.createdAt)})`],
    ['jobs', `${row.runningJobs} running`],
    ...shown.map((sessionId, index): Pair => [index === 0 ? 'sessions' : '', printable(sessionId)]),
    ...(more > 0 ? [['', `and ${counted(more, 'more', 'more')}`] as Pair] : []),
  ];
}
