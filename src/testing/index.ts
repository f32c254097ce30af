/** What the tests of Offstage and of its hosts stand on (`offstage/testing`). */

export {
  type ControlledExecutor,
  type ControlledExecutorOptions,
  type ControlledRun,
  controlledExecutor,
} from './controlled-executor.ts';
export { type ControlledStore, controlledStore } from './controlled-store.ts';
export { cardChecker, type EventChecker, eventChecks, lifecycleChecker, sequenceChecker } from './event-checkers.ts';
export { type HeldPoint, type PauseControl, type PausePoint, pausePoints } from './pause-at.ts';
export { type Check, type Checker, Violation } from './simulation/checker.ts';
export { CHECKERS } from './simulation/checkers/index.ts';
export type { Caller, Fact, FactBody, FactHead, FactOf, FactType, LifeSettings, RestView } from './simulation/facts.ts';
export type { FixedOptions } from './simulation/host.ts';
export type { OwnInputs } from './simulation/job-actions.ts';
export type { JobChange, Known, KnownAgent, KnownBody, KnownCall, StoredJob } from './simulation/known.ts';
export type { HostLife } from './simulation/own-executors.ts';
export type { Random } from './simulation/random.ts';
export { type Shrunk, shrink } from './simulation/shrink.ts';
export { type FoundViolation, type SimulationOptions, type SimulationResult, simulate } from './simulation/simulate.ts';
export { type Failure, type ManyOptions, type ManyResult, simulateMany } from './simulation/simulate-many.ts';
export { isAbout, lineOf } from './simulation/trace.ts';
export { type StoreConformanceOptions, type StoreManifest, type StoreUnderTest, storeConformance } from './store-conformance.ts';
export { type VirtualClock, virtualClock } from './virtual-clock.ts';
