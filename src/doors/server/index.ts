/** `offstage/server`: an engine over HTTP and WebSocket. */

export type { Redact } from '../inspector/inspector-frames.ts';
export { InspectorRelay, type InspectorRelayOptions } from '../inspector/inspector-relay.ts';
export type { InspectorFilter } from '../inspector/watched-actor.ts';
export type { Scope } from '../requests/caller-identity.ts';
export type { Call } from '../requests/calls.ts';
export { type OffstageServer, serve } from './serve.ts';
export type { ServeOptions } from './serve-options.ts';
