/** The reference for what agents tell (liveness 3, 4, 6): which of it counts, and for what (`session-model.ts`). */
import type { Frame } from '../../src/model/agent.ts';
import { isOwn, type ModelSession, turnNumber } from './session-facts.ts';
import type { SessionModel } from './session-model.ts';

export function takeFrame(model: SessionModel, session: ModelSession, frame: Frame): void {
  const { execution, work } = session;
  if (execution === null) return;
  const { generation } = frame;
  const proven = session.prompts.find(
    (prompt) => prompt.isRpcOpen && generation > 0 && prompt.generation === generation && prompt.execution === execution,
  );
  if (proven !== undefined) model.accept(session, proven);
  const { id } = execution;
  switch (frame.type) {
    case 'output':
      if (frame.text === '') break;
      if (frame.parentToolCallId === undefined) model.speak(session, generation, true);
      else work.heard(id, frame.parentToolCallId, model.now);
      break;
    case 'tool.call':
    case 'tool.update': {
      const said = { ...frame, isCall: frame.type === 'tool.call', generation: turnNumber(session, generation) };
      const effect = work.tool(id, said, model.now);
      if (effect !== null) model.speak(session, generation, effect === 'speaks');
      break;
    }
    case 'workload.started':
      work.started(id, frame, model.now);
      break;
    case 'workload.ended':
      work.complete({ ...frame, execution: id });
      break;
    case 'workload.snapshot':
      if (model.rules.attests.snapshot && execution.hasSnapshot) work.snapshot(id, frame.workloads, model.now);
      break;
    case 'foreground.idle':
      model.yields(session, generation);
      break;
    case 'turn.ended':
      if (proven !== undefined) model.end(session, proven);
      else if (isOwn(session, generation)) model.endOwn(session);
      break;
    case 'capability':
      execution.hasHandoff = frame.handoff;
      execution.hasSnapshot = frame.snapshot;
      break;
    default:
      break;
  }
  model.settled(session);
}
