/**
 * An engine on a folder of its own whose agents and commands are real processes, for tests that look at what is left of them.
 *
 * Disposing closes it, removes the folder, and asserts that nothing that it launched is left.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect } from 'vitest';
import { type AcpProgramOptions, acpAgent } from '../../src/acp-agent.ts';
import { idSource } from '../../src/actors/id-source.ts';
import type { Offstage } from '../../src/engine/offstage.ts';
import type { Agent, AgentContext, AgentFactory, Frame } from '../../src/model/agent.ts';
import type { IdSource } from '../../src/model/clock.ts';
import type { OffstageEvent } from '../../src/model/events.ts';
import type { Executors } from '../../src/model/executor.ts';
import type { StopReport } from '../../src/model/stop.ts';
import { type OpenOptions, open } from '../../src/open.ts';
import { levelStore } from '../../src/persistence/level-store.ts';
import { KEYS } from '../../src/persistence/row-keys.ts';
import { type ControlledStore, controlledStore } from '../../src/testing/controlled-store.ts';
import { leftBehind, sh, tokenHolders, watchExecutionId } from '../executors/processes.ts';

export const AGENT = join(resolve(import.meta.dirname, '../..'), 'examples', 'agent.mjs');

/** Longer than any test takes: whoever waits for it fails. */
export const FOREVER_MS = 3_600_000;

export const EXAMPLE: AcpProgramOptions = { command: process.execPath, args: [AGENT], protocol: 'v2' };

/** The same in a program that neither SIGTERM nor the end of its input ends; of the former it says `told` on its standard error. */
export const DEAF: AcpProgramOptions = {
  ...sh('trap "echo told >&2" TERM; "$@"; while :; do sleep 0.1; done', EXAMPLE.command, AGENT),
  protocol: 'v2',
};

export interface LogEntry {
  readonly event: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface RealHost extends AsyncDisposable {
  readonly offstage: Offstage<Executors>;
  readonly store: ControlledStore;
  /** Every event so far. */
  readonly events: readonly OffstageEvent[];
  readonly log: readonly LogEntry[];
  /** Resolves with the first event that matches, past ones included. */
  eventOf(matches: (event: OffstageEvent) => boolean): Promise<OffstageEvent>;
  /** Resolves when this session's agent, or this job, has said the text. */
  heard(of: string, text: string): Promise<void>;
  /** A session whose agent has done what `before` says, and now does the rest; answers the id of its execution. */
  session(sessionId: string, taskId: string, before?: readonly string[], rest?: readonly string[]): Promise<string>;
  /** The execution of a job that runs a process. */
  executionOf(jobId: string): Promise<string>;
  /** A session's row as it is stored, to the byte. */
  row(sessionId: string): Promise<string | undefined>;
}

/** Notes every execution, so that nothing of it is left whatever the test comes to. */
const watchingIds: IdSource = {
  ...idSource,
  id(prefix) {
    const id = idSource.id(prefix);
    if (prefix === 'exec') watchExecutionId(id);
    return id;
  },
};

export async function realHost(options: Omit<OpenOptions<Executors>, 'store' | 'dataDir'> = {}): Promise<RealHost> {
  const folder = await mkdtemp(join(tmpdir(), 'offstage-real-'));
  const store = controlledStore(await levelStore(folder));
  const log: LogEntry[] = [];
  const offstage: Offstage<Executors> = await open({
    agents: { default: acpAgent(EXAMPLE) },
    shutdownGraceMs: 4_000,
    log: (_, event, fields) => log.push({ event, fields }),
    ...options,
    ids: watchingIds,
    store,
  });
  const events: OffstageEvent[] = [];
  const waiting = new Set<() => void>();
  offstage.onEvent((event) => {
    events.push(event);
    for (const check of [...waiting]) check();
  });
  /** What `look` answers once it is not undefined; it is asked again after each event. */
  const until = <Found>(look: () => Found | undefined): Promise<Found> =>
    new Promise((done) => {
      const check = (): void => {
        const found = look();
        if (found === undefined) return;
        waiting.delete(check);
        done(found);
      };
      waiting.add(check);
      check();
    });
  const host: RealHost = {
    offstage,
    store,
    events,
    log,
    eventOf: (matches) => until(() => events.find(matches)),
    heard: (of, text) => until(() => (saidBy(events, of).includes(text) ? true : undefined)).then(() => {}),
    async session(sessionId, taskId, before = [], rest = []) {
      await offstage.sessions.create({ sessionId, taskId });
      await offstage.sessions.prompt(sessionId, { content: [...before, 'say ready', ...rest].join('\n') });
      await host.heard(sessionId, 'ready');
      return (await offstage.sessions.get(sessionId)).executionId as string;
    },
    async executionOf(jobId) {
      const record = (await offstage.processes()).find((one) => one.jobId === jobId);
      expect(record).toBeDefined();
      return record?.executionId as string;
    },
    row: (sessionId) => store.get(KEYS.session(sessionId)),
    async [Symbol.asyncDispose]() {
      store.release();
      await offstage.close();
      await rm(folder, { recursive: true, force: true });
      expect(await leftBehind()).toEqual([]);
    },
  };
  return host;
}

const saidBy = (events: readonly OffstageEvent[], of: string): string =>
  events
    .map((event) => {
      if (event.type === 'session.output' && event.sessionId === of) return event.text;
      return event.type === 'job.output' && event.jobId === of ? event.text : '';
    })
    .join('');

/** How many processes live of each. */
export const living = (...executionIds: readonly string[]): Promise<readonly number[]> =>
  Promise.all(executionIds.map(async (executionId) => (await tokenHolders(executionId)).length));

/** The lists of a report that name something: the ids in each. */
export const told = (report: StopReport): Readonly<Record<string, readonly string[]>> =>
  Object.fromEntries(
    Object.entries(report).flatMap(([list, entries]) =>
      Array.isArray(entries) && entries.length > 0 ? [[list, entries.map(({ jobId, sessionId }) => jobId ?? sessionId)]] : [],
    ),
  );

/** A real agent that does not end when it is told to, until the test lets it. */
export interface UnwillingAgent {
  readonly executionId: string;
  /** Resolves when `close` is called the next time, whatever it does. */
  nextClose(): Promise<void>;
  /** Resolves when it has ended, by a call of `close` after `relent`. */
  readonly ended: Promise<void>;
  /** From now on `close` ends it. */
  relent(): void;
  /** Its frames end, as if it had closed its connection. */
  hangUp(): void;
}

export interface UnwillingAgents {
  readonly factory: AgentFactory;
  readonly agents: readonly UnwillingAgent[];
}

/** Starts deaf agents; of the first `count` `close` rejects, and they do not hear their signal either. */
export function unwillingAgents(count = 1): UnwillingAgents {
  const start = acpAgent(DEAF);
  const agents: UnwillingAgent[] = [];
  const factory = async (context: AgentContext): Promise<Agent> => {
    if (agents.length === count) return start(context);
    const agent = await start({ ...context, signal: new AbortController().signal });
    let isWilling = false;
    const waiting: (() => void)[] = [];
    let hangUp = (): void => {};
    const cut = new Promise<void>((settle) => {
      hangUp = settle;
    });
    let hasEnded = (): void => {};
    const ended = new Promise<void>((settle) => {
      hasEnded = settle;
    });
    agents.push({
      executionId: context.execution.executionId,
      nextClose: () => new Promise((settle) => waiting.push(settle)),
      ended,
      relent: () => {
        isWilling = true;
      },
      hangUp,
    });
    return {
      attests: agent.attests,
      frames: upTo(agent.frames, cut),
      prompt: (...given) => agent.prompt(...given),
      async close() {
        for (const settle of waiting.splice(0)) settle();
        if (!isWilling) throw new Error('it does not let go');
        await agent.close();
        hasEnded();
      },
    };
  };
  return { factory, agents };
}

async function* upTo(frames: AsyncIterable<Frame>, cut: Promise<void>): AsyncGenerator<Frame, void> {
  const iterator = frames[Symbol.asyncIterator]();
  const over = cut.then((): IteratorResult<Frame, void> => ({ done: true, value: undefined }));
  for (;;) {
    const next = await Promise.race([iterator.next(), over]);
    if (next.done === true) return;
    yield next.value;
  }
}
