/**
 * What people do with sessions and tasks in one step each: prompts above all, and everything else that the verbs allow.
 *
 * PSN1  What a person does follows from its step alone, and from which names there are.
 * PSN2  Now and then a person hands in what is no input at all; it is refused, like everything else that is wrong.
 */
import type { SessionView } from '../../model/activity.ts';
import type { RowQuery } from '../../model/requests.ts';
import type { PromptAnswer, PromptOptions } from '../../model/session-requests.ts';
import { AGENT_NAMES } from './agents.ts';
import { given, oddInput, removeBy, someId, someSession, stopBy, stopOptions } from './asking.ts';
import { planBy, spanMs } from './provider-plan.ts';
import type { Action, Settled, Stage } from './stage.ts';
import { taskActions } from './task-actions.ts';
import { workloadActions } from './workload-actions.ts';

/** Resolves with its id; null: it was refused. */
function create(stage: Stage): Promise<string | null> {
  const { life, offstage, random, step } = stage;
  const taskId = random.weighted([
    [8, () => stage.tasks.pick(random)],
    [3, () => undefined],
    [0.4, () => 'nobody'],
  ])();
  const agentId = random.weighted<string | undefined>([
    [6, undefined],
    [6, random.pick(AGENT_NAMES)],
    [0.5, 'nobody'],
  ]);
  // Sometimes it is one that exists, or that existed.
  const sessionId = random.weighted([
    [6, () => `s${step}`],
    [2, () => undefined],
    [0.4, () => stage.sessions.pick(random)],
    [0.2, () => 'default'],
  ])();
  const options = random.chance(0.03) ? oddInput(stage) : given({ sessionId, taskId, agentId });
  return life
    .call('sessions.create', [options], () => offstage.sessions.create(options))
    .then((answer) => {
      if (!answer.isOk) return null;
      const view = answer.value as SessionView;
      stage.sessions.add(`${step}`, view.sessionId);
      if (taskId === undefined) stage.tasks.add(`${step}`, view.taskId);
      return view.sessionId;
    });
}

const NO_USE = ['session.not_promptable', 'session.not_found'];

/** One prompt of this step; `index` counts them. */
function promptBy(stage: Stage, sessionId: string, index: number, more: Partial<PromptOptions> = {}): Promise<Settled> {
  const { life, offstage, random, step } = stage;
  const id = `${step}.${index}`;
  const whenBusy = random.weighted([
    [5, 'queue'],
    [4, 'reject'],
    [1, undefined],
  ] as const);
  const origin = random.weighted([
    [5, 'human'],
    [2, undefined],
    [3, 'synthetic'],
  ] as const);
  const options: PromptOptions = { content: planBy(random, id), ...given({ origin, whenBusy }), promptId: `p${id}`, ...more };
  const givesUp = random.chance(0.5);
  const answered = life.call('sessions.prompt', [sessionId, options], () => offstage.sessions.prompt(sessionId, options));
  void answered.then((answer) => {
    if (!answer.isOk) {
      // What takes no prompts any more is left alone, mostly.
      if (givesUp && NO_USE.includes(answer.code)) stage.sessions.delete(sessionId);
      return;
    }
    const value = answer.value as PromptAnswer;
    if ('queued' in value) stage.tickets.add(id, value.ticketId);
  });
  return answered;
}

function prompt(stage: Stage): void {
  // Who finds no session makes one.
  if (stage.sessions.ids.length > 0) promptIn(stage, someSession(stage));
  else void create(stage).then((sessionId) => promptIn(stage, sessionId ?? 'default'));
}

function promptIn(stage: Stage, sessionId: string): void {
  const { life, random } = stage;
  random.weighted<() => void>([
    [20, () => void promptBy(stage, sessionId, 0)],
    // Several at once: one of them has the foreground.
    [
      5,
      () => {
        for (let index = 0, count = 2 + random.integer(5); index < count; index++) void promptBy(stage, sessionId, index);
      },
    ],
    // The same once more: at once, or later.
    [
      2,
      () => {
        const more = { promptId: `p${stage.step}`, content: planBy(random, `${stage.step}.0`) };
        const laterMs = random.chance(0.5) ? null : spanMs(random);
        const first = promptBy(stage, sessionId, 0, more);
        if (laterMs === null) void promptBy(stage, sessionId, 0, more);
        else void first.then(() => life.pause(laterMs)).then(() => promptBy(stage, sessionId, 0, more));
      },
    ],
    // What no plan is, with a promptId made up by the engine.
    [2, () => plain(stage, sessionId)],
    [0.5, () => wrong(stage, sessionId)],
  ])();
}

function plain({ life, offstage, random, step }: Stage, sessionId: string): void {
  const content = random.pick([`words of step ${step}`, null, [`words of step ${step}`], step]);
  const options: PromptOptions = { content, whenBusy: random.pick(['queue', 'reject']) };
  void life.call('sessions.prompt', [sessionId, options], () => offstage.sessions.prompt(sessionId, options));
}

function wrong(stage: Stage, sessionId: string): void {
  const { life, offstage, random } = stage;
  const options = random.pick<unknown>([
    {},
    { content: undefined },
    { content: 'words', origin: 'nobody' },
    { content: 'words', whenBusy: 'later' },
    { content: 'words', promptId: '' },
    { content: 'words', odd: true },
    oddInput(stage),
  ]) as PromptOptions;
  void life.call('sessions.prompt', [sessionId, options], () => offstage.sessions.prompt(sessionId, options));
}

function interrupt(stage: Stage): void {
  const { life, offstage, random, step } = stage;
  const sessionId = random.chance(0.03) ? oddInput(stage) : someSession(stage);
  const interruptIt = (options?: { promptId?: string }): void =>
    void life.call('sessions.interrupt', options === undefined ? [sessionId] : [sessionId, options], () =>
      offstage.sessions.interrupt(sessionId, options),
    );
  random.weighted<() => void>([
    [10, () => interruptIt()],
    [1, () => interruptIt({ promptId: 'nobody' })],
    // Its own prompt, at once, a little later, or as soon as it was taken.
    [
      3,
      () => {
        const when = random.pick(['at once', 'later', 'taken']);
        const ms = spanMs(random);
        const options = { promptId: `p${step}.0` };
        const taken = promptBy(stage, sessionId, 0);
        if (when === 'at once') interruptIt(options);
        else if (when === 'later') void life.pause(ms).then(() => interruptIt(options));
        else void taken.then(() => interruptIt(options));
      },
    ],
    [0.3, () => interruptIt(oddInput(stage))],
  ])();
}

/** Answers what some session asks; now and then what nobody has asked, or what was asked a while ago. */
function answer(stage: Stage): void {
  const { life, offstage, random } = stage;
  const choice = random.pick(['yes', 'no', null, { text: 'words' }]);
  const give = (sessionId: string, requestId: string): void =>
    void life.call('sessions.answer', [sessionId, requestId, choice], () =>
      offstage.sessions.answer(sessionId, requestId, choice),
    );
  const way = random.weighted([
    [8, 'right'],
    [2, 'twice'],
    [2, 'late'],
    [1, 'wrong'],
    [0.3, 'odd'],
  ] as const);
  const ms = spanMs(random);
  if (way === 'wrong') give(someSession(stage), 'q1000');
  else if (way === 'odd') give(someSession(stage), oddInput(stage));
  else {
    void life
      .call('sessions.list', [], () => offstage.sessions.list())
      .then(async (shown) => {
        const asking = shown.isOk ? (shown.value as readonly SessionView[]).filter(({ pending }) => pending !== null) : [];
        const sessionId = random.pickNamed(asking.map((view) => view.sessionId));
        const requestId = asking.find((view) => view.sessionId === sessionId)?.pending?.requestId;
        if (sessionId === undefined || requestId === undefined) return;
        if (way === 'late') await life.pause(ms);
        give(sessionId, requestId);
        if (way === 'twice') give(sessionId, requestId);
      });
  }
}

function cancelTicket(stage: Stage): void {
  const { life, offstage, random } = stage;
  const ticketId = random.chance(0.03) ? oddInput(stage) : someId(stage, stage.tickets);
  const forgets = random.chance(0.7);
  if (ticketId === undefined) return;
  void life
    .call('sessions.cancelTicket', [ticketId], () => offstage.sessions.cancelTicket(ticketId))
    .then((settled) => {
      if (settled.isOk && forgets) stage.tickets.delete(ticketId);
    });
}

function stop(stage: Stage): void {
  const { offstage, random } = stage;
  const sessionId = random.chance(0.02) ? oddInput(stage) : someSession(stage);
  const options = stopOptions(stage);
  const stopOnce = (): void =>
    void stopBy(stage, 'sessions.stop', [sessionId, options], () => offstage.sessions.stop(sessionId, options));
  // Somebody asks for work in the very moment.
  const late = { kind: 'sim.plain', subject: `s${stage.step}`, ...given({ sessionId }) };
  if (random.chance(0.3)) void stage.life.call('spawn', [late], () => offstage.spawn(late as never));
  stopOnce();
  // Two people at once.
  if (random.chance(0.4)) void stage.life.hop('another one').then(stopOnce);
}

function remove(stage: Stage): void {
  const { life, offstage, random } = stage;
  const sessionId = random.chance(0.05) ? oddInput(stage) : someId(stage, stage.sessions);
  if (sessionId === undefined) return;
  void removeBy(stage, stage.sessions, sessionId, (options) =>
    life.call('sessions.remove', [sessionId, options], () => offstage.sessions.remove(sessionId, options)),
  );
}

function list(stage: Stage): void {
  const { life, offstage, random } = stage;
  const query = random.weighted<() => RowQuery | undefined>([
    [4, () => undefined],
    [2, () => ({ limit: 1 + random.integer(3) })],
    [2, () => given({ before: someId(stage, stage.sessions), limit: 5 })],
    [0.5, () => ({ limit: random.pick([0, -1, 1.5, 'many']) as number })],
    [0.3, () => oddInput(stage)],
  ])();
  void life.call('sessions.list', [query], () => offstage.sessions.list(query));
}

/** Reads by the id of a session. */
const read =
  (verb: string, act: (stage: Stage, sessionId: string) => Promise<unknown>) =>
  (stage: Stage): void => {
    const sessionId = stage.random.chance(0.03) ? oddInput(stage) : someSession(stage);
    void stage.life.call(verb, [sessionId], () => act(stage, sessionId));
  };

/** Weights are beside those of other actions; prompts dominate, removals are rare. */
export const sessionActions: readonly Action[] = [
  { verb: 'sessions.create', weight: 6, act: (stage) => void create(stage) },
  { verb: 'sessions.prompt', weight: 36, act: prompt },
  { verb: 'sessions.interrupt', weight: 6, act: interrupt },
  { verb: 'sessions.answer', weight: 7, act: answer },
  { verb: 'sessions.cancelTicket', weight: 3, act: cancelTicket },
  { verb: 'sessions.stop', weight: 3, act: stop },
  { verb: 'sessions.remove', weight: 2, act: remove },
  { verb: 'sessions.get', weight: 2, act: read('sessions.get', ({ offstage }, id) => offstage.sessions.get(id)) },
  { verb: 'sessions.tickets', weight: 1, act: read('sessions.tickets', ({ offstage }, id) => offstage.sessions.tickets(id)) },
  { verb: 'sessions.list', weight: 1, act: list },
  ...taskActions,
  ...workloadActions,
];
