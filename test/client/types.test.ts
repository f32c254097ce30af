/** What the verbs answer are the records of the model, by their types: the compiler checks this file. */
import { expectTypeOf, it } from 'vitest';
import type * as client from '../../src/doors/client/index.ts';
import type { WireClient } from '../../src/doors/client/wire-client.ts';
import type * as offstage from '../../src/index.ts';

type Answer<Verb extends keyof client.OffstageClient> = client.OffstageClient[Verb] extends (...given: never[]) => infer Result
  ? Awaited<Result>
  : never;

it('verbs answer the types of the model', () => {
  expectTypeOf<Answer<'getJob'>>().toEqualTypeOf<offstage.JobView>();
  expectTypeOf<Answer<'listJobs'>>().toEqualTypeOf<readonly offstage.JobView[]>();
  expectTypeOf<Answer<'jobPages'>>().toEqualTypeOf<AsyncGenerator<readonly offstage.JobView[]>>();
  expectTypeOf<Answer<'awaitJobs'>>().toEqualTypeOf<readonly offstage.WaitManyEntry[]>();
  expectTypeOf<Answer<'cancelJobs'>>().toEqualTypeOf<offstage.CancelManyResult>();
  expectTypeOf<Answer<'history'>>().toEqualTypeOf<readonly offstage.HistoryEntry[]>();
  expectTypeOf<Answer<'createTask'>>().toEqualTypeOf<offstage.TaskView>();
  expectTypeOf<Answer<'listTasks'>>().toEqualTypeOf<readonly offstage.TaskView[]>();
  expectTypeOf<Answer<'stopTask'>>().toEqualTypeOf<offstage.StopReport>();
  expectTypeOf<Answer<'removeTask'>>().toEqualTypeOf<offstage.ConfirmedAnswer>();
  expectTypeOf<Answer<'createSession'>>().toEqualTypeOf<offstage.SessionView>();
  expectTypeOf<Answer<'prompt'>>().toEqualTypeOf<offstage.PromptAnswer>();
  expectTypeOf<Answer<'tickets'>>().toEqualTypeOf<readonly offstage.PromptTicket[]>();
  expectTypeOf<Answer<'workloads'>>().toEqualTypeOf<readonly offstage.WorkloadView[]>();
  expectTypeOf<Answer<'getCard'>>().toEqualTypeOf<offstage.Card>();
  expectTypeOf<Answer<'processes'>>().toEqualTypeOf<readonly offstage.ProcessRecord[]>();
  expectTypeOf<Answer<'health'>>().toEqualTypeOf<offstage.Health>();
});

it('rows are records without their large parts, and events are those of the engine', () => {
  type Large = 'input' | 'description' | 'result' | 'resultText' | 'partialText';
  expectTypeOf<client.JobRow>().toEqualTypeOf<Omit<offstage.JobView, Large>>();
  expectTypeOf<client.LiveState['tasks']>().toEqualTypeOf<ReadonlyMap<string, offstage.TaskView>>();
  expectTypeOf<client.LiveState['sessions']>().toEqualTypeOf<ReadonlyMap<string, offstage.SessionView>>();
  expectTypeOf<Parameters<Parameters<client.OffstageClient['onEvent']>[0]>[0]>().toEqualTypeOf<offstage.OffstageEvent>();
});

it('the verbs are the same over any transport', () => {
  expectTypeOf<WireClient['spawn']>().toEqualTypeOf<client.OffstageClient['spawn']>();
  expectTypeOf<WireClient['prompt']>().toEqualTypeOf<client.OffstageClient['prompt']>();
});

it('what is wrong does not compile', () => {
  const never = (_: (given: client.OffstageClient) => unknown): void => {};
  // @ts-expect-error: there is no such field
  never((given) => given.spawn({ kind: 'command', inputs: {} }));
  // @ts-expect-error: there is no such state
  never((given) => given.setTaskState('t', 'finished'));
  // @ts-expect-error: rows have no input
  never((given) => given.live.get().jobs.get('j')?.input);
});
