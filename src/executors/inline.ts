/**
 * Executors as hosts write them, functions or objects, made whole (spec 17).
 *
 * INL1  A shape that cannot run is `config.invalid` at open, not a surprise at the first job.
 */
import { namesOf, readable, readOptions } from '../engine/check-options.ts';
import { checkFlag, invalidOption, invalidWithin } from '../engine/settings.ts';
import type { AnyExecutor, Executor, ExecutorCapabilities } from '../model/executor.ts';

const DEFAULTS: ExecutorCapabilities = { abortable: true, killable: false, workload: 'subagent', strictStart: false };
const WORKLOADS: readonly string[] = ['subagent', 'shell', 'monitor'];

const CAPABILITIES = namesOf<ExecutorCapabilities>({ abortable: true, killable: true, workload: true, strictStart: true });

/** @throws OffstageError `config.invalid` */
export function resolveExecutor(kind: string, given: AnyExecutor): Executor & { readonly capabilities: ExecutorCapabilities } {
  const option = `executors.${kind}`;
  return readable(option, () => resolved(option, given), invalidOption);
}

function resolved(option: string, given: AnyExecutor): Executor & { readonly capabilities: ExecutorCapabilities } {
  if (typeof given === 'function') return { run: given, capabilities: DEFAULTS };
  if (typeof given !== 'object' || given === null || typeof given.run !== 'function') {
    throw invalidOption(option, 'it must be a function or an object with a run function');
  }
  const executor: Executor = given;
  for (const name of ['cancel', 'close', 'redact'] as const) {
    if (executor[name] !== undefined && typeof executor[name] !== 'function')
      throw invalidOption(option, `${name} must be a function`);
  }
  for (const name of ['input', 'result'] as const) {
    if (executor[name] !== undefined && typeof executor[name]?.['~standard']?.validate !== 'function')
      throw invalidOption(option, `${name} must be a Standard Schema`);
  }
  checkFlag(`${option}.needsAgent`, executor.needsAgent);
  const capabilities = capabilitiesOf(`${option}.capabilities`, executor.capabilities);
  // Called through the object, so that executors written as classes keep their `this`.
  return {
    run: (job, context) => executor.run(job, context),
    ...(executor.cancel === undefined ? {} : { cancel: (jobId: string) => executor.cancel?.(jobId) }),
    ...(executor.close === undefined ? {} : { close: () => executor.close?.() }),
    ...(executor.redact === undefined ? {} : { redact: (input) => executor.redact?.(input) ?? null }),
    ...(executor.needsAgent === undefined ? {} : { needsAgent: executor.needsAgent }),
    ...(executor.input === undefined ? {} : { input: executor.input }),
    ...(executor.result === undefined ? {} : { result: executor.result }),
    capabilities,
  };
}

function capabilitiesOf(option: string, given: Executor['capabilities']): ExecutorCapabilities {
  const refuse = invalidWithin(option);
  const capabilities = { ...DEFAULTS, ...readOptions(option, given, CAPABILITIES, refuse) };
  for (const name of ['abortable', 'killable', 'strictStart'] as const) checkFlag(`${option}.${name}`, capabilities[name]);
  if (!WORKLOADS.includes(capabilities.workload)) throw refuse('workload', `it must be one of ${WORKLOADS.join(', ')}`);
  return capabilities;
}
