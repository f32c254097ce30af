/**
 * `offstage doctor`: looks the data over and changes nothing; with `--repair`, keeps what is intact of a damaged store.
 *
 * DOC1  Looking starts no recovery: what a dead process left is shown as it lies there.
 * DOC2  Intact is what can be read, listed and pruned: the rows are looked at as well as the files. After a repair, all of it is.
 */
import { systemClock } from '../../actors/clock.ts';
import { readProcessRecords } from '../../engine/process-records.ts';
import { describeProcess } from '../../executors/process-reaper.ts';
import { offstageError } from '../../model/errors.ts';
import type { ProcessRecord } from '../../model/records.ts';
import type { Health } from '../../model/requests.ts';
import { readOwner } from '../../persistence/ownership.ts';
import type { RowCheck } from '../../persistence/row-check.ts';
import { connectControl } from '../control/control-client.ts';
import type { Cli } from './cli.ts';
import { EXIT } from './exit-codes.ts';
import { findingInWords } from './row-words.ts';
import { printable } from './terminal.ts';
import { counted } from './words.ts';

/** Numbers that are left out after damage: more than ever were in a part of a log that was lost. */
const SKIPPED_NUMBERS = 1_000_000;

export interface DoctorOptions {
  readonly repair?: boolean;
}

interface ProcessLine extends ProcessRecord {
  readonly verdict: string;
  readonly detail: string;
}

interface Findings {
  readonly dataDir: string;
  readonly owner: { readonly pid: number } | null;
  readonly health: Health | null;
  /** Null when it could not be looked at, because the owner is at work in it. */
  readonly store: { readonly damage: readonly string[]; readonly rows: number } | null;
  /** Whether the rows make sense together; null when the files are damaged, or when the owner is at work in them. */
  readonly rows: RowCheck | null;
  readonly processes: readonly ProcessLine[];
  readonly repair?: {
    readonly keptRows: number;
    readonly lost: unknown;
    readonly setAside: string | null;
    readonly isAllLost: boolean;
  };
}

export async function doctor(cli: Cli, options: DoctorOptions): Promise<number> {
  const { dataDir } = cli;
  if (!(await cli.hasStore())) {
    throw offstageError('config.invalid', { option: '--data-dir', message: `there is no data in ${dataDir}` });
  }
  const owned = options.repair === true ? null : await lookThroughOwner(dataDir);
  const findings = owned ?? (options.repair === true ? await repair(dataDir) : await look(dataDir));
  if (cli.isJson) await cli.document(findings);
  else for (const line of linesOf(findings)) await cli.out.line(line);
  if (findings.repair !== undefined) return EXIT.done;
  if ((findings.store?.damage.length ?? 0) > 0) return EXIT.store;
  return (findings.rows?.findings.length ?? 0) > 0 ? EXIT.failed : EXIT.done;
}

async function lookThroughOwner(dataDir: string): Promise<Findings | null> {
  const owner = await readOwner(dataDir);
  const client = await connectControl(dataDir);
  if (client === null || owner === null) return null;
  try {
    const health = await client.health();
    const processes = await client.processes();
    return {
      dataDir,
      owner: { pid: owner.pid },
      health,
      store: null,
      rows: null,
      processes: await judged(processes),
    };
  } finally {
    client.close();
  }
}

async function look(dataDir: string): Promise<Findings> {
  const { inspectStore } = await import('../../persistence/repair.ts');
  const { damage, rows } = await inspectStore(dataDir);
  const store = { damage: damage.map(({ message }) => message), rows };
  const inside = damage.length === 0 ? await lookInside(dataDir) : { rows: null, processes: [] };
  return { dataDir, owner: null, health: null, store, ...inside };
}

async function lookInside(dataDir: string): Promise<Pick<Findings, 'rows' | 'processes'>> {
  const { levelStore } = await import('../../persistence/level-store.ts');
  const { checkRows } = await import('../../persistence/row-check.ts');
  const store = await levelStore(dataDir);
  try {
    const rows = await checkRows(store, { isMending: false, at: systemClock.now() });
    // Records that cannot be read are among the findings.
    return { rows, processes: await judged(await readProcessRecords(store)) };
  } finally {
    await store.close();
  }
}

async function repair(dataDir: string): Promise<Findings> {
  const { repairStore } = await import('../../persistence/repair.ts');
  const { checkRows } = await import('../../persistence/row-check.ts');
  const { damage, keptRows, lost, setAside, isAllLost, rows } = await repairStore(dataDir, {
    checkRows: async (store, found) => {
      const skippedNumbers = found.length === 0 ? 0 : SKIPPED_NUMBERS;
      const check = await checkRows(store, { isMending: true, at: systemClock.now(), skippedNumbers });
      return { check, processes: await judged(await readProcessRecords(store)) };
    },
  });
  return {
    dataDir,
    owner: null,
    health: null,
    store: { damage: damage.map(({ message }) => message), rows: keptRows },
    rows: rows?.check ?? null,
    processes: rows?.processes ?? [],
    repair: { keptRows, lost, setAside, isAllLost },
  };
}

const judged = (records: readonly ProcessRecord[]): Promise<readonly ProcessLine[]> =>
  Promise.all(
    records.map(async (record) => {
      const { verdict, detail } = await describeProcess(record, { clock: systemClock });
      return { ...record, verdict, detail };
    }),
  );

function* linesOf(findings: Findings): Generator<string> {
  const { dataDir, owner, health, store, processes } = findings;
  if (owner !== null && health !== null) {
    const { running, queued } = health.pool;
    yield `${dataDir} is in use by process ${owner.pid}, which is ${health.status}: ${counted(running, 'job')} running, ${queued} queued.`;
  }
  if (store !== null) yield* storeLines(findings, store);
  if (processes.length > 0) yield `${counted(processes.length, 'process record')}:`;
  for (const { jobId, sessionId, executionId, pid, teardownAt, verdict, detail } of processes) {
    const told = teardownAt === null ? '' : ', to be ended';
    yield `  ${printable(jobId ?? sessionId ?? '-')}  ${executionId}  pid ${pid ?? 'unknown'}${told}  ${verdict}: ${printable(detail)}`;
  }
}

function* storeLines({ dataDir, rows, repair }: Findings, store: NonNullable<Findings['store']>): Generator<string> {
  for (const message of store.damage) yield `Damage: ${printable(message)}.`;
  if (repair === undefined && store.damage.length > 0)
    yield `${counted(store.rows, 'row')} can be kept: offstage doctor --repair`;
  if (repair?.isAllLost === true) yield 'Everything that was stored here is lost. A new store was begun.';
  else if (repair !== undefined && repair.setAside !== null) {
    yield `Kept ${counted(repair.keptRows, 'row')}. The damaged store lies in ${repair.setAside}.`;
  }
  if (rows === null) return;
  for (const finding of rows.findings) yield `Rows: ${findingInWords(finding, repair !== undefined)}`;
  if (rows.findings.length === 0 && store.damage.length === 0) {
    yield `The store in ${dataDir} is intact: ${counted(store.rows, 'row')}, ${counted(rows.jobs, 'job')}.`;
  } else {
    yield repair === undefined
      ? 'To put it right: offstage doctor --repair'
      : `The store holds ${counted(rows.jobs, 'job')} and is intact now.`;
  }
  if (rows.eventGaps > 0) {
    yield `Events are missing in ${counted(rows.eventGaps, 'place')}; whoever follows them is told to read anew.`;
  }
}
