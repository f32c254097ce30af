/** What people do with tasks, and with the cards of conversations, in one step each. */
import type { TaskView } from '../../model/activity.ts';
import { type Card, cardIdOf } from '../../model/cards.ts';
import { TASK_STATES } from '../../model/records.ts';
import type { TaskQuery } from '../../model/requests.ts';
import { given, oddInput, removeBy, someId, someSession, stopBy, stopOptions } from './asking.ts';
import type { Action, Stage } from './stage.ts';

const someTask = (stage: Stage): string | undefined => (stage.random.chance(0.04) ? oddInput(stage) : someId(stage, stage.tasks));

function create(stage: Stage): void {
  const { life, offstage, random, step } = stage;
  const taskId = random.weighted([
    [6, () => `t${step}`],
    [2, () => undefined],
    [0.6, () => stage.tasks.pick(random)],
  ])();
  const options = random.chance(0.05)
    ? oddInput(stage)
    : given({ taskId, title: random.pick([undefined, `task of step ${step}`]) });
  void life
    .call('tasks.create', [options], () => offstage.tasks.create(options))
    .then((answer) => {
      if (answer.isOk) stage.tasks.add(`${step}`, (answer.value as TaskView).taskId);
    });
}

function stop(stage: Stage): void {
  const taskId = someTask(stage);
  const options = stopOptions(stage);
  if (taskId === undefined) return;
  void stopBy(stage, 'tasks.stop', [taskId, options], () => stage.offstage.tasks.stop(taskId, options));
}

function remove(stage: Stage): void {
  const { life, offstage } = stage;
  const taskId = someTask(stage);
  if (taskId === undefined) return;
  void removeBy(stage, stage.tasks, taskId, (options) =>
    life.call('tasks.remove', [taskId, options], () => offstage.tasks.remove(taskId, options)),
  );
}

function archive(stage: Stage): void {
  const { life, offstage, random } = stage;
  const taskId = someTask(stage);
  if (taskId === undefined) return;
  const options = random.pick([undefined, { confirm: true }, { confirm: true }, { confirm: false }]);
  void life.call('tasks.archive', [taskId, options], () => offstage.tasks.archive(taskId, options));
}

function setState(stage: Stage): void {
  const { life, offstage, random } = stage;
  const taskId = someTask(stage);
  if (taskId === undefined) return;
  const state = random.chance(0.1) ? oddInput(stage) : random.pick([...TASK_STATES, 'in_progress', 'in_progress'] as const);
  void life.call('tasks.setState', [taskId, state], () => offstage.tasks.setState(taskId, state));
}

function get(stage: Stage): void {
  const taskId = someTask(stage) ?? 'nobody';
  void stage.life.call('tasks.get', [taskId], () => stage.offstage.tasks.get(taskId));
}

function list(stage: Stage): void {
  const { life, offstage, random } = stage;
  const query = random.weighted<() => TaskQuery | undefined>([
    [3, () => undefined],
    [2, () => ({ archived: true })],
    [2, () => given({ before: someId(stage, stage.tasks), limit: 1 + random.integer(4) })],
    [0.3, () => ({ archived: 'yes' }) as never],
    [0.3, () => oddInput(stage)],
  ])();
  void life.call('tasks.list', [query], () => offstage.tasks.list(query));
}

function listCards(stage: Stage): void {
  const { life, offstage, random } = stage;
  const sessionId = someSession(stage);
  const query = random.weighted([
    [5, () => ({ sessionId })],
    [2, () => ({ sessionId, limit: 1 + random.integer(3) })],
    [0.5, () => ({ sessionId, before: 'nobody' })],
    [0.5, () => oddInput(stage)],
  ])();
  void life.call('cards.list', [query], () => offstage.cards.list(query));
}

/** By the job, or one that a list has shown. */
function getCard(stage: Stage): void {
  const { life, offstage, random } = stage;
  const jobId = someId(stage, stage.jobs);
  const cardId = random.chance(0.05) ? oddInput(stage) : jobId === undefined ? 'nobody' : cardIdOf(jobId);
  void life.call('cards.get', [cardId], () => offstage.cards.get(cardId));
}

/** What a host does before it asks a model: the cards of a conversation as they were kept, among other items. */
function expand(stage: Stage): void {
  const { life, offstage, random } = stage;
  const sessionId = random.chance(0.05) ? oddInput(stage) : someSession(stage);
  const isOdd = random.chance(0.1);
  const laterMs = random.pick([0, 0, 1_000, 60_000]);
  const kept = { sessionId, limit: 10 };
  void life
    .call('cards.list', [kept], () => offstage.cards.list(kept))
    .then(async (answer) => {
      if (laterMs > 0) await life.pause(laterMs);
      const cards = answer.isOk ? (answer.value as readonly Card[]) : [];
      const items = isOdd ? oddInput(stage) : ['words', ...cards, null, ...cards.slice(0, 1), { function: 'attach' }];
      void life.call('context.expand', [sessionId, items], () => offstage.context.expand(sessionId, items as never));
    });
}

export const taskActions: readonly Action[] = [
  { verb: 'tasks.create', weight: 2, act: create },
  { verb: 'tasks.stop', weight: 2, act: stop },
  { verb: 'tasks.remove', weight: 0.6, act: remove },
  { verb: 'tasks.archive', weight: 1, act: archive },
  { verb: 'tasks.setState', weight: 1.5, act: setState },
  { verb: 'tasks.get', weight: 1, act: get },
  { verb: 'tasks.list', weight: 1, act: list },
  { verb: 'cards.list', weight: 1, act: listCards },
  { verb: 'cards.get', weight: 1.5, act: getCard },
  { verb: 'context.expand', weight: 1, act: expand },
];
