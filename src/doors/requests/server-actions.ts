/**
 * Requests about the server itself, and who asks (spec 12).
 *
 * SVA1  An engine has at most one address at a time: that of the server that was opened last.
 */
import { packageVersion } from '../package-version.ts';
import type { Action } from './request.ts';

const urls = new WeakMap<object, string>();

/** Says where the HTTP server of an engine is. Returns a function that takes it back. */
export function announceServer(offstage: object, url: string): () => void {
  urls.set(offstage, url);
  return () => {
    if (urls.get(offstage) === url) urls.delete(offstage);
  };
}

const getServer: Action = async ({ engine, fields }) => {
  fields.refuseRest();
  return { url: urls.get(engine) ?? null };
};

const whoami: Action = async ({ engine, fields, connection }) => {
  fields.refuseRest();
  return { scope: connection.caller.scope, epoch: engine.doors.epoch, version: packageVersion() };
};

export const SERVER_ACTIONS = { get_server: getServer, whoami } as const satisfies Readonly<Record<string, Action>>;
