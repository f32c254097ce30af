/**
 * `offstage doctor`: looks the data over and changes nothing; with `--repair`, keeps what is intact of a damaged store.
 *
 * DOC1  Looking starts no recovery: what a dead process left is shown as it lies there.
 */
import { systemClock } from '../../actors/clock.ts';
import { readProcessRecords } from '../../engine/process-records.ts';
import { describeProcess } from '../../executors/process-reaper.ts';
import { offstageError } from '../../model/errors.ts';
import type { ProcessRecord } from '../../model/records.ts';
import type { Health } from '../../model/requests.ts';
import { readOwner } from '../../persistence/ownership.ts';
import { connectControl } from '../control-client.ts';
import { healthFromWire, processFromWire } from '../wire-names.ts';
import { type Cli, rowsOf } from './cli.ts';
import { EXIT } from './exit-codes.ts';
import { printable } from './terminal.ts';
import { counted } from './words.ts';

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
  readonly processes: readonly ProcessLine[];
  readonly repair?: { readonly keptRows: number; readonly lost: unknown; readonly setAside: string | null };
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
  const isDamaged = findings.repair === undefined && (findings.store?.damage.length ?? 0) > 0;
  return isDamaged ? EXIT.store : EXIT.done;
}

async function lookThroughOwner(dataDir: string): Promise<Findings | null> {
  const owner = await readOwner(dataDir);
  const client = await connectControl(dataDir);
  if (client === null || owner === null) return null;
  try {
    const health = healthFromWire(await client.request('health'));
    const { processes } = await client.request('list_processes');
    return {
      dataDir,
      owner: { pid: owner.pid },
      health,
      store: null,
      processes: await judged(rowsOf(processes).map(processFromWire)),
    };
  } finally {
    client.close();
  }
}

async function look(dataDir: string): Promise<Findings> {
  const { inspectStore } = await import('../../persistence/repair.ts');
  const { damage, rows } = await inspectStore(dataDir);
  const processes = damage.length === 0 ? await judged(await recordsIn(dataDir)) : [];
  return { dataDir, owner: null, health: null, store: { damage: damage.map(({ message }) => message), rows }, processes };
}

async function repair(dataDir: string): Promise<Findings> {
  const { repairStore } = await import('../../persistence/repair.ts');
  const { damage, keptRows, lost, setAside } = await repairStore(dataDir);
  return {
    dataDir,
    owner: null,
    health: null,
    store: { damage: damage.map(({ message }) => message), rows: keptRows },
    processes: await judged(await recordsIn(dataDir)),
    repair: { keptRows, lost, setAside },
  };
}

async function recordsIn(dataDir: string): Promise<readonly ProcessRecord[]> {
  const { levelStore } = await import('../../persistence/level-store.ts');
  const store = await levelStore(dataDir);
  try {
    return await readProcessRecords(store);
  } finally {
    await store.close();
  }
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
  if (store !== null) {
    for (const message of store.damage) yield `Damage: ${printable(message)}.`;
    if (store.damage.length === 0) yield `The store in ${dataDir} is intact: ${counted(store.rows, 'row')}.`;
    else if (findings.repair === undefined) yield `${counted(store.rows, 'row')} can be kept: offstage doctor --repair`;
  }
  if (findings.repair !== undefined && findings.repair.setAside !== null) {
    yield `Kept ${counted(findings.repair.keptRows, 'row')}. The damaged store lies in ${findings.repair.setAside}.`;
  }
  if (processes.length > 0) yield `${counted(processes.length, 'process record')}:`;
  for (const { jobId, executionId, pid, verdict, detail } of processes) {
    yield `  ${printable(jobId)}  ${executionId}  pid ${pid ?? 'unknown'}  ${verdict}: ${printable(detail)}`;
  }
}
