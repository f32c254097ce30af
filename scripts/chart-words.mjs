/** What the events and guards of the charts are called where people read them. */

export const EVENT_WORDS = {
  // job
  'job.queue': 'queued',
  'job.start': 'got a slot',
  'job.cancel': 'cancelled',
  'job.time_out': 'timed out',
  'job.shut_down': 'engine closing',
  'job.abandon': 'process died',
  'body.returned': 'body returned',
  'body.threw': 'body threw',
  'grace.over': 'grace over',
  // session
  'session.launch': 'launch',
  'session.launched': 'launched',
  'launch.failed': 'launch failed',
  'turn.opened': 'turn opened',
  'turns.closed': 'turn closed',
  'agent.gone': 'agent gone',
  'process.died': 'process died',
  'session.complete': 'declared complete',
  'session.fail': 'declared failed',
  'session.cancel': 'stopped',
  'turn.accepted': 'prompt taken',
  'request.asked': 'agent asked',
  'request.settled': 'answered',
  // session-activity
  'claim.take': 'prompt let in',
  'claim.release': 'prompt withdrawn',
  'turn.begin': 'agent called',
  'turn.accept': 'prompt taken',
  'turn.rollback': 'prompt refused',
  'turn.open': 'agent speaks unasked',
  'output.seen': 'speaks again',
  'turn.yield': 'foreground yielded',
  'turn.end': 'turn ended',
  'turn.close': 'turn closed',
  'execution.retire': 'agent gone',
  'work.began': 'work began',
  'work.ended': 'work ended',
  'record.drop': 'nothing left',
  // supervisor
  'store.failed': 'store failed',
  'store.recovered': 'store recovered',
  'body.detached': 'body detached',
  'body.reclaimed': 'body came back',
  'agent.detached': 'agent detached',
  'agent.reclaimed': 'agent came back',
  'engine.drain': 'closing',
  'engine.closed': 'all ended',
  // task
  'task.move': 'moved',
  'activity.aggregated': 'activity changed',
  'task.tell': 'told',
  'task.stop': 'stopped',
  'task.remove': 'removed',
  'task.forget': 'nothing lives',
};

/** Conditions that are drawn: of transitions that no event triggers. */
export const GUARD_WORDS = { isSomebodySpeaking: 'somebody speaks' };

export const eventInWords = (event) => EVENT_WORDS[event] ?? event.replaceAll(/[._]/g, ' ');

export const stateInWords = (key) => key.replaceAll(/[_-]/g, ' ');

/** @param guards of the alternatives before this one are passed over: the last one is for all else */
export const conditionInWords = (guard) => (guard === undefined ? 'otherwise' : (GUARD_WORDS[guard] ?? guard));
