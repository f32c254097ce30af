/** The shapes of the client that this page reads. */
export type { JobRow, LiveState } from '../../../src/doors/client/live-state.ts';
