/**
 * Executors as hosts write them, functions or objects, made whole (spec 17).
 *
 * INL1  A shape that cannot run is `config.invalid` at open, not a surprise at the first job.
 */
import { offstageError } from '../model/errors.ts';
import type { AnyExecutor, Executor, ExecutorCapabilities } from '../model/executor.ts';

const DEFAULTS: ExecutorCapabilities = { abortable: true, killable: false, workload: 'subagent', strictStart: false };
const WORKLOADS: readonly string[] = ['subagent', 'shell', 'monitor'];

/** @throws OffstageError `config.invalid` */
export function resolveExecutor(kind: string, given: AnyExecutor): Executor & { readonly capabilities: ExecutorCapabilities } {
  const invalid = (message: string) => offstageError('config.invalid', { option: `executors.${kind}`, message });
  if (typeof given === 'function') return { run: given, capabilities: DEFAULTS };
  if (typeof given !== 'object' || given === null || typeof given.run !== 'function') {
    throw invalid('it must be a function or an object with a run function');
  }
  const executor: Executor = given;
  for (const name of ['cancel', 'close', 'redact'] as const) {
    if (executor[name] !== undefined && typeof executor[name] !== 'function') throw invalid(`${name} must be a function`);
  }
  const capabilities = { ...DEFAULTS, ...executor.capabilities };
  if (!WORKLOADS.includes(capabilities.workload)) throw invalid(`capabilities.workload must be one of ${WORKLOADS.join(', ')}`);
  // Called through the object, so that executors written as classes keep their `this`.
  return {
    run: (job, context) => executor.run(job, context),
    ...(executor.cancel === undefined ? {} : { cancel: (jobId: string) => executor.cancel?.(jobId) }),
    ...(executor.close === undefined ? {} : { close: () => executor.close?.() }),
    ...(executor.redact === undefined ? {} : { redact: (input) => executor.redact?.(input) ?? null }),
    ...(executor.input === undefined ? {} : { input: executor.input }),
    ...(executor.result === undefined ? {} : { result: executor.result }),
    capabilities,
  };
}
