/**
 * The background tasks of a Claude Agent SDK stream: edges, and the level that corrects them (liveness 6). Pure.
 *
 * CST1  The run ids of a task sort by age; a message of an older run is late and does nothing.
 * CST2  A task that runs again is other work: it gets an id of its own.
 * CST3  Ambient tasks are no activity, and are never told.
 * CST4  A command that its tool call waits for is no background work. A subagent is work from its start.
 * CST5  A level replaces the view of the background; subagents that their tool call waits for are not in it, and are kept.
 * CST6  A command is listed from its second sight on: a level comes before the start that tells whether it is a monitor.
 */
import type { Frame } from '../model/agent.ts';
import { BoundedMap } from '../model/bounded-map.ts';
import type { WorkloadKind } from '../model/executor.ts';
import { LIMITS } from '../model/limits.ts';
import { type Fields, fieldsOf, textOf } from './read-json.ts';

interface Task {
  readonly runId: string | undefined;
  readonly workloadId: string;
  kind: WorkloadKind;
  toolCallId: string | undefined;
  isBackground: boolean;
  readonly isAmbient: boolean;
  /** It was told, and its end was not. */
  isLive: boolean;
  /** This run has ended. */
  isOver: boolean;
}

const ENDED = ['completed', 'failed', 'killed', 'stopped'];

export class ClaudeStreamTasks {
  readonly #tasks = new BoundedMap<string, Task>(LIMITS.endingsPerExecution);
  readonly #toolOf: (toolCallId: string) => string | undefined;

  /** `toolOf` names the tool of a tool call: a monitor is reported as a command. */
  constructor(toolOf: (toolCallId: string) => string | undefined) {
    this.#toolOf = toolOf;
  }

  started(message: Fields): Frame[] {
    return this.#about(message, (task) => {
      if (task.isOver) return [];
      if (typeof message.is_backgrounded === 'boolean') task.isBackground = message.is_backgrounded;
      else if (message.task_type !== 'local_bash' && message.task_type !== 'local_agent') task.isBackground = true;
      return this.#live(task);
    });
  }

  /** A sign of life. */
  progressed(message: Fields): Frame[] {
    return this.#about(message, (task) => (task.isLive ? startFrame(task) : []));
  }

  updated(message: Fields): Frame[] {
    const patch = fieldsOf(message.patch);
    return this.#about(message, (task) => {
      if (hasEnded(patch.status)) return endFrames(task);
      if (patch.is_backgrounded === true) task.isBackground = true;
      return task.isOver ? [] : this.#live(task);
    });
  }

  /** The notice of its end. */
  notified(message: Fields): Frame[] {
    return this.#about(message, (task) => (hasEnded(message.status) ? endFrames(task, textOf(message.uuid)) : []));
  }

  /** The tool call that waited for it has returned; what goes on in the background is not concerned. */
  toolReturned(toolCallId: string): Frame[] {
    return [...this.#tasks.values()]
      .filter((task) => task.toolCallId === toolCallId && task.isLive && !task.isBackground)
      .flatMap((task) => endFrames(task));
  }

  /** A tool result says that this task of it goes on in the background. */
  sentOff(taskId: string, kind: WorkloadKind, toolCallId: string): Frame[] {
    return this.#about({ task_id: taskId, tool_use_id: toolCallId }, (task) => {
      task.kind = kind;
      task.isBackground = true;
      return task.isOver || task.isLive ? [] : this.#live(task);
    });
  }

  /** All that runs in the background. Malformed lists say nothing. */
  level(message: Fields): Frame[] {
    const entries = message.tasks;
    if (!Array.isArray(entries) || !entries.every((entry) => textOf(fieldsOf(entry).task_id) !== undefined)) return [];
    const listed = new Set<Task>();
    const frames = entries.map(fieldsOf).flatMap((entry) => {
      const isNew = !this.#tasks.has(textOf(entry.task_id) ?? '');
      return this.#about(entry, (task) => {
        // A task leaves the level after the notice of its end.
        const isListed = !task.isAmbient && !task.isOver && !(isNew && task.kind === 'shell');
        if (isListed) listed.add(task);
        return [];
      });
    });
    for (const task of this.#tasks.values()) {
      if (task.isBackground) task.isLive = listed.has(task);
    }
    for (const task of listed) Object.assign(task, { isBackground: true, isLive: true });
    const workloads = [...this.#tasks.values()]
      .filter(({ isLive }) => isLive)
      .map(({ kind, ...task }) => ({ kind, ...idsOf(task) }));
    return [...frames, { type: 'workload.snapshot', generation: 0, workloads }];
  }

  /** At the run that the message is about. Nothing happens when it is late, or about no task. */
  #about(message: Fields, then: (task: Task) => Frame[]): Frame[] {
    const taskId = textOf(message.task_id);
    if (taskId === undefined) return [];
    const runId = textOf(message.run_id);
    const known = this.#tasks.get(taskId);
    const toolCallId = textOf(message.tool_use_id);
    if (known !== undefined && (runId === undefined || known.runId === undefined || runId <= known.runId)) {
      if (runId !== undefined && known.runId !== undefined && runId < known.runId) return [];
      known.toolCallId ??= toolCallId;
      if (known.kind === 'shell') known.kind = this.#kindOf(message, known.toolCallId);
      return then(known);
    }
    const task: Task = {
      runId,
      workloadId: known === undefined ? taskId : `${taskId}@${runId}`,
      kind: this.#kindOf(message, toolCallId),
      toolCallId,
      isBackground: false,
      isAmbient: message.ambient === true || message.skip_transcript === true,
      isLive: false,
      isOver: false,
    };
    this.#tasks.set(taskId, task);
    // The run before it is over, whether or not that was told.
    return [...(known === undefined ? [] : endFrames(known)), ...then(task)];
  }

  #kindOf(message: Fields, toolCallId: string | undefined): WorkloadKind {
    if (message.task_type === 'local_agent' || textOf(message.subagent_type) !== undefined) return 'subagent';
    return toolCallId !== undefined && this.#toolOf(toolCallId) === 'Monitor' ? 'monitor' : 'shell';
  }

  #live(task: Task): Frame[] {
    if (task.isAmbient || !(task.isBackground || task.kind === 'subagent')) return [];
    task.isLive = true;
    return startFrame(task);
  }
}

const hasEnded = (status: unknown): boolean => ENDED.includes(textOf(status) ?? '');

const idsOf = ({
  workloadId,
  toolCallId,
}: Pick<Task, 'workloadId' | 'toolCallId'>): { workloadId: string; toolCallId?: string } => ({
  workloadId,
  ...(toolCallId === undefined ? {} : { toolCallId }),
});

const startFrame = (task: Task): Frame[] => [{ type: 'workload.started', generation: 0, kind: task.kind, ...idsOf(task) }];

function endFrames(task: Task, eventId?: string): Frame[] {
  const { isLive, workloadId } = task;
  task.isLive = false;
  task.isOver = true;
  if (!isLive) return [];
  return [{ type: 'workload.ended', generation: 0, workloadId, ...(eventId === undefined ? {} : { eventId }) }];
}
