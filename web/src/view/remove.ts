/**
 * Deletes and archives, with the warning where something still lives (liveness 12).
 */
import type { LiveWork } from '../../../src/model/stop.ts';
import type { Selected } from '../model/address.ts';
import { counted } from '../model/words.ts';
import { act } from './act.ts';
import { shown } from './live.ts';
import { open, select } from './ui-store.ts';
import { verbs } from './verbs.ts';

/** "2 agents are generating, 3 jobs have not ended." */
function liveWorkInWords({ generating, background, activeSubagentCount, jobs }: LiveWork): string {
  const parts = [
    [generating, 'agent is generating', 'agents are generating'],
    [background, 'session works in the background', 'sessions work in the background'],
    [activeSubagentCount, 'subagent is at work', 'subagents are at work'],
    [jobs, 'job has not ended', 'jobs have not ended'],
  ] as const;
  const said = parts.flatMap(([count, one, more]) => (count === 0 ? [] : [counted(count, one, more)]));
  return `Work is still in progress${said.length === 0 ? '' : `: ${said.join(', ')}`}.`;
}

/** As far as this page knows; the engine looks itself. */
function liveWorkIn({ kind, id }: Selected): LiveWork | null {
  const { sessions, jobs } = shown.get();
  const work = { generating: 0, background: 0, activeSubagentCount: 0, jobs: 0 };
  for (const session of sessions.values()) {
    if ((kind === 'task' ? session.taskId : session.sessionId) !== id) continue;
    if (session.foregroundActivity) work[session.foregroundActivity] += 1;
    work.activeSubagentCount += session.activeSubagentCount;
  }
  for (const job of jobs.values()) {
    const isIn = kind === 'task' ? job.taskId === id : job.sessionId === id || job.callerSessionId === id;
    if (isIn && job.completedAt === null) work.jobs += 1;
  }
  return Object.values(work).some((count) => count > 0) ? work : null;
}

/** Always asks, as nothing brings it back; with the warning where something lives. */
export function remove(what: Selected, warning = liveWorkIn(what)): void {
  const { kind, id } = what;
  const all = kind === 'task' ? 'its sessions, their jobs and cards' : 'its jobs and cards';
  open({
    name: 'confirm',
    question: {
      title: `Delete this ${kind}?`,
      text: [
        ...(warning === null ? [] : [`${liveWorkInWords(warning)} It will be stopped first.`]),
        `The ${kind}, ${all} are deleted for good.`,
      ],
      action: warning === null ? `Delete this ${kind}` : 'Stop and delete',
      isDangerous: true,
      async confirm() {
        const options = { confirm: warning !== null };
        const answer = await act(
          kind === 'task' ? verbs.removeTask(id, options) : verbs.removeSession(id, options),
          ({ done }) => (done ? `The ${kind} is deleted.` : null),
        );
        if (answer?.done) select(null);
        else if (answer) remove(what, answer.warning);
      },
    },
  });
}

/** Asks only where the engine does: with live work, and unless it was set up not to. */
export async function archive(taskId: string): Promise<void> {
  const done = (): string => 'The task is archived. It leaves the list when nothing of it runs.';
  const answer = await act(verbs.archiveTask(taskId), (given) => (given.done ? done() : null));
  if (answer === null || answer.done) return;
  open({
    name: 'confirm',
    question: {
      title: 'Archive this task?',
      text: [liveWorkInWords(answer.warning), 'It goes on, and the task stays in the list while it does.'],
      action: 'Archive all the same',
      confirm: () => act(verbs.archiveTask(taskId, { confirm: true }), done),
    },
  });
}
