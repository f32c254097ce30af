/**
 * Requests to stop, remove and archive (spec 13, liveness 11 and 12).
 *
 * SAR1  A stop with `wait` answers what came of it; for somebody who goes away meanwhile nothing waits, and the stop goes on.
 */
import type { ConfirmedAnswer, RemoveOptions, StopOptions, StopReport, StopResult } from '../../model/stop.ts';
import { confirmedToWire, stopReportToWire } from '../wire/wire-stop.ts';
import type { Action, Request } from './request.ts';
import { RequestFields } from './request-fields.ts';

const hardness = (fields: RequestFields) => ({ reason: fields.text('reason'), force: fields.flag('force') });

async function stopped(
  { fields, signal }: Request,
  idName: string,
  stop: (id: string, options: StopOptions) => Promise<StopResult>,
) {
  const id = fields.requiredText(idName);
  const options = RequestFields.present(hardness(fields));
  const isAwaited = fields.flag('wait') === true;
  fields.refuseRest();
  const result = await stop(id, options);
  return stopReportToWire(isAwaited ? await settledUnlessGone(result, signal) : result);
}

/** The last report; the first one where nobody is left to wait for it. */
function settledUnlessGone(result: StopResult, signal: AbortSignal): Promise<StopReport> {
  return new Promise((resolve) => {
    const giveUp = (): void => resolve(result);
    if (signal.aborted) giveUp();
    signal.addEventListener('abort', giveUp, { once: true });
    void result.settled.then((report) => {
      signal.removeEventListener('abort', giveUp);
      resolve(report);
    });
  });
}

async function removed(
  { fields }: Request,
  idName: string,
  remove: (id: string, options: RemoveOptions) => Promise<ConfirmedAnswer>,
) {
  const id = fields.requiredText(idName);
  const options = RequestFields.present({ confirm: fields.flag('confirm'), ...hardness(fields) });
  fields.refuseRest();
  return confirmedToWire(await remove(id, options));
}

const stopTask: Action = (request) => stopped(request, 'task_id', (id, options) => request.offstage.tasks.stop(id, options));

const stopSession: Action = (request) =>
  stopped(request, 'session_id', (id, options) => request.offstage.sessions.stop(id, options));

const removeTask: Action = (request) => removed(request, 'task_id', (id, options) => request.offstage.tasks.remove(id, options));

const removeSession: Action = (request) =>
  removed(request, 'session_id', (id, options) => request.offstage.sessions.remove(id, options));

const archiveTask: Action = async ({ offstage, fields }) => {
  const taskId = fields.requiredText('task_id');
  const options = RequestFields.present({ confirm: fields.flag('confirm') });
  fields.refuseRest();
  return confirmedToWire(await offstage.tasks.archive(taskId, options));
};

export const STOP_ACTIONS = {
  stop_task: stopTask,
  stop_session: stopSession,
  remove_task: removeTask,
  remove_session: removeSession,
  archive_task: archiveTask,
} as const satisfies Readonly<Record<string, Action>>;
