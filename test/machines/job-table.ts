/** States, events and the truth table of the job chart, for its tests. Nothing here is taken from the chart. */
import { createActor } from 'xstate';
import { type BodyResult, type JobEvent, jobMachine } from '../../src/machines/job.ts';

const result = (text: string | null, value: BodyResult['value'] = null): BodyResult => ({
  text,
  value,
  headId: 'head-1',
  sourceCommitId: 'commit-1',
});

/** How each state is reached. Times are 10 for queue, 20 for start, 30 for the cause; the event under test comes at 40. */
export const PATHS = {
  pending: [],
  queued: [{ type: 'job.queue', at: 10 }],
  active: [
    { type: 'job.queue', at: 10 },
    { type: 'job.start', at: 20 },
  ],
  'ending by cancel': [
    { type: 'job.queue', at: 10 },
    { type: 'job.start', at: 20 },
    { type: 'job.cancel', at: 30, code: 'cancel.parent', reason: 'no need any more' },
  ],
  'ending by timeout': [
    { type: 'job.queue', at: 10 },
    { type: 'job.start', at: 20 },
    { type: 'job.time_out', at: 30, cause: 'timeout', message: 'ran too long' },
  ],
  'ending by idle timeout': [
    { type: 'job.queue', at: 10 },
    { type: 'job.start', at: 20 },
    { type: 'job.time_out', at: 30, cause: 'idle_timeout', message: 'said nothing' },
  ],
  'ending by shutdown': [
    { type: 'job.queue', at: 10 },
    { type: 'job.start', at: 20 },
    { type: 'job.shut_down', at: 30 },
  ],
  completed: [
    { type: 'job.queue', at: 10 },
    { type: 'job.start', at: 20 },
    { type: 'body.returned', at: 30, result: result('first') },
  ],
  cancelled: [{ type: 'job.cancel', at: 30, code: 'cancel.user', reason: null }],
  errored: [{ type: 'job.shut_down', at: 30 }],
} as const satisfies Record<string, readonly JobEvent[]>;
export type Reached = keyof typeof PATHS;

export const EVENTS = {
  queue: { type: 'job.queue', at: 40 },
  start: { type: 'job.start', at: 40 },
  cancel: { type: 'job.cancel', at: 40, code: 'cancel.user', reason: 'stop it' },
  'time out': { type: 'job.time_out', at: 40, cause: 'timeout', message: 'too long' },
  'idle out': { type: 'job.time_out', at: 40, cause: 'idle_timeout', message: 'too quiet' },
  'shut down': { type: 'job.shut_down', at: 40 },
  abandon: { type: 'job.abandon', at: 40, detail: null },
  'abandon, not gone': { type: 'job.abandon', at: 40, detail: 'pid 7 may live' },
  returned: { type: 'body.returned', at: 40, result: result('hello', { n: 1 }) },
  threw: {
    type: 'body.threw',
    at: 40,
    error: { code: 'job.failed', message: 'ValueError: x' },
    reasonCode: 'failed',
    result: { text: 'so far', value: 7, headId: null, sourceCommitId: null },
  },
  'grace over': {
    type: 'grace.over',
    at: 40,
    result: { text: 'so far', value: null, headId: null, sourceCommitId: null },
    survivors: null,
  },
  'grace over, survivors': {
    type: 'grace.over',
    at: 40,
    result: { text: null, value: null, headId: null, sourceCommitId: null },
    survivors: 'pid 9 is still alive',
  },
} as const satisfies Record<string, JobEvent>;
export type Asked = keyof typeof EVENTS;

/** From each state (row) by each event (column); `-` is a refusal. Written by hand from spec 2, 4, 6 and seed 000 D2, D5, D12. */
const TABLE = `
                       | queue  | start  | cancel    | time out | idle out | shut down | abandon | returned  | threw     | grace over
pending                | queued | -      | cancelled | -        | -        | errored   | errored | -         | -         | -
queued                 | -      | active | cancelled | -        | -        | errored   | errored | -         | -         | -
active                 | -      | -      | ending    | ending   | ending   | ending    | errored | completed | errored   | -
ending by cancel       | -      | -      | -         | -        | -        | -         | errored | cancelled | cancelled | cancelled
ending by timeout      | -      | -      | -         | -        | -        | -         | errored | errored   | errored   | errored
ending by idle timeout | -      | -      | -         | -        | -        | -         | errored | errored   | errored   | errored
ending by shutdown     | -      | -      | -         | -        | -        | -         | errored | completed | errored   | errored
completed              | -      | -      | -         | -        | -        | -         | -       | -         | -         | -
cancelled              | -      | -      | -         | -        | -        | -         | -       | -         | -         | -
errored                | -      | -      | -         | -        | -        | -         | -       | -         | -         | -
`;

/** Variants of an event lead where the event leads. */
const columnOf = (asked: Asked): string => asked.split(',')[0] as string;

const lines = TABLE.split('\n')
  .filter((line) => line !== '')
  .map((line) => line.split('|').map((cell) => cell.trim()));
const columns = (lines[0] as readonly string[]).slice(1);
const rows = new Map(lines.slice(1).map(([state, ...cells]) => [state as string, cells]));

/** Where the event leads from the state: the chart's inner state, or `-`. */
export function truth(state: Reached, asked: Asked): string {
  const cell = rows.get(state)?.[columns.indexOf(columnOf(asked))];
  if (cell === undefined) throw new Error(`the table has no cell ${state} + ${asked}`);
  return cell;
}

export const keysOf = <Key extends string>(table: Readonly<Record<Key, unknown>>): readonly Key[] => Object.keys(table) as Key[];

export const inner = (value: unknown): string => (typeof value === 'string' ? value : String(Object.values(value as object)[0]));
export const reached = (state: Reached) => {
  const actor = createActor(jobMachine).start();
  for (const event of PATHS[state]) actor.send(event);
  return actor;
};
