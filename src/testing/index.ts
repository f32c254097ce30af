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
export { type StoreConformanceOptions, type StoreManifest, type StoreUnderTest, storeConformance } from './store-conformance.ts';
export { type VirtualClock, virtualClock } from './virtual-clock.ts';
